//! Each rule with what it must refuse, and with an honest case that it might accuse.

use std::time::Duration;

use super::fixture::{EPOCH, fails, found, honest, honest_worker, passes, work};
use super::{RULES, outside, unstopped};
use crate::bencher::{
    AnswerReading, Audit, ClockFault, ClockPair, Delivery, DrawnPlaces, Dtype, Evidence, ExpectedEpoch,
    FileUse, LifePair, Miscount, Phase, PipelineLife, Purpose, ReferenceComparison, WorkFault,
};
use crate::metric::{DeviceAudit, OnDevice, Returns, SampleKind};
use crate::registry::Equivalence;
use crate::run::{Failure, How, Outcome, Repeat};
use crate::verify::{Agreement, ExaminedCase, Severity};

#[test]
fn every_rule_has_a_name_of_its_own_and_a_test_that_is_there() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
    let tests = include_str!("tests.rs");
    for rule in RULES {
        let test = rule.test.strip_prefix("verify::rules::tests::").expect(rule.test);
        assert!(tests.contains(&format!("fn {test}()")), "{} names no test", rule.name);
    }
}

#[test]
fn other_work_is_told_with_what_differs() {
    let differs = Agreement::Differs(vec!["elements: 2, the reference has 3".into()]);
    fails(honest(), |case| case.agreement = differs, "same-work", "elements: 2, the reference has 3");
    let same =
        |same| Some(ReferenceComparison { same: Some(same), unique: 1.0, ..ReferenceComparison::default() });
    fails(
        honest(),
        |case| case.evidence.compared = same(false),
        "same-work",
        "by the hashes of this run's key",
    );
    passes(honest(), |case| case.evidence.compared = same(true));
    passes(honest(), |case| {
        case.evidence.compared = same(false);
        case.equivalence = Equivalence::Shape;
    });
    passes(honest(), |case| {
        case.evidence.compared = same(false);
        case.agreement = Agreement::Declared("crops otherwise".into());
    });
}

#[test]
fn an_answer_is_there_when_its_call_is_over() {
    // A call takes a millisecond.
    let read =
        |late: f64, again: f64| Some(AnswerReading { count: 64, late, again, ..AnswerReading::default() });
    let answered = || {
        let mut case = honest();
        case.evidence.answers = read(2_000.0, 25_000.0);
        case.evidence.compared.as_mut().unwrap().answers = read(1_000.0, 24_000.0);
        case
    };
    passes(answered(), |case| case.evidence.answers = read(200_000.0, 25_000.0));
    fails(
        answered(),
        |case| case.evidence.answers = read(300_000.0, 25_000.0),
        "answers",
        "takes 300.0 us more than reading it again, or the reference's, beside 1000.0 us of a call",
    );
    fails(
        answered(),
        |case| case.evidence.answers = read(0.0, 900_000.0),
        "answers",
        "it is made when somebody reads it",
    );
    // Beside a busy neighbour reading takes longer: by half, as in measured repeats of an honest sort.
    let reads = |again: f64, share: u64| {
        move |case: &mut super::fixture::Case| {
            case.seen.cpu = vec![case.seen.wall * share / 100];
            case.evidence.answers = read(1_000.0, again);
            case.evidence.compared.as_mut().unwrap().answers = read(1_000.0, 600_000.0);
        }
    };
    passes(answered(), reads(1_100_000.0, 50));
    fails(answered(), reads(1_600_000.0, 50), "answers", "it is made when somebody reads it");
    fails(answered(), reads(1_100_000.0, 100), "answers", "it is made when somebody reads it");
    let large = |case: &mut super::fixture::Case| {
        case.evidence.answers = read(90_000.0, 890_000.0);
        case.evidence.compared.as_mut().unwrap().answers = read(90_000.0, 880_000.0);
    };
    passes(answered(), large);
    let alike =
        |case: &mut super::fixture::Case| case.evidence.compared.as_mut().unwrap().unique = 1.0 / 16.0;
    let (rule, fails, said) = found(answered(), alike).unwrap();
    assert_eq!((&*rule, fails), ("answers", false), "{said}");
    assert!(said.contains("all answers of the reference are alike"), "{said}");
}

