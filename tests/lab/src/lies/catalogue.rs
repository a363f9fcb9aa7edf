//! The list of lies: what each is called in the package `lies`, of which class it is, and what must become of
//! it.

/// A kind of lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LieClass {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Whose names the lies are.
    pub(super) told_by: By,
    /// For how long each repeat measures, in seconds: little where a lie does its work beside it, and much
    /// where it is a share of the time.
    pub(super) seconds: &'static str,
    /// The adapter that it is verified against.
    pub(super) reference: &'static str,
    /// Points of its scenarios, beside [`POINTS`].
    pub(super) points: &'static [(&'static str, &'static str)],
    /// Variables of the environment that it is tried in.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// What nothing of it can be tried without.
    pub(super) needs: Option<Needs>,
}

/// What lies may need of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// A program on the search path.
    Program(&'static str),
    /// The environment of the framework of this short name.
    Peer(&'static str),
}

/// Whose names the lies of a class are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Adapters.
    Adapters,
    /// Values of the axis `tells` of their scenarios.
    Values,
    /// Adapters, which are measured in turns with the reference.
    Duel,
}

/// An adapter, or a value of an axis, and what must become of its cases.
#[derive(Clone, Copy, Debug)]
pub(super) struct CataloguedLie {
    /// The name of the class.
    pub(super) class: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// The scenarios that it is tried in.
    pub(super) scenarios: &'static [&'static str],
    /// What it is.
    pub(super) truth: HonestTwin,
}

/// What an adapter is, and what must become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HonestTwin {
    /// An honest one, which does nearly what a lie of its class does: it is ranked.
    Honest,
    /// A lie: it is not ranked, and is named by one of these, each a rule or words of a failure.
    Lie(&'static [&'static str]),
    /// A lie in the words of a refusal: it is skipped, and the words do nothing to the terminal that they are
    /// shown on.
    Words,
}

const CV: &str = "CV-1";
const TAB: &str = "TAB-1";
const NLP: &str = "NLP-1";
const ALL: &[&str] = &[CV, TAB, NLP];
/// Those with a transform.
const TRANSFORMED: &[&str] = &[CV, TAB];
/// And one whose epoch is dear.
const SHORT_TOO: &[&str] = &[CV, TAB, NLP, "AUG-1"];
/// And one whose epoch is shared among workers in step.
const SHARED_TOO: &[&str] = &[CV, TAB, NLP, "AUG-1", "DIST-1"];
/// Those whose batches are small: of others, a worker that was asked for many at once, since they seem to
/// cost nothing, says nothing until its deadline.
const SMALL: &[&str] = &[TAB, NLP];
/// One without any, which is all that the worker in plain Python can do.
const UNTRANSFORMED: &[&str] = &[NLP];
/// Those whose batches are larger than what they are made from.
const WIDER: &[&str] = &[CV, "AUG-1"];
const APPROXIMATE: &[&str] = &["APPROX-1"];
const LOOP: &[&str] = &["LOOP-1"];
const ANSWER: &[&str] = &["ANSWER-1"];
const LEARN: &[&str] = &["PC-5"];
const LEARNERS: &[&str] = &["PC-3", "PC-5", "NNX-1"];
const CKPT: &str = "CKPT-1";
const STEP: &str = "CKPT-STEP";
const TRAIN: &str = "TRAIN-1";
const TARGET: &str = "TRAIN-2";
const LATENCY: &str = "INF-1";
const BATCHES: &str = "INF-2";
const TOKENS: &str = "INF-3";
const STORE: &[&str] = &["JPEG-2"];
const SERVED: &[&str] = &["SERVE-1"];

