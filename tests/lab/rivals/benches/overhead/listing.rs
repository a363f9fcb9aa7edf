//! `--list` with 10,000 registered cases: 100 scenarios of 100 points. (Each scenario costs milliseconds of
//! compile time, a point costs none.)

use std::time::Instant;

use weighbridge::prelude::*;

use crate::Result;
use crate::role::{Role, output};
use crate::table::{median, print as print_table, time};

macro_rules! scenarios {
    ($($id:tt)*) => { $(
        const _: () = {
            /// One of many.
            #[scenario(id = $id, category = "Listing")]
            fn listed(
                bencher: &mut Bencher,
                #[sweep(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] tens: usize,
                #[sweep(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] ones: usize,
            ) {
                bencher.iter(|| 10 * tens + ones);
            }
        };
    )* };
}

scenarios! {
    "L-00" "L-01" "L-02" "L-03" "L-04" "L-05" "L-06" "L-07" "L-08" "L-09"
    "L-10" "L-11" "L-12" "L-13" "L-14" "L-15" "L-16" "L-17" "L-18" "L-19"
    "L-20" "L-21" "L-22" "L-23" "L-24" "L-25" "L-26" "L-27" "L-28" "L-29"
    "L-30" "L-31" "L-32" "L-33" "L-34" "L-35" "L-36" "L-37" "L-38" "L-39"
    "L-40" "L-41" "L-42" "L-43" "L-44" "L-45" "L-46" "L-47" "L-48" "L-49"
    "L-50" "L-51" "L-52" "L-53" "L-54" "L-55" "L-56" "L-57" "L-58" "L-59"
    "L-60" "L-61" "L-62" "L-63" "L-64" "L-65" "L-66" "L-67" "L-68" "L-69"
    "L-70" "L-71" "L-72" "L-73" "L-74" "L-75" "L-76" "L-77" "L-78" "L-79"
    "L-80" "L-81" "L-82" "L-83" "L-84" "L-85" "L-86" "L-87" "L-88" "L-89"
    "L-90" "L-91" "L-92" "L-93" "L-94" "L-95" "L-96" "L-97" "L-98" "L-99"
}

/// Each listing is asked for this often.
const ROUNDS: usize = 15;

/// Prints the time of a whole process that lists all cases, in each format.
pub fn print() -> Result<()> {
    println!("`--list` as a whole process; median of {ROUNDS} (to be under 50 ms for 10,000 cases)");
    let mut rows = Vec::new();
    for format in ["terse", "json", "pretty"] {
        let mut took = Vec::new();
        let mut lines = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let listed =
                output(Role::Weighbridge.command()?.args(["--bench", "--list", "--format", format]))?;
            took.push(start.elapsed().as_nanos() as f64);
            lines = listed.lines().count();
        }
        if format == "terse" && lines < 10_000 {
            return Err(format!("only {lines} cases are listed").into());
        }
        let most = took.iter().copied().fold(0.0, f64::max);
        rows.push(vec![format!("{format}, {lines} lines"), time(median(&took)), time(most)]);
    }
    print_table(&["", "median", "longest"], &rows);
    Ok(())
}
