//! The line of `load` as it is typed, and the sessions that it means.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, FromArgMatches, ValueEnum};
use serde::{Deserialize, Serialize};
use weighbridge_load::{
    Api, Bounds, Goals, Key, Level, Load, RateSearch, Session, SessionError, Shape, Stage, Target, Think,
    Workload, trace,
};

use crate::stop;

/// The flags that name levels, or another server.
const LEVELS: [&str; 5] = ["versus", "users", "rate", "stages", "trace"];

/// The same, and a search.
const LOADS: [&str; 6] = ["versus", "users", "rate", "stages", "trace", "find_rate"];

/// Arguments of `load`.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[command(after_help = "Examples:\n  load http://127.0.0.1:8000 --users 1,8,64\n  \
                        load http://127.0.0.1:8000 --rate 10 --length 60s --target-ttft 200ms")]
pub(crate) struct LoadArgs {
    /// The server. `/v1/chat/completions` is added to a URL without a path; another path is a plain GET.
    #[arg(default_value = Target::DEFAULT)]
    url: String,
    /// Another server, which this one is measured in turns with, and judged against.
    #[arg(long, value_name = "URL")]
    pub(super) versus: Option<String>,
    /// The same with this field in the requests' bodies; of the same server, where no other one is named.
    #[arg(long, value_name = "NAME=VALUE")]
    versus_body: Vec<String>,
    /// The same with another model.
    #[arg(long, value_name = "MODEL")]
    versus_model: Option<String>,
    /// A field in the bodies of requests to the server that is judged: `top_p=0.9`.
    #[arg(long, value_name = "NAME=VALUE")]
    body: Vec<String>,
    /// The server's name in records: runs of one name are compared.
    #[arg(long, value_name = "NAME", default_value = "server")]
    name: String,
    /// The name of what it is judged against.
    #[arg(long, value_name = "NAME", default_value = "other")]
    versus_name: String,
    /// By how much one server must be slower than the other to be called so: `2%`.
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
    pub(super) margin: f64,
    /// The windows of each level, each a process with connections of its own. From 6 on there are intervals
    /// [default: 6, and of `--find-rate`, whose windows are searches, 1].
    #[arg(long, value_name = "N", value_parser = windows)]
    windows: Option<u32>,
    /// The form of the requests [default: as the path says, else `chat`].
    #[arg(long, value_name = "API")]
    api: Option<LoadApi>,
    /// The model that requests name.
    #[arg(long)]
    model: Option<String>,
    /// The environment variable that has the key of the endpoint. The key is shown and stored nowhere.
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,

    /// A file of certificates that are trusted beside those of the system, for `https`.
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,

    /// A closed loop: so many users, each of whom waits for the answer. Several numbers are several levels.
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    users: Vec<u32>,
    /// An open loop: so many requests a second, whatever the server does. Several numbers are several levels.
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    rate: Vec<f64>,
    /// An open loop whose rate changes: `10:30s,50:30s`.
    #[arg(long, value_name = "RATE:TIME,...", value_delimiter = ',', value_parser = stage)]
    stages: Vec<Stage>,
    /// A file of arrivals, in the order of time: a line is SECONDS, or SECONDS,WORDS,TOKENS.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The distances between the requests of a rate.
    #[arg(long, value_enum, default_value_t = LoadShape::Poisson)]
    shape: LoadShape,
    /// The requests of a burst.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    burst: u32,
    /// The rest of a user between an answer and the next request.
    #[arg(long, value_name = "TIME", value_parser = time)]
    think: Option<Duration>,
    /// That rest is drawn, with this mean (exponential).
    #[arg(long, requires = "think")]
    drawn: bool,
    /// The measured time of a window [default: 5s, and 1s where two servers are measured in turns].
    #[arg(long, value_name = "TIME", value_parser = time)]
    length: Option<Duration>,
    /// The time before it, which no figure has [default: a fifth of it].
    #[arg(long, value_name = "TIME", value_parser = time)]
    warm_up: Option<Duration>,
    /// The most requests of a level of users.
    #[arg(long, value_name = "N")]
    requests: Option<u64>,