/// Points of scenarios that have several.
pub(super) const POINTS: &[(&str, &str)] = &[
    (CV, "variant=small"),
    (CV, "workers=0"),
    (TAB, "variant=small"),
    (NLP, "variant=small"),
    ("AUG-1", "variant=small"),
    ("DIST-1", "variant=2_devices"),
    ("PC-3", "variant=tiny"),
    ("PC-5", "variant=default"),
    ("NNX-1", "variant=plain_function"),
    ("NNX-1", "data=tiny"),
    (CKPT, "variant=tiny"),
    (STEP, "variant=tiny"),
    (STEP, "step=processor"),
    (TRAIN, "variant=tiny"),
    (TRAIN, "mode=eager"),
    (TARGET, "variant=tiny"),
    (TARGET, "mode=eager"),
    (TARGET, "seed=1"),
    (LATENCY, "model=mlp"),
    (BATCHES, "model=tiny"),
    (BATCHES, "batch=batch_4"),
    (TOKENS, "model=tiny"),
    (TOKENS, "prompt=prompt_4"),
    (TOKENS, "tokens=tokens_4"),
    ("JPEG-2", "variant=tiny"),
    ("JPEG-2", "form=files"),
    ("JPEG-2", "in_flight=16"),
    ("JPEG-2", "latency=1"),
    ("SERVE-1", "model=gpt_tiny"),
    ("SERVE-1", "load=users_4"),
];

/// What is said of steps that were not done when they were timed.
const LOSSES: &[&str] = &["of those that were timed is not the reference's"];

/// What is said of answers that are not those of the model to what was asked.
const ANSWERS: &[&str] = &["of those that were timed is not the reference's"];

/// The same of a learner.
const STEPS: &[&str] = &["of those that were timed is not the reference's"];

/// Every class.
pub(super) const CLASSES: &[LieClass] = &[
    class("later-passes", By::Adapters, "0.02"),
    class("lazy-bytes", By::Adapters, "0.02"),
    class("elsewhere", By::Adapters, "0.02"),
    class("starts", By::Adapters, "0.1"),
    class("any-order", By::Adapters, "0.1"),
    class("remembered", By::Adapters, "0.1"),
    class("stores", By::Adapters, "0.1"),
    class("whole-pass", By::Adapters, "0.02"),
    class("approximate", By::Adapters, "0.02"),
    LieClass { needs: Some(Needs::Program("python3")), ..class("worker", By::Adapters, "2") },
    class("custom-loop", By::Values, "0.02"),
    class("answers", By::Adapters, "0.1"),
    class("duel", By::Duel, "0.02"),
    checkpoints("loads", &[(CKPT, "operation=load")]),
    checkpoints("saves", &[(CKPT, "operation=save")]),
    checkpoints("background-saves", &[(STEP, "saving=background")]),
    class("trainings", By::Adapters, "0.1"),
    class("learners", By::Adapters, "0.1"),
    class("predictors", By::Adapters, "0.1"),
    // How late the client may be is the machine's, and not what is tried.
    LieClass { variables: &[("WEIGHBRIDGE_CLIENT_DELAY", "3600")], ..class("servers", By::Adapters, "0.1") },
    LieClass { needs: Some(Needs::Peer("numpy")), ..class("starts-in-workers", By::Adapters, "0.3") },
    LieClass { needs: Some(Needs::Peer("torch")), ..class("learners-in-workers", By::Adapters, "0.3") },
];