#[test]
fn elements_of_measured_passes_are_the_references() {
    let compared = ReferenceComparison {
        elements: 200,
        places: 200,
        distinct: 200,
        independent: 200.0,
        unique: 1.0,
        ..ReferenceComparison::default()
    };
    let with = |change: &dyn Fn(&mut ReferenceComparison)| {
        let mut compared = compared.clone();
        change(&mut compared);
        Some(compared)
    };
    let strangers = with(&|compared| compared.strangers = 3);
    fails(honest(), |case| case.evidence.compared = strangers.clone(), "spot-check", "3 of 200 elements");
    passes(honest(), |case| {
        case.evidence.compared = strangers.clone();
        case.equivalence = Equivalence::Approx(0.01); // other elements are what is asked for
    });
    let twice = with(&|compared| compared.again = 2);
    fails(honest(), |case| case.evidence.compared = twice.clone(), "spot-check", "2 of 200 elements");
    // The same batch again, whatever must agree.
    let again = with(&|compared| compared.distinct = 64);
    for equivalence in [Equivalence::Exact, Equivalence::Approx(0.01), Equivalence::Shape] {
        let change = |case: &mut super::fixture::Case| {
            case.evidence.compared = again.clone();
            case.equivalence = equivalence;
        };
        fails(honest(), change, "spot-check", "200 places that were looked at hold 64 different elements");
    }
    passes(honest(), |case| {
        case.evidence.compared = again.clone();
        case.equivalence = Equivalence::None;
    });
    // A data set in which one element in four is a different one.
    let alike = with(&|compared| (compared.distinct, compared.unique) = (60, 0.25));
    passes(honest(), |case| case.evidence.compared = alike);
    // In any order chance finds some elements twice.
    let lost = with(&|compared| compared.distinct = 150);
    passes(honest(), |case| {
        case.evidence.compared = lost.clone();
        case.evidence.expected = Some(ExpectedEpoch { in_order: false, ..EPOCH });
    });
    fails(honest(), |case| case.evidence.compared = lost, "spot-check", "150 different elements");
    // Zeros under a tolerance, and another type.
    let zeros = |case: &mut super::fixture::Case| {
        case.equivalence = Equivalence::Approx(0.01);
        case.work = work(&[0.0; 400]);
        case.evidence.compared = with(&|compared| (compared.elements, compared.distinct) = (400, 400));
    };
    fails(honest(), zeros, "spot-check", "of `x` in the batches that were looked at: 0, the reference has 2");
    passes(honest(), |case| {
        case.equivalence = Equivalence::Approx(0.01);
        case.work = work(&[1.0, 3.0]); // two elements of three: their moments may be so far off
    });
    // Batches whose elements are all alike, as the losses of a training are: four looks, however many
    // elements.
    let losses = |independent: f64| {
        move |case: &mut super::fixture::Case| {
            case.equivalence = Equivalence::Approx(0.01);
            case.work = work(&[2.7; 400]);
            case.evidence.compared =
                with(&|compared| (compared.elements, compared.independent) = (400, independent));
        }
    };
    passes(honest(), losses(4.0));
    fails(honest(), losses(400.0), "spot-check", "of `x` in the batches that were looked at: 2.7");
    // The beginning of a training, whose gradients are the larger ones: beside the reference's there, and not
    // its epoch.
    let beginning = |there: &[f32]| {
        let there = work(there).content.moments;
        move |case: &mut super::fixture::Case| {
            case.equivalence = Equivalence::Approx(0.01);
            case.work = work(&[2.9; 400]);
            case.evidence.compared = with(&|compared| {
                (compared.elements, compared.distinct, compared.there) = (400, 400, there.clone());
            });
        }
    };
    passes(honest(), beginning(&[2.9; 32]));
    fails(honest(), beginning(&[]), "spot-check", "looked at: 2.9");
    fails(honest(), beginning(&[1.0; 32]), "spot-check", "the reference has 1");
    // A worker whose copies are always of the same place.
    let places = |batches: u64, firsts: u64| {
        move |case: &mut super::fixture::Case| {
            *case = honest_worker();
            let drawn = DrawnPlaces { copies: 40, batches, firsts, room: 57 };
            case.evidence.compared = with(&|compared| compared.drawn = drawn);
        }
    };
    passes(honest(), places(20, 28));
    fails(honest(), places(20, 1), "spot-check", "40 copies begin at 1 of 57 elements of a batch");
    fails(honest(), places(1, 28), "spot-check", "40 copies begin at 1 of ");
    // Draws of its own for each epoch: the greatest number is not the same twice.
    let wide = |renewed: bool| {
        move |case: &mut super::fixture::Case| {
            case.equivalence = Equivalence::Approx(0.01);
            case.work = work(&[1.0, 2.0, 3.3]);
            case.evidence.compared = with(&|compared| compared.elements = 3);
            case.evidence.expected = Some(ExpectedEpoch { renewed, ..EPOCH });
        }
    };
    passes(honest(), wide(true));
    fails(honest(), wide(false), "spot-check", "in the batches that were looked at: 3.29");
    let half = |case: &mut super::fixture::Case| {
        case.equivalence = Equivalence::Shape;
        case.work.content.fields[0].shape = vec![2];
    };
    fails(honest(), half, "spot-check", "it delivered x: f32 [2]");
}

#[test]
fn elements_are_as_many_as_the_specification_says() {
    let noted = Miscount { batches: 7, at: 3, said: 64_000, expected: 64, held: None };
    fails(
        honest(),
        |case| case.evidence.miscounted = Some(noted),
        "count",
        "it has 64000 elements and must have 64",
    );
    let copied = Miscount { held: Some(48), ..noted };
    fails(
        honest(),
        |case| case.evidence.miscounted = Some(copied),
        "count",
        "it has 64000 elements, and a copy of it holds 48",
    );
    for claimed in [999, 1_001, u64::MAX] {
        fails(honest_worker(), |case| case.evidence.claimed = Some(claimed), "count", "which hold 1000");
    }
    passes(honest_worker(), |case| {
        case.evidence.claimed = Some(990);
        // The short batch may be among them.
        case.evidence.expected = Some(ExpectedEpoch { in_order: false, ..EPOCH });
    });
    let lost = |case: &mut super::fixture::Case| {
        case.evidence.claimed = Some(1_001);
        case.evidence.expected = Some(ExpectedEpoch { in_order: false, ..EPOCH });
    };
    fails(honest_worker(), lost, "count", "1000 at most");
    // The last batch of an epoch is short: 97 of warm-up leave three of which the last has 30.
    let short = ExpectedEpoch { elements: 4_980, ..EPOCH };
    passes(honest_worker(), |case| {
        case.evidence.expected = Some(short);
        (case.seen.warmup, case.seen.samples) = (97, vec![1_000_000; 3]);
        case.evidence.claimed = Some(130);
        (case.seen.wall, case.seen.elements) = (3_000_000, 130);
        case.evidence.account = None;
    });
    // Passes that follow others in an epoch end before its last batch, whatever was left out before.
    let follow = |case: &mut super::fixture::Case, claimed| {
        case.evidence.expected = Some(short);
        case.evidence.unstopped.as_mut().unwrap().elements = short.elements;
        (case.seen.warmup, case.seen.passes, case.evidence.begun) = (6, 4, 2);
        case.evidence.claimed = Some(claimed);
    };
    passes(honest_worker(), |case| follow(case, 1_000));
    fails(honest_worker(), |case| follow(case, 980), "count", "which hold 1000");
    // An epoch was left out with the first batch, since it is made at once: each pass has its own, all but
    // the last batch.
    let at_once = |case: &mut super::fixture::Case, claimed| {
        case.evidence.expected = Some(ExpectedEpoch { elements: 480, ..EPOCH });
        (case.seen.warmup, case.seen.passes, case.evidence.begun) = (10, 4, 5);
        case.seen.samples = vec![1_000_000; 36];
        case.seen.wall = 36_000_000;
        (case.evidence.claimed, case.seen.elements) = (Some(claimed), claimed);
        case.evidence.account = None;
    };
    fails(
        honest_worker(),
        |case| case.seen.bytes = u64::MAX,
        "count",
        "it claims 18446744073709551615 bytes",
    );
    let other_epoch = |case: &mut super::fixture::Case| {
        case.evidence.unstopped.as_mut().unwrap().elements = 4_990;
    };
    fails(honest_worker(), other_epoch, "count", "has 4990 elements in 100 batches instead of 5000 in 100");
    passes(honest_worker(), |case| at_once(case, 1_800));
    fails(honest_worker(), |case| at_once(case, 1_920), "count", "which hold 1800");
    passes(honest_worker(), |case| {
        case.seen.ran_out = Some(crate::metric::RanOut { batches: 20, warmup: 0 });
        case.evidence.claimed = Some(980);
    });
}