    /// The words of a prompt.
    #[arg(long, value_name = "N", default_value_t = 64)]
    words: u32,
    /// The tokens of an answer; 0 asks for none, and the model decides.
    #[arg(long, value_name = "N", default_value_t = 64)]
    tokens: u32,
    /// The model may end before that.
    #[arg(long)]
    may_end_early: bool,
    /// Answers come as one, and not event by event.
    #[arg(long)]
    no_stream: bool,
    /// The seed of prompts, arrivals and order [default: one that no server has seen].
    #[arg(long)]
    seed: Option<u64>,

    /// An answer within this time to the first token is a good one.
    #[arg(long, value_name = "TIME", value_parser = time)]
    target_ttft: Option<Duration>,
    /// One within this mean time per token after the first is a good one.
    #[arg(long, value_name = "TIME", value_parser = time)]
    target_per_token: Option<Duration>,
    /// One within this time to its end is a good one.
    #[arg(long, value_name = "TIME", value_parser = time)]
    target_latency: Option<Duration>,

    /// The share of requests that may fail: `1%`.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    pub(super) max_failed: f64,
    /// The time that the client may send late at p99. 2 % of the median time to the first token are allowed
    /// anyway.
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = time)]
    max_delay: Duration,
    /// The server has a cache of prompts, and is meant to: it is not looked for.
    #[arg(long)]
    allow_cache: bool,
    /// Threads that send and read, each on a processor of its own [default: half of the processors].
    #[arg(long, value_name = "N")]
    cores: Option<usize>,
    /// The most connections at once.
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// The time that a request may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    timeout: Duration,
    /// Keep the raw records in this folder.
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Search for the highest rate at which so many requests meet the targets, between these: `5:80`.
    #[arg(long, value_name = "LOW:HIGH", value_parser = range, conflicts_with_all = LEVELS)]
    pub(super) find_rate: Option<(f64, f64)>,
    /// The share of requests that must meet the targets.
    #[arg(long, value_name = "SHARE", default_value = "99%", value_parser = share)]
    pub(super) hold: f64,
    /// The search ends where both ends of its interval are as near.
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = share)]
    pub(super) within: f64,
    /// Go on with a run that was broken off: with its line, which is not typed again.
    #[arg(long, value_name = "RUN")]
    pub(super) resume: Option<String>,
    /// Load nothing, and read results of `vllm bench serve --save-detailed`, guidellm and aiperf: each file
    /// is a window.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = LOADS)]
    pub(super) import: Vec<PathBuf>,
    /// The name of the level that imported results are of [default: as the file says].
    #[arg(long, value_name = "NAME", requires = "import")]
    pub(super) level: Option<String>,
    /// Flags of a bench target, such as `--save-baseline main`, `--baseline main`, `--verbose`.
    #[arg(last = true, value_name = "BENCH FLAGS")]
    pub(super) flags: Vec<String>,
}

/// The windows of a level.
const WINDOWS: u32 = 6;

/// A server of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadSide {
    /// The one that is measured, and judged.
    Judged,
    /// The one that it is held against.
    Other,
}

/// The forms of requests, as they are typed.
#[derive(Clone, Copy, Debug, ValueEnum, Serialize, Deserialize)]
enum LoadApi {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
    /// A GET of the path as it stands
    Plain,
}

/// The distances between requests, as they are typed.
#[derive(Clone, Copy, Debug, ValueEnum, Serialize, Deserialize)]
enum LoadShape {
    /// All equal
    Constant,
    /// Drawn, as those of many users who know nothing of each other
    Poisson,
    /// Several at once
    Bursts,
}

