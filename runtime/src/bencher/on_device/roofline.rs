//! What the device can do at most, measured in the same repeat: copies within it, and to and from the host,
//! and products of matrices where a library multiplies.

use crate::device::{CopyKind, Device, DeviceError, DeviceInfo, Numbers, Queue};
use crate::metric::{Reading, Roofline};
use crate::stats;

/// A buffer is so many times the cache, so that the cache serves little of it.
const CACHES: u64 = 4;

/// A buffer's size, within these bounds and an eighth of the memory.
const LEAST: u64 = 4 << 20;
const MOST: u64 = 1 << 30;

/// The most that goes to and from the host, where a copy takes a hundred times as long.
const MOST_HOST: u64 = 64 << 20;

/// Copies of each kind, and products, after one that is not timed.
const TIMES: usize = 5;

/// Rows of a matrix, at most: then a product takes milliseconds, and starting it is nothing beside.
const MOST_ROWS: usize = 8192;

/// Measures the limits: before the samples all of them, after them the copy within the device, which tells of
/// drift. Matrices are multiplied only for a body that `multiplies`: the library's memory is none of the
/// others'.
///
/// # Errors
/// When the device was lost. What merely cannot be measured is absent with its reason.
pub(super) fn measure(
    device: &dyn Device,
    rooflines: &mut Vec<Roofline>,
    multiplies: bool,
) -> Result<(), DeviceError> {
    if !device.info().has_clock {
        return Ok(());
    }
    let first = rooflines.is_empty();
    for kind in CopyKind::ALL {
        if !first && kind != CopyKind::Device {
            continue;
        }
        let size = size(device.info(), kind);
        let Some(reading) = copies(device, kind, size)? else { return Ok(()) };
        if first {
            let nominal = device.info().nominal_bandwidth.filter(|_| kind == CopyKind::Device);
            let roofline =
                Roofline { name: kind.name().to_owned(), before: Some(reading), after: None, nominal };
            rooflines.push(roofline);
        } else if let Some(roofline) = rooflines.iter_mut().find(|roofline| roofline.name == kind.name()) {
            roofline.after = Some(reading);
        }
    }
    for numbers in Numbers::ALL.into_iter().filter(|_| first) {
        let before = if multiplies {
            Some(products(device, numbers)?)
        } else {
            Some(Reading::absent("the scenario stated no flops"))
        };
        let nominal = nominal_flops(device.info(), numbers);
        rooflines.push(Roofline { name: numbers.product().to_owned(), before, after: None, nominal });
    }
    Ok(())
}

/// The number of rows a matrix has, so that three of them are at most an eighth of the memory.
fn rows(info: &DeviceInfo, numbers: Numbers) -> usize {
    let most = info.memory.map_or(u64::MAX, |memory| memory / 8);
    let bytes = |rows: usize| 3 * (rows * rows * numbers.size()) as u64;
    let mut rows = MOST_ROWS;
    while rows > 1 && bytes(rows) > most {
        rows /= 2;
    }
    rows
}

/// Operations a second on paper: those of a processor in one cycle, by the processors and their highest
/// clock.
///
/// Dense products with sums of `f32`, from NVIDIA's white papers of the architectures: V100 (`sm_70`), A100
/// (`sm_80`), GA102 (`sm_86`), Ada (`sm_89`), H100 (`sm_90`). `None` for others.
fn nominal_flops(info: &DeviceInfo, numbers: Numbers) -> Option<f64> {
    let [f32, tf32, f16, bf16] = match info.architecture.as_deref()? {
        "sm_70" => [Some(128), None, Some(1024), None],
        "sm_80" => [128, 1024, 2048, 2048].map(Some),
        "sm_86" | "sm_89" => [256, 256, 512, 512].map(Some),
        "sm_90" => [256, 2048, 4096, 4096].map(Some),
        _ => return None,
    };
    let each = match numbers {
        Numbers::F32 => f32,
        Numbers::Tf32 => tf32,
        Numbers::F16 => f16,
        Numbers::Bf16 => bf16,
    };
    Some(f64::from(each?) * f64::from(info.processors?) * info.max_clock_mhz? * 1e6)
}

/// The size of a buffer for this kind of copy, in bytes.
fn size(info: &DeviceInfo, kind: CopyKind) -> usize {
    let most = info.memory.map_or(MOST, |memory| MOST.min(memory / 8));
    let size = (CACHES * info.cache.unwrap_or(0)).clamp(LEAST.min(most), most);
    let size = if kind == CopyKind::Device { size } else { size.min(MOST_HOST) };
    size as usize
}

/// Bytes a second of this kind of copy, as the fastest of a few: a limit is what the device can do. `None`
/// where the backend has no copies of its own.
fn copies(device: &dyn Device, kind: CopyKind, size: usize) -> Result<Option<Reading>, DeviceError> {
    match device.copies(size) {
        Ok(Some(copies)) => fastest(device, || copies.copy(kind)).map(Some),
        Ok(None) => Ok(None),
        Err(error) => absent(error).map(Some),
    }
}

