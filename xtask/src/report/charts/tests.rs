//! Charts of a run that has something of every kind.

use std::fs;
use std::path::Path;

use weighbridge::data::{
    AxisValue, CaseRecord, CaseStatus, Direction, Estimate, Exit, FailureReason, MetricRecord, Reading, Unit,
};

use super::*;
use crate::fixtures::{Home, around, case, home, run as run_of};

/// A case at a depth, with a latency.
fn deep(scenario: &str, adapter: &str, axis: &str, number: usize, rate: f64) -> CaseRecord {
    let mut case = case(scenario, adapter, &around(rate));
    case.id.point.0 =
        vec![AxisValue { axis: axis.into(), text: number.to_string(), labelled: false, debug: None }];
    let values = around(64.0 / rate);
    case.metrics.push(MetricRecord {
        name: "latency_p50".into(),
        unit: Unit::SECONDS,
        direction: Direction::Lower,
        estimate: Estimate::of(&values),
        values: values.into_iter().map(Reading::Value).collect(),
        looped: None,
    });
    for (name, value) in [("loss_at/8", 2.0), ("accuracy_at/8", 0.4), ("time_at/8", 8.0 / rate)] {
        case.metrics.push(MetricRecord {
            name: name.into(),
            unit: Unit::COUNT,
            direction: Direction::Information,
            values: around(value).into_iter().map(Reading::Value).collect(),
            estimate: None,
            looped: None,
        });
    }
    for metric in &mut case.metrics {
        let values: Vec<f64> = metric.values.iter().filter_map(Reading::value).collect();
        metric.estimate = Estimate::of(&values);
    }
    case
}

fn stored() -> Home {
    let home = home();
    let mut cases = Vec::new();
    for scenario in ["PC-1", "CV-1", "TAB-1"] {
        let axis = if scenario == "PC-1" { "depth" } else { "workers" };
        for (adapter, rate) in [("Reference", 1.0e6), ("Google Grain", 8.0e5), ("SPDL", 3.0e5)] {
            for number in [1, 2, 4] {
                cases.push(deep(scenario, adapter, axis, number, rate * number as f64 * 0.8));
            }
        }
    }
    home.store(&run_of(1_000, cases));
    home
}

fn drawn(home: &Home, format: ChartPicture) -> (CommandOutput, PathBuf) {
    let out = home.directory.path().join("charts");
    let args = ReportCharts { runs: Vec::new(), suite: None, out: out.clone(), format };
    (run(&args, &home.place).expect("drawn"), out)
}

#[test]
fn every_kind_is_drawn_as_svg_and_as_png_where_that_is_built() {
    let home = stored();
    let (format, ends) = match cfg!(feature = "png") {
        true => (ChartPicture::Both, &[".svg", ".png"][..]),
        false => (ChartPicture::Svg, &[".svg"][..]),
    };
    let (said, out) = drawn(&home, format);
    let left_out: Vec<&String> =
        said.remarks.iter().filter(|remark| remark.contains("nothing to draw")).collect();
    assert!(left_out.is_empty(), "{left_out:?}");
    let names: Vec<String> = fs::read_dir(&out)
        .expect("made")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    for kind in [
        "throughput_bars",
        "throughput_radar",
        "latency_cdf-",
        "memory",
        "scaling_curves-",
        "chain_depth-",
        "feature_heatmap",
        "tradeoff-",
        "loss-",
    ] {
        for end in ends {
            assert!(
                names.iter().any(|name| name.starts_with(kind) && name.ends_with(end)),
                "{kind}{end}: {names:?}"
            );
        }
    }
    for name in names.iter().filter(|name| Path::new(name).extension().is_some_and(|end| end == "png")) {
        assert!(fs::read(out.join(name)).expect("there").starts_with(b"\x89PNG\r\n"), "{name}");
    }
}

#[cfg(not(feature = "png"))]
#[test]
fn png_is_refused_with_what_mends_it_where_it_is_not_built() {
    let home = stored();
    let out = home.directory.path().join("charts");
    let args = ReportCharts { runs: Vec::new(), suite: None, out, format: ChartPicture::Png };
    let Err(why) = run(&args, &home.place) else { panic!("drawn by nothing") };
    assert!(why.to_string().contains("--features png"), "{why}");
}