impl LoadArgs {
    /// The session of a server: of the one that is judged, or of the one that it is held against.
    ///
    /// # Errors
    /// What cannot be meant, with what would do.
    pub(super) fn session(&self, side: LoadSide) -> Result<Session> {
        let is_other = side == LoadSide::Other;
        let url = self.versus.as_ref().filter(|_| is_other).unwrap_or(&self.url);
        let model = self.versus_model.as_ref().filter(|_| is_other).or(self.model.as_ref());
        let api = self.api.map(|api| match api {
            LoadApi::Chat => Api::Chat,
            LoadApi::Completions => Api::Completions,
            LoadApi::Plain => Api::Plain,
        });
        let mut target = Target::parse(url, api).map_err(|error| stop::usage(error.to_string()))?;
        target.model = model.cloned();
        target.trusted.clone_from(&self.trust);
        if let Some(variable) = &self.key_env {
            let key = Key::from_environment(variable).map_err(|error| stop::usage(error.to_string()))?;
            target.key = Some(key);
        }
        let mut workload = Workload {
            words: self.words,
            tokens: (self.tokens > 0).then_some(self.tokens),
            stream: !self.no_stream,
            may_end_early: self.may_end_early,
            ..self.seed.map_or_else(Workload::fresh, Workload::of_seed)
        };
        let own = if is_other { &self.versus_body } else { &self.body };
        for field in own {
            workload.add_field(field).map_err(|error| stop::usage(error.to_string()))?;
        }
        let mut session = Session::new(target, workload, self.levels()?);
        session.goals = self.goals();
        session.bounds = Bounds { failed: self.max_failed, delay: self.max_delay, ..Bounds::default() };
        session.limits.cores = self.cores.unwrap_or(session.limits.cores).max(1);
        session.limits.connections = self.connections as usize;
        session.limits.time = self.timeout;
        session.allows_cache = self.allow_cache;
        session.folder.clone_from(&self.records);
        Ok(session)
    }

    /// The times within which an answer is a good one.
    pub(super) fn goals(&self) -> Goals {
        Goals {
            first_token: self.target_ttft,
            per_token: self.target_per_token,
            latency: self.target_latency,
        }
    }