/// Operations a second of a product of square matrices, likewise.
fn products(device: &dyn Device, numbers: Numbers) -> Result<Reading, DeviceError> {
    match device.product(numbers, rows(device.info(), numbers)) {
        Ok(Some(product)) => fastest(device, || product.multiply()),
        Ok(None) => Ok(Reading::absent("this backend multiplies no matrices")),
        Err(error) => absent(error),
    }
}

/// Makes an absent reading of an error, which stays one if the device is lost.
fn absent(error: DeviceError) -> Result<Reading, DeviceError> {
    if error.fatal { Err(error) } else { Ok(Reading::absent(error.to_string())) }
}

/// The rate of what is enqueued, in units a second, as the fastest of a few.
fn fastest(
    device: &dyn Device,
    enqueue: impl Fn() -> Result<u64, DeviceError>,
) -> Result<Reading, DeviceError> {
    let mut rates = Vec::with_capacity(TIMES);
    for number in 0..=TIMES {
        let rate = (|| {
            device.recycle();
            device.sync()?;
            let a = device.mark(Queue::MEASURED)?;
            let amount = enqueue()?;
            let b = device.mark(Queue::MEASURED)?;
            device.sync()?;
            Ok((amount, device.elapsed_ns(a, b)?))
        })();
        match rate {
            Ok((amount, ns)) if number > 0 && ns > 0.0 => rates.push(amount as f64 / (ns * 1e-9)),
            Ok(_) => {}
            Err(error) => return absent(error),
        }
    }
    let best = stats::sorted(&rates).last().copied();
    Ok(best.map_or_else(|| Reading::absent("no time passed by the device's clock"), Reading::Value))
}

#[cfg(test)]
mod tests {
    use super::super::double::Double;
    use super::*;

    #[test]
    fn copies_are_measured_twice_and_what_is_not_multiplied_is_absent_with_its_reason() {
        let device = Double::new();
        let mut rooflines = Vec::new();
        measure(&*device, &mut rooflines, true).unwrap();
        device.bandwidth.set(0.9e12);
        measure(&*device, &mut rooflines, true).unwrap();
        let names: Vec<&str> = rooflines.iter().map(|roofline| roofline.name.as_str()).collect();
        assert_eq!(names.len(), 9);
        let copy = &rooflines[0];
        // 8 MiB at 1 TB/s take 8.4 us; launching and stamping is another 1.5.
        let drift = copy.drift().unwrap();
        assert!((-0.11..-0.05).contains(&drift), "{copy:?}");
        assert!(rooflines[1].before.is_some() && rooflines[1].after.is_none());
        let why = |rooflines: &[Roofline]| rooflines[5].before.as_ref().unwrap().why().unwrap().to_owned();
        assert_eq!(why(&rooflines), "this backend multiplies no matrices");
        let mut rooflines = Vec::new();
        measure(&*device, &mut rooflines, false).unwrap();
        assert_eq!(why(&rooflines), "the scenario stated no flops");
    }

    #[test]
    fn matrices_take_an_eighth_of_the_memory_and_a_figure_on_paper_follows_from_the_architecture() {
        let mut info = DeviceInfo { memory: Some(140 << 30), ..DeviceInfo::default() };
        assert_eq!(rows(&info, Numbers::F32), 8192);
        info.memory = Some(256 << 20);
        assert_eq!((rows(&info, Numbers::F32), rows(&info, Numbers::Bf16)), (1024, 2048));
        info = DeviceInfo { processors: Some(108), max_clock_mhz: Some(1410.0), ..info };
        assert_eq!(nominal_flops(&info, Numbers::F16), None);
        info.architecture = Some("sm_80".to_owned());
        // The data sheet of the A100: 19.5, 156 and 312 TFLOP/s.
        for (numbers, expected) in [(Numbers::F32, 19.5e12), (Numbers::Tf32, 156e12), (Numbers::Bf16, 312e12)]
        {
            let found = nominal_flops(&info, numbers).unwrap();
            assert!((found / expected - 1.0).abs() < 0.01, "{numbers:?}: {found}");
        }
    }

    #[test]
    fn a_buffer_is_some_caches_large_and_never_more_than_an_eighth_of_the_memory() {
        let info =
            |cache, memory| DeviceInfo { cache: Some(cache), memory: Some(memory), ..DeviceInfo::default() };
        assert_eq!(size(&info(60 << 20, 140 << 30), CopyKind::Device), 240 << 20);
        assert_eq!(size(&info(60 << 20, 140 << 30), CopyKind::ToPinned), 64 << 20);
        assert_eq!(size(&info(60 << 20, 1 << 30), CopyKind::Device), 128 << 20);
        assert_eq!(size(&info(0, 1 << 20), CopyKind::Device), 1 << 17);
    }
}
