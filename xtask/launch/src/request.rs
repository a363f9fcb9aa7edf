//! What is asked for, once the line has been understood: after this nothing is optional that need not be.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::args::{CompareAction, EngineKind, LaunchArgs, LaunchMode, PreflightPolicy};
use crate::engine::EngineOptions;
use crate::error::{LaunchError, Result};
use crate::machine::Deadlines;
use crate::spec::{GpuRequest, LaunchSpec, SPEC_SCHEMA, SpecStage};

/// The longest that each step of the end may take.
const END: Duration = Duration::from_mins(2);
/// The same where hosts are a cloud's.
const END_OF_CLOUD: Duration = Duration::from_mins(15);

/// A launch that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct LaunchRequest {
    pub(crate) engine: EngineKind,
    pub(crate) shared: PathBuf,
    pub(crate) with: Vec<PathBuf>,
    pub(crate) options: EngineOptions,
    pub(crate) deadlines: Deadlines,
    pub(crate) may_fall_back: bool,
    pub(crate) is_kept: bool,
    pub(crate) is_dry: bool,
    pub(crate) resume: Option<String>,
    /// The spec, but for its id and the digest of the programs.
    pub(crate) spec: LaunchSpec,
}

impl LaunchRequest {
    /// Understands a line. `scratch` is the shared folder where the engine is of this machine and none is
    /// named.
    ///
    /// # Errors
    /// When it cannot be meant.
    pub(crate) fn of(args: &LaunchArgs, scratch: PathBuf) -> Result<Self> {
        let (nodes, ranks) = size(args)?;
        let is_here = matches!(args.engine, EngineKind::Local | EngineKind::Torchrun);
        let shared = match (&args.shared, is_here) {
            (Some(shared), _) => std::path::absolute(shared).map_err(LaunchError::io("find", shared))?,
            (None, true) => scratch,
            (None, false)
                if args.engine == EngineKind::Sky || args.engine == EngineKind::Mpirun && nodes == 1 =>
            {
                scratch
            }
            (None, false) => {
                return Err(LaunchError::Usage(format!(
                    "the engine {} needs --shared DIR: a folder that all hosts see under this path",
                    args.engine.name()
                )));
            }
        };
        if args.engine == EngineKind::Sky && nodes > 1 {
            return Err(LaunchError::Usage(
                "the engine sky has no folder that its hosts share: launch on one node, or on slurm".into(),
            ));
        }
        if (args.spot || args.no_spot_fallback) && args.engine != EngineKind::Sky {
            return Err(LaunchError::Usage(format!(
                "the engine {} has no word for spot hosts",
                args.engine.name()
            )));
        }
        for (flag, seconds) in [
            ("--launch-timeout", args.launch_timeout),
            ("--stall-timeout", args.stall_timeout),
            ("--rank-patience", args.rank_patience),
            ("--orphan-timeout", args.orphan_timeout),
            ("--heartbeat", args.heartbeat),
        ] {
            if seconds == 0 {
                return Err(LaunchError::Usage(format!("{flag} is at least one second")));
            }
        }
        if args.rank_patience < 3 * args.heartbeat {
            return Err(LaunchError::Usage(format!(
                "--rank-patience {} is less than three of --heartbeat {}: ranks at work would be called gone",
                args.rank_patience, args.heartbeat
            )));
        }
        for line in &args.extra {
            if line.trim().is_empty() || line.contains(|letter: char| letter.is_control()) {
                return Err(LaunchError::Usage(format!("--extra `{}` is not one line", line.escape_debug())));
            }
        }
        let is_cloud = args.engine == EngineKind::Sky;
        let spec = LaunchSpec {
            schema: SPEC_SCHEMA,
            launch: String::new(),
            engine: args.engine.name().to_owned(),
            nodes,
            ranks,
            stages: stages(args)?,
            env: env(&args.env)?,
            gpus: args.gpus.as_deref().map(gpus).transpose()?,
            preflight: match args.preflight {
                PreflightPolicy::Refuse => Some(true),
                PreflightPolicy::Warn => Some(false),
                PreflightPolicy::Off => None,
            },
            rank_patience: args.rank_patience,
            heartbeat: args.heartbeat,
            orphaned_after: (!args.keep && !is_cloud).then_some(args.orphan_timeout),
            duel: None,
            is_resumed: args.resume.is_some(),
            bundle: String::new(),
        };
        Ok(Self {
            engine: args.engine,
            shared,
            with: args.with.clone(),
            options: EngineOptions {
                account: args.account.clone(),
                partition: args.partition.clone(),
                minutes: args.time.as_deref().map(minutes).transpose()?,
                exclude: args.exclude.clone(),
                extra: args.extra.clone(),
                image: args.image.clone(),
                claim: args.claim.clone(),
                infra: args.infra.clone(),
                spot: args.spot,
            },
            deadlines: Deadlines {
                submit: END,
                launch: Duration::from_secs(args.launch_timeout),
                stall: Duration::from_secs(args.stall_timeout),
                end: if is_cloud { END_OF_CLOUD } else { END },
            },
            may_fall_back: is_cloud && !args.spot && !args.no_spot_fallback,
            is_kept: args.keep,
            is_dry: args.dry_run,
            resume: args.resume.clone(),
            spec,
        })
    }
}

