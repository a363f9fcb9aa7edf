//! An object store over HTTP on this machine: the encoded images of a data set, a file each, and a tar file
//! of all, with latency, a limit on the bandwidth and failures that are planted. It counts what is asked of
//! it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use weighbridge::{Error, Result};

use super::encoded::{TAR_BLOCK, TAR_END, encoded, encoded_name, tar_header, tar_places};
use crate::DataSet;

/// The name of the tar file of all.
pub const SHARD: &str = "photographs.tar";

/// Planted hindrances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreTerms {
    /// The time from a request to the first byte of its answer.
    pub latency: Duration,
    /// Bytes a second, of all connections together; `None` where there is no limit.
    pub bandwidth: Option<u64>,
    /// One request of so many is answered by 503; 0 where none is.
    pub failing: u64,
}

/// Counts of a store so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Connections.
    pub connections: u64,
    /// Requests for an object or a part of one.
    pub requests: u64,
    /// Requests that were answered by 503, as planted.
    pub failed: u64,
    /// Bytes of objects that were sent.
    pub bytes: u64,
}

/// A store that serves until it is let go.
#[derive(Debug)]
pub struct ObjectStore {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    data: Arc<DataSet>,
    /// The place of each element in the tar file.
    places: Vec<Range<u64>>,
    terms: StoreTerms,
    connections: AtomicU64,
    requests: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    /// The moment from which the line is free for the next bytes.
    line: Mutex<Option<Instant>>,
    ended: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

/// Bytes that are sent at once.
const PIECE: usize = 64 << 10;

impl ObjectStore {
    /// Serves the elements of a data set with one field of encoded images, on a free port of this machine.
    ///
    /// # Errors
    /// Where no port can be had.
    pub fn serve(data: &Arc<DataSet>, terms: StoreTerms) -> Result<Self> {
        let failed = |error: io::Error| Error::new(format!("no object store on this machine: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            data: data.clone(),
            places: tar_places(data),
            terms,
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            line: Mutex::default(),
            ended: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let (own, named) = (shared.clone(), thread::Builder::new().name("object store".into()));
        let accepting = named.spawn(move || own.accept(&listener)).map_err(failed)?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// The address that names of objects are appended to, with a slash between.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its counts so far.
    pub fn counts(&self) -> StoreCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Acquire);
        let Shared { connections, requests, failed, bytes, .. } = &*self.shared;
        StoreCounts {
            connections: read(connections),
            requests: read(requests),
            failed: read(failed),
            bytes: read(bytes),
        }
    }
}

impl Drop for ObjectStore {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address); // wakes whoever accepts
        for stream in self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both); // one that is closed already needs none
        }
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// A request, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    name: String,
    head: bool,
    range: Option<String>,
    closes: bool,
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            let Ok(stream) = stream else { continue };
            self.connections.fetch_add(1, Ordering::AcqRel);
            if let Ok(again) = stream.try_clone() {
                self.open.lock().unwrap_or_else(PoisonError::into_inner).push(again);
            }
            let shared = self.clone();
            // A client that breaks off is its own affair.
            let serve = move || drop(shared.serve(&stream));
            drop(thread::Builder::new().name("object store".into()).spawn(serve));
        }
    }

    /// Answers one request after the other.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut input = BufReader::new(stream);
        while let Some(request) = read_request(&mut input)? {
            self.answer(&request, stream)?;
            if request.closes {
                return stream.shutdown(Shutdown::Both);
            }
        }
        Ok(())
    }

    fn answer(&self, request: &Request, mut out: &TcpStream) -> io::Result<()> {
        let number = self.requests.fetch_add(1, Ordering::AcqRel) + 1;
        thread::sleep(self.terms.latency);
        if self.terms.failing > 0 && number.is_multiple_of(self.terms.failing) {
            self.failed.fetch_add(1, Ordering::AcqRel);
            return out.write_all(head("503 Slow Down", 0, "").as_bytes());
        }
        let Some(length) = self.length(&request.name) else {
            return out.write_all(head("404 Not Found", 0, "").as_bytes());
        };
        let (status, range) = match &request.range {
            None => ("200 OK", 0..length),
            Some(asked) => match part(asked, length) {
                Some(range) => ("206 Partial Content", range),
                None => {
                    let whole = format!("Content-Range: bytes */{length}\r\n");
                    return out.write_all(head("416 Range Not Satisfiable", 0, &whole).as_bytes());
                }
            },
        };
        let told =
            format!("Content-Range: bytes {}-{}/{length}\r\n", range.start, range.end.saturating_sub(1));
        let told = if request.range.is_some() { told } else { String::new() };
        out.write_all(head(status, range.end - range.start, &told).as_bytes())?;
        if request.head { Ok(()) } else { self.send(&request.name, range, out) }
    }

    /// The bytes of an object; `None` where there is none of that name.
    fn length(&self, name: &str) -> Option<u64> {
        if name == SHARD {
            let last = self.places.last().map_or(0, |last| last.end.next_multiple_of(TAR_BLOCK as u64));
            return Some(last + TAR_END as u64);
        }
        self.element(name).map(|element| encoded(&self.data, element).len() as u64)
    }

    fn element(&self, name: &str) -> Option<usize> {
        let element = name.strip_suffix(".jpg")?.parse().ok()?;
        (element < self.data.elements() && encoded_name(element) == name).then_some(element)
    }

    fn send(&self, name: &str, range: Range<u64>, out: &TcpStream) -> io::Result<()> {
        if let Some(element) = self.element(name) {
            let bytes = encoded(&self.data, element);
            return self.pieces(&bytes[range.start as usize..range.end as usize], out);
        }
        let entry_end = |place: &Range<u64>| place.end.next_multiple_of(TAR_BLOCK as u64);
        let first = self.places.partition_point(|place| entry_end(place) <= range.start);
        let mut at = range.start;
        for (element, place) in self.places.iter().enumerate().skip(first) {
            let start = place.start - TAR_BLOCK as u64;
            let bytes = encoded(&self.data, element);
            let mut entry = tar_header(element, bytes.len()).to_vec();
            entry.extend_from_slice(bytes);
            entry.resize(entry.len().next_multiple_of(TAR_BLOCK), 0);
            let end = range.end.min(start + entry.len() as u64);
            if at < end {
                let from = at.max(start) - start;
                self.pieces(&entry[from as usize..(end - start) as usize], out)?;
                at = end;
            }
            if at == range.end {
                return Ok(());
            }
        }
        self.pieces(&vec![0; (range.end - at) as usize], out)
    }

    /// Sends bytes, no quicker than the line is.
    fn pieces(&self, bytes: &[u8], mut out: &TcpStream) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            self.wait_for_line(piece.len());
            out.write_all(piece)?;
            self.bytes.fetch_add(piece.len() as u64, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Takes the line for so many bytes, and waits until they would be through.
    fn wait_for_line(&self, bytes: usize) {
        let Some(bandwidth) = self.terms.bandwidth else { return };
        let through = {
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            let start = line.map_or_else(Instant::now, |free| free.max(Instant::now()));
            let through = start + Duration::from_secs_f64(bytes as f64 / bandwidth as f64);
            *line = Some(through);
            through
        };
        thread::sleep(through.saturating_duration_since(Instant::now()));
    }
}