#[test]
fn an_epoch_that_nobody_stops_takes_no_longer() {
    let epoch = |case: &mut super::fixture::Case, milliseconds: u64| {
        let epoch = case.evidence.unstopped.as_mut().unwrap();
        epoch.wall = epoch.begin + epoch.first + milliseconds * 1_000_000;
    };
    // 20 us an element in the passes: 99 batches of 50 make 99 ms.
    passes(honest(), |case| epoch(case, 190));
    let (rule, fails_it, said) = found(honest(), |case| epoch(case, 230)).expect("a caveat");
    assert_eq!((&*rule, fails_it), ("unstopped", false), "{said}");
    fails(
        honest(),
        |case| epoch(case, 400),
        "unstopped",
        "takes 4.0 times as long as in the measured passes",
    );
    // A machine that stopped for 300 ms, in which no processor was busy: one repeat alone is a caveat.
    let idle = |case: &mut super::fixture::Case| {
        epoch(case, 400);
        case.evidence.unstopped.as_mut().unwrap().cpu = Some(110_000_000);
        case.seen.usage.cpu = std::time::Duration::from_millis(20);
    };
    let (_, fails_it, said) = found(honest(), idle).expect("a caveat");
    assert!(!fails_it, "{said}");
    fails(super::fixture::Case { repeats: 2, ..honest() }, idle, "unstopped", "takes 4.0 times as long");
    fails(
        honest(),
        |case| {
            idle(case);
            case.evidence.unstopped.as_mut().unwrap().cpu = Some(400_000_000);
        },
        "unstopped",
        "takes 4.0 times as long",
    );
    // What the machine took, what copies took, memory that is touched for the first time.
    passes(honest(), |case| {
        epoch(case, 300);
        case.evidence.unstopped.as_mut().unwrap().copied = 150_000_000;
    });
    passes(honest(), |case| {
        epoch(case, 300);
        case.evidence.unstopped.as_mut().unwrap().wait = Some(140_000_000);
    });
    passes(honest(), |case| {
        epoch(case, 300);
        case.evidence.unstopped.as_mut().unwrap().faults = 140_000;
    });
    let dear = |case: &mut super::fixture::Case, cost| {
        epoch(case, 340);
        case.evidence.page_fault = Some(cost);
        case.evidence.unstopped.as_mut().unwrap().faults = 80_000;
    };
    passes(honest(), |case| dear(case, 1_900)); // on a virtual machine
    let (_, _, said) = found(honest(), |case| {
        dear(case, 1_000_000);
        case.evidence.unstopped.as_mut().unwrap().faults = 30_000; // no machine has faults of a millisecond
    })
    .expect("a caveat");
    assert!(said.contains("2.5 times"), "{said}");
    let (_, _, said) = found(honest(), |case| dear(case, 300)).expect("a caveat");
    assert!(said.contains("2.6 times"), "{said}");
    // Of an epoch whose thread was on its processor all the time nothing was waited for, whatever other
    // threads waited.
    let beside = |case: &mut super::fixture::Case| {
        epoch(case, 300);
        let epoch = case.evidence.unstopped.as_mut().unwrap();
        (epoch.wait, epoch.cpu) = (Some(25_000_000), Some(epoch.wall));
    };
    fails(honest(), beside, "unstopped", "takes 3.0 times as long");
    // But they excuse no more than three quarters: whoever waits all the time is not excused.
    fails(
        honest(),
        |case| {
            epoch(case, 2_000);
            case.evidence.unstopped.as_mut().unwrap().wait = Some(1_990_000_000);
        },
        "unstopped",
        "times as long",
    );
    // Of a short epoch the processor's time must say the same.
    let short = |case: &mut super::fixture::Case, cpu: u64| {
        case.evidence.unstopped.as_mut().unwrap().elements = 100;
        case.evidence.unstopped.as_mut().unwrap().cpu = Some(cpu);
        epoch(case, 6);
        case.seen.usage.cpu = std::time::Duration::from_millis(20);
    };
    passes(honest(), |case| short(case, 4_000_000));
    let twice = || super::fixture::Case { repeats: 2, ..honest() };
    fails(twice(), |case| short(case, 13_000_000), "unstopped", "3.0 times as long");
    // Milliseconds of one repeat alone are a caveat: whatever else the machine did in them is in the
    // processor's time too.
    let (_, fails_it, said) = found(honest(), |case| short(case, 13_000_000)).expect("a caveat");
    assert!(!fails_it, "{said}");
    let longer = |case: &mut super::fixture::Case| {
        short(case, 13_000_000);
        epoch(case, 7); // 5.02 ms more than its 99 elements take
    };
    fails(honest(), longer, "unstopped", "5.0 ms of it are made where no clock runs");
    passes(honest(), |case| case.evidence.unstopped = None);
    const { assert!(unstopped::BESIDE < unstopped::BOUND) }
}

/// Two pairs of a short epoch: five times as long as passes, and as long.
const LONG: [u64; 2] = [4_000_000, 1_000_000];
const USUAL: [u64; 2] = [800_000, 200_000];

/// Lives of so many nanoseconds over so many elements, and over a quarter of them.
fn lives(elements: u64, pairs: &[[u64; 2]]) -> Vec<LifePair> {
    let life = |elements, wall| PipelineLife { elements, wall, cpu: wall, ..PipelineLife::default() };
    pairs
        .iter()
        .map(|[whole, part]| LifePair { whole: life(elements, *whole), part: life(elements / 4, *part) })
        .collect()
}

