//! Placeholder for the nouns that later stages need; the registry stage proper is merged over it.

use serde::{Deserialize, Serialize};

/// One value of an axis, as chosen for a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AxisValue {
    pub axis: String,
    pub text: String,
    pub labelled: bool,
    pub debug: Option<String>,
}

/// The values of all axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point(pub Vec<AxisValue>);

impl Point {
    pub fn iter(&self) -> impl Iterator<Item = &AxisValue> {
        self.0.iter()
    }
    pub fn get(&self, axis: &str) -> Option<&AxisValue> {
        self.0.iter().find(|value| value.axis == axis)
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, value) in self.0.iter().enumerate() {
            let slash = if i > 0 { "/" } else { "" };
            if value.labelled {
                write!(f, "{slash}{}", value.text)?;
            } else {
                write!(f, "{slash}{}={}", value.axis, value.text)?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Equivalence {
    Exact,
    Approx(f64),
    Shape,
    None,
}

/// A text as a part of a slug.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.to_lowercase().chars() {
        let keep = c.is_ascii_lowercase() || c.is_ascii_digit() || ".+=".contains(c);
        match (keep, slug.ends_with('_')) {
            (true, _) => slug.push(c),
            (false, false) => slug.push('_'),
            (false, true) => {}
        }
    }
    slug.trim_end_matches('_').to_owned()
}
