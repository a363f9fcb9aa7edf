//! The bare loop: hyper's client as its documentation has it, with nothing measured.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use nix::time::{ClockId, clock_gettime};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// The work of a loop in its time.
#[derive(Clone, Copy, Debug)]
pub struct LoopResult {
    /// Requests that were answered.
    pub requests: f64,
    /// The seconds that it took.
    pub seconds: f64,
    /// The seconds that its thread had a processor.
    pub busy: f64,
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every kernel has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// Asks the same over so many connections until the time is over.
pub fn run(address: &str, path: &str, body: &'static str, users: u32, length: Duration) -> LoopResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (begin, begin_busy) = (Instant::now(), thread_seconds());
    let requests = Rc::new(Cell::new(0u64));
    let tasks = LocalSet::new();
    for _ in 0..users {
        let user = user(address.to_owned(), path.to_owned(), body, begin + length, Rc::clone(&requests));
        tasks.spawn_local(user);
    }
    runtime.block_on(tasks);
    let seconds = begin.elapsed().as_secs_f64();
    LoopResult { requests: requests.get() as f64, seconds, busy: thread_seconds() - begin_busy }
}

async fn user(address: String, path: String, body: &'static str, end: Instant, requests: Rc<Cell<u64>>) {
    let socket = TcpStream::connect(&address).await.expect("the mock server listens");
    socket.set_nodelay(true).expect("loopback has it");
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await.expect("HTTP/1.1");
    tokio::task::spawn_local(connection);
    while Instant::now() < end {
        let mut request = Request::new(Full::new(Bytes::from_static(body.as_bytes())));
        *request.method_mut() = if body.is_empty() { Method::GET } else { Method::POST };
        *request.uri_mut() = path.parse().expect("a path");
        request.headers_mut().insert("host", address.parse().expect("a header"));
        let mut answer = sender.send_request(request).await.expect("the mock server answers");
        while let Some(frame) = answer.frame().await {
            frame.expect("the mock server answers to the end");
        }
        requests.set(requests.get() + 1);
    }
}
