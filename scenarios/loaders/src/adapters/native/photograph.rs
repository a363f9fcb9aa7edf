//! `DecodeResizedCrop`: a JPEG file to a window of its picture, by `zune-jpeg`.

use weighbridge::{Error, Result};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::chain::ElementBlock;
use super::elements::{Resizer, Size, random_window};
use crate::workload::{Touch, Transform};

/// The step, before all others of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decode {
    position: u64,
    /// Bytes of an element in the data set.
    from: usize,
}

/// Room for it.
#[derive(Debug, Default)]
pub(super) struct Darkroom {
    resizer: Resizer,
    picture: Vec<u8>,
    crops: Vec<u8>,
}

const CROP: Size = Size { rows: Transform::CROP, columns: Transform::CROP, channels: 3 };

impl Decode {
    /// The step of a line that begins with it, and the touches that follow.
    pub(super) fn split(touches: &[Touch]) -> (Option<Self>, &[Touch]) {
        match touches {
            [first, rest @ ..] if first.transform == Transform::DecodeResizedCrop => {
                (Some(Self { position: first.position as u64, from: first.before.shape[0] }), rest)
            }
            _ => (None, touches),
        }
    }

    /// The windows of a block of elements, one after the other.
    ///
    /// # Panics
    /// When a file is none: the suite has made it, and its digest was verified.
    pub(super) fn run<'a>(self, block: ElementBlock<'_>, files: &[u8], room: &'a mut Darkroom) -> &'a [u8] {
        let elements = files.len() / self.from;
        room.crops.resize(elements * CROP.numbers(), 0);
        let crops = room.crops.chunks_exact_mut(CROP.numbers());
        for (index, (file, crop)) in files.chunks_exact(self.from).zip(crops).enumerate() {
            let size = decode(file, &mut room.picture).unwrap_or_else(|why| panic!("element {index}: {why}"));
            let draw = block.draws.at(block.index(index) as u64, self.position);
            let window = random_window(size, draw);
            room.resizer.colours::<u8>(&room.picture, size.columns, window, crop, CROP);
        }
        &room.crops
    }
}

/// Decodes a file, whatever follows its end.
fn decode(file: &[u8], picture: &mut Vec<u8>) -> Result<Size> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    let bad = |why: &dyn std::fmt::Display| Error::new(format!("it is no JPEG image: {why}"));
    decoder.decode_headers().map_err(|why| bad(&why))?;
    let (columns, rows) = decoder.dimensions().ok_or_else(|| bad(&"it has no size"))?;
    let size = Size { rows, columns, channels: 3 };
    picture.resize(size.numbers(), 0);
    decoder.decode_into(picture).map_err(|why| bad(&why))?;
    Ok(size)
}

#[cfg(test)]
mod tests {
    use weighbridge_data::{Cache, DataSpec};

    use super::*;

    #[test]
    fn a_photograph_is_decoded_whatever_follows_its_end_and_what_is_none_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let data = Cache::at(place.path()).open(&DataSpec::photographs(2)).unwrap();
        let mut picture = Vec::new();
        let size = decode(data.rows(0, 1..2), &mut picture).unwrap();
        assert_eq!([size.rows, size.columns, size.channels], Transform::PHOTOGRAPH);
        let mean = picture.iter().map(|&x| f64::from(x)).sum::<f64>() / picture.len() as f64;
        assert!((60.0..160.0).contains(&mean), "{mean}");
        let said = decode(&[0; 100], &mut picture).unwrap_err().to_string();
        assert!(said.starts_with("it is no JPEG image"), "{said}");
    }
}
