//! What the device can do at most, measured in the same repeat: copies within it, and to and from the host.

use crate::device::{CopyKind, Device, DeviceError, DeviceInfo, Queue};
use crate::metric::{Reading, Roofline};
use crate::stats;

/// A buffer is so many times the cache, so that the cache serves little of it.
const CACHES: u64 = 4;

/// A buffer's size, within these bounds and an eighth of the memory.
const LEAST: u64 = 4 << 20;
const MOST: u64 = 1 << 30;

/// The most that goes to and from the host, where a copy takes a hundred times as long.
const MOST_HOST: u64 = 64 << 20;

/// Copies of each kind, after one that is not timed.
const COPIES: usize = 5;

/// Measures the limits: before the samples all of them, after them the copy within the device, which tells of drift.
///
/// # Errors
/// When the device was lost. What merely cannot be measured is absent with its reason.
pub(super) fn measure(device: &dyn Device, rooflines: &mut Vec<Roofline>) -> Result<(), DeviceError> {
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
    if first {
        let why = "n/a: no library that multiplies matrices is called (cublasLt)";
        let before = Some(Reading::absent(why));
        rooflines.push(Roofline { name: "matrix product".to_owned(), before, ..Roofline::default() });
    }
    Ok(())
}

/// How large a buffer is, in bytes.
fn size(info: &DeviceInfo, kind: CopyKind) -> usize {
    let most = info.memory.map_or(MOST, |memory| MOST.min(memory / 8));
    let size = (CACHES * info.cache.unwrap_or(0)).clamp(LEAST.min(most), most);
    let size = if kind == CopyKind::Device { size } else { size.min(MOST_HOST) };
    size as usize
}

/// Bytes a second of this kind of copy, as the fastest of a few: a limit is what the device can do. `None` where the
/// backend has no copies of its own.
fn copies(device: &dyn Device, kind: CopyKind, size: usize) -> Result<Option<Reading>, DeviceError> {
    let absent = |error: DeviceError| match error.fatal {
        true => Err(error),
        false => Ok(Some(Reading::absent(error.to_string()))),
    };
    let copies = match device.copies(size) {
        Ok(Some(copies)) => copies,
        Ok(None) => return Ok(None),
        Err(error) => return absent(error),
    };
    let mut rates = Vec::with_capacity(COPIES);
    for number in 0..=COPIES {
        let rate = (|| {
            device.recycle();
            device.sync()?;
            let a = device.mark(Queue::MEASURED)?;
            let bytes = copies.copy(kind)?;
            let b = device.mark(Queue::MEASURED)?;
            device.sync()?;
            Ok((bytes, device.elapsed_ns(a, b)?))
        })();
        match rate {
            Ok((bytes, ns)) if number > 0 && ns > 0.0 => rates.push(bytes as f64 / (ns * 1e-9)),
            Ok(_) => {}
            Err(error) => return absent(error),
        }
    }
    let best = stats::sorted(&rates).last().copied();
    Ok(Some(best.map_or_else(|| Reading::absent("no time passed by the device's clock"), Reading::Value)))
}

#[cfg(test)]
mod tests {
    use super::super::double::Double;
    use super::*;

    #[test]
    fn copies_are_measured_twice_and_what_no_library_does_is_absent_with_its_reason() {
        let device = Double::new();
        let mut rooflines = Vec::new();
        measure(&*device, &mut rooflines).unwrap();
        device.bandwidth.set(0.9e12);
        measure(&*device, &mut rooflines).unwrap();
        let names: Vec<&str> = rooflines.iter().map(|roofline| roofline.name.as_str()).collect();
        assert_eq!(names.len(), 6);
        let copy = &rooflines[0];
        // 8 MiB at 1 TB/s take 8.4 us; launching and stamping is another 1.5.
        let drift = copy.drift().unwrap();
        assert!((-0.11..-0.05).contains(&drift), "{copy:?}");
        assert!(rooflines[1].before.is_some() && rooflines[1].after.is_none());
        let absent = rooflines[5].before.as_ref().unwrap();
        assert!(absent.why().unwrap().contains("cublasLt"), "{absent:?}");
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
