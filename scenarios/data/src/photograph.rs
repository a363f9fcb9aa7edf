//! Photographs that the suite makes: pictures of a scene, of the size of `ImageNet`'s, as JPEG files of
//! 4:2:0.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};

use super::scene::Scene;

/// The shape of a photograph: rows, columns, channels.
pub const SHAPE: [usize; 3] = [375, 500, 3];

/// Bytes of an element: no photograph takes more.
pub const ROOM: usize = 96 << 10;

/// The quality that a photograph is encoded with, and how much lower each further try is where it takes more
/// than [`ROOM`].
const QUALITY: [u8; 4] = [85, 75, 60, 40];

/// Draws photographs, byte after byte.
pub(super) struct Photographs {
    scene: Scene,
    picture: Vec<u8>,
    row: Vec<u8>,
    /// The number of bytes of the row that were given out.
    at: usize,
}

impl Photographs {
    pub(super) fn new(seed: u64) -> Self {
        let numbers = SHAPE.iter().product();
        let scene = Scene::new(seed, SHAPE).smooth();
        Self { scene, picture: vec![0; numbers], row: vec![0; ROOM], at: ROOM }
    }

    /// Fills `bytes` with the next ones.
    pub(super) fn fill(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            if self.at == ROOM {
                self.encode();
            }
            let count = bytes.len().min(ROOM - self.at);
            let (now, later) = bytes.split_at_mut(count);
            now.copy_from_slice(&self.row[self.at..][..count]);
            (bytes, self.at) = (later, self.at + count);
        }
    }

    /// The next photograph.
    fn encode(&mut self) {
        self.scene.fill(&mut self.picture);
        let encoded = QUALITY.into_iter().map(|quality| encoded(&self.picture, quality));
        let fits = encoded.into_iter().find(|file| file.len() <= ROOM).expect("the lowest quality fits");
        self.row.fill(0);
        self.row[..fits.len()].copy_from_slice(&fits);
        self.at = 0;
    }
}

fn encoded(picture: &[u8], quality: u8) -> Vec<u8> {
    let [rows, columns, _] = SHAPE.map(|side| side as u16);
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, quality);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    encoder.encode(picture, columns, rows, ColorType::Rgb).expect("a vector takes all that is written");
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_photograph_is_a_jpeg_file_with_zeros_behind_its_end_and_any_cut_is_the_same() {
        let mut whole = vec![0; 2 * ROOM];
        Photographs::new(42).fill(&mut whole);
        let mut pieces = vec![0; 2 * ROOM];
        let mut photographs = Photographs::new(42);
        for piece in pieces.chunks_mut(10_007) {
            photographs.fill(piece);
        }
        assert!(whole == pieces);
        for row in whole.chunks(ROOM) {
            let end = row.iter().rposition(|&byte| byte != 0).expect("it is not empty");
            assert_eq!((&row[..3], &row[end - 1..=end]), (&[0xff, 0xd8, 0xff][..], &[0xff, 0xd9][..]));
            assert!(
                (20_000..ROOM).contains(&end),
                "{end} bytes: a photograph of this size takes 30 to 90 KB"
            );
        }
        assert_ne!(whole[..ROOM], whole[ROOM..]);
    }
}
