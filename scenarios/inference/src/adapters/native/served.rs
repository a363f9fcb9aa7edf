//! Models by hand behind `hyper`: a server in this process, on two threads of its own, one for its sockets
//! and one for its model.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;
use weighbridge::{Delivery, Error, Result};
use weighbridge_data::ExecutedWork;
use weighbridge_load::{Api, Target};

use super::served_requests::{ServedJob, inferred, parse_completion, parse_inference};
use crate::contract::{OpenModel, StartedServer};
use crate::workload::{PredictionSpec, ServingSpec};

/// The most bytes of a request.
const REQUEST: usize = 8 << 20;

/// A server in this process.
#[derive(Debug)]
pub struct HyperServer {
    target: Target,
    stop: Option<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl HyperServer {
    /// Starts it: the thread of the model ends with that of the sockets.
    ///
    /// # Errors
    /// That there is no port, or no thread.
    pub fn start(mut model: Box<dyn OpenModel + Send>, spec: &ServingSpec) -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let (api, path) = match spec.tokens() {
            Some(_) => (Api::Completions, "/v1/completions"),
            None => (Api::Posted, "/v2/models/model/infer"),
        };
        let target = Target::parse(&format!("http://{}:{port}{path}", Ipv4Addr::LOCALHOST), Some(api))?;
        let (jobs, queue) = channel::<ServedJob>();
        let (stop, stopped) = oneshot::channel();
        let prediction = spec.prediction.clone();
        let thread = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.into()).spawn(work)
        };
        let model =
            thread("served-model", Box::new(move || queue.iter().for_each(|job| job.answer(&mut *model))))?;
        let sockets = thread(
            "served-sockets",
            Box::new(move || {
                // Where there is no runtime nobody is answered, which whoever waits is told.
                let _ = serve(listener, jobs, prediction, stopped);
            }),
        )?;
        Ok(Self { target, stop: Some(stop), threads: vec![sockets, model] })
    }
}

impl StartedServer for HyperServer {
    fn target(&self) -> &Target {
        &self.target
    }

    fn look(&mut self) -> Result<bool> {
        match self.threads.iter().any(JoinHandle::is_finished) {
            true => Err(Error::new("the server died: one of its threads has ended")),
            false => Ok(true), // it listened before it had threads
        }
    }

    fn stop(&mut self, _patience: Duration) -> Result<()> {
        drop(self.stop.take());
        let ended = self.threads.drain(..).map(JoinHandle::join);
        match ended.filter(std::result::Result::is_err).count() {
            0 => Ok(()),
            _ => Err(Error::new("a thread of the server panicked")),
        }
    }

    fn executed(&self, spec: &ServingSpec) -> Result<ExecutedWork> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        Ok(ExecutedWork::ours(spec.prediction.work()?, Delivery::Owned, threads))
    }
}

impl Drop for HyperServer {
    fn drop(&mut self) {
        let _ = self.stop(Duration::MAX);
    }
}

fn serve(
    listener: std::net::TcpListener,
    jobs: Sender<ServedJob>,
    spec: PredictionSpec,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    LocalSet::new().block_on(&runtime, async move {
        let listener = TcpListener::from_std(listener)?;
        tokio::select! {
            ended = accept(listener, jobs, spec) => ended,
            _ = stopped => Ok(()),
        }
    })
}

async fn accept(listener: TcpListener, jobs: Sender<ServedJob>, spec: PredictionSpec) -> io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let (jobs, spec) = (jobs.clone(), spec.clone());
        tokio::task::spawn_local(async move {
            let answer = service_fn(move |request| respond(request, jobs.clone(), spec.clone()));
            // A client may go whenever it likes.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await;
        });
    }
}

/// The body of an answer: all of it, or event by event.
enum ServedBody {
    Whole(Option<Bytes>),
    Events(mpsc::UnboundedReceiver<Bytes>),
}

impl Body for ServedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => {
                events.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }
}

async fn respond<B>(
    request: Request<B>,
    jobs: Sender<ServedJob>,
    spec: PredictionSpec,
) -> std::result::Result<Response<ServedBody>, Infallible>
where
    B: Body<Data = Bytes> + Unpin,
{
    let (head, body) = request.into_parts();
    let Some(body) = gathered(body).await else { return Ok(told(StatusCode::PAYLOAD_TOO_LARGE, "{}")) };
    Ok(match (head.method, head.uri.path(), spec.generation) {
        (Method::GET, "/v2/health/ready", _) => told(StatusCode::OK, "{}"),
        (Method::POST, "/v1/completions", Some(_)) => match parse_completion(&body, &spec) {
            Err(why) => told(StatusCode::BAD_REQUEST, &why),
            Ok(completion) => {
                let (sender, events) = mpsc::unbounded_channel();
                let is_stream = completion.stream;
                drop(jobs.send(ServedJob::Completion(completion, sender)));
                of_type(events, is_stream).await
            }
        },
        (Method::POST, "/v2/models/model/infer", None) => match parse_inference(&body, &spec) {
            Err(why) => told(StatusCode::BAD_REQUEST, &why),
            Ok(input) => {
                let (sender, answer) = oneshot::channel();
                drop(jobs.send(ServedJob::Inference(input, sender)));
                match answer.await {
                    Ok(logits) => told(StatusCode::OK, &inferred(&logits)),
                    Err(_) => told(StatusCode::INTERNAL_SERVER_ERROR, "{}"),
                }
            }
        },
        _ => told(StatusCode::NOT_FOUND, "{}"),
    })
}

/// A body as one; `None` where it is too long, or does not come.
async fn gathered<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        bytes.extend_from_slice(&frame.ok()?.into_data().unwrap_or_default());
        if bytes.len() > REQUEST {
            return None;
        }
    }
    Some(bytes)
}

/// The answer of a completion: its events as they come, or the last of them as one.
async fn of_type(mut events: mpsc::UnboundedReceiver<Bytes>, is_stream: bool) -> Response<ServedBody> {
    if is_stream {
        return typed(StatusCode::OK, "text/event-stream", ServedBody::Events(events));
    }
    let mut last = Bytes::new();
    while let Some(bytes) = events.recv().await {
        last = bytes;
    }
    typed(StatusCode::OK, "application/json", ServedBody::Whole(Some(last)))
}

fn told(status: StatusCode, json: &str) -> Response<ServedBody> {
    typed(status, "application/json", ServedBody::Whole(Some(json.to_owned().into())))
}

fn typed(status: StatusCode, kind: &'static str, body: ServedBody) -> Response<ServedBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
