//! Why a command cannot go on, and the exit code of that.

use weighbridge::data;

use weighbridge::data::Exit;

/// A stop with an exit code of its own. All others are unexpected.
#[derive(Debug)]
pub(crate) struct Stop {
    exit: Exit,
    message: String,
}

/// A mistake of the user: exit 2.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Stop { exit: Exit::Usage, message: message.into() }.into()
}

/// Nothing to judge by: exit 4.
pub fn nothing(message: impl Into<String>) -> anyhow::Error {
    Stop { exit: Exit::NothingToJudge, message: message.into() }.into()
}

/// A stop with this exit code.
pub(crate) fn with(exit: Exit, message: String) -> anyhow::Error {
    Stop { exit, message }.into()
}

/// The user asked for an end: exit 130.
pub fn interrupted() -> anyhow::Error {
    Stop { exit: Exit::Interrupted, message: "interrupted".to_owned() }.into()
}

/// A misspelt name among known ones: exit 2, with the nearest or all of them.
pub fn unknown<'a>(what: &str, typed: &str, known: impl IntoIterator<Item = &'a str>) -> anyhow::Error {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    let help = match data::nearest(typed, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => "there is none at all".to_owned(),
        None if known.len() > 12 => format!("there are {}, `{}` among them", known.len(), known[0]),
        None => format!("there is {}", known.join(", ")),
    };
    usage(format!("there is no {what} `{typed}`: {help}"))
}

/// An error with its causes, each told once: some errors have the text of their cause in their own.
pub fn told(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

/// The exit code of an error.
pub fn exit(error: &anyhow::Error) -> Exit {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stop.exit;
    }
    match error.downcast_ref::<data::StoreError>() {
        Some(data::StoreError::NoBaseline { .. }) => Exit::NothingToJudge,
        Some(
            data::StoreError::NoRun { .. }
            | data::StoreError::BadName(_)
            | data::StoreError::NotPromoted { .. },
        ) => Exit::Usage,
        _ => Exit::Unexpected,
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Stop {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_whether_an_error_has_its_text_or_not() {
        let error = std::io::Error::other("it is no file");
        let error = anyhow::Error::new(error).context("failed to read `run.json`").context("no run");
        assert_eq!(told(&error), "no run: failed to read `run.json`: it is no file");
        let source = std::io::Error::other("it is full");
        let store = data::StoreError::Io { attempt: "write", path: "x".into(), source };
        let text = told(&store.into());
        assert_eq!(text.matches("it is full").count(), 1, "{text}");
    }
}