#[test]
fn what_grows_with_the_data_is_work_wherever_it_is_done() {
    // An element takes 20 us in a pass.
    let over = |whole, part| {
        move |case: &mut super::fixture::Case| case.evidence.lives = lives(5_000, &[[whole, part]])
    };
    fails(
        honest(),
        over(500_000_000, 125_000_000),
        "growth",
        "a pipeline takes 5.0 times as long for each further element as a measured pass: 400.0 ms",
    );
    passes(honest(), over(199_000_000, 50_000_000));
    // What a compiler takes is the same whatever the data: its opening is free.
    passes(honest(), |case| {
        over(405_000_000, 330_000_000)(case);
        case.seen.ledger.open = 301_000_000;
    });
    // So is an arena with a place for each batch.
    passes(honest(), |case| {
        over(105_000_000, 30_000_000)(case);
        let epoch = case.evidence.unstopped.as_mut().unwrap();
        (epoch.addresses, epoch.span) = (100, EPOCH.bytes);
    });
    // What the machine took is no work: waiting, and faults of new memory, with which nothing is told.
    passes(honest(), |case| {
        over(305_000_000, 30_000_000)(case);
        let LifePair { whole, .. } = &mut case.evidence.lives[0];
        (whole.wait, whole.cpu) = (Some(200_000_000), 105_000_000);
    });
    passes(honest(), |case| {
        over(205_000_000, 30_000_000)(case);
        case.evidence.lives[0].whole.faults = 100_000;
    });
    // More than all faults can have taken is work nevertheless.
    let faulty = |case: &mut super::fixture::Case| {
        over(700_000_000, 30_000_000)(case);
        case.evidence.lives[0].whole.faults = 50_000;
    };
    fails(honest(), faulty, "growth", "a pipeline takes 6.3 times as long");
    // A pass that waited for a processor half of its time did its work in the other half.
    let waited = |case: &mut super::fixture::Case| {
        over(399_000_000, 100_000_000)(case);
        let around = &mut case.seen.around;
        (around.span, around.ran, around.waited) = (100_000_000, Some(50_000_000), Some(50_000_000));
    };
    fails(honest(), waited, "growth", "a pipeline takes 8.0 times as long");
    passes(honest(), |case| {
        waited(case);
        case.work.report.workers = 2;
        case.evidence.lives = lives(5_000, &[[199_000_000, 50_000_000]]);
    });
    // Nor does a life whose memory was new say anything beside those whose memory was not: an arena is free.
    passes(honest(), |case| {
        case.evidence.lives = lives(5_000, &[[90_000_000, 30_000_000], [100_000_000, 25_000_000]]);
        case.evidence.lives[0].whole.faults = 22_000;
        let epoch = case.evidence.unstopped.as_mut().unwrap();
        (epoch.addresses, epoch.span) = (100, EPOCH.bytes);
    });
    // Whom it does not accuse it need not clear: another process may have made the epoch, or a long start may
    // hide a part of it.
    let opened = "opening the pipeline took 301ms at least";
    for (pair, cpu) in [([400_000_000, 100_000_000], 0), ([1_500_000_000, 1_250_000_000], 1_500_000_000)] {
        let unclear = |case: &mut super::fixture::Case| {
            case.evidence.lives = lives(5_000, &[pair]);
            case.evidence.lives[0].whole.cpu = cpu;
            case.seen.ledger.open = 301_000_000;
        };
        fails(honest(), unclear, "outside", opened);
    }
    // A start that is not the same twice is no growth.
    passes(honest(), |case| case.evidence.lives = lives(40, &[[304_000_000, 300_000_000]]));
    // Of a short epoch three pairs of four must say so.
    let short = |pairs: &'static [[u64; 2]]| {
        move |case: &mut super::fixture::Case| case.evidence.lives = lives(40, pairs)
    };
    fails(honest(), short(&[LONG, LONG, USUAL, LONG, LONG]), "growth", "3.2 ms of an epoch");
    passes(honest(), short(&[LONG, LONG, USUAL, USUAL, LONG]));
}

#[test]
fn what_is_made_before_a_pass_is_told() {
    fails(honest(), |case| case.seen.ledger.begin = 21_000_000, "outside", "beginning epochs took 21ms");
    passes(honest(), |case| case.seen.ledger.begin = 19_000_000);
    // Processes that are started for each epoch: told, and no rank is lost.
    let (rule, fails_it, _) = found(honest_worker(), |case| {
        case.seen.ledger.begin = 900_000_000;
        case.evidence.account.as_mut().unwrap().processes = Some(3);
    })
    .expect("a caveat");
    assert_eq!((&*rule, fails_it), ("outside", false));
    fails(
        honest_worker(),
        |case| case.seen.ledger.begin = 900_000_000,
        "outside",
        "beginning epochs took 900ms",
    );
    // In the quickest repeat of a native pipeline begins cost little, unless threads are started for it.
    let begins = |case: &mut super::fixture::Case, begin: u64, workers: u64| {
        (case.repeats, case.seen.ledger.begin) = (2, begin);
        case.work.report.workers = workers;
    };
    fails(
        honest(),
        |case| begins(case, 600_000, 0),
        "outside",
        "took 600µs at least, outside the clock: 3.0 %",
    );
    passes(honest(), |case| begins(case, 300_000, 0));
    passes(honest(), |case| begins(case, 5_900_000, 2));
    fails(honest(), |case| begins(case, 6_100_000, 2), "outside", "30.5 %");
    passes(honest(), |case| {
        begins(case, 600_000, 0);
        case.repeats = 1; // it may have waited
    });
    // Threads of a worker that wait for each other, or a graph that is made anew: it is no work, or little
    // for each.
    for (begun, cpu, fails_it) in [(1, 60_000_000, true), (1, 40_000_000, false), (20, 900_000_000, false)] {
        let (rule, fail, said) = found(honest_worker(), |case| {
            (case.seen.ledger.begin, case.evidence.begun) = (900_000_000, begun);
            case.evidence.account.as_mut().unwrap().stopped.cpu = Some(cpu);
        })
        .expect("it is found");
        assert_eq!((&*rule, fail), ("outside", fails_it), "{said}");
    }
    // 5000 elements of 20 us are an epoch of 100 ms.
    fails(
        honest(),
        |case| case.seen.ledger.open = 301_000_000,
        "outside",
        "opening the pipeline took 301ms at least",
    );
    passes(honest(), |case| case.seen.ledger.open = 299_000_000);
    // On a busy machine whoever opens waits for a processor: in milliseconds it is time on one that counts.
    let short = |case: &mut super::fixture::Case, ran: u64| {
        case.evidence.expected = Some(ExpectedEpoch { elements: 50, ..EPOCH });
        (case.seen.ledger.open, case.evidence.opening) = (60_000_000, Some(ran));
    };
    passes(honest(), |case| short(case, 4_000_000));
    fails(honest(), |case| short(case, 30_000_000), "outside", "opening the pipeline took 30ms");
    let on_device = |case: &mut super::fixture::Case, open: u64| {
        case.work.report.ran_on = "cuda:0, delivered to cpu".to_owned();
        (case.seen.ledger.open, case.evidence.gpu_open) = (open, Some(true));
    };
    passes(honest(), |case| on_device(case, 999_000_000));
    fails(honest(), |case| on_device(case, 1_001_000_000), "outside", "opening the pipeline took 1.001s");
    let said_alone = |case: &mut super::fixture::Case| {
        on_device(case, 999_000_000);
        case.evidence.gpu_open = Some(false);
    };
    fails(honest(), said_alone, "outside", "opening the pipeline took 999ms");
    passes(honest(), |case| {
        case.seen.ledger.open = 301_000_000;
        // There is nothing to prepare.
        case.evidence.expected = Some(ExpectedEpoch { transforms: false, ..EPOCH });
    });
    passes(honest_worker(), |case| case.seen.ledger.open = 5_000_000_000);
    // Every batch at a place of its own, an epoch of them side by side.
    let side_by_side = |case: &mut super::fixture::Case| {
        let epoch = case.evidence.unstopped.as_mut().unwrap();
        (epoch.addresses, epoch.span) = (100, EPOCH.bytes * 99 / 100);
    };
    fails(honest(), side_by_side, "outside", "100 batches lie at 100 places in 58 MiB");
    passes(honest(), |case| {
        side_by_side(case);
        case.evidence.expected = Some(ExpectedEpoch { keeps: true, ..EPOCH }); // which is what was asked for
    });
    passes(honest(), |case| {
        side_by_side(case);
        case.evidence.expected = Some(ExpectedEpoch { bytes: 5_000 * 8, ..EPOCH }); // wherever there is room
    });
    passes(honest(), |case| {
        let epoch = case.evidence.unstopped.as_mut().unwrap();
        (epoch.addresses, epoch.span) = (5, EPOCH.bytes); // a few buffers, wherever they are
    });
    let prepares = |grown: u64, milliseconds: f64| {
        move |case: &mut super::fixture::Case| {
            case.evidence.grown = Some(grown);
            case.evidence.costs.set_up = Some((milliseconds * 1e6) as u64);
        }
    };
    fails(
        honest_worker(),
        prepares(EPOCH.bytes + EPOCH.source, 301.0),
        "outside",
        "it prepares its batches in set-up",
    );
    fails(honest_worker(), prepares(EPOCH.bytes / 2 + EPOCH.source, 160.0), "outside", "in set-up");
    passes(honest_worker(), prepares(EPOCH.bytes + EPOCH.source, 200.0)); // nothing is spared
    passes(honest_worker(), prepares(2 * EPOCH.source, 9_000.0)); // copies of the data set
    // What an opening makes once, an import, is no part of one that follows another; what grows with the data
    // is.
    let after_another = |grown: u64| {
        move |case: &mut super::fixture::Case| {
            prepares(EPOCH.bytes + EPOCH.source, 5_000.0)(case);
            let reopened = Evidence { reopened: true, grown: Some(grown), ..Evidence::default() };
            case.unmeasured = Some(Evidence { expected: Some(EPOCH), ..reopened });
        }
    };
    passes(honest_worker(), after_another(EPOCH.source + EPOCH.bytes / 10));
    fails(honest_worker(), after_another(EPOCH.source + EPOCH.bytes), "outside", "in set-up");
    let compiles = |grown: u64| {
        move |case: &mut super::fixture::Case| {
            prepares(EPOCH.source + (grown << 20), 4_000.0)(case);
            case.evidence.expected = Some(ExpectedEpoch { bytes: 73 << 20, source: 10 << 20, ..EPOCH });
            case.evidence.costs.compile = Some(3_000_000_000);
        }
    };
    passes(honest_worker(), compiles(105)); // the compiler of FFCV
    fails(honest_worker(), compiles(128 + 73), "outside", "in set-up");
    let compiles_nothing = |case: &mut super::fixture::Case| {
        compiles(105)(case);
        case.evidence.costs.compile = None;
    };
    fails(honest_worker(), compiles_nothing, "outside", "in set-up");
    let _ = outside::RULE;
}

