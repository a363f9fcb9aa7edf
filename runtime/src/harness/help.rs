//! `--help`, made from the slice of flags.

use std::fmt::Write;

use super::flag::FlagGroup;
use super::flags::{FLAGS, WITHOUT_EFFECT};

/// The help text.
pub(super) fn help() -> String {
    let mut text = String::from(
        "Usage: cargo bench [-- [FILTER...] [FLAGS]]\n\n\
         A FILTER is part of a case's name, a scenario's id, or an expression between slashes: `CV-1`, \
         `small`, `/^NLP/`.\n",
    );
    for (group, title) in FlagGroup::ALL {
        writeln!(text, "\n{title}:").expect("a String takes all that is written");
        for flag in FLAGS.iter().filter(|flag| flag.group == *group) {
            text.push_str(&line(flag.name, flag.short, flag.value, flag.help));
        }
    }
    text.push_str("\nAccepted likewise, without an effect:\n");
    for (name, short, value, why) in WITHOUT_EFFECT {
        text.push_str(&line(name, *short, *value, why));
    }
    text.push_str(
        "\nEvery flag of ours has a twin in the environment: --save-baseline is \
         WEIGHBRIDGE_SAVE_BASELINE.\n\n\
         Exit codes: 0 fine, 1 unexpected, 2 usage, 3 regressed, 4 nothing to judge by, 5 inconclusive,\n\
         6 a case failed or did not verify, 130 interrupted.\n",
    );
    text
}

/// One flag.
fn line(name: &str, short: Option<char>, value: Option<&str>, help: &str) -> String {
    let short = short.map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
    let value = value.map_or_else(String::new, |value| format!(" <{value}>"));
    let usage = format!("{short}--{name}{value}");
    format!("  {usage:40} {help}\n")
}
