//! Pictures of a scene: `u8` images with what photographs have and noise has not. Numbers drawn one by one
//! look the same when they are mirrored, cropped or taken from the nearest neighbour; these do not, so a step
//! that is left out shows in them.
//!
//! Number `k` of the pixel in row `i`, column `j` of an image of `h` x `w` is, in whole numbers and limited
//! to 0 to 255, a colour of the image, brighter to the right and to the top, with patches that have edges,
//! and grain:
//!
//! ```text
//! draw(n)  = bits of `mix(mix(seed + (element + 1) * G) + (n + 1) * G)`
//! part(n, m) = (draw(n) >> 32) * m >> 32
//! colour_k = 70 + part(k, 70)
//! across   = 40 + part(8, 60), down = 20 + part(9, 40), patch = 30 + part(10, 60), grain = 8 + part(11, 24)
//! b        = max(2, min(h, w) / 14): the side of a patch
//! p        = draw of the patch (i / b, j / b): 8 bits less 128, times `patch`, / 128, halved in the
//!            last channel
//! n        = draw of the pixel: 8 bits of its byte `k` less 128, times `grain`, / 128
//! value    = colour_k + across * (2j - w + 1) / 2w - down * (2i - h + 1) / 2h + p + n
//! ```
//!
//! `mix` is that of `scenarios/docs/transforms.md`, `G` its constant; quotients are rounded towards zero.

/// Draws pictures, byte after byte.
pub(super) struct Scene {
    seed: u64,
    rows: u64,
    columns: u64,
    channels: u64,
    /// The number of the next byte over all pictures.
    at: u64,
    /// The divisor of grain.
    finer: i64,
    look: SceneLook,
}

/// The random draws of one picture.
#[derive(Clone, Copy, Default)]
struct SceneLook {
    key: u64,
    colours: [i64; CHANNELS],
    across: i64,
    down: i64,
    patch: i64,
    grain: i64,
}

/// The most channels of a picture.
pub(super) const CHANNELS: usize = 4;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Scene {
    /// Pictures of this shape: rows, columns, channels; at most [`CHANNELS`] of those.
    pub(super) fn new(seed: u64, shape: [usize; 3]) -> Self {
        let [rows, columns, channels] = shape.map(|side| side as u64);
        let mut scene = Self { seed, rows, columns, channels, at: 0, finer: 1, look: SceneLook::default() };
        scene.look = scene.look_of(0);
        scene
    }

    /// The same pictures with half of the grain, as photographs have it.
    pub(super) fn smooth(self) -> Self {
        Self { finer: 2, ..self }
    }

    /// Fills `bytes` with the next ones.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        let line = self.columns * self.channels;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (row, within) = (self.at / line, self.at % line);
            let (element, i) = (row / self.rows, row % self.rows);
            if i == 0 && within == 0 {
                self.look = self.look_of(element);
            }
            let (piece, after) = rest.split_at_mut(rest.len().min((line - within) as usize));
            self.line(i, within, piece);
            self.at += piece.len() as u64;
            rest = after;
        }
    }

    fn look_of(&self, element: u64) -> SceneLook {
        let key = mix(self.seed.wrapping_add((element + 1).wrapping_mul(GOLDEN)));
        let part = |n: u64, of: u64| (((draw(key, n) >> 32) * of) >> 32).cast_signed();
        SceneLook {
            key,
            colours: [0, 1, 2, 3].map(|channel| 70 + part(channel, 70)),
            across: 40 + part(8, 60),
            down: 20 + part(9, 40),
            patch: 30 + part(10, 60),
            grain: 8 + part(11, 24),
        }
    }

    /// A piece of row `i`, from this byte of the row on.
    fn line(&self, i: u64, within: u64, piece: &mut [u8]) {
        let SceneLook { key, colours, across, down, patch, grain } = self.look;
        let (h, w) = (self.rows.cast_signed(), self.columns.cast_signed());
        let side = (self.rows.min(self.columns) / 14).max(2);
        let height = down * (2 * i.cast_signed() - h + 1) / (2 * h);
        let byte = |word: u64, channel: u64| ((word >> (8 * channel)) & 0xff).cast_signed() - 128;
        let (mut column, mut channel) = (within / self.channels, within % self.channels);
        let pixel_of = |column: u64| draw(key, (1 << 40) + i * self.columns + column);
        let patch_of = |column: u64| draw(key, (1 << 20) + ((i / side) << 10) + column / side);
        let (mut noise, mut tone) = (pixel_of(column), patch_of(column));
        for value in piece {
            let width = across * (2 * column.cast_signed() - w + 1) / (2 * w);
            let last = 1 + i64::from(channel + 1 == self.channels && channel > 0);
            let patched = byte(tone, 0) * patch / 128 / last;
            let grained = byte(noise, channel) * grain / (128 * self.finer);
            let whole = colours[channel as usize] + width - height + patched + grained;
            *value = whole.clamp(0, 255) as u8;
            channel += 1;
            if channel == self.channels {
                (column, channel) = (column + 1, 0);
                noise = pixel_of(column);
                if column % side == 0 {
                    tone = patch_of(column);
                }
            }
        }
    }
}

fn draw(key: u64, n: u64) -> u64 {
    mix(key.wrapping_add((n + 1).wrapping_mul(GOLDEN)))
}

fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(shape: [usize; 3], pieces: &[usize]) -> Vec<u8> {
        let mut scene = Scene::new(42, shape);
        let mut bytes = vec![0; pieces.iter().sum()];
        let mut rest = &mut bytes[..];
        for &piece in pieces {
            let (now, after) = rest.split_at_mut(piece);
            scene.fill(now);
            rest = after;
        }
        bytes
    }

    #[test]
    fn pieces_make_up_the_same_pictures_as_one_draw() {
        let whole = picture([6, 5, 3], &[270]);
        assert_eq!(whole, picture([6, 5, 3], &[1, 88, 3, 90, 88]));
        assert_ne!(whole[..90], whole[90..180], "each picture has a look of its own");
    }

    #[test]
    fn a_picture_is_brighter_to_the_right_and_to_the_top_and_has_edges_and_grain() {
        let (side, count) = (32, 50);
        let bytes = picture([side, side, 3], &[side * side * 3 * count]);
        let mean = |wanted: &dyn Fn(usize, usize) -> bool| {
            let chosen = bytes.iter().enumerate().filter(|(at, _)| wanted(at / 96 % 32, at / 3 % 32));
            let (sum, all) =
                chosen.fold((0.0, 0.0), |(sum, all), (_, &byte)| (sum + f64::from(byte), all + 1.0));
            sum / all
        };
        assert!(mean(&|_, j| j >= 16) > mean(&|_, j| j < 16) + 20.0);
        assert!(mean(&|i, _| i < 16) > mean(&|i, _| i >= 16) + 10.0);
        let clipped = bytes.iter().filter(|&&byte| byte == 0 || byte == 255).count();
        assert!(clipped * 50 < bytes.len(), "{clipped} of {} numbers are at an end", bytes.len());
    }
}