#[test]
fn a_workers_account_adds_up_to_what_passed() {
    let account = |passed, claimed| {
        move |case: &mut super::fixture::Case| {
            let account = case.evidence.account.as_mut().unwrap();
            (account.passed, account.claimed) = (passed, claimed);
            (account.cpu, account.cpu_claimed) = (None, None);
        }
    };
    let measured = |passed, claimed, wall| {
        move |case: &mut super::fixture::Case| {
            account(passed, claimed)(case);
            let account = case.evidence.account.as_mut().unwrap();
            (account.wall, account.samples) = (wall, wall);
        }
    };
    let long = |claimed| measured(2_000_000_000, claimed, 1_000_000_000);
    fails(honest_worker(), long(1_880_000_000), "account", "120ms are missing");
    passes(honest_worker(), long(1_900_000_000));
    // In a short run less may be missing: a clock that is a sixth too slow hides no more than a tenth of it.
    fails(honest_worker(), measured(300_000_000, 260_000_000, 200_000_000), "account", "40ms are missing");
    passes(honest_worker(), measured(300_000_000, 275_000_000, 200_000_000));
    // Of an answer that lay there nobody is guilty; who does not tell in most repeats is, since the middle
    // one is ranked.
    passes(honest_worker(), |case| (case.repeats, case.untold) = (3, 1));
    fails(honest_worker(), |case| (case.repeats, case.untold) = (3, 2), "account", "1.0001s are missing");
    fails(
        honest_worker(),
        account(30_000_000, 19_000_000),
        "account",
        "its clock ran for 20ms in an account of 19ms",
    );
    let cpu = |seen, told, running| {
        move |case: &mut super::fixture::Case| {
            let account = case.evidence.account.as_mut().unwrap();
            (account.cpu, account.cpu_claimed, account.running) = (Some(seen), Some(told), Some(running));
        }
    };
    fails(honest_worker(), cpu(1_000_000_000, 700_000_000, 10), "account", "used 700ms of processor time");
    passes(honest_worker(), cpu(1_000_000_000, 850_000_000, 10));
    // Other processes of its own go on while a request and an answer are on their way.
    let before_it_read = |told| {
        move |case: &mut super::fixture::Case| {
            cpu(930_000_000, told, 10)(case);
            let account = case.evidence.account.as_mut().unwrap();
            (account.passed, account.claimed) = (609_000_000, 560_000_000);
            (account.wall, account.samples) = (500_000_000, 500_000_000);
        }
    };
    passes(honest_worker(), before_it_read(687_000_000));
    fails(honest_worker(), before_it_read(600_000_000), "account", "used 600ms of processor time");
    fails(honest_worker(), cpu(1_000_000_000, 1_000_000_000, 1_200_000_000), "account", "used 1.2s");
    passes(honest_worker(), |case| {
        cpu(1_000_000_000, 1_000_000_000, 1_200_000_000)(case);
        case.evidence.account.as_mut().unwrap().all_seen = false; // one that ended took its time along
    });
}

#[test]
fn a_workers_samples_add_up_to_its_wall_time() {
    let samples =
        |sum| move |case: &mut super::fixture::Case| case.evidence.account.as_mut().unwrap().samples = sum;
    fails(honest_worker(), samples(10_000_000), "samples", "add up to 10ms, but its clock ran for 20ms");
    passes(honest_worker(), samples(19_100_000));
}

#[test]
fn a_device_that_is_still_at_work_is_told_by_name() {
    let audit = |waited, again| Audit { waited, again };
    let with = |audits: Vec<Audit>| {
        move |case: &mut super::fixture::Case| {
            let account = case.evidence.account.as_mut().unwrap();
            (account.audits, account.batch) = (audits, 100_000);
        }
    };
    let late = audit(400_000, 5_000);
    fails(
        honest_worker(),
        with(vec![late, late, audit(6_000, 5_000)]),
        "pending",
        "400µs more on 2 of 3 batches",
    );
    for honest in [
        vec![],
        vec![late, audit(6_000, 5_000)], // once is no habit
        vec![audit(14_000, 3_000); 4],   // nothing that could be told from asking
        vec![audit(60_000, 25_000); 4],  // asking is dear here
        vec![audit(24_000, 2_000); 4],   // a small part of the batch
    ] {
        passes(honest_worker(), with(honest));
    }
    let on_device = |case: &mut super::fixture::Case| {
        case.evidence.account.as_mut().unwrap().on_device = true;
    };
    fails(honest_worker(), on_device, "pending", "says nothing of what was pending on its device");
}

