//! `flops --mixers`: what mixing tokens costs by their number, as a table and as a chart.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use weighbridge::data::{Unit, quantity};
use weighbridge_training::workload::model::Mixer;

use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::svg::{Anchor, ChartAxis, Svg};
use weighbridge_xtask::table::Table;

/// Numbers of a token: as ViT-5 Small has them.
const WIDTH: usize = 384;

/// Tokens of a sample: powers of two.
const LENGTHS: std::ops::RangeInclusive<u32> = 7..=16;

/// Okabe and Ito's blue, vermilion and green, which the colour-blind tell apart.
const COLOURS: [&str; 3] = ["#0072b2", "#d55e00", "#009e73"];

pub(super) fn run(chart: Option<&Path>) -> Result<CommandOutput> {
    let mut text = table();
    if let Some(file) = chart {
        fs::write(file, drawn()).with_context(|| format!("failed to write `{}`", file.display()))?;
        text += &format!("\nthe chart is in {}\n", file.display());
    }
    Ok(CommandOutput::fine(text))
}

/// Every length with what each mixer takes, and the formulae.
pub(crate) fn table() -> String {
    let mut table = Table::new(["tokens>", "attention GFLOPs>", "Hyena GFLOPs>", "CKConv GFLOPs>"]);
    for length in LENGTHS.map(|power| 1usize << power) {
        let of = |mixer: Mixer| format!("{:.3}", mixer.operations(length, WIDTH) / 1e9);
        table.row([vec![length.to_string()], Mixer::ALL.map(of).to_vec()].concat());
    }
    let formulae = Mixer::ALL.map(|mixer| format!("{}: {}\n", mixer.name(), mixer.formula())).concat();
    format!(
        "One layer over L tokens of D = {WIDTH} numbers, forward, of a sample:\n\n{}\n{formulae}",
        table.text()
    )
}

fn drawn() -> String {
    let (wide, high) = (900.0, 470.0);
    let about =
        format!("One layer over tokens of {WIDTH} numbers, forward, of a sample. Both axes by powers.");
    let mut svg = Svg::new(wide, high, "Operations of mixing tokens, by their number", &about);
    let (left, right, top, bottom) = (96.0, wide - 30.0, Svg::TOP + 10.0, high - 80.0);
    let lengths: Vec<usize> = LENGTHS.map(|power| 1 << power).collect();
    let (first, last) = (lengths[0], lengths[lengths.len() - 1]);
    let all = |length| Mixer::ALL.map(|mixer| mixer.operations(length, WIDTH));
    let low = all(first).into_iter().fold(f64::INFINITY, f64::min);
    let most = all(last).into_iter().fold(0.0, f64::max);
    let x = ChartAxis::between(first as f64, last as f64, left, right);
    let y = ChartAxis::between(low, most, bottom, top);
    svg.grid_y(&y, left, right, |value| quantity::show(value, &Unit::other("FLOP")));
    for length in &lengths {
        let at = x.at(*length as f64);
        svg.line((at, top), (at, bottom), "#e3e6ea", 1.0);
        svg.note(at, bottom + 16.0, &length.to_string(), Anchor::Middle);
    }
    svg.label(f64::midpoint(left, right), bottom + 34.0, "tokens", Anchor::Middle);
    for (mixer, colour) in Mixer::ALL.into_iter().zip(COLOURS) {
        let points: Vec<(f64, f64)> = lengths
            .iter()
            .map(|length| (x.at(*length as f64), y.at(mixer.operations(*length, WIDTH))))
            .collect();
        svg.polyline(&points, colour, "");
    }
    let names: Vec<(&str, String)> = Mixer::ALL
        .into_iter()
        .zip(COLOURS)
        .map(|(mixer, colour)| (mixer.name(), colour.to_owned()))
        .collect();
    svg.legend(left, bottom + 56.0, &names);
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixers_are_told_and_drawn_by_length() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mixers.svg");
        let said = run(Some(&file)).unwrap().text;
        // 8 L D^2 + 4 L^2 D at 1,024 tokens.
        assert!(
            said.lines().any(|line| line.trim_start().starts_with("1024") && line.contains("2.819")),
            "{said}"
        );
        assert!(said.contains("Hyena: 8 L D^2"), "{said}");
        let drawn = fs::read_to_string(&file).unwrap();
        assert_eq!(drawn.matches("<polyline").count(), 3, "{drawn}");
        let nowhere = run(Some(&folder.path().join("no/such/folder.svg"))).unwrap_err().to_string();
        assert!(nowhere.contains("failed to write"), "{nowhere}");
    }
}
