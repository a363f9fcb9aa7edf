//! What is loaded: a checkpoint that lies somewhere, or one that is made of a state.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::State;
use super::state_file::{LocatedText, PATH, local, path_and_cuts};

/// A checkpoint, or the state that one is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointSource {
    /// It is made first, of this state.
    Spec(State),
    /// It lies somewhere.
    Path {
        /// There.
        path: PathBuf,
        /// The file that says how its tensors are cut over devices.
        cuts: Option<PathBuf>,
        /// Use of its digests.
        digests: DigestUse,
    },
    /// It lies in an object store, as files of safetensors.
    Store {
        /// There: `s3://BUCKET/PREFIX`.
        url: String,
        /// Use of its digests.
        digests: DigestUse,
    },
}

/// Use of the digests of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DigestUse {
    /// There are none.
    None,
    /// They are written into this directory.
    Capture(PathBuf),
    /// Digests in this directory, which what is loaded is held against.
    Check(PathBuf),
}

/// The text between a path and the directory that its digests are written to.
const CAPTURE: &str = " capture=";

/// The text between a path and the directory of the digests that it is held against.
const CHECK: &str = " check=";

impl CheckpointSource {
    /// Returns the use of its digests: none where it is made of a state, which has them.
    pub fn digests(&self) -> &DigestUse {
        match self {
            Self::Spec(_) => &DigestUse::None,
            Self::Path { digests, .. } | Self::Store { digests, .. } => digests,
        }
    }

    /// In words, for listings.
    pub fn describe(&self) -> String {
        match self {
            Self::Spec(state) => state.describe(),
            Self::Path { path, .. } => format!("what lies in {}", path.display()),
            Self::Store { url, .. } => format!("what lies in {url}"),
        }
    }
}

impl fmt::Display for DigestUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Capture(directory) => write!(f, "{CAPTURE}{}", directory.display()),
            Self::Check(directory) => write!(f, "{CHECK}{}", directory.display()),
        }
    }
}

/// A state as it is written, or a path: `path:/models/llama`,
/// `path:/models/llama cuts=/cuts.json check=/digests`, `path:s3://bucket/llama`.
impl fmt::Display for CheckpointSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(state) => state.fmt(f),
            Self::Path { path, cuts, digests } => write!(f, "{}{digests}", LocatedText(path, cuts)),
            Self::Store { url, digests } => write!(f, "{PATH}{url}{digests}"),
        }
    }
}

impl FromStr for CheckpointSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(PATH) {
            None => text.parse().map(Self::Spec),
            Some(path) if path.contains(CAPTURE) && path.contains(CHECK) => {
                Err(format!("`{path}`: digests are captured or checked, and not both"))
            }
            Some(path) => {
                let (path, digests) = match (path.rsplit_once(CAPTURE), path.rsplit_once(CHECK)) {
                    (Some((path, directory)), _) => (path, DigestUse::Capture(local(directory)?)),
                    (_, Some((path, directory))) => (path, DigestUse::Check(local(directory)?)),
                    (None, None) => (path, DigestUse::None),
                };
                if !path.starts_with(S3) {
                    let (path, cuts) = path_and_cuts(path)?;
                    return Ok(Self::Path { path, cuts, digests });
                }
                bucket_and_prefix(path)?;
                Ok(Self::Store { url: path.to_owned(), digests })
            }
        }
    }
}

/// The scheme of a bucket's URL.
const S3: &str = "s3://";

/// Checks that a URL names a bucket and a prefix in it.
///
/// # Errors
/// What it lacks.
fn bucket_and_prefix(url: &str) -> Result<(), String> {
    let (bucket, prefix) = url[S3.len()..].split_once('/').unwrap_or_default();
    if bucket.is_empty()
        || bucket.contains(['@', ':'])
        || prefix.split('/').any(|part| matches!(part, "" | "." | ".."))
    {
        return Err(format!("`{url}` names no bucket and prefix: it is `s3://BUCKET/PREFIX`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_a_path_or_a_state() {
        for text in [
            "path:/tmp/llama",
            "path:/tmp/llama check=/tmp/digests",
            "path:/tmp/llama capture=/tmp/digests",
            "path:/tmp/llama cuts=/tmp/cuts.json",
            "path:/tmp/llama cuts=/tmp/cuts.json check=/tmp/digests",
            "path:s3://weights/llama/8b",
            "path:s3://weights/llama check=/tmp/digests",
            "a:float32[32x16]{data,-}",
        ] {
            assert_eq!(
                text.parse::<CheckpointSource>().map(|source| source.to_string()),
                Ok(text.to_owned())
            );
        }
        for (text, why) in [
            ("path:", "a path is missing"),
            ("path:gs://bucket/llama", "`gs://bucket/llama` is in a store that is not at hand"),
            ("path:s3://weights", "names no bucket and prefix"),
            ("path:s3:///llama", "names no bucket and prefix"),
            ("path:s3://weights/llama/", "names no bucket and prefix"),
            ("path:s3://weights/../llama", "names no bucket and prefix"),
            ("path:s3://me:secret@weights/llama", "names no bucket and prefix"),
            ("path:a check=", "a path is missing"),
            ("path:a check=b capture=c", "captured or checked, and not both"),
            ("path:a check=gs://b", "`gs://b` is in a store that is not at hand"),
            ("a:str[8]", "tensor `a` is of str"),
        ] {
            let told = text.parse::<CheckpointSource>().expect_err(text);
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