#[test]
fn no_claim_is_beyond_what_there_can_be() {
    type Change = fn(&mut super::fixture::Case);
    fn account(case: &mut super::fixture::Case) -> &mut crate::bencher::Account {
        let account = case.evidence.account.as_mut().unwrap();
        account.processors = Some(2);
        account
    }
    let absurd: [(Change, &str); 14] = [
        (|case| account(case).wall = u64::MAX, "of measured time, but 31ms passed"),
        (|case| account(case).samples = u64::MAX, "of samples, but"),
        (|case| case.seen.first_item = Some(u64::MAX), "for its first batch"),
        (|case| account(case).begins = Some(u64::MAX), "to begin epochs"),
        (
            |case| account(case).stopped.wall = Some(32_000_000),
            "32ms in which its clock stood, but 31ms passed",
        ),
        (|case| account(case).compile = Some(u64::MAX), "to compile"),
        (|case| account(case).claimed = u64::MAX, "in its ledger"),
        (|case| account(case).running = Some(112_000_001), "while its clock ran, but 2 processors had 112ms"),
        (|case| account(case).stopped.others = Some(u64::MAX), "of others while its clock stood, but"),
        (|case| account(case).cpu_claimed = Some(u64::MAX), "of processor time in all"),
        (
            |case| {
                account(case);
                case.seen.usage.minor_faults = u64::MAX;
            },
            "page faults in 31ms",
        ),
        (
            |case| {
                account(case);
                case.seen.usage.voluntary_switches = u64::MAX;
            },
            "switches in",
        ),
        (|case| case.evidence.unstopped.as_mut().unwrap().passed = Some(105_999_999), "106ms for an epoch"),
        (
            |case| {
                let epoch = case.evidence.unstopped.as_mut().unwrap();
                (epoch.first, epoch.passed) = (u64::MAX, Some(u64::MAX));
            },
            "for its first batch and 0ns for copies",
        ),
    ];
    for (change, says) in absurd {
        let mut case = honest_worker();
        change(&mut case);
        let findings = case.judged();
        let found = findings.iter().find(|finding| finding.rule == "claims").expect(says);
        assert!(
            found.severity == Severity::Fail && found.detail.to_string().contains(says),
            "{}",
            found.detail
        );
    }
    passes(honest_worker(), |case| {
        (account(case).stopped.wall, account(case).running) = (Some(31_000_000), Some(112_000_000));
        case.evidence.unstopped.as_mut().unwrap().passed = Some(106_000_000);
    });
}

/// The details of what is found in a repeat that failed so.
fn found_in_failed(how: How) -> Vec<String> {
    let failure = Failure { how, phase: Phase::TearDown, detail: String::new(), stderr: String::new() };
    let outcome = Outcome::Failed(failure);
    let repeat = Repeat {
        number: 2,
        purpose: Purpose::Measure,
        slot: 1,
        start: None,
        tree: None,
        utilisation: None,
        surroundings: 0,
        outcome,
    };
    let examined = ExaminedCase {
        equivalence: Equivalence::Exact,
        agreement: &Agreement::Agrees,
        reference: None,
        repeats: &[repeat],
    };
    let findings = super::judge(&examined);
    let rules = ["claims", "checkpoint"];
    assert!(findings.iter().all(|finding| rules.contains(&&*finding.rule) && finding.repeats == [2]));
    assert_eq!(examined.has_evidence(), !matches!(examined.failed().next(), Some((_, How::Panic))));
    findings.into_iter().map(|finding| finding.detail.to_string()).collect()
}

#[test]
fn the_numbers_of_a_repeat_that_could_not_go_on_are_judged_again() {
    let clock = |fault| found_in_failed(How::Clock(Box::new(fault)));
    let work = |fault| found_in_failed(How::Work(Box::new(fault)));
    assert_eq!(found_in_failed(How::Panic), [""; 0]);
    let steps = |claimed, times| ClockFault::Steps {
        asked: 3,
        told: vec![("step".into(), 3), ("forward".into(), times)],
        claimed,
        passed: 5_000,
    };
    assert_eq!(clock(steps(6_000, 3)), ["it claims 6µs for 3 steps, and 5µs passed"]);
    assert_eq!(
        clock(steps(4_000, 2)),
        ["it claims 4µs for 3 steps, and 5µs passed; it tells 2 times of `forward`"]
    );
    assert_eq!(clock(steps(4_000, 3)), [""; 0], "a rule may change its mind");
    let save = |stall, passed| ClockFault::Save {
        asked: 2,
        idle: 2,
        during: 1,
        steps: 900,
        stall,
        complete: 700,
        passed,
    };
    assert_eq!(
        clock(save(800, 900)),
        ["it claims 2 steps of 2 before a save and 1 during it in 900ns, a stall of 800ns and a save of \
          700ns, but 900ns passed"]
    );
    assert_eq!((clock(save(700, 899)).len(), clock(save(700, 900)).len()), (1, 0));
    let items = |asked, said, shown| work(WorkFault::Items { asked, said, shown });
    assert_eq!(items(9, 8, 7), ["the source says that it went through 8 items and showed 7"]);
    assert_eq!(
        items(7, 8, 8),
        ["the source says that it went through 8 items and showed 8, and was asked for 7"]
    );
    assert_eq!(items(8, 8, 8), [""; 0]);
    assert_eq!(
        work(WorkFault::Fields { elements: 2, fields: 0 }),
        ["a batch counts 2 elements and has no field"]
    );
    let bytes = |bytes| {
        let field = "pair\n".to_owned();
        work(WorkFault::Bytes { field, dtype: Dtype::I32, shape: vec![2], elements: 3, bytes })
    };
    assert_eq!((bytes(24), bytes(25).len()), (vec![], 1));
    assert!(
        bytes(25)[0].contains("has 25 bytes, which are not those of 3 elements of shape [2] and type i32")
    );
    assert_eq!(work(WorkFault::Copy { elements: 1, first: 2, of: 3 }), [""; 0]);
    assert_eq!(
        work(WorkFault::Copy { elements: 0, first: 2, of: 3 }),
        ["the worker hands over 0 elements from 2 on of a batch of 3 to be verified"]
    );
    let epoch = |elements| work(WorkFault::Epoch { expected: EPOCH, elements, batches: 100 });
    assert_eq!(epoch(5_000), [""; 0]);
    assert!(epoch(4_990)[0].contains("has 4990 elements in 100 batches instead of 5000 in 100"));
}

