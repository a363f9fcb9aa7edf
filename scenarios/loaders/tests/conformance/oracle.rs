//! `scenarios/docs/transforms.md`, written a second time: slow, obvious, from the page alone.
//! It shares nothing with the loaders.
#![expect(
    clippy::many_single_char_names,
    clippy::approx_constant,
    clippy::excessive_precision,
    reason = "the names and the digits of the page"
)]

use weighbridge::{Dtype, FieldKind};
use weighbridge_data::DataSet;
use weighbridge_loaders::workload::{PipelineSpec, Transform};

/// One field of one element: its numbers as `f64`, which holds every `f32` and every small whole number.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) kind: FieldKind,
    source: usize,
    numbers: Vec<f64>,
}

impl Field {
    /// The bytes of the first numbers, as they are delivered.
    pub(crate) fn bytes(&self, numbers: usize) -> Vec<u8> {
        let bytes = |x: &f64| match self.kind.dtype {
            Dtype::U8 => vec![*x as u8],
            Dtype::I32 => (*x as i32).to_le_bytes().to_vec(),
            Dtype::I64 => (*x as i64).to_le_bytes().to_vec(),
            _ => (*x as f32).to_le_bytes().to_vec(),
        };
        self.numbers.iter().take(numbers).flat_map(bytes).collect()
    }

    fn is(&self, dtypes: &[Dtype]) -> bool {
        dtypes.contains(&self.kind.dtype)
    }

    /// Height, width, channels.
    fn image(&self) -> Option<(usize, usize, usize)> {
        match self.kind.shape[..] {
            [h, w, c] => Some((h, w, c)),
            _ => None,
        }
    }

    fn colours(&self) -> Option<(usize, usize, usize)> {
        self.image().filter(|_| self.is(&[Dtype::U8, Dtype::F32]))
    }

    fn top(&self) -> f32 {
        if self.kind.dtype == Dtype::U8 { 255.0 } else { 1.0 }
    }

    fn at(&self, i: usize, j: usize, k: usize) -> f32 {
        let (_, w, c) = self.image().unwrap();
        self.numbers[(i * w + j) * c + k] as f32
    }

    /// Every number from its place (row, column, channel), to be rounded as the field's type asks.
    fn paint(&self, value: impl Fn(usize, usize, usize) -> f32) -> Vec<f64> {
        let (h, w, c) = self.image().unwrap();
        let mut all = Vec::new();
        for i in 0..h {
            for j in 0..w {
                for k in 0..c {
                    let x = value(i, j, k);
                    all.push(match self.kind.dtype {
                        Dtype::U8 => f64::from(x).clamp(0.0, 255.0).round_ties_even(),
                        _ => f64::from(x),
                    });
                }
            }
        }
        all
    }

    /// Pixels taken from elsewhere, whatever the type; `None` is zero.
    fn gather(&mut self, from: impl Fn(usize, usize) -> Option<(usize, usize)>) {
        let (h, w, c) = self.image().unwrap();
        let before = self.numbers.clone();
        for i in 0..h {
            for j in 0..w {
                for k in 0..c {
                    self.numbers[(i * w + j) * c + k] =
                        from(i, j).map_or(0.0, |(row, column)| before[(row * w + column) * c + k]);
                }
            }
        }
    }
}

/// The draws of one address.
pub(crate) struct Address(u64);

impl Address {
    pub(crate) fn new(seed: u64, epoch: u64, element: u64, position: u64) -> Self {
        Self(split(split(split(seed, epoch), element), position))
    }

    pub(crate) fn bits(&self, n: u64) -> u64 {
        split(self.0, n)
    }

    pub(crate) fn below(&self, n: u64, m: usize) -> usize {
        ((u128::from(self.bits(n)) * m as u128) >> 64) as usize
    }

    pub(crate) fn unit(&self, n: u64) -> f64 {
        (self.bits(n) >> 11) as f64 * 2.0_f64.powi(-53)
    }

    fn between(&self, n: u64, a: f64, b: f64) -> f64 {
        a + (b - a) * self.unit(n)
    }

    fn coin(&self, n: u64) -> bool {
        self.bits(n) >= 1 << 63
    }