/// Hosts and ranks: one of each where nothing is said, one rank for each host where hosts are.
fn size(args: &LaunchArgs) -> Result<(u32, u32)> {
    let queue = matches!(args.engine, EngineKind::Slurm | EngineKind::Ray | EngineKind::Kubernetes);
    let (nodes, ranks) = match (args.nodes, args.ranks) {
        (Some(nodes), ranks) => (nodes, ranks.unwrap_or(nodes)),
        // On a cluster ranks are meant to be apart.
        (None, Some(ranks)) => (if queue { ranks } else { 1 }, ranks),
        (None, None) => (1, 1),
    };
    if nodes == 0 || ranks == 0 {
        return Err(LaunchError::Usage("a launch has at least one host and one rank".into()));
    }
    if ranks < nodes {
        return Err(LaunchError::Usage(format!("{nodes} hosts for {ranks} ranks: some would be idle")));
    }
    if args.engine == EngineKind::Sky && ranks % nodes != 0 {
        return Err(LaunchError::Usage(format!("{ranks} ranks do not divide over {nodes} hosts")));
    }
    Ok((nodes, ranks))
}

/// Flags that choose scenarios: the gate set takes their place.
const CHOOSING: [&str; 3] = ["--set", "--scenario", "--suite"];

/// Flags that the launch itself sets.
const OWN: [&str; 6] = ["--bench", "--data", "--resume", "--versus", "--comparison", "--dry-run"];

fn stages(args: &LaunchArgs) -> Result<Vec<SpecStage>> {
    let bench_args = match &args.compare {
        Some(CompareAction::CompareBaseline { bench_args, .. }) => bench_args,
        None => &args.bench_args,
    };
    let is = |arg: &str, flag: &str| arg == flag || arg.starts_with(&format!("{flag}="));
    if let Some(own) = bench_args.iter().find(|arg| OWN.iter().any(|flag| is(arg, flag))) {
        return Err(LaunchError::Usage(format!("`{own}` is set by the launch itself")));
    }
    let full = SpecStage { name: "full".into(), args: bench_args.clone() };
    if args.mode == LaunchMode::Full {
        return Ok(vec![full]);
    }
    let mut gate = Vec::new();
    let mut words = bench_args.iter();
    while let Some(arg) = words.next() {
        if CHOOSING.contains(&arg.as_str()) {
            words.next(); // its value
        } else if !CHOOSING.iter().any(|flag| is(arg, flag)) {
            gate.push(arg.clone());
        }
    }
    gate.extend(["--set".to_owned(), args.gate_set.clone()]);
    let gate = SpecStage { name: "gate".into(), args: gate };
    Ok(if args.mode == LaunchMode::Subset { vec![gate] } else { vec![gate, full] })
}

fn env(typed: &[String]) -> Result<BTreeMap<String, String>> {
    let mut env = BTreeMap::new();
    for pair in typed {
        let bad = |why: &str| LaunchError::Usage(format!("--env `{pair}`: {why}"));
        let (name, value) = pair.split_once('=').ok_or_else(|| bad("write NAME=VALUE"))?;
        let is_name = |text: &str| {
            text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if !is_name(name) {
            return Err(bad("this is no name of a variable"));
        }
        if [
            "WEIGHBRIDGE_RANK",
            "WEIGHBRIDGE_LAUNCH",
            "WEIGHBRIDGE_DATA",
            "WEIGHBRIDGE_LOCAL",
            "WEIGHBRIDGE_REND",
        ]
        .iter()
        .any(|own| name.starts_with(own))
        {
            return Err(bad("the launch itself sets it"));
        }
        if value.contains('\0') {
            return Err(bad("no value holds a null"));
        }
        if env.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(bad("it is given twice"));
        }
    }
    Ok(env)
}

