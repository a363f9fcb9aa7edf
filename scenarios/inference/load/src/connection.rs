//! A connection: opened, used again, and never moved to another thread.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::clock::Stamp;
use crate::exchange::{Exchange, Read};
use crate::failure::Failure;
use crate::target::{Api, Target, TargetError};
use crate::tls::{Secured, Tls};
use crate::wire::{Wire, WireNotes};

/// The part of a request that all have in common.
#[derive(Debug)]
pub(crate) struct RequestHead {
    addresses: Vec<SocketAddr>,
    tls: Option<Tls>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    wants_stream: bool,
    api: Api,
}

impl RequestHead {
    /// The head for a target.
    ///
    /// # Errors
    /// If its name does not resolve, or its certificates are none.
    pub(crate) fn find(target: &Target, wants_stream: bool) -> Result<Option<Self>, TargetError> {
        let tls = target.is_tls.then(|| Tls::new(target)).transpose()?;
        Ok(Self::new(target, target.addresses()?, wants_stream).map(|head| Self { tls, ..head }))
    }

    /// The same without TLS, of a target whose addresses have been found. `None` if it has characters that
    /// HTTP has not.
    fn new(target: &Target, addresses: Vec<SocketAddr>, wants_stream: bool) -> Option<Self> {
        let is_plain = target.api == Api::Plain;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(&target.authority()).ok()?);
        if let Some(key) = &target.key {
            let mut value = HeaderValue::from_str(&key.bearer()).ok()?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        if !is_plain {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let is_stream = wants_stream && target.api.is_protocol();
            let accept = if is_stream { "text/event-stream" } else { "application/json" };
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
        }
        let method = if is_plain { Method::GET } else { Method::POST };
        let uri = target.path.parse().ok()?;
        Some(Self { addresses, tls: None, method, uri, headers, wants_stream, api: target.api })
    }

    fn request(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        request.method_mut().clone_from(&self.method);
        request.uri_mut().clone_from(&self.uri);
        request.headers_mut().clone_from(&self.headers);
        request
    }

    /// The failure that a head of an answer shows.
    fn failure(&self, answer: &Response<Incoming>, is_stream: bool) -> Option<Failure> {
        let says_when = answer.headers().contains_key(RETRY_AFTER);
        let of_status = Failure::of_status(answer.status().as_u16(), says_when);
        let is_json = content_type(answer).starts_with("application/json");
        let is_wrong = match self.api {
            Api::Plain => false,
            Api::Chat | Api::Completions if self.wants_stream => !is_stream,
            _ => !is_json,
        };
        of_status.or(is_wrong.then_some(Failure::WrongType))
    }
}

/// The content type of an answer, in lower case.
fn content_type(answer: &Response<Incoming>) -> String {
    let value = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().trim().to_ascii_lowercase()
}

/// The counts of a place for connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnectionCounts {
    pub(crate) opened: u64,
    pub(crate) reused: u64,
    pub(crate) failed: u64,
}

/// The bounds of one exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeLimits {
    /// The time from its start to its end.
    pub(crate) time: Duration,
    /// The bytes of its body.
    pub(crate) body: usize,
    /// The bytes of all bodies underway on its core.
    pub(crate) underway: usize,
}

/// A connection that was idle for so long may have been closed by the server in the moment in which it was
/// used again: servers do so after a few seconds.
const IDLE: Duration = Duration::from_secs(1);

type Driver = http1::Connection<TokioIo<Secured>, Full<Bytes>>;

/// An open connection. Its driver is polled by whoever waits for an answer: an exchange is one task, and a
/// read is handed on before the next one.
struct Open {
    driver: Option<Driver>,
    sender: SendRequest<Full<Bytes>>,
    notes: WireNotes,
    /// The moment at which it was opened.
    since: Stamp,
}

impl Open {
    /// The moment from which it was idle.
    fn last_use(&self) -> Stamp {
        self.since.max(self.notes.get().last_read)
    }

    /// Waits for something, and drives the connection meanwhile.
    async fn drive<F: Future>(
        &mut self,
        future: impl FnOnce(&mut SendRequest<Full<Bytes>>) -> F,
    ) -> F::Output {
        let mut future = pin!(future(&mut self.sender));
        let driver = &mut self.driver;
        poll_fn(|context| {
            poll_driver(driver, context);
            if let Poll::Ready(done) = future.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            // What the future has just asked for, without a turn through the scheduler.
            poll_driver(driver, context);
            future.as_mut().poll(context)
        })
        .await
    }
}

fn poll_driver(driver: &mut Option<Driver>, context: &mut std::task::Context<'_>) {
    if driver.as_mut().is_some_and(|open| Pin::new(open).poll(context).is_ready()) {
        *driver = None;
    }
}

/// A place for one connection at a time.
#[derive(Default)]
pub(crate) struct Connection {
    open: Option<Open>,
    pub(crate) counts: ConnectionCounts,
    /// The bytes of all bodies underway, of this connection and the others of its core.
    underway: Rc<Cell<usize>>,
}

impl Connection {
    /// A place beside others, whose bodies share a bound.
    pub(crate) fn beside(underway: &Rc<Cell<usize>>) -> Self {
        Self { underway: Rc::clone(underway), ..Self::default() }
    }

    /// Sends a request and reads its answer to the end, whatever it is. A connection is used again only
    /// after an answer that came whole.
    pub(crate) async fn exchange(
        &mut self,
        head: &RequestHead,
        body: Bytes,
        limits: ExchangeLimits,
        exchange: &mut Exchange,
    ) {
        let work = self.attempt(head, body, limits, exchange);
        let done = tokio::time::timeout(limits.time, work).await;
        let failure = done.unwrap_or(Some(Failure::Hung));
        self.underway.set(self.underway.get() - std::mem::take(&mut exchange.room));
        // A status or a type that tells more than how the body ended stays.
        exchange.failure = exchange.failure.or(failure);
        if failure.is_some() {
            self.open = None;
            exchange.end = Stamp::now();
        }
        if let Some(open) = &self.open {
            exchange.end = open.notes.get().last_read;
        }
    }