    fn normal(&self, j: u64) -> f32 {
        let b = self.bits(j / 2);
        let k = if j.is_multiple_of(2) { b >> 40 } else { (b >> 16) % (1 << 24) };
        let x = ((2 * k + 1) as f64 / 16_777_216.0 - 1.0) as f32;
        let w = -ln((1.0 - x) * (1.0 + x));
        let polynomial = |constants: [f64; 9], w: f32| {
            let mut p = constants[0] as f32;
            for c in &constants[1..] {
                p *= w;
                p += *c as f32;
            }
            p
        };
        let p = if w < 5.0 {
            let constants = [
                2.810_226_36e-8,
                3.432_739_39e-7,
                -3.523_387_7e-6,
                -4.391_506_54e-6,
                0.000_218_580_87,
                -0.001_253_725_03,
                -0.004_177_681_64,
                0.246_640_727,
                1.501_409_41,
            ];
            polynomial(constants, w - 2.5)
        } else {
            let constants = [
                -0.000_200_214_257,
                0.000_100_950_558,
                0.001_349_343_22,
                -0.003_673_428_44,
                0.005_739_507_73,
                -0.007_622_461_3,
                0.009_438_870_47,
                1.001_674_06,
                2.832_976_82,
            ];
            polynomial(constants, w.sqrt() - 3.0)
        };
        (p * x) * (2.0_f64.sqrt() as f32)
    }
}

