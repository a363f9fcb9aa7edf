//! A server whose times and lies are known, on loopback: what the client is held against.
//!
//! It runs on a thread of its own and notes, for each request, when it had read it and when it handed each
//! segment with tokens to its socket, by the same clock as the client's.

mod behaviour;
mod http;
mod reply;

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use crate::clock::Stamp;

pub use behaviour::{Behaviour, LineEnd, MockFault, MockUsage, Stall};

/// What the server knows of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The first word of its prompt, which no other prompt has.
    pub prompt: String,
    /// The moment at which it had been read.
    pub received: Stamp,
    /// The moments before each write with tokens.
    pub writes: Vec<Stamp>,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct MockServer {
    address: SocketAddr,
    served: Arc<Mutex<Vec<Served>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The state that the connections of a server share.
struct MockState {
    behaviour: Behaviour,
    seen: HashSet<String>,
    requests: u64,
    /// The moment of the first request: a stall counts from it.
    first: Option<Stamp>,
    served: Arc<Mutex<Vec<Served>>>,
}

type SharedState = Rc<RefCell<MockState>>;

impl MockServer {
    /// Starts a server at a free port of loopback.
    ///
    /// # Errors
    ///
    /// If there is no port or no thread.
    pub fn start(behaviour: Behaviour) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let served = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = oneshot::channel();
        let of = Arc::clone(&served);
        let thread = std::thread::Builder::new()
            .name("mock-server".to_owned())
            .spawn(move || drop(serve(listener, behaviour, of, stopped)))?;
        Ok(Self { address, served, stop: Some(stop), thread: Some(thread) })
    }

    /// The URL of its root.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it has served by now, in the order of completion.
    pub fn served(&self) -> Vec<Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn serve(
    listener: std::net::TcpListener,
    behaviour: Behaviour,
    served: Arc<Mutex<Vec<Served>>>,
    stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let state = MockState { behaviour, seen: HashSet::new(), requests: 0, first: None, served };
    let state = Rc::new(RefCell::new(state));
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async move {
        let listener = TcpListener::from_std(listener)?;
        tokio::task::spawn_local(accept(listener, state));
        drop(stopped.await);
        Ok(())
    })
}

async fn accept(listener: TcpListener, state: SharedState) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => drop(tokio::task::spawn_local(connection(socket, Rc::clone(&state)))),
            // Out of descriptors: until some are free again.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}

/// Serves a connection until either side ends it.
async fn connection(mut socket: TcpStream, state: SharedState) {
    let mut buffer = Vec::new();
    if socket.set_nodelay(true).is_err() {
        return;
    }
    while let Ok(Some(request)) = http::read(&mut socket, &mut buffer).await {
        if !reply::reply(&mut socket, &request, &state).await.unwrap_or(false) {
            return;
        }
    }
}
