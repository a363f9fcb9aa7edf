//! Where keys and values stand in a text that is known to be TOML: the reader of TOML does not tell.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

use super::node::Position;

/// Places by path: `.list[1].key`.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Of keys. A table that is opened again keeps its first place.
    pub(super) keys: HashMap<String, Position>,
    /// Of values: where a value was written after its key or in a list.
    pub(super) values: HashMap<String, Position>,
}

/// The places in a text.
pub(super) fn places(text: &str) -> Places {
    let mut scan = Scan {
        chars: text.chars().peekable(),
        place: Position { line: 1, column: 1 },
        places: Places::default(),
        lengths: HashMap::new(),
    };
    let mut table = String::new();
    while scan.skip_blank() {
        if scan.take('[') {
            let is_item = scan.take('[');
            let (mut path, mut parts) = (String::new(), scan.key().into_iter().peekable());
            while let Some((name, place)) = parts.next() {
                path = format!("{path}.{name}");
                scan.places.keys.entry(path.clone()).or_insert(place);
                if is_item && parts.peek().is_none() {
                    *scan.lengths.entry(path.clone()).or_insert(0) += 1;
                }
                if let Some(length) = scan.lengths.get(&path) {
                    path = format!("{path}[{}]", length - 1);
                }
            }
            table = path;
            while scan.take(']') {}
        } else {
            scan.entry(&table);
        }
    }
    scan.places
}

struct Scan<'a> {
    chars: Peekable<Chars<'a>>,
    place: Position,
    places: Places,
    /// The number of tables a list of tables has so far.
    lengths: HashMap<String, usize>,
}

impl Scan<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.chars.next()?;
        if next == '\n' {
            self.place = Position { line: self.place.line + 1, column: 1 };
        } else {
            self.place.column += 1;
        }
        Some(next)
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.chars.peek() == Some(&wanted);
        if found {
            self.next();
        }
        found
    }

    fn next_while(&mut self, goes_on: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while self.chars.peek().is_some_and(|next| goes_on(*next)) {
            taken.extend(self.next());
        }
        taken
    }

    /// Passes over blanks, ends of lines and comments. Whether anything is left.
    fn skip_blank(&mut self) -> bool {
        loop {
            self.next_while(char::is_whitespace);
            if self.chars.peek() != Some(&'#') {
                return self.chars.peek().is_some();
            }
            self.next_while(|next| next != '\n');
        }
    }

    /// The parts of a key, each with its place.
    fn key(&mut self) -> Vec<(String, Position)> {
        let mut parts = Vec::new();
        loop {
            self.skip_blank();
            let place = self.place;
            let name = match self.chars.peek() {
                Some('"' | '\'') => self.string(),
                _ => self.next_while(|next| next.is_alphanumeric() || next == '_' || next == '-'),
            };
            parts.push((name, place));
            self.skip_blank();
            if !self.take('.') {
                return parts;
            }
        }
    }

    /// A key with its value.
    fn entry(&mut self, table: &str) {
        let mut path = table.to_owned();
        for (name, place) in self.key() {
            path = format!("{path}.{name}");
            self.places.keys.entry(path.clone()).or_insert(place);
        }
        if !self.take('=') {
            self.next(); // never in TOML: the scan goes on all the same
            return;
        }
        self.value(&path);
    }

    fn value(&mut self, path: &str) {
        self.skip_blank();
        self.places.values.insert(path.to_owned(), self.place);
        match self.chars.peek() {
            Some('"' | '\'') => {
                self.string();
            }
            Some('[') => {
                self.next();
                for at in 0.. {
                    if !self.skip_blank() || self.take(']') {
                        break;
                    }
                    self.value(&format!("{path}[{at}]"));
                    self.skip_blank();
                    self.take(',');
                }
            }
            Some('{') => {
                self.next();
                while self.skip_blank() && !self.take('}') {
                    self.entry(path);
                    self.skip_blank();
                    self.take(',');
                }
            }
            _ => {
                let taken = self.next_while(|next| !",]}#\n".contains(next));
                if taken.is_empty() {
                    self.next(); // as above
                }
            }
        }
    }

    /// A string in any of the four ways to write one. Escapes stay as they are: keys of suites have none.
    fn string(&mut self) -> String {
        let Some(quote) = self.next() else { return String::new() };
        let mut quotes = 1;
        while quotes < 3 && self.take(quote) {
            quotes += 1;
        }
        if quotes == 2 {
            return String::new();
        }
        let (mut text, mut closing) = (String::new(), 0);
        while let Some(next) = self.next() {
            closing = if next == quote { closing + 1 } else { 0 };
            text.push(next);
            if closing == quotes {
                break;
            }
            if next == '\\' && quote == '"' {
                text.extend(self.next());
            }
        }
        text.truncate(text.len() - closing.min(quotes));
        text
    }
}