/// Every lie and every honest twin. The first lie of a class stands for it where one is enough.
pub(super) const LIES: &[CataloguedLie] = &[
    lie("later-passes", "zeros", ALL, &["spot-check"]),
    lie("later-passes", "zeros-from-the-third", ALL, &["spot-check"]),
    lie("later-passes", "same-batch", ALL, &["spot-check"]),
    lie("later-passes", "raw-bytes", TRANSFORMED, &["spot-check"]),
    lie("later-passes", "every-other-pass", ALL, &["spot-check"]),
    lie("later-passes", "quarter-more", ALL, &["count", "which are not those of"]),
    lie("later-passes", "thousandfold", ALL, &["count", "which are not those of"]),
    twin("later-passes", "one-buffer", ALL),
    lie("lazy-bytes", "second-look", ALL, &["same-work"]),
    lie("lazy-bytes", "more-than-held", ALL, &["count", "which are not those of"]),
    lie("lazy-bytes", "view-as-own", UNTRANSFORMED, &["view"]),
    twin("lazy-bytes", "lazy-but-asked", ALL),
    lie("elsewhere", "made-in-open", ALL, &["outside"]),
    lie("elsewhere", "half-in-open", ALL, &["outside", "unstopped"]),
    lie("elsewhere", "every-other-in-open", TRANSFORMED, &["outside", "unstopped"]),
    lie("elsewhere", "made-in-begin", ALL, &["outside", "unstopped"]),
    lie("elsewhere", "first-in-begin", ALL, &["outside", "unstopped"]),
    lie("elsewhere", "made-by-a-thread", ALL, &["outside", "unstopped"]),
    twin("elsewhere", "prefetches", ALL),
    twin("elsewhere", "dear-open", ALL),
    lie("starts", "made-with-the-first", SHORT_TOO, &["growth", "outside"]),
    lie("starts", "made-when-asked-for-the-order", SHORT_TOO, &["growth", "outside"]),
    twin("starts", "compiles", SHORT_TOO),
    twin("starts", "arena", SHARED_TOO),
    twin("starts", "sixteen-ahead", SHORT_TOO),
    lie("any-order", "half-twice", SHORT_TOO, &["same-work"]),
    lie("any-order", "half-again", SHORT_TOO, &["same-work"]),
    twin("any-order", "pairs-swapped", SHORT_TOO),
    lie("remembered", "kept-in-memory", ALL, &["unstopped", "outside"]),
    lie("remembered", "kept-on-disk", WIDER, &["files", "spot-check"]),
    twin("remembered", "four-buffers", ALL),
    lie("stores", "from-the-disk", STORE, &["the store sent"]),
    lie("stores", "reads-the-store-once", STORE, &["the store sent", "unstopped", "outside"]),
    twin("stores", "reads-ranges", STORE),
    lie("whole-pass", "not-made", ALL, &["spot-check"]),
    lie("whole-pass", "shown-twice", ALL, &["count", "items and showed"]),
    lie("whole-pass", "never-shown", ALL, &["count", "items and showed"]),
    twin("whole-pass", "whole-pass", ALL),
    lie("approximate", "zeros", APPROXIMATE, &["spot-check"]),
    lie("approximate", "same-batch", APPROXIMATE, &["spot-check"]),
    twin("approximate", "half-precision", APPROXIMATE),
    lie("worker", "slow-clock-50", UNTRANSFORMED, &["account"]),
    lie("worker", "slow-clock-10", UNTRANSFORMED, &["account"]),
    lie("worker", "stood-21-seconds", UNTRANSFORMED, &["claims"]),
    lie("worker", "hands-over-nothing", UNTRANSFORMED, &["hands over 0 elements"]),
    lie("worker", "endless-samples", UNTRANSFORMED, &["claims"]),
    lie("worker", "half-samples", UNTRANSFORMED, &["samples"]),
    lie("worker", "endless-bytes", UNTRANSFORMED, &["count"]),
    lie("worker", "endless-usage", UNTRANSFORMED, &["claims"]),
    lie("worker", "endless-set-up", UNTRANSFORMED, &["for opening a pipeline"]),
    lie("worker", "no-fields", UNTRANSFORMED, &["has no field"]),
    CataloguedLie {
        class: "worker",
        name: "forged-reason",
        scenarios: UNTRANSFORMED,
        truth: HonestTwin::Words,
    },
    twin("worker", "tiny-worker", UNTRANSFORMED),
    lie("custom-loop", "ignores-iterations", LOOP, &["no-time"]),
    lie("custom-loop", "no-time", LOOP, &["no-time"]),
    lie("custom-loop", "all-time", LOOP, &["no-time"]),
    twin("custom-loop", "timed-loop", LOOP),
    lie("answers", "made-when-read", ANSWER, &["answers"]),
    lie("answers", "made-each-time", ANSWER, &["answers"]),
    lie("answers", "last-by-address", ANSWER, &["spot-check", "same-work"]),
    lie("answers", "handed-to-a-thread", ANSWER, &["answers"]),
    lie("answers", "every-second-call", ANSWER, &["same-work", "spot-check"]),
    lie("answers", "after-a-pause", ANSWER, &["same-work", "spot-check"]),
    twin("answers", "stable-sort", ANSWER),
    twin("answers", "two-threads", ANSWER),
    lie("duel", "raw-bytes", &[CV], &["spot-check"]),
    lie("duel", "zeros", &[TAB], &["spot-check"]),
    twin("duel", "whole-pass", &[CV]),
    lie("loads", "places-alone", &[CKPT], &["checkpoint"]),
    lie("loads", "remembers-loads", &[CKPT], &["checkpoint"]),
    twin("loads", "plain-file", &[CKPT]),
    twin("loads", "lazy-tensors", &[CKPT]),
    lie("saves", "filled-later", &[CKPT], &["checkpoint"]),
    lie("saves", "unawaited-thread", &[CKPT], &["checkpoint"]),
    // By its numbers where a drawn save is loaded at once, and by its digests in the end.
    lie("saves", "links-the-one-before", &[CKPT], &["checkpoint", "has not the bytes that were saved"]),
    twin("saves", "plain-file", &[CKPT]),
    twin("saves", "background-copy", &[CKPT]),
    lie("background-saves", "changed-meanwhile", &[STEP], &["checkpoint"]),
    lie("background-saves", "unawaited-thread", &[STEP], &["checkpoint"]),
    twin("background-saves", "background-copy", &[STEP]),
    lie("trainings", "steps-when-asked", &[TRAIN, TARGET], LOSSES),
    lie("trainings", "tenth-of-a-step", &[TRAIN, TARGET], LOSSES),
    lie("trainings", "remembers-an-epoch", &[TRAIN, TARGET], LOSSES),
    lie("trainings", "leaves-out-the-third", &[TRAIN, TARGET], LOSSES),
    twin("trainings", "whole-steps", &[TRAIN, TARGET]),
    lie("learners", "old-gradients", LEARN, STEPS),
    lie("learners", "no-update", LEARN, STEPS),
    lie("learners", "steps-with-the-first", LEARN, &["growth", "outside", "unstopped"]),
    twin("learners", "whole-learning", LEARN),
    lie("predictors", "last-answer", &[LATENCY, BATCHES, TOKENS], ANSWERS),
    lie("predictors", "answers-later", &[LATENCY, BATCHES], ANSWERS),
    lie("predictors", "zero-logits", &[LATENCY, BATCHES, TOKENS], ANSWERS),
    lie("predictors", "half-of-the-layers", &[LATENCY, BATCHES, TOKENS], ANSWERS),
    lie("predictors", "first-of-the-batch", &[BATCHES], ANSWERS),
    lie("predictors", "remembered-answers", &[LATENCY, BATCHES, TOKENS], ANSWERS),
    lie("predictors", "every-second-call", &[LATENCY, BATCHES, TOKENS], ANSWERS),
    twin("predictors", "whole-answers", &[LATENCY, BATCHES, TOKENS]),
    twin("predictors", "fresh-answers", &[LATENCY, BATCHES, TOKENS]),
    lie("servers", "last-text", SERVED, ANSWERS),
    lie("servers", "first-id-alone", SERVED, ANSWERS),
    lie("servers", "half-of-the-layers-served", SERVED, ANSWERS),
    lie("servers", "earlier-texts", SERVED, ANSWERS),
    lie("servers", "remembered-texts", SERVED, &["answers repeated prompts faster"]),
    lie("servers", "cut-texts", SERVED, &["answers were cut"]),
    twin("servers", "whole-texts", SERVED),
    twin("servers", "slow-texts", SERVED),
    lie("starts-in-workers", "made-with-the-first-in-a-worker", SMALL, &["growth", "outside"]),
    lie("starts-in-workers", "made-with-the-second-in-a-worker", SMALL, &["growth", "outside", "unstopped"]),
    twin("starts-in-workers", "compiles-each-epoch-in-a-worker", SMALL),
    twin("starts-in-workers", "numpy-in-a-worker", SMALL),
    lie("learners-in-workers", "no-update-in-a-worker", LEARNERS, STEPS),
    lie("learners-in-workers", "old-gradients-in-a-worker", LEARNERS, STEPS),
    lie("learners-in-workers", "steps-with-the-first-in-a-worker", LEARN, &["growth"]),
    twin("learners-in-workers", "update-when-asked-in-a-worker", LEARNERS),
    twin("learners-in-workers", "whole-learning-in-a-worker", LEARNERS),
    twin("learners-in-workers", "compiles-in-a-worker", LEARNERS),
];