    /// The same without a limit of time. The failure of the transport, after which the connection is of no
    /// use.
    async fn attempt(
        &mut self,
        head: &RequestHead,
        body: Bytes,
        limits: ExchangeLimits,
        exchange: &mut Exchange,
    ) -> Option<Failure> {
        let mut answer = None;
        // A server may close an idle connection in the moment in which we use it: such a request is sent on
        // a new one, once.
        for _ in 0..2 {
            if let Err(failure) = self.ready(head, exchange).await {
                return Some(failure);
            }
            let open = self.open.as_mut()?;
            let was_idle = exchange.started.since(open.last_use()) > IDLE.as_nanos() as u64;
            open.notes.begin();
            let request = head.request(body.clone());
            match open.drive(|sender| sender.send_request(request)).await {
                Ok(head) => {
                    answer = Some(head);
                    break;
                }
                Err(error) if error.is_canceled() || was_idle && self.is_unanswered() => self.open = None,
                Err(error) => {
                    self.note(exchange);
                    return Some(failure_of(&error));
                }
            }
        }
        let Some(answer) = answer else { return Some(Failure::Closed) };
        self.note(exchange);
        exchange.status = answer.status().as_u16();
        exchange.is_stream = content_type(&answer).starts_with("text/event-stream");
        exchange.failure = head.failure(&answer, exchange.is_stream);
        self.body(answer.into_body(), limits, exchange).await
    }

    /// Tells whether no byte of an answer has come.
    fn is_unanswered(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.notes.get().first_read.is_none())
    }

    /// Notes what the wire tells of the head.
    fn note(&self, exchange: &mut Exchange) {
        let Some(open) = &self.open else { return };
        let log = open.notes.get();
        exchange.sent = log.first_write;
        exchange.first_byte = log.first_read;
    }

    /// Reads the body.
    async fn body(
        &mut self,
        mut body: Incoming,
        limits: ExchangeLimits,
        exchange: &mut Exchange,
    ) -> Option<Failure> {
        let open = self.open.as_mut()?;
        let mut last = u64::MAX;
        loop {
            let bytes = match open.drive(|_| body.frame()).await {
                None => return None,
                Some(Err(error)) => return Some(failure_of(&error)),
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            };
            if exchange.body.len() + bytes.len() > limits.body {
                return Some(Failure::TooLong);
            }
            // A server may send byte by byte: a read takes more room than that.
            let room = bytes.len() + size_of::<Read>();
            if self.underway.get() + room > limits.underway {
                return Some(Failure::NoMemory);
            }
            self.underway.set(self.underway.get() + room);
            exchange.room += room;
            let log = open.notes.get();
            exchange.take(&bytes, log.last_read, log.reads != last);
            last = log.reads;
        }
    }

    /// Makes sure that a connection is open.
    async fn ready(&mut self, head: &RequestHead, exchange: &mut Exchange) -> Result<(), Failure> {
        if let Some(open) = &mut self.open {
            // A look at the socket: an end that came while it was idle shows here.
            poll_fn(|context| {
                poll_driver(&mut open.driver, context);
                Poll::Ready(())
            })
            .await;
            if open.driver.is_some() && !open.sender.is_closed() {
                self.counts.reused += 1;
                return Ok(());
            }
            self.open = None;
        }
        let begin = Stamp::now();
        let opened = connect(head).await;
        exchange.connecting = Some(exchange.connecting.unwrap_or(0) + Stamp::now().since(begin));
        match opened {
            Ok(open) => {
                self.counts.opened += 1;
                self.open = Some(open);
                Ok(())
            }
            Err(failure) => {
                self.counts.failed += 1;
                Err(failure)
            }
        }
    }
}

/// Opens a connection to the first address that takes one.
async fn connect(head: &RequestHead) -> Result<Open, Failure> {
    let mut failure = Failure::Unreachable;
    for address in &head.addresses {
        match TcpStream::connect(address).await {
            Ok(socket) => return opened(socket, head.tls.as_ref()).await,
            Err(error) => failure = failure_to_connect(&error),
        }
    }
    Err(failure)
}

async fn opened(socket: TcpStream, tls: Option<&Tls>) -> Result<Open, Failure> {
    // A small request is to go at once and not with the next acknowledgement.
    socket.set_nodelay(true).map_err(|_| Failure::Unreachable)?;
    let notes = WireNotes::default();
    let wire = Wire::new(socket, notes.clone());
    let wire = match tls {
        Some(tls) => tls.secure(wire).await.map_err(|_| Failure::NoTls)?,
        None => Secured::Plain(wire),
    };
    let (sender, driver) = http1::handshake(TokioIo::new(wire)).await.map_err(|_| Failure::Unreachable)?;
    Ok(Open { driver: Some(driver), sender, notes, since: Stamp::now() })
}

fn failure_to_connect(error: &io::Error) -> Failure {
    // EMFILE, ENFILE, EADDRNOTAVAIL: of ours, and no fault of the server.
    let is_of_client = matches!(error.raw_os_error(), Some(23 | 24 | 99));
    match error.kind() {
        _ if is_of_client => Failure::NoSocket,
        io::ErrorKind::ConnectionRefused => Failure::Refused,
        _ => Failure::Unreachable,
    }
}

fn failure_of(error: &hyper::Error) -> Failure {
    if error.is_parse() { Failure::NotHttp } else { Failure::Closed }
}
