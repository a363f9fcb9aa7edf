//! Values that look like secrets, and the user's own folders: neither is written into a record, and no worker
//! finds the first among its variables.
//!
//! `curl --token abc https://me:abc@host` is kept as `curl --token <hidden> https://me:<hidden>@host`. What
//! follows a name such as `--token`, `API_KEY=` or `Authorization:` is hidden, and so are the forms that
//! services give their tokens. A name tells more than it should now and then, and a secret in a form that
//! nobody knows is not seen: records are not a place to keep secrets in either.

use std::path::{Path, PathBuf};

/// The text that stands in the place of a hidden value.
pub(crate) const HIDDEN: &str = "<hidden>";
/// The text that stands in the place of the checkout's folder.
const CHECKOUT: &str = "<checkout>";

/// Parts of names that only a secret has, wherever they stand.
const SECRET: &[&str] = &[
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "credential",
    "credentials",
    "authorization",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
];
/// Parts that may follow `token` in the name of one.
const OF_TOKEN: &[&str] = &["id", "file", "path", "value", "request", "url", "secret", "key"];
/// Parts before `key` that make it a secret, however the name is written.
const OF_KEY: &[&str] = &[
    "api",
    "access",
    "account",
    "auth",
    "deploy",
    "encryption",
    "private",
    "secret",
    "service",
    "signing",
    "ssh",
    "storage",
];
/// Beginnings of the tokens of well-known services, of which a whole one is at least [`SHORTEST`] long.
const TOKENS: &[&str] = &[
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "npm_",
    "pypi-",
    "sk-",
    "dckr_pat_",
    "eyJ",
];
const SHORTEST: usize = 20;
/// Words of a header that stand before its secret.
const SCHEMES: &[&str] = &["bearer", "basic", "token"];

/// Tells whether a variable, a flag or a key of this name holds a secret: `AWS_SECRET_ACCESS_KEY`,
/// `--api-key`, `authToken`; not `max_tokens`, `TOKENIZERS_PARALLELISM` or `key`.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let shouted = name.chars().any(char::is_alphabetic) && !name.chars().any(char::is_lowercase);
    let parts = parts(name);
    let is_last = |at: usize| at + 1 == parts.len();
    parts.iter().enumerate().any(|(at, part)| match part.as_str() {
        part if SECRET.contains(&part) => true,
        part if part.ends_with("token") => is_last(at) || OF_TOKEN.contains(&&*parts[at + 1]),
        "key" => at > 0 && (shouted || OF_KEY.contains(&&*parts[at - 1])),
        "pass" | "auth" | "pwd" => is_last(at) && (shouted && at > 0 || *part != "pwd" && parts.len() == 1),
        "sock" => at > 0 && parts[at - 1] == "auth",
        _ => false,
    })
}

/// The parts of a name, in small letters: those of `authToken` and of `AUTH_TOKEN` are the same.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = '_';
    for letter in name.chars() {
        let begins = before.is_ascii_lowercase() && letter.is_ascii_uppercase();
        if begins || !letter.is_alphanumeric() {
            parts.push(String::new());
        }
        if letter.is_alphanumeric() {
            parts.last_mut().expect("it begins with one").extend(letter.to_lowercase());
        }
        before = letter;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The words of a command line without secrets.
pub(crate) fn words_without_secrets(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut is_value = false;
    let mut hide = |word: String| {
        let follows = is_value && !word.starts_with('-') && !word.is_empty();
        is_value = word.starts_with('-') && !word.contains(['=', ' ']) && is_secret_name(&word);
        if follows { HIDDEN.to_owned() } else { without_secrets(&word) }
    };
    words.into_iter().map(&mut hide).collect()
}

/// The text without secrets: a line for a shell, a message with one in it, a value.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let end = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        if end == 0 {
            shown.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(end);
        shown.push_str(if is_token(word) { HIDDEN } else { word });
        rest = after;
        if is_secret_name(word) {
            rest = hide_value(word, after, &mut shown);
        } else if matches!(word, "-u" | "--user" | "--proxy-user") {
            rest = hide_user(after, &mut shown);
        } else if let Some(address) = after.strip_prefix("://") {
            shown.push_str("://");
            rest = hide_key_of_address(word, address, &mut shown);
        }
    }
    shown
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || "-_.".contains(letter)
}

/// Tells whether a word is a token by its form.
fn is_token(word: &str) -> bool {
    let is_whole = word.len() >= SHORTEST && word.chars().any(|letter| letter.is_ascii_digit());
    let is_of_web = || !word.starts_with("eyJ") || word.matches('.').count() == 2;
    is_whole && TOKENS.iter().any(|beginning| word.starts_with(beginning)) && is_of_web()
}

