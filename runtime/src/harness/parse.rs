//! The command line over the environment over the defaults. Parsing has no side effects.

use std::ffi::OsString;

use lexopt::{Arg, Parser};

use super::args::BenchArgs;
use super::flags::{FLAGS, WITHOUT_EFFECT};
use super::usage::UsageError;
use crate::plan::nearest;

/// The usual cause of a flag that ours is not: said with every unknown flag.
const USUAL_CAUSE: &str = "if the flag is not yours, it may have been meant for another target: every [lib] \
    and [[bin]] needs `bench = false` in Cargo.toml, or `cargo bench -- FLAGS` passes FLAGS to its libtest \
    harness too";

fn text(value: OsString) -> Result<String, UsageError> {
    value.into_string().map_err(|value| UsageError(format!("`{}` is no UTF-8 text", value.to_string_lossy())))
}

fn unknown(typed: &str) -> UsageError {
    let names = FLAGS.iter().map(|flag| flag.name);
    let near = nearest(typed.trim_start_matches('-'), names);
    let hint = near.map_or_else(String::new, |name| format!("; did you mean `--{name}`?"));
    UsageError(format!("unknown flag `{typed}`{hint}\n  {USUAL_CAUSE}"))
}

impl BenchArgs {
    /// Reads the command line (without the program's name) over the environment.
    ///
    /// # Errors
    /// What is wrong, with the nearest right name.
    pub(super) fn parse(
        line: Vec<OsString>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, UsageError> {
        let mut args = Self::default();
        for flag in FLAGS {
            let Some(name) = flag.variable() else { continue };
            let Some(value) = variable(&name).filter(|value| !value.is_empty()) else { continue };
            let value = match (flag.value, value.as_str()) {
                (Some(_), _) => Some(value),
                (None, "0" | "false") => {
                    // A variable that says no goes over the settings, as the flag for it does.
                    let no = format!("no-{}", flag.name);
                    if let Some(no) = FLAGS.iter().find(|flag| flag.name == no) {
                        (no.take)(&mut args, no, String::new())?;
                    }
                    continue;
                }
                (None, "1" | "true") => None,
                (None, other) => return Err(UsageError(format!("{name} is 1 or 0, not `{other}`"))),
            };
            (flag.take)(&mut args, flag, value.unwrap_or_default())
                .map_err(|error| UsageError(format!("{name}: {error}")))?;
        }
        let mut parser = Parser::from_args(line);
        let wrong = |error: lexopt::Error| UsageError(error.to_string());
        while let Some(arg) = parser.next().map_err(wrong)? {
            let (long, short) = match arg {
                Arg::Value(filter) => {
                    args.filters.push(text(filter)?);
                    continue;
                }
                Arg::Long(name) => (Some(name.to_owned()), None),
                Arg::Short(name) => (None, Some(name)),
            };
            let is_typed = |name: &str, letter: Option<char>| {
                long.as_deref() == Some(name) || (short.is_some() && short == letter)
            };
            if let Some((_, _, value, _)) =
                WITHOUT_EFFECT.iter().find(|(name, letter, ..)| is_typed(name, *letter))
            {
                if value.is_some() {
                    parser.value().map_err(wrong)?;
                }
                continue;
            }
            let typed = || match (&long, short) {
                (Some(name), _) => format!("--{name}"),
                (None, letter) => format!("-{}", letter.unwrap_or_default()),
            };
            let flag = FLAGS.iter().find(|flag| is_typed(flag.name, flag.short));
            let flag = flag.ok_or_else(|| unknown(&typed()))?;
            args.typed.push(flag.name);
            let value = match flag.value {
                Some(_) => Some(text(parser.value().map_err(wrong)?)?),
                None => None,
            };
            (flag.take)(&mut args, flag, value.unwrap_or_default())?;
        }
        let baselines = [&args.versus, &args.versus_adapter, &args.versus_param];
        if baselines.into_iter().flatten().count() > 1 {
            return Err(UsageError(
                "--versus, --versus-adapter and --versus-param each name a baseline: choose one".to_owned(),
            ));
        }
        if args.suite.is_some() && args.set.is_some() {
            return Err(UsageError("--suite and --set both say which scenarios run: choose one".to_owned()));
        }
        if args.quick && args.profile.as_deref().is_some_and(|profile| profile != "quick") {
            return Err(UsageError("--quick is a profile too: name it or --profile, not both".to_owned()));
        }
        let is_stored = !args.is_duel() && args.profile_time.is_none();
        if !args.traces.is_empty() && !is_stored {
            return Err(UsageError(
                "--trace and --dump attach files to a run, and a duel or --profile-time stores none"
                    .to_owned(),
            ));
        }
        if args.anyway && args.resume.is_none() && args.typed.contains(&"anyway") {
            return Err(UsageError("--anyway goes with --resume".to_owned()));
        }
        args.outputs.check().map_err(|UsageError(why)| UsageError(format!("--{why}")))?;
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::super::outputs::Outputs;
    use super::super::usage::ListFormat;
    use super::*;
    use crate::plan::Param;

    fn parse(line: &str, variables: &[(&str, &str)]) -> Result<BenchArgs, UsageError> {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        BenchArgs::parse(line.split_whitespace().map(OsString::from).collect(), &find)
    }

    #[test]
    fn the_line_of_cargo_bench_is_understood() {
        let args = parse("CV-1 --adapter Reference --param variant=small --repeats 3 --bench", &[]).unwrap();
        assert_eq!(
            (args.filters, args.adapters, args.run.asked.repeats, args.bench),
            (vec!["CV-1".into()], vec!["Reference".into()], Some(3), true)
        );
        assert_eq!(args.params, [Param::parse("variant=small").unwrap()]);
    }

    #[test]
    fn every_flag_of_ours_has_a_twin_in_the_environment_and_the_line_wins() {
        let args = parse("--seed 7", &[("WEIGHBRIDGE_SEED", "9"), ("WEIGHBRIDGE_QUICK", "1")]).unwrap();
        assert_eq!((args.run.seed, args.quick), (7, true));
        assert!(!parse("", &[("WEIGHBRIDGE_QUICK", "0")]).unwrap().quick);
        let error = parse("", &[("WEIGHBRIDGE_REPEATS", "many")]).unwrap_err().to_string();
        assert!(error.contains("WEIGHBRIDGE_REPEATS") && error.contains("`many`"), "{error}");
    }

    #[test]
    fn an_unknown_flag_gets_the_nearest_one_and_the_usual_cause() {
        let error = parse("--save-basline main", &[]).unwrap_err().to_string();
        assert!(
            error.contains("did you mean `--save-baseline`?") && error.contains("bench = false"),
            "{error}"
        );
    }

    #[test]
    fn what_a_command_does_is_refused_by_that_command() {
        let error = parse("--baseline-path s3://weighings/ours", &[]).unwrap_err().to_string();
        for words in [
            "baseline set NAME --baseline-path s3://weighings/ours",
            "compare-baseline NAME --baseline-path s3://weighings/ours",
        ] {
            assert!(error.contains(words), "{error}");
        }
        let error = parse("--load-baseline main", &[]).unwrap_err().to_string();
        assert!(error.contains("compare-baseline NAME --run RUN"), "{error}");
    }

    #[test]
    fn what_scripts_pass_to_other_harnesses_is_accepted() {
        let line = "--nocapture --test-threads 1 --noplot --nresamples 1000 -Z unstable-options \
            --sample-size 9 --noise-threshold 0.1 --include-ignored --format terse --list";
        let args = parse(line, &[]).unwrap();
        assert_eq!(
            (args.run.asked.repeats, args.threshold, args.format),
            (Some(9), Some(0.1), ListFormat::Terse)
        );
    }

    #[test]
    fn outputs_are_turned_on_and_off_by_flag_and_by_variable() {
        let args = parse("--export junit,csv --export bmf --charts", &[("WEIGHBRIDGE_HTML", "0")]).unwrap();
        let outputs = args.outputs;
        assert_eq!(outputs.export.unwrap(), ["junit", "csv", "bmf"]);
        assert_eq!((outputs.html, outputs.charts), (Some(false), Some(true)));
        let args = parse("--no-html", &[("WEIGHBRIDGE_HTML", "1"), ("WEIGHBRIDGE_CHARTS", "0")]).unwrap();
        assert_eq!((args.outputs.html, args.outputs.charts), (Some(false), Some(false)));
        assert_eq!(parse("", &[]).unwrap().outputs, Outputs::default());
    }

    #[test]
    fn a_bad_value_is_an_error_that_names_flag_value_and_form() {
        for (line, expected) in [
            ("--repeats 0", "--repeats takes a whole number of at least 1, not `0`"),
            ("--gate loss,,rate", "--gate takes names of metrics with commas between them, not `loss,,rate`"),
            ("--gate=", "--gate takes names of metrics with commas between them, not ``"),
            ("--threshold much", "--threshold takes a percentage such as 5%, not `much`"),
            ("--order random", "--order takes shuffled or declared, not `random`"),
            ("--budget -1", "a number of seconds above 0"),
            ("--data-cache-cap 16", "--data-cache-cap takes a size such as 16GiB, not `16`"),
            ("--platform npu", "cpu, gpu, tpu"),
            ("--param workers", "axis=value"),
            ("--quick --profile ci_cpu", "not both"),
            ("--trace strace", "--trace takes torch, jax, perf, tracemalloc, not `strace`"),
            ("--trace hlo", "--trace takes torch, jax, perf, tracemalloc, not `hlo`"),
            ("--dump asm", "--dump takes hlo, not `asm`"),
            ("--trace jax --versus other", "a duel or --profile-time stores none"),
            ("--suite a.toml --set gate", "--suite and --set both say which scenarios run"),
            ("--export csv,junti", "--export is jsonl, "),
            ("--export csv,junti", "not `junti`; did you mean `junit`?"),
            ("--tracker aim", "--tracker is wandb, mlflow or none, not `aim`"),
        ] {
            let error = parse(line, &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
