//! Encoded images from an object store over HTTP: connections that stay, and a request on each of them at
//! once.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::slice::ChunksExactMut;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use weighbridge::{Error, Result};
use weighbridge_data::{DataSet, SHARD, encoded_name, tar_places};

use crate::workload::{Access, PipelineSpec};

/// Times that an object is asked for before its failure is told: stores ask clients to try again.
const TRIES: usize = 8;

/// Reads elements of a store. Its connections are made when they are first needed.
#[derive(Debug)]
pub(super) struct StoreReader {
    host: Arc<str>,
    /// The place of each element in the tar file, where that is read.
    places: Option<Arc<Vec<Range<u64>>>>,
    connections: Vec<Connection>,
}

#[derive(Debug, Default)]
struct Connection(Option<BufReader<TcpStream>>);

impl StoreReader {
    /// A reader of the store that a pipeline names. Its workers share the requests under way.
    ///
    /// # Errors
    /// Where the pipeline names none.
    pub(super) fn open(spec: &PipelineSpec, data: &DataSet) -> Result<Self> {
        let none = || Error::new("the pipeline reads from an object store, and names none");
        let store = spec.store.as_ref().ok_or_else(none)?;
        let places = (spec.access == Access::StoredTar).then(|| Arc::new(tar_places(data)));
        let count = store.in_flight.div_ceil(spec.workers.max(1)).max(1);
        let host = store.url.trim_start_matches("http://").into();
        Ok(Self { host, places, connections: connections(count) })
    }

    /// Another with connections of its own.
    pub(super) fn another(&self) -> Self {
        Self {
            host: self.host.clone(),
            places: self.places.clone(),
            connections: connections(self.connections.len()),
        }
    }

    /// Reads elements, each into its room; what is left of a room is zeros.
    ///
    /// # Errors
    /// What the store still says after some tries.
    pub(super) fn read(&mut self, elements: Range<usize>, rooms: ChunksExactMut<'_, u8>) -> Result<()> {
        let Self { host, places, connections } = self;
        let count = connections.len().min(elements.len());
        let left = Mutex::new(elements.zip(rooms));
        let run = |connection: &mut Connection| {
            loop {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((element, room)) = next else { return Ok(()) };
                let place = places.as_ref().map(|places| places[element].clone());
                connection.fetch(host, element, place, room)?;
            }
        };
        if count <= 1 {
            return connections.first_mut().map_or(Ok(()), run);
        }
        thread::scope(|scope| {
            let running: Vec<_> =
                connections.iter_mut().take(count).map(|one| scope.spawn(|| run(one))).collect();
            running.into_iter().try_for_each(|one| one.join().expect("a reader does not panic"))
        })
    }
}

fn connections(count: usize) -> Vec<Connection> {
    (0..count).map(|_| Connection::default()).collect()
}

impl Connection {
    fn fetch(
        &mut self,
        host: &str,
        element: usize,
        place: Option<Range<u64>>,
        room: &mut [u8],
    ) -> Result<()> {
        let (name, range) = match place {
            None => (encoded_name(element), String::new()),
            Some(place) => (SHARD.to_owned(), format!("Range: bytes={}-{}\r\n", place.start, place.end - 1)),
        };
        let request = format!("GET /{name} HTTP/1.1\r\nHost: {host}\r\n{range}\r\n");
        let mut said = String::new();
        for _ in 0..TRIES {
            match self.ask(host, &request, room) {
                Ok(None) => return Ok(()),
                Ok(Some(status)) => said = status,
                Err(error) => {
                    self.0 = None;
                    said = error.to_string();
                }
            }
        }
        Err(Error::new(format!("http://{host}/{name}, asked for {TRIES} times: {said}")))
    }

    /// Asks once. Gives the status of an answer that is not the object.
    fn ask(&mut self, host: &str, request: &str, room: &mut [u8]) -> io::Result<Option<String>> {
        let input = match &mut self.0 {
            Some(input) => input,
            none => {
                let stream = TcpStream::connect(host)?;
                stream.set_nodelay(true)?;
                none.insert(BufReader::new(stream))
            }
        };
        input.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length) = (String::new(), 0);
        input.read_line(&mut status)?;
        loop {
            let mut line = String::new();
            input.read_line(&mut line)?;
            let Some((key, value)) = line.split_once(':') else { break };
            if key.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(|_| io::Error::other("a length that is none"))?;
            }
        }
        if !matches!(status.split(' ').nth(1), Some("200" | "206")) {
            io::copy(&mut input.take(length), &mut io::sink())?;
            return Ok(Some(status.trim().to_owned()));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > room.len() {
            return Err(io::Error::other(format!("{length} bytes, and an element has {}", room.len())));
        }
        let (image, rest) = room.split_at_mut(length);
        input.read_exact(image)?;
        rest.fill(0);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::{Cache, DataSpec, ObjectStore, StoreTerms};

    use super::*;
    use crate::workload::StoreAddress;

    #[test]
    fn elements_come_from_the_store_over_as_many_connections_as_are_asked_for_and_failures_are_tried_again() {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path()).open(&DataSpec::photographs(4)).unwrap());
        for access in [Access::StoredFiles, Access::StoredTar] {
            let store =
                ObjectStore::serve(&data, StoreTerms { failing: 3, ..StoreTerms::default() }).unwrap();
            let address = StoreAddress { url: store.url(), in_flight: 2 };
            let spec = PipelineSpec::new(DataSpec::photographs(4), 4).access(access).in_store(address);
            let mut reader = StoreReader::open(&spec, &data).unwrap();
            let row = data.rows(0, 0..1).len();
            let mut rows = vec![7; 4 * row];
            reader.read(0..4, rows.chunks_exact_mut(row)).unwrap();
            assert!(rows == data.rows(0, 0..4));
            let counts = store.counts();
            assert_eq!((counts.requests - counts.failed, counts.failed), (4, 1));
            assert!(counts.connections <= 2);
        }
    }

    #[test]
    fn a_store_that_goes_on_failing_is_an_error_that_names_the_object() {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path()).open(&DataSpec::photographs(1)).unwrap());
        let store = ObjectStore::serve(&data, StoreTerms { failing: 1, ..StoreTerms::default() }).unwrap();
        let address = StoreAddress { url: store.url(), in_flight: 1 };
        let spec = PipelineSpec::new(DataSpec::photographs(1), 1).access(Access::StoredFiles);
        let nowhere = StoreReader::open(&spec, &data).unwrap_err().to_string();
        assert!(nowhere.contains("names none"), "{nowhere}");
        let mut reader = StoreReader::open(&spec.in_store(address), &data).unwrap();
        let mut room = vec![0; data.rows(0, 0..1).len()];
        let row = room.len();
        let said = reader.read(0..1, room.chunks_exact_mut(row)).unwrap_err().to_string();
        assert!(said.contains("000000000.jpg") && said.contains("503"), "{said}");
    }
}