const fn class(name: &'static str, told_by: By, seconds: &'static str) -> LieClass {
    LieClass { name, told_by, seconds, reference: "Reference", points: &[], variables: &[], needs: None }
}

const fn checkpoints(name: &'static str, points: &'static [(&'static str, &'static str)]) -> LieClass {
    LieClass { reference: "Reference (sharded)", points, ..class(name, By::Adapters, "0.02") }
}

const fn lie(
    class: &'static str,
    name: &'static str,
    scenarios: &'static [&'static str],
    told: &'static [&'static str],
) -> CataloguedLie {
    CataloguedLie { class, name, scenarios, truth: HonestTwin::Lie(told) }
}

const fn twin(class: &'static str, name: &'static str, scenarios: &'static [&'static str]) -> CataloguedLie {
    CataloguedLie { class, name, scenarios, truth: HonestTwin::Honest }
}

impl CataloguedLie {
    /// Whether it is an honest one.
    pub(super) fn is_honest(&self) -> bool {
        self.truth == HonestTwin::Honest
    }
}

impl LieClass {
    /// What is tried of it: all, or one lie and one honest twin.
    pub(super) fn lies(&self, one_each: bool) -> Vec<&'static CataloguedLie> {
        let of_class = || LIES.iter().filter(|lie| lie.class == self.name);
        if !one_each {
            return of_class().collect();
        }
        let first = |honest: bool| of_class().find(|lie| lie.is_honest() == honest);
        [first(false), first(true)].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_class_has_two_lies_and_an_honest_twin() {
        for class in CLASSES {
            let honest = LIES.iter().filter(|lie| lie.class == class.name && lie.is_honest()).count();
            let all = LIES.iter().filter(|lie| lie.class == class.name).count();
            assert!(honest >= 1 && all - honest >= 2, "{}: {honest} of {all}", class.name);
            let one = class.lies(true);
            assert_eq!(
                one.iter().map(|lie| lie.is_honest()).collect::<Vec<_>>(),
                [false, true],
                "{}",
                class.name
            );
            assert!(matches!(one[0].truth, HonestTwin::Lie(_)), "what stands for {} is seen", class.name);
        }
        for lie in LIES {
            assert!(CLASSES.iter().any(|class| class.name == lie.class), "{}", lie.class);
        }
    }