#[test]
fn a_checkpoint_is_there_when_its_time_is_over() {
    let found = |fault| found_in_failed(How::Work(Box::new(fault)));
    let numbers = |wrong| found(WorkFault::Tensor { tensor: "a".to_owned(), looked: 8, wrong });
    assert_eq!(
        numbers(1),
        ["of 8 numbers of the tensor `a` that were looked at when a load was over, at least 1 are not \
          those that were saved"]
    );
    let load = |files, read, grown| found(WorkFault::Load { files, read, state: 10_000_000, grown });
    assert_eq!(
        load(8_000_000, 1_000, 8_999_999),
        ["when a load was over, 1 kB of 8000 kB in files had been read, and memory had grown by 8999 \
          kB for a state of 10000 kB"]
    );
    // Read by calls, or mapped; and what is small says nothing.
    for (files, read, grown) in [(8_000_000, 7_200_000, 0), (8_000_000, 0, 9_000_000), (4_000_000, 0, 0)] {
        assert_eq!(load(files, read, grown), [""; 0]);
    }
    let save = |written, allocated| found(WorkFault::Save { files: 8_000_000, written, allocated });
    assert_eq!(
        save(7_199_999, 4_096),
        ["when a save was over, 7199 kB had been written of 8000 kB that are new in its files, and the \
          file system had 4 kB of them"]
    );
    assert_eq!((save(7_200_000, 0).len(), save(0, 7_200_000).len()), (0, 0), "by calls, or by a mapping");
    let files = |changed| found(WorkFault::Files { looked: 64, changed });
    assert_eq!(files(2), ["of 64 places in the files of a checkpoint, 2 changed after its save was over"]);
    assert_eq!((numbers(0).len(), files(0).len()), (0, 0));
}

#[test]
fn a_body_that_takes_no_time_is_none() {
    let body = |sample: u64, iterations: u64| {
        move |case: &mut super::fixture::Case| {
            case.seen.taken = Some(SampleKind::Iterations);
            (case.seen.samples, case.seen.iterations_per_sample) = (vec![sample; 20], iterations);
            case.evidence = crate::bencher::Evidence::default();
        }
    };
    fails(honest(), body(1_000_000, 1 << 60), "no-time", "8.7e-13 ns each");
    fails(honest(), body(0, 1), "no-time", "said to take 0 ns");
    passes(honest(), body(1_000_000, 4_000_000)); // an empty loop: a quarter of a nanosecond
    let loop_of_its_own =
        |case: &mut super::fixture::Case| case.evidence.overclaimed = Some((u64::MAX, 1_000));
    fails(honest(), loop_of_its_own, "no-time", "and 1µs passed");
    let longer = |case: &mut super::fixture::Case| case.slot = case.seen.wall - 1;
    fails(honest(), longer, "no-time", "of measured time, but");
}

#[test]
fn a_view_that_calls_itself_owned_is_told() {
    fails(honest(), |case| case.evidence.view = Some(true), "view", "lie in the memory of the data set");
    let copies_nothing = |case: &mut super::fixture::Case| {
        case.evidence.view = Some(true);
        case.evidence.expected = Some(ExpectedEpoch { transforms: false, ..EPOCH });
        case.work.report.delivery = crate::bencher::Delivery::View;
    };
    fails(honest(), copies_nothing, "view", "to make batches of their own");
    passes(honest(), |case| {
        case.evidence.view = Some(true);
        case.work.report.delivery = crate::bencher::Delivery::View;
    });
}

#[test]
fn an_epoch_that_is_kept_in_a_file_is_told() {
    let with = |change: fn(&mut FileUse)| {
        move |case: &mut super::fixture::Case| {
            let mut files = FileUse::default();
            change(&mut files);
            case.evidence.files = Some(files);
        }
    };
    // An epoch has 60 MB, made from 15 MB; the repeat hands out 1.2 of them.
    fails(honest(), with(|files| files.written = 60 << 20), "files", "it wrote 60 MiB");
    fails(honest(), with(|files| files.mapped = 50 << 20), "files", "has mapped files of 50 MiB");
    fails(honest(), with(|files| files.read = 72 << 20), "files", "it read 72 MiB");
    // A form of its own for the data set, written, mapped, or read again and again.
    passes(honest(), with(|files| (files.written, files.mapped) = (16 << 20, 16 << 20)));
    passes(honest(), with(|files| files.read = 18 << 20));
    // Where the data set is read from files, so much is read.
    passes(honest(), |case| {
        with(|files| files.read = 72 << 20)(case);
        case.evidence.expected = Some(ExpectedEpoch { in_memory: false, ..EPOCH });
    });
    // Batches as large as what they are made from, or other processes: it may be a form of its own.
    let caveat = |change: fn(&mut super::fixture::Case)| {
        let (rule, fail, said) = found(honest(), change).expect("it is found");
        assert_eq!((&*rule, fail), ("files", false), "{said}");
    };
    caveat(|case| {
        case.evidence.files = Some(FileUse { read: 90 << 20, shared: true, ..FileUse::default() });
    });
    caveat(|case| {
        case.evidence.files = Some(FileUse { mapped: 60 << 20, ..FileUse::default() });
        case.evidence.expected = Some(ExpectedEpoch { source: EPOCH.bytes, ..EPOCH });
    });
    // A worker has the data set twice in a form of its own; an epoch of batches it may not have.
    let worker = |files: FileUse| {
        move |case: &mut super::fixture::Case| {
            case.evidence.files = Some(FileUse { worker: true, shared: true, ..files });
        }
    };
    let written = |mebibytes: u64| FileUse { written: mebibytes << 20, ..FileUse::default() };
    passes(honest(), worker(written(30)));
    fails(honest(), worker(written(50)), "files", "wrote or keeps 50 MiB in files");
    caveat(|case| {
        case.evidence.files = Some(FileUse { read: 60 << 20, worker: true, ..FileUse::default() });
    });
    passes(honest(), worker(FileUse { read: 40 << 20, ..FileUse::default() }));
    passes(honest(), |case| {
        worker(written(50))(case); // twice as large as what they are made from: it may be two copies of that
        case.evidence.expected = Some(ExpectedEpoch { source: EPOCH.bytes / 2, ..EPOCH });
    });
    // Nothing is prepared, so that nothing is kept; and a cache is what was asked for.
    passes(honest(), |case| {
        with(|files| files.mapped = 60 << 20)(case);
        case.evidence.expected = Some(ExpectedEpoch { transforms: false, ..EPOCH });
    });
    passes(honest(), |case| {
        with(|files| files.written = 60 << 20)(case);
        case.evidence.expected = Some(ExpectedEpoch { keeps: true, ..EPOCH });
    });
}

