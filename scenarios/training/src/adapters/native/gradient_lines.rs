//! How ranks in several processes come by each other's gradients: those of all go to the process of the first
//! rank, and from there to all.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use ndarray::Array2;
use weighbridge::{Error, ErrorKind, Result};
use weighbridge_data::ranks::LaunchPlace;

use crate::network::{Gradients, Real};

/// The connections of a process to those that it exchanges gradients with: the first one has them to all
/// others, in the order of their ranks, and any other one to the first.
#[derive(Debug)]
pub(crate) struct GradientLines {
    lines: Vec<TcpStream>,
    is_first: bool,
    /// Ranks of each process, and of all.
    here: usize,
    of: usize,
}

/// Between two looks for a process that has still to come.
const PAUSE: Duration = Duration::from_millis(1);

impl GradientLines {
    /// Meets the other processes at the place of the launch.
    ///
    /// # Errors
    /// The processes that do not come in time.
    pub(super) fn meet(place: LaunchPlace, of: usize, patience: Duration) -> Result<Self> {
        let LaunchPlace { first, here, meet, .. } = place;
        let is_first = first == 0;
        let failed = |error: io::Error| {
            Error::of(ErrorKind::Ranks, format!("ranks from {first} on cannot exchange gradients: {error}"))
        };
        let lines = match is_first {
            true => hear(meet, here, of, patience),
            false => come(meet, first, patience).map(|line| vec![line]),
        };
        let lines = lines.map_err(failed)?;
        for line in &lines {
            let set_up = line.set_nodelay(true).and_then(|()| line.set_read_timeout(Some(patience)));
            set_up.and_then(|()| line.set_write_timeout(Some(patience))).map_err(failed)?;
        }
        Ok(Self { lines, is_first, here, of })
    }

    /// The gradients of all ranks in their order, from those of this process's own.
    ///
    /// # Errors
    /// A process that has left, or does not come in time.
    pub(super) fn all<T: Real>(&mut self, own: Vec<Gradients<T>>) -> Result<Vec<Gradients<T>>> {
        let shapes: Vec<(usize, usize)> = own[0].iter().map(ndarray::ArrayBase::dim).collect();
        let each = T::SIZE * shapes.iter().map(|(rows, columns)| rows * columns).sum::<usize>();
        let mut bytes = Vec::with_capacity(self.of * each);
        own.iter().flatten().flatten().for_each(|number| number.write(&mut bytes));
        self.gather(&mut bytes, each).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it did not come in time".to_owned(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => "it has left".to_owned(),
                _ => error.to_string(),
            };
            Error::of(ErrorKind::Ranks, format!("another process is waited for in the exchange: {why}"))
        })?;
        Ok(bytes.chunks_exact(each.max(1)).map(|of_rank| read(of_rank, &shapes)).collect())
    }

    /// Puts the bytes of all ranks in the place of this process's own.
    fn gather(&mut self, bytes: &mut Vec<u8>, each: usize) -> io::Result<()> {
        let own = self.here * each;
        if !self.is_first {
            let [line] = &mut self.lines[..] else { return Err(io::ErrorKind::NotConnected.into()) };
            line.write_all(bytes)?;
            bytes.resize(self.of * each, 0);
            return line.read_exact(bytes);
        }
        bytes.resize(self.of * each, 0);
        for (line, others) in self.lines.iter_mut().zip(bytes[own..].chunks_exact_mut(own)) {
            line.read_exact(others)?;
        }
        self.lines.iter_mut().try_for_each(|line| line.write_all(bytes))
    }
}

/// The numbers of a rank, parameter by parameter.
fn read<T: Real>(bytes: &[u8], shapes: &[(usize, usize)]) -> Gradients<T> {
    let mut numbers = bytes.chunks_exact(T::SIZE).filter_map(T::read);
    let mut next = || numbers.next().unwrap_or(T::zero());
    let one = |shape: &(usize, usize)| Array2::from_shape_fn(*shape, |_| next());
    shapes.iter().map(one).collect()
}

/// Lets all other processes come: each says which rank is its first.
fn hear(meet: SocketAddr, here: usize, of: usize, patience: Duration) -> io::Result<Vec<TcpStream>> {
    let at = if meet.ip().is_loopback() { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    let listener = TcpListener::bind((at, meet.port()))?;
    listener.set_nonblocking(true)?;
    let mut came: Vec<Option<TcpStream>> = (1..of / here).map(|_| None).collect();
    let begun = Instant::now();
    while let Some(missing) = came.iter().position(Option::is_none) {
        match listener.accept() {
            Ok((mut line, _)) => {
                line.set_nonblocking(false)?;
                line.set_read_timeout(Some(patience))?;
                let mut first = [0; 8];
                line.read_exact(&mut first)?;
                let place = (u64::from_le_bytes(first) as usize / here).checked_sub(1);
                if let Some(seat) = place.and_then(|place| came.get_mut(place)) {
                    *seat = Some(line);
                }
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if begun.elapsed() >= patience => {
                return Err(io::Error::other(format!("rank {} did not come", (missing + 1) * here)));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
    Ok(came.into_iter().flatten().collect())
}

/// Comes to the first process, which may not listen yet.
fn come(meet: SocketAddr, first: usize, patience: Duration) -> io::Result<TcpStream> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect_timeout(&meet, patience) {
            Ok(mut line) => {
                line.write_all(&(first as u64).to_le_bytes())?;
                return Ok(line);
            }
            Err(error) if begun.elapsed() >= patience => return Err(error),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