fn gpus(typed: &str) -> Result<GpuRequest> {
    let (kind, count) = match typed.rsplit_once(':') {
        Some((kind, count)) => (Some(kind.to_owned()), count),
        None => (None, typed),
    };
    let is_word = |kind: &String| {
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match count.parse() {
        Ok(count) if count > 0 && kind.as_ref().is_none_or(is_word) => Ok(GpuRequest { kind, count }),
        _ => Err(LaunchError::Usage(format!("--gpus `{typed}`: write `1`, or with their kind `A100:1`"))),
    }
}

/// Minutes of `HH:MM:SS`, `MM:SS` or `MM`, rounded up.
fn minutes(typed: &str) -> Result<u64> {
    let bad = || LaunchError::Usage(format!("--time `{typed}`: write `HH:MM:SS`, `MM:SS` or minutes"));
    let parts: Vec<u64> =
        typed.split(':').map(|part| part.parse().map_err(|_| bad())).collect::<Result<_>>()?;
    let seconds = match parts[..] {
        [minutes] => minutes.checked_mul(60),
        [minutes, seconds] if seconds < 60 => minutes.checked_mul(60).map(|of| of + seconds),
        [hours, minutes, seconds] if minutes < 60 && seconds < 60 => {
            hours.checked_mul(3600).map(|of| of + minutes * 60 + seconds)
        }
        _ => None,
    };
    seconds.filter(|seconds| *seconds > 0).map(|seconds| seconds.div_ceil(60)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: LaunchArgs,
    }

    fn read(line: &str) -> Result<LaunchRequest, String> {
        let words = ["launch"].into_iter().chain(line.split_whitespace());
        let args = Line::try_parse_from(words).map_err(|error| error.to_string())?.args;
        LaunchRequest::of(&args, "/scratch".into()).map_err(|error| error.to_string())
    }

    #[test]
    fn hosts_and_ranks_follow_from_what_is_said() {
        let size = |line: &str| read(line).map(|request| (request.spec.nodes, request.spec.ranks));
        assert_eq!(size(""), Ok((1, 1)));
        assert_eq!(size("-n 4"), Ok((1, 4)));
        assert_eq!(size("--engine slurm --shared /s -n 4"), Ok((4, 4)));
        assert_eq!(size("--engine slurm --shared /s -N 2 -n 4"), Ok((2, 4)));
        assert_eq!(size("--engine slurm --shared /s -N 4"), Ok((4, 4)));
        for (line, told) in [
            ("-n 0", "at least one"),
            ("-N 4 -n 2", "some would be idle"),
            ("--engine slurm -n 4", "needs --shared"),
            ("--engine sky -N 2 -n 2", "no folder that its hosts share"),
        ] {
            let error = size(line).unwrap_err();
            assert!(error.contains(told), "{line}: {error}");
        }
    }

    #[test]
    fn the_gate_set_takes_the_place_of_what_is_chosen_and_comes_first() {
        let stages = |line: &str| {
            let stages = read(line).unwrap().spec.stages;
            let told: Vec<String> =
                stages.iter().map(|stage| format!("{}: {}", stage.name, stage.args.join(" "))).collect();
            told.join("; ")
        };
        assert_eq!(stages("-- --set distributed --quick"), "full: --set distributed --quick");
        assert_eq!(
            stages("--mode two-pass -- --set distributed --quick --scenario=CV-1 --seed 1"),
            "gate: --quick --seed 1 --set gate; full: --set distributed --quick --scenario=CV-1 --seed 1"
        );
        assert_eq!(stages("--mode subset --gate-set small -- --quick"), "gate: --quick --set small");
        assert_eq!(stages("compare-baseline --rebuild HEAD~1 -- --quick"), "full: --quick");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_before_anything_is_built() {
        for (line, told) in [
            ("--env A", "write NAME=VALUE"),
            ("--env 1A=2", "no name of a variable"),
            ("--env A=1 --env A=2", "given twice"),
            ("--env WEIGHBRIDGE_RANK=3", "the launch itself sets it"),
            ("--gpus A100", "write `1`"),
            ("--gpus 0", "write `1`"),
            ("--gpus A100:x", "write `1`"),
            ("--time 1:99", "HH:MM:SS"),
            ("--time 99999999999999999999", "HH:MM:SS"),
            ("--time 0", "HH:MM:SS"),
            ("--stall-timeout 0", "at least one second"),
            ("--rank-patience 5", "less than three of --heartbeat"),
            ("--spot", "no word for spot"),
            ("--engine sky --spot --no-spot-fallback", "cannot be used with"),
            ("--engine nomad", "invalid value"),
            ("--partitoin x", "--partition"),
            ("-- --data x", "set by the launch itself"),
            ("-- --resume=x", "set by the launch itself"),
        ] {
            let error = read(line).map(drop).unwrap_err();
            assert!(error.contains(told), "{line}: {error}");
        }
        assert_eq!(read("--time 00:30:01").unwrap().options.minutes, Some(31));
        assert_eq!(read("--time 90").unwrap().options.minutes, Some(90));
        let kind = GpuRequest { kind: Some("A100".into()), count: 2 };
        assert_eq!(read("--gpus A100:2").unwrap().spec.gpus, Some(kind));
    }

    #[test]
    fn other_hosts_are_fallen_back_to_where_there_are_such_and_nobody_forbids_it() {
        assert!(read("--engine sky").unwrap().may_fall_back);
        for line in ["--engine sky --spot", "--engine sky --no-spot-fallback", "-n 2"] {
            assert!(!read(line).unwrap().may_fall_back, "{line}");
        }
    }
}
