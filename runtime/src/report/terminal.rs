//! The terminal: where text goes, and whether it may be coloured or redrawn.
//!
//! It is the one door. Whatever others have written, and whoever forgot it on the way, nothing of it moves a
//! cursor, turns the direction of writing, or gives an order to a build server.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bencher::{mark_of_order, visible};

/// Set once something could not be written to stdout, of which a process has one.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// The terminal through which to speak to the user. Results go to stdout, everything else to stderr.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// True if results may be coloured.
    pub color: bool,
    /// True if a line may be drawn over: stderr is a terminal and nobody asked for plain lines.
    pub live: bool,
    /// True if nothing but errors is said.
    pub quiet: bool,
    /// The number of characters a line has; `None` where results go to no terminal, and are cut nowhere.
    pub columns: Option<usize>,
    /// The same of the line that shows how far a run is.
    pub live_columns: Option<usize>,
    /// True if the terminal draws letters alone (`TERM=dumb`).
    pub plain: bool,
}

impl Terminal {
    /// Looks at the terminal and the environment, in cargo's own order: the flag, `CARGO_TERM_COLOR`,
    /// `NO_COLOR`, `CLICOLOR_FORCE`, the terminal. Under `CI` nothing is redrawn.
    pub fn detect(color: Option<bool>, quiet: bool) -> Self {
        let variable = |name: &str| env::var(name).ok();
        let color = color.unwrap_or_else(|| wants_color(variable, io::stdout().is_terminal()));
        let plain = env::var_os("TERM").is_some_and(|name| name == "dumb");
        let live = io::stderr().is_terminal() && env::var_os("CI").is_none() && !plain;
        let columns = io::stdout().is_terminal().then(|| columns(&io::stdout())).flatten();
        let live_columns = live.then(|| self::columns(&io::stderr())).flatten();
        Self { color: color && !plain, live, quiet, columns, live_columns, plain }
    }

    /// Writes a result. A reader that has hung up (`| head`) is no error of ours.
    pub fn result(self, text: &str) {
        if !self.quiet {
            self.answer(text);
        }
    }

    /// Writes what was asked for by name (`--list`, `--help`), quiet or not.
    pub fn answer(self, text: &str) {
        let mut to = io::stdout().lock();
        let written = to.write_all(self.shown(text).as_bytes()).and_then(|()| to.flush());
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
            && !UNWRITTEN.swap(true, Ordering::Relaxed)
        {
            self.error(&format!("error: failed to write to the standard output: {error}"));
        }
    }

    /// Tells whether something could not be written to stdout, which has been said.
    pub fn failed_to_write() -> bool {
        UNWRITTEN.load(Ordering::Relaxed)
    }

    /// Writes lines of remarks.
    pub fn remarks(self, lines: &str) {
        if !self.quiet && !lines.is_empty() {
            self.write_remark(lines.trim_end());
        }
    }

    /// Writes one remark. Lines after its first are somebody else's, and stand behind a mark.
    pub fn remark(self, text: &str) {
        self.remarks(&marked(text.trim_end()));
    }

    /// Writes the one line of a rank that does not report, where everything else of it is quiet.
    pub fn line_of_rank(self, line: &str, quiet: bool) {
        if !quiet {
            self.error(line);
        }
    }

    /// Writes what must be said, as a remark is written.
    pub fn error(self, text: &str) {
        self.write_remark(&marked(text.trim_end()));
    }

    fn write_remark(self, text: &str) {
        let _ = io::stderr().lock().write_all(format!("{}\n", self.shown(text)).as_bytes());
    }

    /// Writes what a repeat printed, each line behind a mark. Colours stay where they may be, and nothing
    /// else comes of it.
    pub fn output(self, of: &str, stdout: &[u8], stderr: &[u8]) {
        if stdout.is_empty() && stderr.is_empty() {
            return;
        }
        self.redraw("");
        let mut to = io::stderr().lock();
        let _ = to.write_all(format!("--- {} printed:\n", self.shown(of)).as_bytes());
        for part in [stdout, stderr] {
            let _ = to.write_all(self.printed(&String::from_utf8_lossy(part)).as_bytes());
        }
    }

    /// The lines of a text, each without anything that would be obeyed but the colours of
    /// [`paint`](Self::paint).
    fn shown(self, text: &str) -> String {
        let lines =
            text.split('\n').map(|line| mark_of_order(line).to_owned() + &self.shown_line(line, is_painted));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Lines of others behind a mark, so that none passes for one of the harness or for an order to what
    /// reads its output. Their colours are left out where there are none.
    fn printed(self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for line in text.lines() {
            let line = self.shown_line(line, |_| true);
            let end = if line.contains(ESCAPE) { "\x1b[0m\n" } else { "\n" };
            shown.extend(["| ", &line, end]);
        }
        shown
    }

    /// A line with colours where they may be, as far as their code is one of these, and nothing else that
    /// would be obeyed.
    fn shown_line(self, line: &str, stays: impl Fn(&str) -> bool) -> String {
        let mut shown = String::with_capacity(line.len());
        for (at, part) in line.split(ESCAPE).enumerate() {
            match sgr(part).filter(|(code, _)| at > 0 && stays(code)) {
                Some((code, rest)) => {
                    if self.color {
                        shown.extend([ESCAPE, code]);
                    }
                    shown.push_str(&visible(rest));
                }
                None if at > 0 => shown.push_str(&visible(&format!("{ESCAPE}{part}"))),
                None => shown.push_str(&visible(part)),
            }
        }
        shown
    }

    /// Writes over the current line of the terminal; in one write, so that it never shows half.
    pub fn redraw(self, line: &str) {
        if self.live && !self.quiet {
            let _ = io::stderr().lock().write_all(format!("\r\x1b[2K{}", self.shown(line)).as_bytes());
        }
    }

    /// The text in bold, red, green, yellow or dim, if colours may be.
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.color { format!("\x1b[{}m{text}\x1b[0m", style as u8) } else { text.to_owned() }
    }
}