#[test]
fn bars_begin_at_zero_and_a_system_has_one_colour_in_all_charts() {
    let home = stored();
    let (_, out) = drawn(&home, ChartPicture::Svg);
    let read = |name: &str| fs::read_to_string(out.join(name)).expect("drawn");
    // The second system by tier and name has the second colour.
    for name in ["throughput_bars.svg", "throughput_radar.svg", "memory.svg"] {
        assert!(read(name).contains("#d55e00"), "{name}");
    }
    let bars = read("throughput_bars.svg");
    let lefts: Vec<&str> = bars
        .lines()
        .filter(|line| line.contains("height=\"17.0\""))
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    assert!(lefts.len() == 27 && lefts.iter().all(|left| *left == lefts[0]), "{lefts:?}");
    assert!(
        read("throughput_radar.svg").contains("share of the speed of the best system there"),
        "a radar states its scale"
    );
}

#[test]
fn no_figure_beside_a_bar_leaves_the_drawing() {
    let home = home();
    let mut case = case("CV-1", "Reference", &around(1.84e6));
    case.metrics[0].unit = Unit::other("elements/CPU-second");
    home.store(&run_of(1_000, vec![case]));
    let (_, out) = drawn(&home, ChartPicture::Svg);
    let bars = fs::read_to_string(out.join("throughput_bars.svg")).expect("drawn");
    let attribute = |line: &str, name: &str| -> f64 {
        let value = line.split(&format!(" {name}=\"")).nth(1).expect(name).split('"').next();
        value.expect(name).parse().expect("a number")
    };
    let whole = attribute(bars.lines().next().expect("a line"), "width");
    let starts = bars.lines().filter(|line| line.starts_with("<text") && line.contains("\"start\""));
    let mut figures = 0;
    for line in starts {
        let text = line.split('>').nth(1).and_then(|rest| rest.split('<').next()).expect("a text");
        let end = attribute(line, "x") + crate::svg::width(text, attribute(line, "font-size"));
        assert!(!text.contains("CPU-second") || end <= whole, "{text} ends at {end} of {whole}");
        figures += usize::from(text.contains("CPU-second"));
    }
    assert_eq!(figures, 1, "{bars}");
}

#[test]
fn what_a_run_has_not_is_said_and_no_file() {
    let home = home();
    home.store(&crate::fixtures::plain(1_000, 8.0e6, 12.0e6));
    let (said, out) = drawn(&home, ChartPicture::Svg);
    assert!(
        said.remarks.iter().any(|remark| remark.ends_with("nothing to draw for: throughput radar")),
        "{:?}",
        said.remarks
    );
    assert!(!out.join("throughput_radar.svg").exists());
}

#[test]
fn a_scenario_without_adapters_has_bars_and_a_run_without_a_figure_is_nothing_to_draw() {
    let home = home();
    let mut alone = case("SORT-1", "", &around(5.0));
    alone.id.adapter = None;
    home.store(&run_of(1_000, vec![alone.clone()]));
    let (_, out) = drawn(&home, ChartPicture::Svg);
    assert!(fs::read_to_string(out.join("throughput_bars.svg")).expect("drawn").contains("SORT-1"));

    let mut failed = alone;
    failed.status = CaseStatus::Failed(FailureReason::Unwritable("it panicked".into()));
    home.store(&run_of(2_000, vec![failed]));
    let args = ReportCharts { runs: Vec::new(), suite: None, out, format: ChartPicture::Svg };
    let error = run(&args, &home.place).expect_err("nothing to draw");
    assert_eq!(stop::exit(&error), Exit::NothingToJudge);
}

#[test]
fn a_training_on_ranks_is_a_line_over_its_ranks_beside_the_ideal_one() {
    let home = home();
    let of_ranks = |ranks: usize, rate: f64| deep("TRAIN-4", "PyTorch", "ranks", ranks, rate);
    home.store(&run_of(1_000, vec![of_ranks(1, 1_000.0), of_ranks(2, 1_800.0), of_ranks(4, 2_000.0)]));
    let (_, out) = drawn(&home, ChartPicture::Svg);
    let drawn = fs::read_to_string(out.join("scaling_curves-train-4--ranks.svg")).expect("drawn");
    assert!(drawn.contains("Dotted: in proportion to the first.") && drawn.contains("1 5"), "{drawn}");
}