    /// Its servers.
    pub(super) fn sides(&self) -> &'static [LoadSide] {
        let is_duel = self.versus.is_some() || !self.versus_body.is_empty() || self.versus_model.is_some();
        if is_duel { &[LoadSide::Other, LoadSide::Judged] } else { &[LoadSide::Judged] }
    }

    /// The name of a server in records.
    pub(super) fn name_of(&self, side: LoadSide) -> &str {
        if side == LoadSide::Other { &self.versus_name } else { &self.name }
    }

    /// The same line with paths that hold in any folder.
    ///
    /// # Errors
    /// When the current folder is gone.
    pub(super) fn anywhere(&self) -> Result<Self> {
        let absolute = |path: &Option<PathBuf>| {
            path.as_ref().map(std::path::absolute).transpose().context("failed to find the current folder")
        };
        Ok(Self {
            trace: absolute(&self.trace)?,
            records: absolute(&self.records)?,
            trust: absolute(&self.trust)?,
            ..self.clone()
        })
    }

    /// The windows of each level.
    pub(super) fn windows(&self) -> u32 {
        self.windows.unwrap_or(if self.find_rate.is_some() { 1 } else { WINDOWS })
    }

    /// The time that a window may take, with whatever the server leaves to be waited for.
    pub(super) fn longest(&self) -> Result<Duration> {
        let levels = self.levels()?.into_iter().map(|level| level.warm_up + level.length);
        let window = levels.max().unwrap_or_default() + 2 * self.timeout + Duration::from_mins(1);
        Ok(match self.find_rate {
            Some((low, high)) => window * RateSearch { low, high, within: self.within }.most_windows(),
            None => window,
        })
    }

    /// Tells whether nothing but a run to go on with, and flags of the bench target, were typed.
    ///
    /// # Errors
    /// Never, but where a default is none.
    pub(super) fn is_resume_alone(&self) -> Result<bool> {
        let line = LoadArgs::augment_args(clap::Command::new("load")).try_get_matches_from(["load"])?;
        let usual = LoadArgs::from_arg_matches(&line)?;
        let rest = Self { resume: None, flags: Vec::new(), ..self.clone() };
        Ok(serde_json::to_value(rest)? == serde_json::to_value(usual)?)
    }

    /// An open loop of this rate.
    pub(super) fn level_of(&self, rate: f64) -> Level {
        let stages = vec![Stage { rate, length: self.length() }];
        self.level(Load::Open { stages, shape: self.shape() })
    }

    fn shape(&self) -> Shape {
        match self.shape {
            LoadShape::Constant => Shape::Constant,
            LoadShape::Poisson => Shape::Poisson,
            LoadShape::Bursts => Shape::Bursts(self.burst),
        }
    }

    /// The measured time of a window.
    fn length(&self) -> Duration {
        let usual = Duration::from_secs(if self.sides().len() > 1 { 1 } else { 5 });
        self.length.unwrap_or(usual)
    }

    /// The time before it.
    fn warm_up(&self) -> Duration {
        self.warm_up.unwrap_or_else(|| self.length() / 5)
    }

    /// The settings that two figures must share to be compared, in words.
    pub(super) fn meaning(&self) -> String {
        let mut words = vec![
            format!("{} words in, {} tokens out", self.words, self.tokens),
            format!("{:?} a window after {:?}", self.length(), self.warm_up()),
        ];
        words.extend(self.requests.map(|most| format!("{most} requests at most")));
        words.extend(self.think.map(|time| format!("{time:?} of thought, {}", drawn(self.drawn))));
        words.extend(self.no_stream.then(|| "not streamed".to_owned()));
        words.extend(self.may_end_early.then(|| "may end early".to_owned()));
        words.extend(self.target_ttft.map(|time| format!("TTFT within {time:?}")));
        words.extend(self.target_per_token.map(|time| format!("a token within {time:?}")));
        words.extend(self.target_latency.map(|time| format!("an answer within {time:?}")));
        if self.find_rate.is_some() {
            words.push(format!("{:.3} % hold them, to {:.3} %", self.hold * 100.0, self.within * 100.0));
            words.push(format!("{:?}", self.shape()));
        }
        words.join("; ")
    }

    /// The levels: users, rates, stages and a trace, as they were named; one user without any; of a search
    /// the lowest rate, in the place of all that it will try.
    pub(super) fn levels(&self) -> Result<Vec<Level>> {
        if let Some((low, _)) = self.find_rate {
            return Ok(vec![self.level_of(low)]);
        }
        let think = match (self.think, self.drawn) {
            (None, _) => Think::None,
            (Some(time), false) => Think::Constant(time),
            (Some(time), true) => Think::Exponential(time),
        };
        let shape = self.shape();
        if self.users.contains(&0) {
            return Err(stop::usage("--users 0 asks for nothing: name at least one user"));
        }
        let mut loads: Vec<Load> =
            self.users.iter().map(|users| Load::Closed { users: *users, think }).collect();
        for rate in &self.rate {
            let rate = a_rate(*rate).map_err(stop::usage)?;
            loads.push(Load::Open { stages: vec![Stage { rate, length: self.length() }], shape });
        }
        if !self.stages.is_empty() {
            loads.push(Load::Open { stages: self.stages.clone(), shape });
        }
        if let Some(file) = &self.trace {
            let text = fs::read_to_string(file)
                .with_context(|| format!("failed to read the trace {}", file.display()))?;
            loads.push(Load::Trace(trace(&text).map_err(|error| stop::usage(error.to_string()))?));
        }
        if loads.is_empty() {
            loads.push(Load::Closed { users: 1, think });
        }
        Ok(loads.into_iter().map(|load| self.level(load)).collect())
    }

    fn level(&self, load: Load) -> Level {
        let is_closed = matches!(load, Load::Closed { .. });
        // A trace says itself when it begins.
        let warm_up = if matches!(load, Load::Trace(_)) { Duration::ZERO } else { self.warm_up() };
        let level = Level { requests: self.requests, ..Level::of(load) };
        let length = if is_closed { self.length() } else { level.length };
        Level { length, ..level }.warmed_up(warm_up)
    }
}

/// The error of a session, as a stop.
pub(super) fn told(error: SessionError) -> anyhow::Error {
    match error {
        SessionError::NoLevel | SessionError::Drive(_) => stop::usage(error.to_string()),
        other => other.into(),
    }
}

fn drawn(is_drawn: bool) -> &'static str {
    if is_drawn { "drawn" } else { "each" }
}

