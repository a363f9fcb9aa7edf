//! Values as people read them: four digits at most, scaled to a unit that fits.

use crate::metric::Unit;

/// The text in place of a value that is no number.
const NONE: &str = "-";
const DECIMAL: [&str; 5] = ["", "k", "M", "G", "T"];
const BINARY: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// A value in its unit: `1.23 ms`, `8.61 M elem/s`, `293 MiB`, `12`.
pub fn show(value: f64, unit: &Unit) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    let text = match unit.symbol() {
        "s" => time(size),
        "B" => {
            let (scaled, prefix) = scale(size, 1024.0, &BINARY);
            format!("{} {prefix}", digits(scaled))
        }
        "B/s" => {
            let (scaled, prefix) = scale(size, 1024.0, &BINARY);
            format!("{} {prefix}/s", digits(scaled))
        }
        "" if size.fract() == 0.0 && size < 1e6 => format!("{size}"),
        "x" => format!("{}x", digits(size)),
        symbol => {
            let (scaled, prefix) = scale(size, 1000.0, &DECIMAL);
            [digits(scaled).as_str(), prefix, symbol]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        }
    };
    format!("{sign}{text}")
}

/// Two values of one unit, which is said once where both are scaled alike: `2.26 .. 2.31 M elem/s`.
pub fn range(low: f64, high: f64, unit: &Unit) -> String {
    let (low, high) = (show(low, unit), show(high, unit));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} .. {high}"),
        _ => format!("{low} .. {high}"),
    }
}

/// A change as a share of what was before: `+4.2 %`, `-0.03 %`, `+130 %`.
pub fn change(share: f64) -> String {
    if !share.is_finite() {
        return NONE.to_owned();
    }
    let percent = share.abs() * 100.0;
    let sign = if share < 0.0 { '-' } else { '+' };
    match percent {
        ..0.005 => "0 %".to_owned(), // below what any figure here can mean
        ..0.1 => format!("{sign}{percent:.2} %"),
        ..99.95 => format!("{sign}{percent:.1} %"),
        _ => format!("{sign}{percent:.0} %"),
    }
}

/// Seconds, from nanoseconds to hours. Minutes and hours are given whole: nobody thinks in kiloseconds.
fn time(seconds: f64) -> String {
    // The borders are a little low, so that 999.96 ns is not shown as 1000 ns.
    let (scaled, unit) = match seconds {
        0.0 => return "0 s".to_owned(),
        ..0.999_5e-6 => (seconds * 1e9, "ns"),
        ..0.999_5e-3 => (seconds * 1e6, "µs"),
        ..0.999_5 => (seconds * 1e3, "ms"),
        ..119.5 => (seconds, "s"),
        ..7_200.0 => {
            return format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor());
        }
        _ => {
            return format!(
                "{:.0} h {:02.0} min",
                (seconds / 3600.0).floor(),
                (seconds / 60.0 % 60.0).floor()
            );
        }
    };
    format!("{} {unit}", digits(scaled))
}

fn scale<'a>(mut value: f64, step: f64, prefixes: &[&'a str]) -> (f64, &'a str) {
    let mut at = 0;
    while value >= step * 0.999_5 && at + 1 < prefixes.len() {
        value /= step;
        at += 1;
    }
    (value, prefixes[at])
}

/// Three digits that count, four just below the next unit of 1024.
pub(super) fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        ..0.000_1 => format!("{value:.2e}"),
        ..0.099_95 => format!("{value:.4}"),
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unit: &Unit, cases: &[(f64, &str)]) {
        for (value, expected) in cases {
            assert_eq!(show(*value, unit), *expected, "{value:e}");
        }
    }

    #[test]
    fn a_range_says_its_unit_once_if_it_can() {
        let rate = Unit::ELEMENTS_PER_SECOND;
        assert_eq!(range(2.26e6, 2.31e6, &rate), "2.26 .. 2.31 M elem/s");
        assert_eq!(range(999e3, 1.02e6, &rate), "999 k elem/s .. 1.02 M elem/s");
        assert_eq!(range(1.0, 2.0, &Unit::COUNT), "1 .. 2");
    }

    #[test]
    fn times_go_from_nanoseconds_to_hours() {
        check(
            &Unit::SECONDS,
            &[
                (0.0, "0 s"),
                (2.5e-10, "0.25 ns"),
                (1.234e-9, "1.23 ns"),
                (999.96e-9, "1.00 µs"),
                (12.34e-6, "12.3 µs"),
                (1.234e-3, "1.23 ms"),
                (0.1234, "123 ms"),
                (1.0, "1.00 s"),
                (59.96, "60.0 s"),
                (150.0, "2 min 30 s"),
                (8_100.0, "2 h 15 min"),
                (-1.5e-3, "-1.50 ms"),
                (f64::NAN, "-"),
                (f64::INFINITY, "-"),
            ],
        );
    }

    #[test]
    fn rates_and_amounts_take_the_prefix_that_fits() {
        check(
            &Unit::ELEMENTS_PER_SECOND,
            &[(8.61e6, "8.61 M elem/s"), (12.0, "12.0 elem/s"), (999.9e3, "1.00 M elem/s")],
        );
        check(
            &Unit::BYTES,
            &[(293.0 * 1024.0 * 1024.0, "293 MiB"), (1000.0, "1000 B"), (1023.9, "1.00 KiB"), (0.0, "0 B")],
        );
        check(&Unit::BYTES_PER_SECOND, &[(1.5 * 1024.0 * 1024.0 * 1024.0, "1.50 GiB/s")]);
        check(&Unit::FLOPS, &[(3.2e12, "3.20 T FLOP/s")]);
        check(
            &Unit::COUNT,
            &[(12.0, "12"), (12.5, "12.5"), (2_000_000.0, "2.00 M"), (-3.0, "-3"), (0.0, "0")],
        );
        check(&Unit::RATIO, &[(1.5, "1.50x")]);
        check(
            &Unit::other("img"),
            &[(2_500.0, "2.50 k img"), (0.012_34, "0.0123 img"), (1e-9, "1.00e-9 img")],
        );
    }

    #[test]
    fn changes_have_a_sign_and_no_more_digits_than_they_mean() {
        for (share, expected) in [
            (0.042, "+4.2 %"),
            (-0.0003, "-0.03 %"),
            (1.3, "+130 %"),
            (0.0, "0 %"),
            (-0.000_01, "0 %"),
            (0.9994, "+99.9 %"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(change(share), expected, "{share}");
        }
    }
}
