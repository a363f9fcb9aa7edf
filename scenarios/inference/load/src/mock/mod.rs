//! A server whose times and lies are known, on loopback: what the client is held against.
//!
//! It runs on a thread of its own and notes, for each request, when it had read it and when it handed each
//! segment with tokens to its socket, by the same clock as the client's.

mod behaviour;
mod http;
mod reply;
mod state;

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use state::{MockState, SharedState};

pub use behaviour::{Behaviour, LineEnd, MockFault, MockUsage, Stall};
pub use state::Served;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct MockServer {
    address: SocketAddr,
    served: Arc<Mutex<Vec<Served>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

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

    /// The requests that it has served by now, in the order of completion.
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
    let state = MockState::new(behaviour, served);
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