/// Writes what follows the name of a secret, hidden if it is its value; gives what is left.
fn hide_value<'a>(name: &str, after: &'a str, shown: &mut String) -> &'a str {
    let is_mark = |letter: char| matches!(letter, '"' | '\'' | '\\');
    let quoted = after.trim_start_matches(is_mark);
    let value = match quoted.strip_prefix(['=', ':']) {
        // `password://` names how something is reached, and is none.
        Some(value) if !value.starts_with("//") => value.trim_start_matches([' ', '"', '\'', '\\']),
        _ if !name.starts_with('-') => return after,
        _ => after
            .trim_start_matches(|letter: char| is_mark(letter) || letter == ',' || letter.is_whitespace()),
    };
    let before = &after[..after.len() - value.len()];
    // What the shell puts in, and the flag that comes next, are no values.
    if before.is_empty() || value.starts_with(['$', '-', '`', '<']) {
        return after;
    }
    shown.push_str(before);
    let left = &value[end_of_value(before, value)..];
    let value = &value[..value.len() - left.len()];
    if value.is_empty() {
        return left;
    }
    let (scheme, secret) = value.split_once(' ').unwrap_or((value, ""));
    if !SCHEMES.contains(&&*scheme.to_lowercase()) {
        shown.push_str(HIDDEN);
        return left;
    }
    shown.push_str(scheme);
    if !secret.is_empty() {
        shown.extend([" ", HIDDEN]);
        return left;
    }
    let after = left.trim_start_matches(' ');
    let end = end_of_value("", after);
    if left.starts_with(' ') && end > 0 {
        shown.extend([" ", HIDDEN]);
        return &after[end..];
    }
    left
}

/// The length of the value that a text begins with: to the mark that it is quoted by, else to the end of the
/// word.
fn end_of_value(before: &str, value: &str) -> usize {
    let end = match before.chars().next_back().filter(|mark| matches!(mark, '"' | '\'')) {
        Some(mark) => value.find(mark),
        None => value.find(|letter: char| letter.is_whitespace() || "\"'`;|&<>()".contains(letter)),
    };
    end.unwrap_or(value.len())
}

/// Hides `me:secret` after the flag of curl; a name alone is none.
fn hide_user<'a>(after: &'a str, shown: &mut String) -> &'a str {
    let value = after.trim_start_matches(['=', ' ', '"', '\'', ',', '\\']);
    let before = &after[..after.len() - value.len()];
    let end = end_of_value(before, value);
    let Some((user, secret)) = value[..end].split_once(':') else { return after };
    if before.is_empty() || secret.is_empty() || secret.starts_with('$') {
        return after;
    }
    shown.extend([before, user, ":", HIDDEN]);
    &value[end..]
}

/// Hides the key that stands before the host in an address.
fn hide_key_of_address<'a>(scheme: &str, address: &'a str, shown: &mut String) -> &'a str {
    let ends = |letter: char| letter.is_whitespace() || "/?#\"'`<>\\".contains(letter);
    let end = address.find(ends).unwrap_or(address.len());
    let Some((key, host)) = address[..end].rsplit_once('@') else { return address };
    match key.split_once(':') {
        Some((_, secret)) if secret.is_empty() || secret.starts_with('$') => return address,
        Some((user, _)) => shown.extend([user, ":", HIDDEN]),
        // `ssh://git@host` names a user, `https://abc@host` a token.
        None if scheme.starts_with("http") && !key.starts_with('$') => shown.push_str(HIDDEN),
        None => return address,
    }
    &address[end - host.len() - 1..]
}

/// The user's home and the checkout, which a record writes as `~` and `<checkout>`.
#[derive(Clone, Debug)]
pub(crate) struct OwnFolders(Vec<(String, &'static str)>);

impl OwnFolders {
    /// This user's, with this checkout.
    pub(crate) fn of(checkout: &Path) -> Self {
        Self::new(std::env::var_os("HOME").map(PathBuf::from), checkout)
    }

    fn new(home: Option<PathBuf>, checkout: &Path) -> Self {
        let text = |folder: &Path| folder.to_str().map(|text| text.trim_end_matches('/').to_owned());
        let is_one = |folder: &PathBuf| folder.is_absolute() && folder.parent().is_some();
        let home = home.filter(is_one);
        let checkout = std::path::absolute(checkout).ok().filter(is_one);
        // A checkout that has the home in it is a disk and no checkout.
        let checkout = checkout.filter(|folder| home.as_ref().is_none_or(|home| !home.starts_with(folder)));
        let named = |folder: Option<PathBuf>, name| Some((text(&folder?)?, name));
        Self([named(checkout, CHECKOUT), named(home, "~")].into_iter().flatten().collect())
    }

    /// The text with their names in the place of them.
    pub(crate) fn hide(&self, text: &str) -> String {
        let each = |text: String, (folder, name): &(String, &str)| {
            replaced(&text, folder, name, |before| !before.is_some_and(is_of_path))
        };
        self.0.iter().fold(text.to_owned(), each)
    }

    /// The text as it was before [`OwnFolders::hide`].
    pub(crate) fn restore(&self, text: &str) -> String {
        let begins = |before: Option<char>| before.is_none_or(|letter| "=:, '\"".contains(letter));
        let each = |text: String, (folder, name): &(String, &str)| replaced(&text, name, folder, begins);
        self.0.iter().fold(text.to_owned(), each)
    }
}

/// The text with `new` in the place of each `old` that is a whole folder there.
fn replaced(text: &str, old: &str, new: &str, may_follow: impl Fn(Option<char>) -> bool) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        written.push_str(before);
        let is_whole = may_follow(written.chars().next_back())
            && after.chars().next().is_none_or(|letter| letter == '/' || !is_of_path(letter));
        written.push_str(if is_whole { new } else { old });
        rest = after;
    }
    written + rest
}

fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || "-_./~".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_behind_the_name_of_a_secret_is_hidden_in_any_command_line() {
        let lines = [
            ("curl --token abc -o x", "curl --token <hidden> -o x"),
            ("curl --token=abc;ls", "curl --token=<hidden>;ls"),
            ("db --password 'a b;c' x", "db --password '<hidden>' x"),
            ("db --db-password \"a b\"", "db --db-password \"<hidden>\""),
            ("API_KEY=abc run", "API_KEY=<hidden> run"),
            ("run --api-key abc", "run --api-key <hidden>"),
            ("env HF_TOKEN=abc x", "env HF_TOKEN=<hidden> x"),
            ("get 'https://h/x?token=abc&y=1'", "get 'https://h/x?token=<hidden>&y=1'"),
            ("get https://me:abc@h/x", "get https://me:<hidden>@h/x"),
            ("get https://abcdef@h/x", "get https://<hidden>@h/x"),
            ("psql postgres://me:a@b@h/x", "psql postgres://me:<hidden>@h/x"),
            ("curl -u me:abc h", "curl -u me:<hidden> h"),
            ("curl -H 'Authorization: Bearer abc'", "curl -H 'Authorization: Bearer <hidden>'"),
            ("curl -H Authorization:abc h", "curl -H Authorization:<hidden> h"),
            ("curl -d '{\"password\":\"a b\",\"x\":1}'", "curl -d '{\"password\":\"<hidden>\",\"x\":1}'"),
            ("x ghp_0123456789abcdefghij", "x <hidden>"),
            (r#"["curl","--token","abc","x"]"#, r#"["curl","--token","<hidden>","x"]"#),
            (r#"["sh","-c","curl --token abc"]"#, r#"["sh","-c","curl --token <hidden>"]"#),
        ];
        for (line, expected) in lines {
            assert_eq!(without_secrets(line), expected);
            assert_eq!(without_secrets(expected), expected, "hidden once is hidden");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for line in [
            "curl --token $TOKEN",
            "curl --token \"$(cat token)\"",
            "cargo bench -- max_tokens=5 --param key=3 tokens=512",
            "run --tokenizer gpt2 --passes 3 --key a",
            "ssh://git@host/name https://host/x@y",
            "curl -u me host",
            "run --token --verbose",
            "a token is no secret: `token` and password",
            "Straße --größe 3",
        ] {
            assert_eq!(without_secrets(line), line);
        }
    }

    #[test]
    fn names_of_secrets_are_told_from_others() {
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SESSION_TOKEN",
            "GITHUB_TOKEN",
            "HF_TOKEN",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "DB_PASSWORD",
            "DB_PASS",
            "DB_PWD",
            "OPENAI_API_KEY",
            "authToken",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SSH_AUTH_SOCK",
            "--pass",
            "--client-secret",
            "x-api-key",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "TOKENIZERS_PARALLELISM",
            "PWD",
            "OLDPWD",
            "HOME",
            "max_tokens",
            "--key",
            "token_count",
            "KEYBOARD",
            "single-pass",
            "AUTHOR",
            "OMP_NUM_THREADS",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn the_word_after_a_secret_flag_is_hidden_whole() {
        let words = |words: &[&str]| words_without_secrets(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(words(&["x", "--token", "a b", "y"]), ["x", "--token", HIDDEN, "y"]);
        assert_eq!(words(&["x", "--token", "--y", "z"]), ["x", "--token", "--y", "z"]);
        assert_eq!(words(&["x", "--token=a", "--api-key"]), ["x", "--token=<hidden>", "--api-key"]);
    }

    #[test]
    fn the_own_folders_have_names_and_come_back() {
        let own = OwnFolders::new(Some("/home/me".into()), Path::new("/home/me/work/it"));
        for (text, expected) in [
            ("/home/me/work/it/target/x:/home/me/.rustup/lib", "<checkout>/target/x:~/.rustup/lib"),
            ("--data=/home/me", "--data=~"),
            ("/home/me2/x /srv/home/me/x", "/home/me2/x /srv/home/me/x"),
            ("x:/home/me/work/it2", "x:~/work/it2"),
        ] {
            assert_eq!(own.hide(text), expected);
            assert_eq!(own.restore(expected), text);
        }
        assert_eq!(own.restore("a~b HEAD~1 x~/y"), "a~b HEAD~1 x~/y");
        let none = OwnFolders::new(Some("/".into()), Path::new("/"));
        assert_eq!(none.hide("/usr/lib"), "/usr/lib");
    }
}
