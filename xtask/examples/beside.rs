//! The table of truth beside other tools: what each says of a mock server whose times are known.
//!
//! `cargo run --release -p weighbridge-xtask --features load-mock --example beside -- TOKENIZER` prints it as
//! Markdown. `GUIDELLM` and `AIPERF` name their programs; one that is not there is left out, and said to be.
//! TOKENIZER is a folder with a tokenizer of Hugging Face, which both want before they send anything.
//!
//! Truth is the server's own stamp: from a request that it had read to its first write of a token, and from
//! write to write. What a tool says beyond it is its own, with the network of loopback.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use weighbridge::data::{CaseRecord, Layout, Runs};
use weighbridge_load::mock::{Behaviour, MockServer, Served};

/// The users of each line of the table.
const USERS: [u32; 4] = [1, 10, 100, 1000];

/// Tokens of an answer.
const TOKENS: u32 = 10;

/// The requests of a tool: at least so many, and four for each user.
const LEAST: u32 = 40;

type Failed = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    // This program is the command as well, and its children.
    let word = std::env::args().nth(1);
    if word.as_deref() == Some("load") || std::env::var_os("LOAD_OF_WEIGHBRIDGE").is_some() {
        return weighbridge_xtask::main();
    }
    let tokenizer = word.map_or_else(PathBuf::new, PathBuf::from);
    println!("| users | tool | TTFT off by | gap off by | requests |");
    println!("|---:|---|---:|---:|---:|");
    for users in USERS {
        for tool in [Tool::Ours, Tool::Guidellm, Tool::Aiperf] {
            let line = line(tool, users, &tokenizer).unwrap_or_else(|why| format!("{why} | | "));
            println!("| {users} | {} | {line} |", tool.name());
        }
    }
    ExitCode::SUCCESS
}

#[derive(Clone, Copy)]
enum Tool {
    Ours,
    Guidellm,
    Aiperf,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Ours => "weighbridge",
            Tool::Guidellm => "guidellm",
            Tool::Aiperf => "aiperf",
        }
    }
}

/// What a tool says, less what the server knows.
fn line(tool: Tool, users: u32, tokenizer: &Path) -> Result<String, Failed> {
    let server = MockServer::start(Behaviour {
        first: Duration::from_millis(50),
        between: Duration::from_millis(10),
        is_labelled: true,
        ..Behaviour::default()
    })?;
    let data = tempfile::tempdir()?;
    let case = match tool {
        Tool::Ours => ours(&server.url(), users, data.path())?,
        Tool::Guidellm => {
            let file = data.path().join("guidellm.json");
            guidellm(&server.url(), users, tokenizer, &file)?;
            imported(&file, data.path())?
        }
        Tool::Aiperf => {
            aiperf(&server.url(), users, tokenizer, data.path())?;
            imported(&data.path().join("profile_export.jsonl"), data.path())?
        }
    };
    let served = server.served();
    let (first, gap) = truth(&served);
    let off = |metric: &str, truth: f64| {
        let said = case.metric(metric).and_then(|metric| metric.estimate).map(|estimate| estimate.median);
        said.map_or_else(|| "-".to_owned(), |said| format!("{:+.2} ms", (said - truth) * 1e3))
    };
    let requests = case.metric("requests").and_then(|metric| metric.estimate);
    let requests = requests.map_or(0.0, |estimate| estimate.median);
    Ok(format!("{} | {} | {requests:.0}", off("ttft_p50", first), off("gap_p50", gap)))
}

/// The medians of the server's own stamps, in seconds.
fn truth(served: &[Served]) -> (f64, f64) {
    let mut first: Vec<u64> =
        served.iter().filter_map(|one| one.writes.first().map(|write| write.since(one.received))).collect();
    let mut gaps: Vec<u64> =
        served.iter().flat_map(|one| one.writes.windows(2).map(|pair| pair[1].since(pair[0]))).collect();
    let middle = |of: &mut Vec<u64>| {
        of.sort_unstable();
        of.get(of.len() / 2).copied().unwrap_or(0) as f64 * 1e-9
    };
    (middle(&mut first), middle(&mut gaps))
}

fn requests(users: u32) -> u32 {
    (4 * users).max(LEAST)
}

fn ours(url: &str, users: u32, data: &Path) -> Result<CaseRecord, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["load", url, "--users", &users.to_string(), "--requests", &requests(users).to_string()]);
    command.args(["--words", "20", "--tokens", &TOKENS.to_string(), "--length", "20s", "--warm-up", "0ms"]);
    command.args(["--windows", "1", "--allow-cache", "--max-delay", "1h", "--data"]).arg(data);
    run(command.args(["--", "--no-lock"]))?;
    newest(data)
}

fn guidellm(url: &str, users: u32, tokenizer: &Path, file: &Path) -> Result<(), Failed> {
    let program = std::env::var("GUIDELLM").map_err(|_| "not there: GUIDELLM names it")?;
    let mut command = Command::new(program);
    command.args(["run", "--backend", &format!("kind=openai_http,target={url},model=mock")]);
    command.args(["--profile", &format!("kind=concurrent,streams={users}")]);
    command.args(["--constraint", &format!("kind=max_requests,count={}", requests(users))]);
    command.args(["--tokenizer", &format!("kind=huggingface_auto,model={}", tokenizer.display())]);
    command.args(["--data", &format!("kind=synthetic_text,prompt_tokens=20,output_tokens={TOKENS}")]);
    command.args(["--output", &format!("kind=json,path={}", file.display()), "--disable-console"]);
    run(&mut command)
}

fn aiperf(url: &str, users: u32, tokenizer: &Path, folder: &Path) -> Result<(), Failed> {
    let program = std::env::var("AIPERF").map_err(|_| "not there: AIPERF names it")?;
    let mut command = Command::new(program);
    command.args(["profile", "-m", "mock", "--url", url, "--endpoint-type", "chat", "--streaming"]);
    command.args(["--concurrency", &users.to_string(), "--request-count", &requests(users).to_string()]);
    command.args(["--synthetic-input-tokens-mean", "20", "--output-tokens-mean", &TOKENS.to_string()]);
    command.args(["--use-server-token-count", "--export-level", "records", "--ui", "none", "--tokenizer"]);
    command.arg(tokenizer).arg("--artifact-dir").arg(folder);
    run(&mut command)
}

fn run(command: &mut Command) -> Result<(), Failed> {
    let output = command.stdin(Stdio::null()).output()?;
    let said = || String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
    // An INVALID row of ours is told by its missing figures.
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("ended with {}: {}", output.status, said()).into())
    }
}

fn imported(file: &Path, data: &Path) -> Result<CaseRecord, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    run(command.args(["load", "--max-failed", "100%", "--import"]).arg(file).arg("--data").arg(data))?;
    newest(data)
}

fn newest(data: &Path) -> Result<CaseRecord, Failed> {
    let runs = Runs::new(Layout::new(data));
    let newest = runs.newest_first()?.next().ok_or("no run was stored")?;
    Ok(runs.load(&newest.id)?.cases.remove(0))
}