    /// The names in quotes that follow `mark` in a text, each on the line of its mark.
    fn named<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
        let quoted = |after: &'a str| after.split('"').nth(1);
        text.split(mark).skip(1).filter_map(|after| quoted(after.lines().next()?)).collect()
    }

    #[test]
    fn the_catalogue_has_every_adapter_of_the_crate_of_lies_and_no_other() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lies/benches/lies");
        let mut there = BTreeSet::new();
        for file in std::fs::read_dir(folder).expect("the crate is there").flatten() {
            let text = std::fs::read_to_string(file.path()).expect("a source file");
            let adapters = named(&text, "#[adapter(name = ").into_iter().chain(named(&text, "worker!("));
            let adapters = adapters.chain(named(&text, "far_learner!("));
            let adapters = adapters.chain(named(&text, "far_loader!("));
            there.extend(adapters.map(str::to_owned));
            let ways = text.lines().filter(|line| line.contains("\", Way::"));
            there.extend(ways.filter_map(|line| line.split('"').nth(1)).map(str::to_owned));
            let values = text.lines().filter(|line| line.contains("tells: &'static str"));
            there.extend(values.flat_map(|line| line.split('"').skip(1).step_by(2)).map(str::to_owned));
        }
        let listed: BTreeSet<String> = LIES.iter().map(|lie| lie.name.to_owned()).collect();
        assert_eq!(there, listed);
    }
}