fn split(s: u64, i: u64) -> u64 {
    let wide = |a: u64, b: u64| (u128::from(a) * u128::from(b)) as u64;
    let z = s.wrapping_add(wide(i.wrapping_add(1), 0x9e37_79b9_7f4a_7c15));
    let z = wide(z ^ (z >> 30), 0xbf58_476d_1ce4_e5b9);
    let z = wide(z ^ (z >> 27), 0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) fn exp(z: f64) -> f64 {
    let y = z / 1024.0;
    let mut p = 1.0;
    let mut k = 13.0;
    while k > 0.0 {
        p *= y;
        p /= k;
        p += 1.0;
        k -= 1.0;
    }
    (0..10).fold(p, |p, _| p * p)
}

/// `v = m * 2^e` with `m` from `[least, 2 * least)`.
fn parts(v: f64, least: f64) -> (f64, i32) {
    let (mut m, mut e) = (v, 0);
    while m < least {
        m *= 2.0;
        e -= 1;
    }
    while m >= 2.0 * least {
        m /= 2.0;
        e += 1;
    }
    (m, e)
}

pub(crate) fn ln64(v: f64) -> f64 {
    let (m, e) = parts(v, f64::from_bits(0x3fe6_a09e_667f_3bcd));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 23.0;
    for k in [21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        p *= z;
        p += 1.0 / k;
    }
    let s = 2.0 * s * p;
    f64::from(e) * 0.693_147_180_559_945_3 + s
}

fn ln(v: f32) -> f32 {
    let (m, e) = parts(f64::from(v), f64::from(f32::from_bits(0x3f35_04f3)));
    let t = m as f32 - 1.0;
    let z = t * t;
    let mut p = 7.037_683_629_2e-2_f64 as f32;
    let constants = [
        -1.151_461_031_0e-1,
        1.167_699_874_0e-1,
        -1.242_014_084_6e-1,
        1.424_932_278_7e-1,
        -1.666_805_766_5e-1,
        2.000_071_476_5e-1,
        -2.499_999_399_3e-1,
        3.333_333_117_4e-1_f64,
    ];
    for c in constants {
        p *= t;
        p += c as f32;
    }
    let e = e as f32;
    let mut y = p * t;
    y *= z;
    let low = e * (-2.121_944_40e-4_f64 as f32);
    y += low;
    let half = 0.5 * z;
    y -= half;
    let sum = t + y;
    sum + e * 0.693_359_375_f64 as f32
}

fn sincos(x: f32) -> f32 {
    let f = |x: f64| x as f32;
    let y = x * f(0.636_619_772_367_581_4) + 12_582_912.0;
    let (q, k) = (y.to_bits(), y - 12_582_912.0);
    let r =
        ((x - k * 1.570_312_5) - k * f(4.837_512_969_970_703_125e-4)) - k * f(7.549_789_954_891_882_16e-8);
    let z = r * r;
    let s = (((f(-1.951_529_589_1e-4) * z + f(8.332_160_873_6e-3)) * z - f(1.666_665_461_1e-1)) * z) * r + r;
    let c = ((f(2.443_315_711_809_948e-5) * z - f(1.388_731_625_493_765e-3)) * z
        + f(4.166_664_568_298_827e-2))
        * z;
    let c = (c * z - 0.5 * z) + 1.0;
    match q % 4 {
        0 => c + s,
        1 => c - s,
        2 => -(c + s),
        _ => -(c - s),
    }
}

/// One element as the page has it: all delivered fields of a pipeline without branches. Rows that are padded
/// dynamically keep their full length, with zeros.
pub(crate) fn oracle(spec: &PipelineSpec, data: &DataSet, element: usize, epoch: u64) -> Vec<Field> {
    let mut fields: Vec<Field> =
        (0..spec.source.fields.len()).map(|field| read(spec, data, field, element)).collect();
    let length = fields.iter().find(|field| field.kind.name == "length").map(|field| field.numbers[0]);
    for (position, transform) in spec.transforms.iter().enumerate() {
        let address = |position: usize| Address::new(spec.seed, epoch, element as u64, position as u64);
        if let Some(gate) = spec.structure.gates.iter().find(|gate| gate.position == position) {
            let drawn = address(gate.decided_at).unit(1 << 32);
            if drawn < gate.from || drawn >= gate.below {
                continue;
            }
        }
        let mut added = Vec::new();
        for field in &mut fields {
            added.extend(step(*transform, field, spec, data, &address(position), length));
        }
        fields.extend(added);
    }
    fields
}

fn read(spec: &PipelineSpec, data: &DataSet, field: usize, element: usize) -> Field {
    let kind = spec.source.fields[field].kind.clone();
    let number = |bytes: &[u8]| match kind.dtype {
        Dtype::U8 => f64::from(bytes[0]),
        Dtype::I32 => f64::from(i32::from_le_bytes(bytes.try_into().unwrap())),
        Dtype::I64 => i64::from_le_bytes(bytes.try_into().unwrap()) as f64, // small ones here
        Dtype::F32 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
        Dtype::F64 | Dtype::BF16 => unreachable!("states alone have them"),
    };
    let bytes = data.rows(field, element..element + 1);
    Field { source: field, numbers: bytes.chunks(kind.dtype.size()).map(number).collect(), kind }
}

/// Does one transform to one field, and gives the field that it adds.
fn step(
    transform: Transform,
    field: &mut Field,
    spec: &PipelineSpec,
    data: &DataSet,
    draw: &Address,
    length: Option<f64>,
) -> Option<Field> {
    let source = &spec.source.fields[field.source].kind;
    let is_float = field.is(&[Dtype::F32]);
    let is_tokens = field.is(&[Dtype::I32, Dtype::I64]) && field.kind.shape.len() == 1;
    let mut each = |f: &dyn Fn(usize, f32) -> f32| {
        for (index, number) in field.numbers.iter_mut().enumerate() {
            *number = f64::from(f(index, *number as f32));
        }
    };
    match transform {
        Transform::Normalize if source.dtype == Dtype::U8 => {
            each(&|_, x| x / 255.0);
            field.kind.dtype = Dtype::F32;
        }
        Transform::Normalize if source.dtype == Dtype::F32 => {
            let constants = data.normalisation(field.source).unwrap();
            let last = constants.mean.len();
            each(&|index, x| x - constants.mean[index % last]);
            each(&|index, x| x * constants.scale[index % last]);
        }
        Transform::CastToFloat32 => field.kind.dtype = Dtype::F32, // the numbers here are small: exact in f32
        Transform::Scale if is_float => each(&|_, x| x * 2.0),
        Transform::Clip if is_float => each(&|_, x| match x {
            _ if x < 0.0 => 0.0,
            _ if x > 1.0 => 1.0,
            _ => x,
        }),
        Transform::Add | Transform::CheapTransform if is_float => each(&|_, x| x + 0.1),
        Transform::Multiply if is_float => each(&|_, x| x * 0.9),
        Transform::LogTransform if is_float => each(&|_, x| {
            let (a, u) = (x.abs(), 1.0 + x.abs());
            if u - 1.0 == 0.0 { a } else { ln(u) * a / (u - 1.0) }
        }),
        Transform::ExpensiveTransform if is_float => each(&|_, x| {
            let mut x = x;
            for _ in 0..8 {
                x = sincos(x);
            }
            x
        }),
        Transform::GaussianNoise if is_float => each(&|j, x| {
            let noise = 0.05 * draw.normal(j as u64);
            x + noise
        }),
        Transform::RandomBrightness if is_float => {
            let b = draw.between(0, -0.2, 0.2) as f32;
            each(&|_, x| x + b);
        }
        Transform::RandomScale if is_float => {
            let s = draw.between(0, 0.8, 1.2) as f32;
            each(&|_, x| x * s);
        }
        Transform::RandomCrop => {
            let (h, w, _) = field.image()?;
            let (rows, columns) = (7 * h / 8, 7 * w / 8);
            let (top, left) = (draw.below(0, h - rows + 1), draw.below(1, w - columns + 1));
            field.gather(|i, j| (i < rows && j < columns).then_some((top + i, left + j)));
        }
        Transform::RandomFlip => {
            let (_, w, _) = field.image()?;
            if draw.coin(0) {
                field.gather(|i, j| Some((i, w - 1 - j)));
            }
        }
        Transform::AffineRotation => {
            let (h, _, _) = field.image()?;
            for _ in 0..draw.below(0, 4) {
                field.gather(|i, j| Some((j, h - 1 - i)));
            }
        }
        Transform::RandomResizedCrop => {
            let (h, w, _) = field.image()?;
            let (top, left, ch, cw) = window(draw, h, w);
            field.numbers = resized(field, (top, left, ch, cw), h, w);
        }
        Transform::MultiScaleResize => {
            let (h, w, c) = field.image()?;
            let mut half = field.clone();
            half.kind.shape = vec![h / 2, w / 2, c];
            half.numbers = resized(field, (0, 0, h, w), h / 2, w / 2);
            field.numbers = resized(&half, (0, 0, h / 2, w / 2), h, w);
        }
        Transform::ColorJitter => {
            field.colours().filter(|shape| shape.2 == 3)?;
            let top = field.top();
            let b = (draw.between(0, -0.4, 0.4) * f64::from(top)) as f32;
            let (c, s) = (draw.between(1, 0.6, 1.4) as f32, draw.between(2, 0.6, 1.4) as f32);
            let n = mean(field) + b;
            let y = |i, j, k| (((field.at(i, j, k) + b) - n) * c) + n;
            field.numbers = field.paint(|i, j, k| {
                let g = ((y(i, j, 0) + y(i, j, 1)) + y(i, j, 2)) / 3.0;
                ((y(i, j, k) - g) * s + g).clamp(0.0, top)
            });
        }
        Transform::RandomGrayscale => {
            field.colours().filter(|shape| shape.2 == 3)?;
            if draw.unit(0) < 0.2 {
                field.numbers = field
                    .paint(|i, j, _| ((field.at(i, j, 0) + field.at(i, j, 1)) + field.at(i, j, 2)) / 3.0);
            }
        }
        Transform::GaussianBlur => {
            let (h, w, _) = field.colours()?;
            let d = draw.between(0, 0.1, 2.0);
            let a = exp(-0.5 / (d * d));
            let b = (a * a) * (a * a);
            let n = 1.0 + 2.0 * (a + b);
            let k: Vec<f32> = [1.0, a, b].iter().map(|x| (x / n) as f32).collect();
            let edge = |i: usize, by: isize, end: usize| i.saturating_add_signed(by).min(end - 1);
            let along =
                |x: &dyn Fn(isize) -> f32| (k[0] * x(0) + k[1] * (x(-1) + x(1))) + k[2] * (x(-2) + x(2));
            field.numbers = field.paint(|i, j, c| {
                let row = |i: usize| along(&|by| field.at(i, edge(j, by, w), c));
                along(&|by| row(edge(i, by, h)))
            });
        }
        Transform::RandomSolarize => {
            field.colours()?;
            let (top, from) = if field.is(&[Dtype::U8]) { (255.0, 128.0) } else { (1.0, 0.5) };
            if draw.coin(0) {
                field.numbers = field.paint(|i, j, k| match field.at(i, j, k) {
                    x if x >= from => top - x,
                    x => x,
                });
            }
        }
        Transform::HashEmbeddingIndex if field.is(&[Dtype::I32, Dtype::I64]) => {
            field.numbers.iter_mut().for_each(|x| *x = x.abs() % 10_000.0);
        }
        Transform::DynamicPad if is_tokens => {
            let length = length.unwrap();
            for (index, number) in field.numbers.iter_mut().enumerate() {
                *number = if (index as f64) < length { *number } else { 0.0 };
            }
        }
        Transform::CreateAttentionMask if is_tokens => {
            let kind = FieldKind {
                name: "attention_mask".into(),
                dtype: Dtype::F32,
                shape: field.kind.shape.clone(),
            };
            let numbers = field.numbers.iter().map(|x| if *x == 0.0 { 0.0 } else { 1.0 }).collect();
            return Some(Field { kind, source: field.source, numbers });
        }
        Transform::CausalMaskGeneration if is_tokens => {
            let n = field.kind.shape[0];
            let kind = FieldKind { name: "causal_mask".into(), dtype: Dtype::F32, shape: vec![n, n] };
            let numbers = (0..n * n).map(|at| if at % n <= at / n { 1.0 } else { 0.0 }).collect();
            return Some(Field { kind, source: field.source, numbers });
        }
        _ => {} // untouched
    }
    None
}

fn mean(field: &Field) -> f32 {
    let count = field.numbers.len() as f64;
    if field.is(&[Dtype::U8]) {
        return (field.numbers.iter().sum::<f64>() / count) as f32;
    }
    let sum = |l: usize| field.numbers.iter().skip(l).step_by(8).fold(0.0, |sum, x| sum + x);
    let total = ((sum(0) + sum(1)) + (sum(2) + sum(3))) + ((sum(4) + sum(5)) + (sum(6) + sum(7)));
    (total / count) as f32
}

fn window(draw: &Address, h: usize, w: usize) -> (usize, usize, usize, usize) {
    let most = 0.287_682_072_451_780_85;
    for i in 0..10 {
        let area = draw.between(2 * i, 0.08, 1.0) * (h * w) as f64;
        let ratio = exp(draw.between(2 * i + 1, -most, most));
        let cw = ((area * ratio).sqrt() + 0.5).floor() as usize;
        let ch = ((area / ratio).sqrt() + 0.5).floor() as usize;
        if (1..=w).contains(&cw) && (1..=h).contains(&ch) {
            return (draw.below(20, h - ch + 1), draw.below(21, w - cw + 1), ch, cw);
        }
    }
    (0, 0, h, w)
}

/// A window (top, left, height, width) of a field, as `height` x `width` pixels.
fn resized(field: &Field, window: (usize, usize, usize, usize), height: usize, width: usize) -> Vec<f64> {
    let (top, left, h, w) = window;
    let c = field.kind.shape[2];
    let place = |i: usize, from: usize, to: usize| {
        let p = ((i as f64 + 0.5) * (from as f64 / to as f64) - 0.5).max(0.0);
        let a = (p.floor() as usize).min(from - 1);
        (a, (a + 1).min(from - 1), (p - a as f64) as f32)
    };
    let nearest = |i: usize, from: usize, to: usize| {
        (((i as f64 + 0.5) * (from as f64 / to as f64)).floor() as usize).min(from - 1)
    };
    let mut result = field.clone();
    result.kind.shape = vec![height, width, c];
    if !field.is(&[Dtype::U8, Dtype::F32]) {
        return result.paint(|i, j, k| field.at(top + nearest(i, h, height), left + nearest(j, w, width), k));
    }
    result.paint(|i, j, k| {
        let ((upper, lower, down), (a, b, right)) = (place(i, h, height), place(j, w, width));
        let row = |row: usize| {
            let (x, y) = (field.at(top + row, left + a, k), field.at(top + row, left + b, k));
            x + (y - x) * right
        };
        row(upper) + (row(lower) - row(upper)) * down
    })
}