/// A time as it is typed: `200ms`, `10s`, `2m`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time: write it as 200ms, 10s or 2m");
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let factor = match &text[unit..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = text[..unit].parse().map_err(|_| wrong())?;
    // A week is more than anybody waits for, and far from what no clock can count.
    Some(number * factor)
        .filter(|seconds| (0.0..=604_800.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(wrong)
}

/// A share as it is typed: `1%`, `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let (number, of) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / of);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`{text}` is no share: write it as 1% or 0.01"))
}

/// A stage as it is typed: `10:30s`.
fn stage(text: &str) -> Result<Stage, String> {
    let (rate, length) =
        text.split_once(':').ok_or_else(|| format!("`{text}` is no stage: write it as 10:30s"))?;
    let rate = rate.parse().map_err(|_| format!("`{rate}` is no rate"))?;
    Ok(Stage { rate: a_rate(rate)?, length: time(length)? })
}

/// A number of windows as it is typed.
fn windows(text: &str) -> Result<u32, String> {
    let number: Option<u32> = text.parse().ok();
    number
        .filter(|windows| (1..=1000).contains(windows))
        .ok_or_else(|| format!("`{text}` is no number of windows: there are 1 to 1000"))
}

/// Two rates as they are typed: `5:80`.
fn range(text: &str) -> Result<(f64, f64), String> {
    let wrong = || format!("`{text}` is no range of rates: write it as 5:80");
    let (low, high) = text.split_once(':').ok_or_else(wrong)?;
    let rate = |text: &str| text.parse().map_err(|_| wrong()).and_then(a_rate);
    let (low, high) = (rate(low)?, rate(high)?);
    if low < high { Ok((low, high)) } else { Err(wrong()) }
}

fn a_rate(rate: f64) -> Result<f64, String> {
    Some(rate)
        .filter(|rate| *rate > 0.0 && *rate <= 1e7)
        .ok_or_else(|| format!("{rate} requests a second are none, or more than can be sent"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: LoadArgs,
    }

    fn session(line: &[&str]) -> Result<Session> {
        let line = Line::try_parse_from([&["load"], line].concat())?;
        line.args.session(LoadSide::Judged)
    }

    #[test]
    fn a_line_names_levels_and_what_is_not_named_is_on_this_machine() {
        let found =
            session(&["--users", "1,8", "--rate", "5", "--length", "2s", "--shape", "constant"]).unwrap();
        let names: Vec<String> = found.levels.iter().map(|level| level.load.name()).collect();
        assert_eq!(names, ["1 user", "8 users", "5/s"]);
        assert_eq!(found.levels[2].length, Duration::from_secs(2));
        assert_eq!((&*found.target.host, found.target.port), ("127.0.0.1", 8000));
        assert!(!found.workload.is_repeatable);
        assert_eq!(session(&[]).unwrap().levels.len(), 1);
    }

    #[test]
    fn a_run_is_gone_on_with_by_its_name_alone() {
        let alone = |line: &[&str]| {
            let line = Line::try_parse_from([&["load"], line].concat()).unwrap();
            line.args.is_resume_alone().unwrap()
        };
        assert!(alone(&["--resume", "x"]) && alone(&["--resume", "x", "--", "--quiet"]));
        assert!(!alone(&["--resume", "x", "--users", "2"]) && !alone(&["http://a", "--resume", "x"]));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_would_do() {
        let check = |line: &[&str], words: &str| {
            let error = session(line).expect_err("it is refused").to_string();
            assert!(error.contains(words), "{error}");
        };
        check(&["ftp://a"], "and not ftp");
        check(&["--users", "0"], "at least one");
        check(&["--rate=-1"], "more than can be sent");
        check(&["--rate=NaN"], "more than can be sent");
        check(&["--length", "5"], "200ms");
        check(&["--length", "1e9s"], "200ms");
        check(&["--max-failed", "101%"], "1%");
        check(&["--stages", "10"], "10:30s");
        check(&["--find-rate", "9:9"], "5:80");
        check(&["--find-rate", "0:9"], "more than can be sent");
        check(&["--find-rate", "9"], "5:80");
        check(&["--windows", "0"], "1 to 1000");
        check(&["--key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE");
        check(&["--trace", "/no/such/file"], "/no/such/file");
    }
}
