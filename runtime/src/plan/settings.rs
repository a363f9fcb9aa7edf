//! What settings are written in: tables, keys, texts and numbers of TOML, as a tree of values.
//!
//! Arrays, dates and texts of several lines are refused with their line: no setting takes them. The smallest crate that
//! reads all of TOML costs as much to build as serde's core, and a bench binary's build is a promise.

use serde_json::{Map, Value};

/// Reads the text of a settings file.
///
/// # Errors
/// The first line that cannot be read, and why.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut root = Value::Object(Map::new());
    let mut table: Vec<String> = Vec::new();
    let mut headers: Vec<Vec<String>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut line = Line(line.trim());
        let read = line.read(&mut root, &mut table, &mut headers);
        read.map_err(|why| format!("line {}: {why}", number + 1))?;
    }
    Ok(root)
}

/// The rest of a line.
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    /// A header, an entry, or nothing.
    fn read(
        &mut self,
        root: &mut Value,
        table: &mut Vec<String>,
        headers: &mut Vec<Vec<String>>,
    ) -> Result<(), String> {
        if self.at_end() {
            return Ok(());
        }
        if self.take("[") {
            *table = self.path()?;
            self.expect("]")?;
            if headers.contains(table) {
                return Err(format!("the table `{}` is there twice", table.join(".")));
            }
            headers.push(table.clone());
            entries(root, table)?;
        } else {
            self.entry(entries(root, table)?)?;
        }
        if self.at_end() { Ok(()) } else { Err(format!("`{}` is too much", self.0)) }
    }

    /// `key = value`, into these entries.
    fn entry(&mut self, into: &mut Map<String, Value>) -> Result<(), String> {
        let mut path = self.path()?;
        let key = path.pop().unwrap_or_default();
        self.expect("=")?;
        let value = self.value()?;
        let into = path.iter().try_fold(into, |into, part| inner(into, part))?;
        match into.insert(key.clone(), value) {
            Some(_) => Err(format!("the key `{key}` is there twice")),
            None => Ok(()),
        }
    }

    /// `a`, `a.b`, `a."b c"`.
    fn path(&mut self) -> Result<Vec<String>, String> {
        let mut path = vec![self.key()?];
        while self.take(".") {
            path.push(self.key()?);
        }
        Ok(path)
    }

    fn key(&mut self) -> Result<String, String> {
        self.space();
        if self.0.starts_with(['"', '\'']) {
            return self.text();
        }
        match self.word(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter)) {
            "" => Err(format!("a key belongs where `{}` is", self.0)),
            key => Ok(key.to_owned()),
        }
    }

    fn value(&mut self) -> Result<Value, String> {
        self.space();
        if self.0.starts_with(['"', '\'']) {
            return self.text().map(Value::String);
        }
        if self.take("{") {
            let mut map = Map::new();
            while !self.take("}") {
                self.entry(&mut map)?;
                if !self.take(",") {
                    self.expect("}")?;
                    break;
                }
            }
            return Ok(Value::Object(map));
        }
        let word = self.word(|letter| !letter.is_whitespace() && !",}#".contains(letter));
        let plain = match word.strip_prefix('+').unwrap_or(word) {
            number if number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
                number.replace('_', "")
            }
            other => other.to_owned(),
        };
        let wrong = || format!("`{word}` is no text in quotes, number, true, false or table");
        // What JSON takes for a value: numbers, `true` and `false`, but not `null`.
        serde_json::from_str(&plain)
            .ok()
            .filter(|value| matches!(value, Value::Number(_) | Value::Bool(_)))
            .ok_or_else(wrong)
    }

    /// A text in quotes: with escapes, or as it stands between single ones.
    fn text(&mut self) -> Result<String, String> {
        let open = |text: &str| format!("`{text}` does not end on its line");
        if let Some(rest) = self.0.strip_prefix('\'') {
            let (text, rest) = rest.split_once('\'').ok_or_else(|| open(self.0))?;
            self.0 = rest;
            return Ok(text.to_owned());
        }
        let mut escaped = false;
        let end = self.0.char_indices().skip(1).find(|(_, letter)| {
            let ends = *letter == '"' && !escaped;
            escaped = *letter == '\\' && !escaped;
            ends
        });
        let (end, _) = end.ok_or_else(|| open(self.0))?;
        let (quoted, rest) = self.0.split_at(end + 1);
        self.0 = rest;
        // The escapes are those of JSON: TOML has `\U` beside them, which no setting needs.
        serde_json::from_str(quoted).map_err(|error| format!("{quoted} is no text: {error}"))
    }

    fn word(&mut self, part: impl Fn(char) -> bool) -> &'a str {
        let (word, rest) = self.0.split_at(self.0.find(|letter| !part(letter)).unwrap_or(self.0.len()));
        self.0 = rest;
        word
    }

    fn space(&mut self) {
        self.0 = self.0.trim_start();
    }

    fn at_end(&mut self) -> bool {
        self.space();
        self.0.is_empty() || self.0.starts_with('#')
    }

    fn take(&mut self, sign: &str) -> bool {
        self.space();
        match self.0.strip_prefix(sign) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(format!("`{sign}` belongs before `{}`", self.0)) }
    }
}

