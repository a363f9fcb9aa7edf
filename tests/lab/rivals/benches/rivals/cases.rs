//! The cases that every harness compares, and what is planted in them.

/// Seed of what the bodies work on.
pub const SEED: u64 = 42;

/// The cases, by their names.
pub const NAMES: [&str; 8] = ["DEMO-1", "DEMO-2", "DEMO-3", "DEMO-4", "DEMO-5", "DEMO-6", "DEMO-7", "DEMO-8"];

/// Those whose work is exactly proportional to a number, so that a slowdown can be planted which the median,
/// the mean and the minimum of a harness show alike.
pub const PLANTABLE: [&str; 2] = ["DEMO-3", "DEMO-6"];

/// The variable that says by how many percent the plantable cases are slower.
pub const PLANT: &str = "RIVALS_PLANT";

/// What a case does more where a slowdown is planted.
pub fn grown(work: usize) -> usize {
    // Both sides of tango have one environment; its command line says which of them this process is.
    let baseline = std::env::args().any(|argument| argument == "baseline");
    let plant = std::env::var(PLANT).ok().filter(|_| !baseline);
    let percent = plant.and_then(|percent| percent.parse::<f64>().ok()).unwrap_or(0.0);
    (work as f64 * (1.0 + percent / 100.0)).round() as usize
}

/// Hands every case to a macro: its name, an identifier, and the body.
macro_rules! each_case {
    ($with:ident) => {
        $with!("DEMO-1", empty, crate::bodies::empty());
        $with!("DEMO-2", nanoseconds, crate::bodies::nanoseconds(crate::cases::SEED));
        $with!("DEMO-3", microsecond, {
            let numbers = crate::cases::grown(crate::bodies::NUMBERS);
            crate::bodies::microsecond(crate::cases::SEED, numbers)
        });
        $with!("DEMO-4", hundred_microseconds, crate::bodies::hundred_microseconds(crate::cases::SEED));
        $with!("DEMO-5", allocations, crate::bodies::allocations(crate::cases::SEED));
        $with!("DEMO-6", spin, {
            let turns = crate::cases::grown(crate::bodies::TURNS);
            crate::bodies::spin(crate::cases::SEED, turns)
        });
        $with!("DEMO-7", text, crate::bodies::text(crate::cases::SEED));
        $with!("DEMO-8", words, crate::bodies::words(crate::cases::SEED));
    };
}

pub(crate) use each_case;
