//! What the weights of a model begin with: numbers that are drawn, or a file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weighbridge_data::{FieldValues, Origin};

use super::model::{Scheme, Start};

/// The source of a model's first weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "InitialisationKeys", into = "InitialisationKeys")]
pub enum Initialisation {
    /// Numbers that are drawn: `scheme` and `seed`.
    Drawn {
        /// The scheme that sets the standard deviation of normal numbers.
        scheme: Scheme,
        /// Their seed.
        seed: u64,
    },
    /// A file of safetensors: `file` and `digest`.
    File {
        /// The file, which holds a tensor of `f32` for each parameter, by its name.
        file: PathBuf,
        /// XXH3-64 of its bytes: another file under its name is another training.
        digest: u64,
    },
}

/// The keys as they are written.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InitialisationKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<Scheme>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl TryFrom<InitialisationKeys> for Initialisation {
    type Error = String;

    fn try_from(keys: InitialisationKeys) -> Result<Self, String> {
        match keys {
            InitialisationKeys { scheme: Some(scheme), seed: Some(seed), file: None, digest: None } => {
                Ok(Self::Drawn { scheme, seed })
            }
            InitialisationKeys { scheme: None, seed: None, file: Some(file), digest: Some(text) } => {
                let is_whole = text.len() == 16 && text.bytes().all(|letter| letter.is_ascii_hexdigit());
                let digest = u64::from_str_radix(&text, 16).ok().filter(|_| is_whole);
                let digest = digest.ok_or_else(|| {
                    format!(
                        "`initialisation.digest` is `{text}`: it is the XXH3-64 of the file, \
                         16 hexadecimal digits"
                    )
                })?;
                Ok(Self::File { file, digest })
            }
            _ => Err("`initialisation` has `scheme` and `seed`, or `file` and `digest`, and nothing else"
                .to_owned()),
        }
    }
}

impl From<Initialisation> for InitialisationKeys {
    fn from(initialisation: Initialisation) -> Self {
        match initialisation {
            Initialisation::Drawn { scheme, seed } => {
                Self { scheme: Some(scheme), seed: Some(seed), ..Self::default() }
            }
            Initialisation::File { file, digest } => {
                Self { file: Some(file), digest: Some(format!("{digest:016x}")), ..Self::default() }
            }
        }
    }
}

impl Initialisation {
    /// The same with numbers of another seed. What is read from a file has none, and stays.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        match self {
            Self::Drawn { scheme, .. } => Self::Drawn { scheme, seed },
            file @ Self::File { .. } => file,
        }
    }

    /// Returns the values of a parameter that begins so.
    pub(super) fn values(&self, start: Start) -> FieldValues {
        let Self::Drawn { scheme, .. } = self else { return FieldValues::Read };
        match (scheme.millionths(start), start) {
            (Some(millionths), _) => FieldValues::Spread(millionths),
            (None, Start::Ones) => FieldValues::Same(1),
            (None, Start::Small) => FieldValues::Millionths(100),
            (None, _) => FieldValues::Same(0),
        }
    }

    /// Returns the origin of the numbers: a seed, or a file by its digest.
    pub(super) fn origin(&self) -> Origin {
        match *self {
            Self::Drawn { seed, .. } => Origin::Synthetic { seed },
            Self::File { digest, .. } => Origin::Tensors { digest: Some(digest) },
        }
    }

    /// As work reports tell it.
    pub(super) fn work(&self) -> String {
        match self {
            Self::Drawn { scheme, seed } => {
                format!("weights {} from seed {seed}", format!("{scheme:?}").to_lowercase())
            }
            Self::File { digest, .. } => format!("weights of the file {digest:016x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Initialisation, String> {
        basic_toml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn weights_are_drawn_by_a_scheme_or_read_from_a_file_that_its_digest_pins() {
        let drawn = read("scheme = 'he'\nseed = 3").unwrap();
        assert_eq!(drawn, Initialisation::Drawn { scheme: Scheme::He, seed: 3 });
        let file = read("file = 'w.safetensors'\ndigest = '00000000000000ff'").unwrap();
        assert_eq!(file, Initialisation::File { file: "w.safetensors".into(), digest: 255 });
        for one in [drawn, file] {
            assert_eq!(read(&basic_toml::to_string(&one).unwrap()).unwrap(), one);
        }
    }

    #[test]
    fn keys_of_both_ways_or_of_neither_are_refused() {
        for text in
            ["", "scheme = 'he'", "scheme = 'he'\nseed = 1\nfile = 'w'", "file = 'w'", "digest = 'ff'"]
        {
            assert!(
                read(text).unwrap_err().contains("`scheme` and `seed`, or `file` and `digest`"),
                "{text}"
            );
        }
        for digest in ["ff", "xyz0000000000000", "+00000000000000f"] {
            let said = read(&format!("file = 'w'\ndigest = '{digest}'")).unwrap_err();
            assert!(said.contains("16 hexadecimal digits"), "{said}");
        }
        assert!(read("schema = 'he'\nseed = 1").unwrap_err().contains("`schema`"));
    }
}