fn head(status: &str, length: u64, more: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nContent-Type: application/octet-stream\r\n\
         Accept-Ranges: bytes\r\n{more}\r\n"
    )
}

/// Reads a request; `None` where the client has closed the connection.
fn read_request(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let name = path.split('?').next().unwrap_or_default().trim_start_matches('/').to_owned();
    let mut request =
        Request { name, head: method == "HEAD", range: None, closes: line.contains("HTTP/1.0") };
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let Some((key, value)) = line.split_once(':') else { return Ok(Some(request)) };
        match key.to_ascii_lowercase().as_str() {
            "range" => request.range = Some(value.trim().to_owned()),
            "connection" => request.closes = value.trim().eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
}

/// The bytes that `bytes=FIRST-LAST` asks for; `None` where there are none of them.
fn part(asked: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = asked.strip_prefix("bytes=")?.split_once('-')?;
    let range = match (first.parse::<u64>().ok(), last.parse::<u64>().ok()) {
        (Some(first), Some(last)) => first..last.saturating_add(1).min(length),
        (Some(first), None) => first..length,
        (None, Some(last)) => length.saturating_sub(last)..length,
        (None, None) => return None,
    };
    (range.start < range.end).then_some(range)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::{Cache, DataSpec};

    fn store(terms: StoreTerms) -> (tempfile::TempDir, Arc<DataSet>, ObjectStore) {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path()).open(&DataSpec::photographs(3)).unwrap());
        let store = ObjectStore::serve(&data, terms).unwrap();
        (place, data, store)
    }

    /// What a request is answered by: its first line, and what follows the head.
    fn ask(stream: &mut TcpStream, request: &str) -> (String, Vec<u8>) {
        stream.write_all(format!("{request}\r\nHost: here\r\n\r\n").as_bytes()).unwrap();
        let mut input = BufReader::new(stream);
        let (mut status, mut length) = (String::new(), 0);
        input.read_line(&mut status).unwrap();
        loop {
            let mut line = String::new();
            input.read_line(&mut line).unwrap();
            let Some((key, value)) = line.split_once(':') else { break };
            if key == "Content-Length" {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        if !request.starts_with("HEAD") {
            input.read_exact(&mut body).unwrap();
        }
        (status.trim().to_owned(), body)
    }

    #[test]
    fn one_connection_reads_objects_and_parts_of_them_and_every_byte_is_counted() {
        let (_place, data, store) = store(StoreTerms::default());
        let mut stream = TcpStream::connect(store.url().trim_start_matches("http://")).unwrap();
        let (status, body) = ask(&mut stream, "GET /000000001.jpg HTTP/1.1");
        assert_eq!((status.as_str(), body.as_slice()), ("HTTP/1.1 200 OK", encoded(&data, 1)));
        let place = tar_places(&data)[2].clone();
        let range = format!("GET /{SHARD} HTTP/1.1\r\nRange: bytes={}-{}", place.start, place.end - 1);
        let (status, part) = ask(&mut stream, &range);
        assert_eq!((status.as_str(), part.as_slice()), ("HTTP/1.1 206 Partial Content", encoded(&data, 2)));
        assert!(ask(&mut stream, "GET /000000003.jpg HTTP/1.1").0.contains("404"));
        let beyond = "GET /000000000.jpg HTTP/1.1\r\nRange: bytes=99999999-";
        assert!(ask(&mut stream, beyond).0.contains("416"));
        assert!(ask(&mut stream, "HEAD /000000000.jpg HTTP/1.1").0.contains("200"));
        let counts = store.counts();
        assert_eq!((counts.connections, counts.requests, counts.failed), (1, 5, 0));
        assert_eq!(counts.bytes, (body.len() + part.len()) as u64);
    }

    #[test]
    fn the_tar_file_is_one_whichever_way_it_is_cut() {
        let (_place, data, store) = store(StoreTerms::default());
        let mut stream = TcpStream::connect(store.url().trim_start_matches("http://")).unwrap();
        let (_, whole) = ask(&mut stream, &format!("GET /{SHARD} HTTP/1.1"));
        let mut cut = Vec::new();
        for first in (0..whole.len()).step_by(10_007) {
            let last = first + 10_006;
            cut.extend(ask(&mut stream, &format!("GET /{SHARD} HTTP/1.1\r\nRange: bytes={first}-{last}")).1);
        }
        assert!(cut == whole);
        for (element, place) in tar_places(&data).into_iter().enumerate() {
            assert!(&whole[place.start as usize..place.end as usize] == encoded(&data, element));
        }
    }

    #[test]
    fn one_of_so_many_requests_fails_and_is_not_counted_as_read() {
        let (_place, data, store) = store(StoreTerms { failing: 2, ..StoreTerms::default() });
        let mut stream = TcpStream::connect(store.url().trim_start_matches("http://")).unwrap();
        let said: Vec<bool> =
            (0..4).map(|_| ask(&mut stream, "GET /000000000.jpg HTTP/1.1").0.contains("503")).collect();
        assert_eq!(said, [false, true, false, true]);
        assert_eq!(store.counts().failed, 2);
        assert_eq!(store.counts().bytes, 2 * encoded(&data, 0).len() as u64);
    }

    #[test]
    fn an_answer_takes_the_latency_and_the_time_of_its_bytes_at_least() {
        let latency = Duration::from_millis(20);
        let (_place, data, store) = store(StoreTerms { latency, bandwidth: Some(1 << 20), failing: 0 });
        let mut stream = TcpStream::connect(store.url().trim_start_matches("http://")).unwrap();
        let start = Instant::now();
        ask(&mut stream, "GET /000000000.jpg HTTP/1.1");
        let line = Duration::from_secs_f64(encoded(&data, 0).len() as f64 / f64::from(1 << 20));
        assert!(start.elapsed() >= latency + line);
    }

    #[test]
    fn a_range_is_what_is_there_of_what_was_asked_for() {
        assert_eq!(part("bytes=2-4", 10), Some(2..5));
        assert_eq!(part("bytes=2-", 10), Some(2..10));
        assert_eq!(part("bytes=-3", 10), Some(7..10));
        assert_eq!(part("bytes=8-99", 10), Some(8..10));
        assert_eq!((part("bytes=10-", 10), part("rows=1-2", 10), part("bytes=-", 10)), (None, None, None));
    }
}
