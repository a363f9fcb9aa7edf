//! Caveats about a figure of a device, from the stage `metric`, judged over all repeats.

use super::rule::{Accusation, Rule};
use crate::metric::{DeviceCaveat, device_caveats};
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "device",
    lie: "the time of something else than the work: a body that is not done when it says so, or works where \
        nobody looks; a device that is slowed down, shared, or a fake",
    looks: "audits, samples by both clocks, telemetry and rooflines of each measured repeat on a device; the \
        first two caveats fail the case unless its scenario says `allow`, all others are caveats",
    blind: "a driver that tells what is not so; work of other processes that its counters do not have",
    remedy: "each caveat names its own",
    test: "verify::rules::tests::a_caveat_of_a_device_is_told_once_with_its_repeats",
    check,
};

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let mut found: Vec<(DeviceCaveat, Accusation)> = Vec::new();
    let measured: Vec<EndedRepeat<'_>> = examined.ended().filter(EndedRepeat::is_measured).collect();
    for (number, device) in
        measured.iter().filter_map(|one| Some((one.repeat.number, one.seen.device.as_ref()?)))
    {
        for caveat in device_caveats(device) {
            match found.iter_mut().find(|(known, _)| known.name() == caveat.name()) {
                Some((_, accusation)) if accusation.repeats.contains(&number) => {}
                Some((_, accusation)) => accusation.repeats.push(number),
                None => {
                    let known = device.allowed.iter().any(|known| known == caveat.name());
                    let severity =
                        if caveat.is_fatal() && !known { Severity::Fail } else { Severity::Caveat };
                    let detail = if severity == Severity::Fail {
                        format!("{caveat}; a scenario that means it says `.allow(\"{}\")`", caveat.name())
                    } else {
                        caveat.to_string()
                    };
                    found.push((caveat, Accusation { severity, repeats: vec![number], detail }));
                }
            }
        }
    }
    let of_all = |mut accusation: Accusation| {
        if accusation.repeats.len() == measured.len() {
            accusation.repeats.clear();
        }
        accusation
    };
    found.into_iter().map(|(_, accusation)| of_all(accusation)).collect()
}
