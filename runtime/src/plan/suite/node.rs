//! What a suite file says, before anything is meant by it: values, each with its place.

use std::fmt;

/// A line and a column of a file, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A mistake in a file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", .place.map_or_else(String::new, |place| format!("{place}: ")))]
pub struct Mistake {
    /// The position; `None` if the mistake is the file as a whole.
    pub place: Option<Position>,
    /// The mistake, in words.
    pub what: String,
}

impl Mistake {
    /// Returns a mistake at a place.
    pub fn at(place: Position, what: impl Into<String>) -> Self {
        Self { place: Some(place), what: what.into() }
    }

    /// Returns a mistake of a file as a whole.
    pub fn of_file(what: impl Into<String>) -> Self {
        Self { place: None, what: what.into() }
    }
}

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// The place where it starts.
    pub place: Position,
}

/// A key of a table, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableKey {
    /// The key.
    pub name: String,
    /// The place where it starts.
    pub place: Position,
}

/// A value of TOML or YAML.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Nothing,
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Number(f64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Keys with their values, in the order of the file.
    Table(Vec<(TableKey, Node)>),
}

impl Value {
    /// Its kind, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Flag(_) => "true or false",
            Self::Whole(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

impl Node {
    /// A text.
    ///
    /// # Errors
    /// When it is something else; `what` names the value.
    pub fn text(&self, what: &str) -> Result<&str, Mistake> {
        match &self.value {
            Value::Text(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.wrong(what, "a text")),
        }
    }

    /// A whole number of at least 1.
    ///
    /// # Errors
    /// As [`Node::text`].
    pub fn count(&self, what: &str) -> Result<u32, Mistake> {
        match self.value {
            Value::Whole(number) if number > 0 => {
                u32::try_from(number).map_err(|_| self.wrong(what, "a whole number of at most 4294967295"))
            }
            _ => Err(self.wrong(what, "a whole number of at least 1")),
        }
    }

    /// The values of a list; of anything else itself alone.
    pub fn each(&self) -> &[Self] {
        match &self.value {
            Value::List(values) => values,
            _ => std::slice::from_ref(self),
        }
    }

    /// The values of a list.
    ///
    /// # Errors
    /// As [`Node::text`]; and where it has none.
    pub fn list(&self, what: &str) -> Result<&[Self], Mistake> {
        match &self.value {
            Value::List(values) if !values.is_empty() => Ok(values),
            Value::List(_) => Err(Mistake::at(self.place, format!("`{what}` has no values"))),
            _ => Err(self.wrong(what, "a list")),
        }
    }

    /// The keys of a table, with their values.
    ///
    /// # Errors
    /// As [`Node::text`].
    pub fn table(&self, what: &str) -> Result<&[(TableKey, Self)], Mistake> {
        match &self.value {
            Value::Table(entries) => Ok(entries),
            _ => Err(self.wrong(what, "a table")),
        }
    }

    /// A text, a number or a truth as an axis takes it; `None` of anything else.
    pub fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Flag(flag) => Some(flag.to_string()),
            Value::Whole(number) => Some(number.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Text(text) => Some(text.clone()),
            Value::Nothing | Value::List(_) | Value::Table(_) => None,
        }
    }

    /// That `what` takes something else than this.
    pub fn wrong(&self, what: &str, form: &str) -> Mistake {
        let found = self.scalar().map_or_else(|| self.value.kind().to_owned(), |text| format!("`{text}`"));
        Mistake::at(self.place, format!("`{what}` is {form}, not {found}"))
    }
}