#[test]
fn a_batch_that_comes_faster_than_it_is_copied_is_told() {
    // A batch of 50 elements takes a millisecond.
    let copied = |microseconds: f64| {
        move |case: &mut super::fixture::Case| case.evidence.copy = Some(microseconds * 1e3)
    };
    passes(honest(), copied(999.0));
    let (rule, fail, said) = found(honest(), copied(1_500.0)).expect("it is found");
    assert_eq!((&*rule, fail), ("copy", false), "{said}");
    assert!(said.contains("a batch takes 1ms") && said.contains("in 1.5ms"), "{said}");
    passes(honest(), |case| {
        copied(1_500.0)(case);
        case.seen.usage.cpu = Duration::from_millis(40); // two processors in 20 ms
        case.work.report.workers = 2;
    });
    passes(honest(), |case| {
        copied(1_500.0)(case);
        case.work.report.delivery = Delivery::View;
    });
}

#[test]
fn time_that_nobody_explains_is_told() {
    let with = |told: u64, slot: u64| {
        move |case: &mut super::fixture::Case| {
            (case.seen.ledger.measured, case.slot) = (told * 1_000_000, slot * 1_000_000);
        }
    };
    passes(honest(), with(20, 215)); // a process ends late on a busy machine
    passes(honest(), with(1_500, 1_800));
    let (rule, fail, said) = found(honest(), with(500, 1_000)).expect("it is found");
    assert_eq!((&*rule, fail), ("outside", false), "{said}");
    fails(honest(), with(500, 3_000), "outside", "2.5s of a repeat are in no part of its ledger");
}

#[test]
fn a_priority_that_was_raised_is_told_and_a_lower_one_is_not() {
    let has = |harness, least| {
        move |case: &mut super::fixture::Case| case.evidence.priority = Some([harness, least])
    };
    passes(honest(), has(20, 20));
    passes(honest(), has(20, 35)); // a framework that gives way
    passes(honest(), has(15, 15)); // all were started so
    fails(honest(), has(20, 15), "priority", "has the priority 15, where the harness");
    fails(honest(), has(20, -51), "priority", "has the priority -51");
    passes(honest(), |case| case.evidence.processors_beyond = Some(0));
    let beyond = |case: &mut super::fixture::Case| case.evidence.processors_beyond = Some(2);
    fails(honest(), beyond, "priority", "may be on 2 processors that the harness");
}

#[test]
fn threads_that_nobody_is_told_of_stand_apart() {
    let uses = |milliseconds: u64, workers: u64| {
        move |case: &mut super::fixture::Case| {
            case.seen.usage.cpu = Duration::from_millis(milliseconds);
            case.work.report.workers = workers;
        }
    };
    passes(honest(), uses(20, 0));
    passes(honest(), uses(25, 0)); // 1.25 processors, with signals and whatever else
    passes(honest(), uses(60, 2));
    for (used, workers, said) in [(38, 0, "no workers, and uses 1.9"), (50, 1, "one worker, and uses 2.5")] {
        let (rule, is_failure, found) = found(honest(), uses(used, workers)).expect("it is found");
        assert_eq!((&*rule, is_failure), ("processors", false), "{found}");
        assert!(found.contains(said), "{found}");
    }
    // One thread, and counters that are read around passes of 5 us each.
    passes(honest(), |case| {
        uses(38, 0)(case);
        case.seen.passes = 4_000;
    });
    let is_body = |case: &mut super::fixture::Case| {
        uses(38, 0)(case);
        case.seen.taken = Some(SampleKind::Iterations);
    };
    passes(honest(), is_body);
}

#[test]
fn a_caveat_of_a_device_is_told_once_with_its_repeats() {
    let found_of = |known: Vec<String>| {
        move |case: &mut super::fixture::Case| {
            let audit = DeviceAudit { returned: 2_000, complete: 2_000_000, ..DeviceAudit::default() };
            let mut device = OnDevice {
                returns: Returns::Complete,
                audits: vec![audit; 3],
                allowed: known,
                ..OnDevice::default()
            };
            device.info.partitioned = Some(true);
            case.seen.device = Some(Box::new(device));
        }
    };
    let mut case = honest();
    found_of(Vec::new())(&mut case);
    let told = |case: &super::fixture::Case| {
        let findings = case.judged().into_iter();
        findings
            .map(|finding| (finding.rule, finding.severity, finding.detail.to_string()))
            .collect::<Vec<_>>()
    };
    let found = told(&case);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((&*found[0].0, found[0].1), ("device", Severity::Fail));
    assert!(found[0].2.contains("forgot to synchronise") && found[0].2.contains("allow"), "{found:?}");
    assert_eq!(found[1].1, Severity::Caveat);
    found_of(vec!["forgot-to-sync".to_owned()])(&mut case);
    assert!(told(&case).iter().all(|(_, severity, _)| *severity == Severity::Caveat));
}

#[test]
fn a_subject_that_touches_all_its_memory_for_the_first_time_is_told() {
    // 1000 elements of 12 KiB are three pages each.
    let faults = |case: &mut super::fixture::Case, faults: u64| {
        case.seen.bytes = 1_000 * 12 * 1024;
        case.seen.usage.minor_faults = faults;
    };
    let (rule, fail, said) = found(honest(), |case| faults(case, 2_900)).expect("it is found");
    assert_eq!((&*rule, fail), ("faults", false), "{said}");
    assert!(said.starts_with("11 MiB of memory were touched for the first time while 12 MiB"), "{said}");
    passes(honest(), |case| faults(case, 2_000));
    passes(honest(), |case| {
        faults(case, 2_900);
        case.work.report.delivery = Delivery::View;
    });
    // Small batches share pages with each other.
    passes(honest(), |case| {
        faults(case, 2_900);
        case.evidence.expected =
            Some(ExpectedEpoch { bytes: EPOCH.elements * 1024, source: EPOCH.elements * 512, ..EPOCH });
    });
}

#[test]
fn a_clock_that_goes_slowly_is_told_and_a_machine_that_slept_once_is_not() {
    const SECOND: u64 = 1_000_000_000;
    let with = |own, kernel, repeats| {
        move |case: &mut super::fixture::Case| {
            case.evidence.clocks = Some(ClockPair { own, kernel });
            case.repeats = repeats;
        }
    };
    fails(honest(), with(SECOND, SECOND * 17 / 10, 2), "clock", "1s passed where 1.7s did");
    passes(honest(), with(SECOND, SECOND * 11 / 10, 7));
    passes(honest(), with(SECOND / 20, SECOND / 20 + 30_000_000, 7)); // the steps of its file
    passes(honest(), with(SECOND, 60 * SECOND, 1)); // the machine slept
    passes(honest(), with(SECOND, 0, 7));
}
