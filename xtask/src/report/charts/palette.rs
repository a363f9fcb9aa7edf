//! Colours: one for each system, the same in all charts of a run, told apart by the colour-blind.

use std::collections::HashMap;

use crate::view::View;

/// Okabe and Ito's colours (<https://jfly.uni-koeln.de/color/>), without black, which is for text, and with
/// their yellow darker: on white it is too pale.
const COLOURS: [[u8; 3]; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [86, 180, 233],
    [230, 159, 0],
    [140, 140, 140],
    [184, 169, 0],
];

/// The place of each system among the colours.
pub(super) struct Palette<'a>(HashMap<&'a str, usize>);

impl<'a> Palette<'a> {
    /// By tier and name, as the coverage has them.
    pub(super) fn of(view: &View<'a>) -> Self {
        Self(view.coverage.systems.iter().enumerate().map(|(at, system)| (*system, at)).collect())
    }

    /// The colour of a system. From the ninth on they are lighter, from the seventeenth on darker.
    pub(super) fn colour(&self, system: &str) -> String {
        let at = self.0.get(system).copied().unwrap_or(0);
        let towards = |target: f64, share: f64| {
            COLOURS[at % 8].map(|part| (part as f64 + (target - part as f64) * share) as u8)
        };
        let [red, green, blue] = match at / 8 {
            0 => COLOURS[at % 8],
            1 => towards(255.0, 0.45),
            _ => towards(0.0, 0.4),
        };
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// The dashes of its lines, so that a colour that is met again has another line.
    pub(super) fn dash(&self, system: &str) -> &'static str {
        ["", "7 4", "2 3"][self.0.get(system).copied().unwrap_or(0) / 8 % 3]
    }
}
