//! What compresses pieces of a state, and puts them back.

#[cfg(not(feature = "zstd"))]
pub(super) use absent::{AbsentPacker as Packer, AbsentUnpacker as Unpacker};
#[cfg(feature = "zstd")]
pub(super) use by_zstd::{Packer, Unpacker};

#[cfg(feature = "zstd")]
mod by_zstd {
    use std::io;

    use zstd::bulk::{Compressor, Decompressor};
    use zstd::zstd_safe::compress_bound;

    /// Orbax's own.
    const LEVEL: i32 = 1;

    /// Compresses, one piece after the other.
    pub(in super::super) struct Packer {
        zstd: Compressor<'static>,
        packed: Vec<u8>,
    }

    impl Packer {
        /// One that has compressed nothing yet.
        ///
        /// # Errors
        /// When there is no memory for it.
        pub(in super::super) fn new() -> io::Result<Self> {
            Ok(Self { zstd: Compressor::new(LEVEL)?, packed: Vec::new() })
        }

        /// A piece, compressed.
        pub(in super::super) fn pack(&mut self, piece: &[u8]) -> io::Result<&[u8]> {
            self.packed.clear();
            self.packed.reserve(compress_bound(piece.len()));
            self.zstd.compress_to_buffer(piece, &mut self.packed)?;
            Ok(&self.packed)
        }
    }

    /// Puts pieces back, one after the other.
    pub(in super::super) struct Unpacker {
        zstd: Decompressor<'static>,
        packed: Vec<u8>,
    }

    impl Unpacker {
        /// One that has put back nothing yet.
        ///
        /// # Errors
        /// When there is no memory for it.
        pub(in super::super) fn new() -> io::Result<Self> {
            Ok(Self { zstd: Decompressor::new()?, packed: Vec::new() })
        }

        /// Room for so many compressed bytes of a piece; `None` if that piece cannot have as many.
        pub(in super::super) fn room(&mut self, bytes: usize, piece: usize) -> Option<&mut [u8]> {
            (bytes <= compress_bound(piece)).then(|| {
                self.packed.resize(bytes, 0);
                &mut self.packed[..]
            })
        }

        /// Puts what is in the room in the place of its piece; whether it is one of that length.
        pub(in super::super) fn unpack(&mut self, place: &mut [u8]) -> bool {
            self.zstd.decompress_to_buffer(&self.packed, place).is_ok_and(|bytes| bytes == place.len())
        }
    }
}

/// A build without zstd has neither.
#[cfg(not(feature = "zstd"))]
mod absent {
    use std::io;

    fn missing() -> io::Error {
        let what = "zstd: this build is without the feature `zstd`: `cargo bench --features zstd`";
        io::Error::new(io::ErrorKind::Unsupported, what)
    }

    pub(in super::super) enum AbsentPacker {}

    impl AbsentPacker {
        pub(in super::super) fn new() -> io::Result<Self> {
            Err(missing())
        }

        pub(in super::super) fn pack(&mut self, _: &[u8]) -> io::Result<&[u8]> {
            match *self {}
        }
    }

    pub(in super::super) enum AbsentUnpacker {}

    impl AbsentUnpacker {
        pub(in super::super) fn new() -> io::Result<Self> {
            Err(missing())
        }

        pub(in super::super) fn room(&mut self, _: usize, _: usize) -> Option<&mut [u8]> {
            match *self {}
        }

        pub(in super::super) fn unpack(&mut self, _: &mut [u8]) -> bool {
            match *self {}
        }
    }
}
