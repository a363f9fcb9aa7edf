//! What a person sees: a recording of a run on a pseudo-terminal.

use std::fs::File;
use std::io::Read;

use nix::pty::{Winsize, openpty};

use crate::external::Bench;

/// What a terminal of so many columns is sent by a quick run of two cases.
fn recorded(columns: u16) -> String {
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let bench = Bench::new("sorting");
    let mut command = bench.command(&["SUM-1", "--param", "len=all", "--profile=quick"]);
    command.env("TERM", "xterm").env_remove("CI").env_remove("NO_COLOR").env_remove("COLUMNS");
    command.env_remove("CARGO_TERM_COLOR");
    let (out, err) = (terminal.slave.try_clone().unwrap(), terminal.slave);
    let mut run = command.stdout(out).stderr(err).spawn().unwrap();
    drop(command); // it holds the other end
    let mut seen = Vec::new();
    let mut from = File::from(terminal.master);
    let mut some = [0; 4096];
    // A terminal that everybody has left is an error to read from.
    while let Ok(count) = from.read(&mut some) {
        if count == 0 {
            break;
        }
        seen.extend_from_slice(&some[..count]);
    }
    assert!(run.wait().unwrap().success());
    String::from_utf8(seen).unwrap()
}

/// The text of a line without its colours.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => drop(letters.by_ref().find(char::is_ascii_alphabetic)),
            letter => text.push(letter),
        }
    }
    text
}

#[test]
fn a_run_draws_one_line_over_and_over_within_the_width_and_leaves_the_table() {
    for columns in [60, 100] {
        let seen = recorded(columns);
        let drawn: Vec<String> = seen
            .split("\r\x1b[2K")
            .skip(1)
            .map(|line| plain(line.lines().next().unwrap_or_default()))
            .collect();
        assert!(drawn.iter().any(|line| line.contains("/6] ") && line.contains("left")), "{columns}: {seen}");
        for line in &drawn {
            assert!(line.chars().count() < usize::from(columns), "{columns}: {line}");
        }
        let table: Vec<String> =
            seen.lines().map(plain).skip_while(|line| !line.contains(" median")).collect();
        assert!(table.iter().any(|line| line.contains("─ long")), "{columns}: {seen}");
        let notes = ["caveat", "undelayed:", "CPU:", "files: "];
        for row in table.iter().take_while(|line| !notes.iter().any(|note| line.starts_with(note))) {
            assert!(row.trim_end().chars().count() <= usize::from(columns), "{columns}: {row}");
        }
        assert!(seen.contains("\x1b[1m"), "a terminal has colours: {seen}");
    }
}
