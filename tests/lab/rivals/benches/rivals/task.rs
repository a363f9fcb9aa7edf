//! What a harness is asked, and what it says.

/// What a harness says of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HarnessFigure {
    /// That it got slower.
    Slower,
    /// That it got faster.
    Faster,
    /// That it did not change, or not by enough.
    Same,
    /// That it cannot tell.
    Inconclusive,
}

/// One pass of a harness over the cases: what it says of each.
pub type Pass = Vec<(String, HarnessFigure)>;

/// What is compared in a pass.
#[derive(Clone, Copy, Debug)]
pub struct ComparedTask {
    /// The cases.
    pub cases: &'static [&'static str],
    /// By how many percent the new side is slower, if it is.
    pub plant: Option<f64>,
}

impl ComparedTask {
    /// What the new side has in [`PLANT`](crate::cases::PLANT).
    pub fn planted(&self) -> String {
        self.plant.unwrap_or(0.0).to_string()
    }
}