/// The entries of the table at this path, made where it is not there.
fn entries<'a>(root: &'a mut Value, path: &[String]) -> Result<&'a mut Map<String, Value>, String> {
    let root = root.as_object_mut().ok_or("the document is no table")?;
    path.iter().try_fold(root, |table, part| inner(table, part))
}

fn inner<'a>(table: &'a mut Map<String, Value>, part: &str) -> Result<&'a mut Map<String, Value>, String> {
    let value = table.entry(part).or_insert_with(|| Value::Object(Map::new()));
    value.as_object_mut().ok_or_else(|| format!("`{part}` is no table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_a_reader_of_all_of_toml_reads() {
        for text in [
            include_str!("profiles.toml"),
            "",
            "# nothing\n\n  # at all",
            "a = 1\nb = -2.5 # why\nc = \"x # \\\"y\\\" \\u00e9\\\\\"\nd = 'C:\\dir'\ne = true\nf = 1_000\ng = +3\nh = 1e-3",
            "[profile.night]\npins = { workers = \"0\", \"CV-1.variant\" = 'small' }\nlimits.time = 3\n",
            "[a . \"b c\"]\r\nx = 1\r\n[a]\r\ny={}\r\n[ c ]\n",
            "\"ключ\" = \"значение\"",
        ] {
            let expected: Value = basic_toml::from_str(text).expect(text);
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_read_is_refused_with_its_line() {
        let check = |text: &str, expected: &str| {
            let said = parse(&format!("x = 1\n{text}")).expect_err(text);
            assert!(said.starts_with("line 2: ") && said.contains(expected), "{text}: {said}");
        };
        check("a = [1, 2]", "`[1` is no text in quotes, number, true, false or table");
        check("a = 2026-11-21", "is no text in quotes");
        check("a = null", "is no text in quotes");
        check("a = tr_ue", "is no text in quotes");
        check("a = \"\"\"long", "is too much");
        check("a = \"open", "does not end on its line");
        check("a = 'open", "does not end on its line");
        check("a = \"\\q\"", "is no text");
        check("[[a]]", "a key belongs where `[a]]` is");
        check("[a", "`]` belongs before ``");
        check("a", "`=` belongs before ``");
        check("= 3", "a key belongs");
        check("x = 2", "the key `x` is there twice");
        check("x.y = 2", "`x` is no table");
        check("[x]", "`x` is no table");
        check("a = 1 b = 2", "`b = 2` is too much");
        check("a = { b = 1 c = 2 }", "`}` belongs before");
        assert_eq!(parse("[a]\n[a]"), Err("line 2: the table `a` is there twice".to_owned()));
    }
}
