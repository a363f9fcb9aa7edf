//! The version of cuDNN that a program here would load: frameworks compute with it, and we do not.

use super::libraries;
use super::probe::symbol;

/// The versions that are asked, the newest first: `cudnnGetVersion` is the same in all.
const NAMES: [&str; 2] = ["libcudnn.so.9", "libcudnn.so.8"];

type Version = unsafe extern "C" fn() -> usize;

/// Its version, `9.10.2`; `None` where there is none.
pub(super) fn version(fake: bool) -> Option<String> {
    let number = libraries::first(&NAMES, fake, |library| {
        // SAFETY: the signature is the library's, which stays open.
        let ask = unsafe { symbol::<Version>(library, "cudnnGetVersion") };
        let ask = ask.ok_or("it has no cudnnGetVersion")?;
        // SAFETY: as above; it takes nothing, and answers with a constant.
        Ok(unsafe { ask() })
    });
    number.ok().and_then(told)
}

/// Two digits for the second and the third part since 9, one and two before (`cudnn_version.h`).
fn told(number: usize) -> Option<String> {
    let unit = match number {
        0 => return None,
        1..90_000 => 1_000,
        _ => 10_000,
    };
    Some(format!("{}.{}.{}", number / unit, number % unit / 100, number % 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_its_header_writes_it() {
        let told = [0, 8_907, 91_002, 92_600].map(|number| told(number).unwrap_or_default());
        assert_eq!(told, ["", "8.9.7", "9.10.2", "9.26.0"]);
    }
}
