//! An object store on this machine that can be told how to fail: as little of S3 and of Google's as baselines
//! need.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// The answer to a request.
#[derive(Clone, Debug)]
pub(super) enum StoreReply {
    /// As it asks for.
    Do,
    /// Never.
    Hang,
    /// Not at all: the connection is closed.
    Close,
    /// It is done, and then the connection is closed.
    DoAndClose,
    /// Half of a content.
    Half,
    /// By this status and body.
    Say(u16, &'static str),
}

/// The objects of the server, and its plan of answers.
#[derive(Debug, Default)]
pub(super) struct ServerState {
    pub(super) objects: BTreeMap<String, Vec<u8>>,
    /// The answers to the next requests. All after them are done.
    pub(super) next: VecDeque<StoreReply>,
    /// The answer to all further ones, if it is not to do them.
    pub(super) ever: Option<StoreReply>,
    /// The requests that came: method and key.
    pub(super) asked: Vec<String>,
    /// Kept open, since nobody is answered.
    hung: Vec<TcpStream>,
}

/// A server on the loopback interface.
#[derive(Clone, Debug)]
pub(super) struct LoopbackStore {
    pub(super) endpoint: String,
    state: Arc<Mutex<ServerState>>,
}

struct PlainRequest {
    method: String,
    key: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl LoopbackStore {
    /// Serves the bucket `weighings` until the tests end.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("bound"));
        let state = Arc::<Mutex<ServerState>>::default();
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = Arc::clone(&own);
                thread::spawn(move || serve(stream, &own));
            }
        });
        Self { endpoint, state }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().expect("nobody panics with it")
    }
}

/// One request. A client that goes away is no error of the server.
fn serve(mut stream: TcpStream, state: &Mutex<ServerState>) {
    let Some(request) = read(&stream) else { return };
    let mut state = state.lock().expect("nobody panics with it");
    state.asked.push(format!("{} {}", request.method, request.key));
    let reply = state.next.pop_front().or_else(|| state.ever.clone());
    let answer = match reply {
        Some(StoreReply::Hang) => {
            state.hung.push(stream);
            return;
        }
        Some(StoreReply::Close) => return,
        Some(StoreReply::DoAndClose) => {
            state.done(&request);
            return;
        }
        Some(StoreReply::Half) => {
            let whole = state.done(&request);
            whole[..whole.len() - whole.len().min(200)].to_vec()
        }
        Some(StoreReply::Say(status, body)) => answer(status, "", body.as_bytes()),
        Some(StoreReply::Do) | None => state.done(&request),
    };
    drop(stream.write_all(&answer));
}

fn read(stream: &TcpStream) -> Option<PlainRequest> {
    let mut lines = BufReader::new(stream);
    let mut line = || {
        let mut text = String::new();
        lines.read_line(&mut text).ok()?;
        Some(text.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let header = line()?;
        let Some((name, value)) = header.split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body =
        vec![0; headers.get("content-length").map_or(0, |length| length.parse().expect("a number"))];
    lines.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let key = plain(path.strip_prefix("/weighings").unwrap_or(path).trim_start_matches('/'));
    Some(PlainRequest { method, key, query: query.to_owned(), headers, body })
}

/// A path as it was before its bytes were written in hexadecimal.
fn plain(path: &str) -> String {
    let mut parts = path.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = u8::from_str_radix(&part[..2], 16).expect("two digits");
        text.push(char::from(byte));
        text.push_str(&part[2..]);
    }
    text
}

/// The version of a content: a generation, as Google's has them, and never 0.
fn generation(content: &[u8]) -> String {
    let sum = content.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    sum.max(1).to_string()
}

/// The version of a content: an entity tag.
fn tag(content: &[u8]) -> String {
    format!("\"{}\"", generation(content))
}

impl ServerState {
    /// Does what a request asks for, and gives the answer.
    fn done(&mut self, request: &PlainRequest) -> Vec<u8> {
        let there = self.objects.get(&request.key);
        match &*request.method {
            "GET" if request.key.is_empty() => answer(200, "", self.listing(&request.query).as_bytes()),
            "GET" => match there {
                Some(content) => answer(200, &tag(content), content),
                None => answer(404, "", b"<Error><Code>NoSuchKey</Code></Error>"),
            },
            "PUT" => {
                let told = |name: &str| request.headers.get(name);
                let conditions = ["if-none-match", "if-match", "x-goog-if-generation-match"].map(told);
                let fits = match conditions {
                    [Some(_), None, None] => there.is_none(),
                    [None, Some(expected), None] => there.is_some_and(|there| tag(there) == *expected),
                    [None, None, Some(expected)] => {
                        there.map_or("0".into(), |there| generation(there)) == *expected
                    }
                    _ => panic!("a put with other than one condition"),
                };
                if !fits {
                    return answer(412, "", b"<Error><Code>PreconditionFailed</Code></Error>");
                }
                self.objects.insert(request.key.clone(), request.body.clone());
                answer(200, &tag(&request.body), b"")
            }
            "DELETE" => {
                self.objects.remove(&request.key);
                answer(204, "", b"")
            }
            other => panic!("nobody asks so: {other}"),
        }
    }

    fn listing(&self, query: &str) -> String {
        let prefix = query.split('&').find_map(|pair| pair.strip_prefix("prefix=")).unwrap_or_default();
        let prefix = prefix.replace("%2F", "/");
        let keys = self.objects.iter().filter(|(key, _)| key.starts_with(&prefix));
        let contents = keys.map(|(key, content)| {
            let (size, tag) = (content.len(), tag(content).replace('"', "&quot;"));
            format!(
                "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
                 <ETag>{tag}</ETag><Size>{size}</Size></Contents>"
            )
        });
        format!("<ListBucketResult>{}</ListBucketResult>", contents.collect::<String>())
    }
}

fn answer(status: u16, tag: &str, body: &[u8]) -> Vec<u8> {
    let tag = match tag.trim_matches('"') {
        "" => String::new(),
        generation => format!("ETag: {tag}\r\nx-goog-generation: {generation}\r\n"),
    };
    let head = format!(
        "HTTP/1.1 {status} Said\r\nContent-Length: {}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\
         {tag}Connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
