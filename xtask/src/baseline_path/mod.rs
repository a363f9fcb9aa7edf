//! `--baseline-path WHERE`: baselines in a directory or an object store that several checkouts and machines
//! share.
//!
//! Takes what was typed, and hands on a file system that the baselines of the runtime lie on. Two promises
//! hold for every kind of place: what another writer has put there meanwhile is never replaced, and a place
//! that cannot be reached is an error and never an empty one.

#[cfg(feature = "remote")]
mod bucket;
mod directory;
mod files;
mod looks_up;
mod objects;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use weighbridge::data::{Baselines, Files, Layout};

use crate::stop;
use directory::SharedDirectory;
use files::ObjectFiles;
pub(crate) use looks_up::LooksUp;
use objects::Objects;

/// The place of baselines that are not in the data directory.
#[derive(Clone, Debug)]
pub(crate) struct KeptBaselines {
    typed: String,
    root: PathBuf,
    files: Arc<dyn Files>,
}

impl KeptBaselines {
    /// The place that was typed. Nothing is asked of it yet.
    ///
    /// # Errors
    /// A text that names no directory and no bucket, or a bucket in a build that knows no object store.
    pub(crate) fn open(typed: &str) -> Result<Self> {
        let (kind, rest) = match typed.split_once("://") {
            Some((kind, rest)) => (kind, rest),
            None => ("", typed),
        };
        match kind {
            _ if rest.is_empty() => Err(stop::usage("--baseline-path names nothing")),
            // Absolute: the name of a place stays what it was.
            "" => Self::directory(typed, std::path::absolute(typed)?),
            "file" => Self::directory(typed, of_url(rest)?),
            "s3" | "gs" => {
                let (bucket, prefix) = bucket_and_prefix(kind, rest)?;
                Self::bucket(typed, kind, bucket, prefix)
            }
            _ => Err(stop::usage(format!(
                "--baseline-path takes a directory, `file://`, `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`, \
                 and no `{kind}://`"
            ))),
        }
    }

    fn directory(typed: &str, root: PathBuf) -> Result<Self> {
        Ok(Self::on(typed, root.clone(), SharedDirectory::new(root)))
    }

    #[cfg(feature = "remote")]
    fn bucket(typed: &str, kind: &str, bucket: &str, prefix: &str) -> Result<Self> {
        let objects = match kind {
            "gs" => bucket::gs::from_env(bucket, prefix)?,
            _ => bucket::s3::from_env(bucket, prefix)?,
        };
        Ok(Self::on(typed, PathBuf::from(typed.trim_end_matches('/')), objects))
    }

    #[cfg(not(feature = "remote"))]
    fn bucket(_: &str, _: &str, _: &str, _: &str) -> Result<Self> {
        Err(stop::usage(format!(
            "this build knows no object store. Build it with the feature `remote`: \
             `cargo install --locked --git {} weighbridge-xtask --bin cargo-weighbridge --features remote`, \
             or here `cargo run --package weighbridge-xtask --bin xtask --features remote -- COMMAND`",
            env!("CARGO_PKG_REPOSITORY")
        )))
    }

    fn on(typed: &str, root: PathBuf, objects: impl Objects + 'static) -> Self {
        let files = Arc::new(ObjectFiles::new(root.clone(), objects));
        Self { typed: weighbridge::data::visible_in_line(typed), root, files }
    }

    /// The baselines that lie there.
    pub(crate) fn baselines(&self, layout: &Layout) -> Baselines {
        Baselines::on(Arc::clone(&self.files), layout.clone().with_baselines(&self.root))
    }

    /// Makes the place, where it is a directory that can be made.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn make(&self) -> Result<()> {
        self.files.make_dirs(&self.root).with_context(|| format!("failed to make `{}`", self.typed))
    }

    /// The place as it was typed.
    pub(crate) fn typed(&self) -> &str {
        &self.typed
    }

    /// The command that puts a baseline there.
    pub(crate) fn how_to_set(&self, name: &str) -> String {
        format!("`{} baseline set {name} --baseline-path {}`", weighbridge::tool(), self.typed)
    }
}

/// The path of a `file://` URL, after these letters.
fn of_url(rest: &str) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(stop::usage(
            "--baseline-path file:// goes on with an absolute path: `file:///mnt/share`",
        ));
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        match byte {
            b'%' => match (digit(left.next()), digit(left.next())) {
                (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                _ => {
                    return Err(stop::usage(
                        "--baseline-path file:// has a `%` without two digits behind it",
                    ));
                }
            },
            byte => bytes.push(byte),
        }
    }
    Ok(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

/// The bucket and the prefix behind `s3://` or `gs://`. A text of another form is not repeated: some tools
/// take keys there.
fn bucket_and_prefix<'a>(kind: &str, rest: &'a str) -> Result<(&'a str, &'a str)> {
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.trim_end_matches('/');
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && is_plain(part);
    if is_part(bucket) && (prefix.is_empty() || prefix.split('/').all(is_part)) {
        return Ok((bucket, prefix));
    }
    let who = match kind {
        "gs" => {
            "Keys come from GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT_KEY or GOOGLE_BEARER_TOKEN"
        }
        _ => "Keys and the endpoint come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL",
    };
    Err(stop::usage(format!(
        "--baseline-path {kind}:// goes on with a bucket and a prefix of letters, digits, `.`, `_`, `-` and \
         `/`. {who}"
    )))
}

#[cfg(test)]
mod tests;