/// The beginning of a sequence that a terminal obeys.
const ESCAPE: &str = "\x1b[";

/// The code that sets colours and weight, and the text behind it, where that is what the text begins with
/// (ECMA-48, 8.3.117).
fn sgr(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    text[end..].starts_with('m').then(|| text.split_at(end + 1))
}

/// The text with a mark before each line after the first.
fn marked(text: &str) -> String {
    text.replace('\n', "\n| ")
}

/// Tells whether a code is one that [`Terminal::paint`] writes.
fn is_painted(code: &str) -> bool {
    let styles = [Style::Bold, Style::Dim, Style::Red, Style::Green, Style::Yellow];
    code == "0m" || styles.iter().any(|style| code == format!("{}m", *style as u8))
}

/// Returns the terminal's width in columns: `COLUMNS`, where it is set, else as the terminal tells.
fn columns(stream: &(impl IsTerminal + AsRawFd)) -> Option<usize> {
    let asked = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.filter(|columns| *columns > 0).or_else(|| crate::device::terminal_columns(stream))
}

/// Styles by their terminal codes.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Style {
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
}

fn wants_color(variable: impl Fn(&str) -> Option<String>, terminal: bool) -> bool {
    match variable("CARGO_TERM_COLOR").as_deref() {
        Some("always") => return true,
        Some("never") => return false,
        _ => {}
    }
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    let forced = variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    forced || terminal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_body_prints_is_behind_a_mark_and_keeps_its_colours_alone() {
        let show = |color, text: &str| {
            let terminal = Terminal {
                color,
                live: false,
                quiet: false,
                columns: None,
                live_columns: None,
                plain: false,
            };
            terminal.printed(text)
        };
        assert_eq!(show(true, "one\n::error::two\n\n"), "| one\n| ::error::two\n| \n");
        assert_eq!(
            show(true, "\x1b[31mred\x1b[0m, \x1b[1;32mgreen"),
            "| \x1b[31mred\x1b[0m, \x1b[1;32mgreen\x1b[0m\n"
        );
        assert_eq!(show(false, "\x1b[31mred\x1b[0m"), "| red\n");
        // What would clear the screen, move up, give the window a title or draw over the line is written out.
        assert_eq!(show(true, "\x1b[2J\x1b[1Aup"), "| \\u{1b}[2J\\u{1b}[1Aup\n");
        assert_eq!(show(true, "\x1b]0;title\x07 a\rb\x1b["), "| \\u{1b}]0;title\\u{7} a\\rb\\u{1b}[\n");
        assert_eq!(show(true, "a\tb"), "| a\tb\n");
    }

    #[test]
    fn nothing_but_paint_passes_the_door() {
        let terminal = Terminal { color: true, ..Terminal::detect(Some(true), true) };
        let painted = terminal.paint(Style::Red, "slower");
        assert_eq!(terminal.shown(&painted), painted);
        for (text, expected) in [
            ("one\n::error::two\n", "one\n> ::error::two\n"),
            ("a\x1b[2Jb\x1b]0;t\x07", r"a\u{1b}[2Jb\u{1b}]0;t\u{7}"),
            ("x ##[stop-commands]y", r"x ##\u{5b}stop-commands]y"),
            ("\u{202e}\u{2028}\r", r"\u{202e}\u{2028}\r"),
            ("\x1b[5mblink", r"\u{1b}[5mblink"),
        ] {
            assert_eq!(terminal.shown(text), expected);
        }
    }

    #[test]
    fn colour_follows_cargos_own_order() {
        let check = |variables: &[(&str, &str)], terminal, expected| {
            let find = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(wants_color(find, terminal), expected, "{variables:?}");
        };
        check(&[], true, true);
        check(&[], false, false);
        check(&[("NO_COLOR", "1")], true, false);
        check(&[("NO_COLOR", "")], true, true);
        check(&[("NO_COLOR", "1"), ("CARGO_TERM_COLOR", "always")], false, true);
        check(&[("CARGO_TERM_COLOR", "never")], true, false);
        check(&[("CARGO_TERM_COLOR", "auto"), ("CLICOLOR_FORCE", "1")], false, true);
    }
}
