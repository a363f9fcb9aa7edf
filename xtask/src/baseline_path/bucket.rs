//! Baselines in an object store: the requests, whichever service answers them. This file and those below it
//! are the only ones that know `object_store` and the runtime that drives it.
//!
//! Of an error of the crate only what is known to be harmless is told: the answers of some servers repeat the
//! key of who asks.

pub(super) mod gs;
pub(super) mod s3;
mod service;

use std::error::Error as _;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path as Key;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig};
use tokio::runtime::{Builder, Runtime};

use super::objects::{ObjectVersion, Objects, overtaken};
use service::BucketService;

/// The most times that a request is made again.
const RETRIES: u32 = 3;
/// A key that no baseline has: its names end in `.json`.
const NOBODYS: &str = ".none";
/// The crate's words for an answer that sends to another place and does not name it.
const REDIRECTED: &str = "redirect without LOCATION";
/// Parts of the addresses at which machines of a cloud ask who they are.
const WHO_AM_I: [&str; 2] = ["169.254.", "/computeMetadata/"];

/// Limits of the wait for an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// The longest silence of the other end. Four of them and the pauses are shorter than `all`.
    pub(super) silence: Duration,
    /// The first pause before a request is made again. Each further one is twice as long.
    pub(super) pause: Duration,
    /// A request with all that are made for it again.
    pub(super) all: Duration,
}

impl Patience {
    const USUAL: Self = Self {
        silence: Duration::from_secs(4),
        pause: Duration::from_millis(250),
        all: Duration::from_secs(20),
    };

    /// The longest silence, as settings have it.
    fn silence_text(self) -> String {
        format!("{}ms", self.silence.as_millis())
    }
}

/// All kinds of failures are tried again here: the crate does not try all of them again.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// A part of an object store.
pub(super) struct Bucket {
    store: Box<dyn ObjectStore>,
    service: BucketService,
    prefix: Key,
    patience: Patience,
    /// Of the current thread. Always there until it is dropped.
    runtime: Option<Runtime>,
    /// The keys that were listed last.
    listed: Mutex<Vec<String>>,
}

/// The reason why a request has failed.
enum RequestFailure {
    /// The store says that there is no such object.
    Absent,
    /// The object is not the one that the request expects.
    Unexpected,
    /// Anything else, in words.
    Other(String),
}

impl Bucket {
    /// A part of a store of this service.
    fn on(
        store: Box<dyn ObjectStore>,
        service: BucketService,
        prefix: &str,
        patience: Patience,
    ) -> anyhow::Result<Self> {
        let runtime = Some(Builder::new_current_thread().enable_all().build()?);
        Ok(Self { store, service, prefix: Key::parse(prefix)?, patience, runtime, listed: Mutex::default() })
    }

    fn key(&self, key: &str) -> Key {
        key.split('/').fold(self.prefix.clone(), Key::join)
    }

    /// Makes a request, and makes it again if another time may end otherwise.
    fn ask<T>(&self, request: impl AsyncFn() -> Result<T, Error>) -> Result<T, RequestFailure> {
        let repeatedly = async {
            let mut retries = 0;
            loop {
                match request().await {
                    Ok(answer) => return Ok(answer),
                    Err(error) if retries < RETRIES && may_pass(&error) => {
                        tokio::time::sleep(self.patience.pause * 2_u32.pow(retries)).await;
                        retries += 1;
                    }
                    Err(error) => return Err(RequestFailure::of(&error, retries, self.service)),
                }
            }
        };
        let runtime = self.runtime.as_ref().expect("it goes when this is dropped");
        let late = |_| RequestFailure::Other(format!("it is not done within {:?}", self.patience.all));
        runtime.block_on(async { tokio::time::timeout(self.patience.all, repeatedly).await.map_err(late)? })
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let request = async || self.store.list(Some(&self.prefix)).try_collect::<Vec<_>>().await;
        let found = self.ask(request).map_err(|failure| match failure {
            RequestFailure::Absent | RequestFailure::Unexpected => {
                io::Error::other("there is no such bucket")
            }
            failure @ RequestFailure::Other(_) => failure.into(),
        })?;
        let below = |key: &Key| {
            let parts: Vec<_> = key.prefix_match(&self.prefix)?.collect();
            Some(parts.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join("/"))
        };
        let keys: Vec<String> = found.iter().filter_map(|object| below(&object.location)).collect();
        if keys.is_empty() {
            // A page that asks for a password reads like an empty list. Only a store says that it has no such
            // object.
            match self.read(NOBODYS) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    return Err(io::Error::other(
                        "what answers is no object store: it has all that is asked for",
                    ));
                }
            }
        }
        Ok(keys)
    }
}

impl fmt::Debug for Bucket {
    /// Without the store, which holds the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        // A look-up of a name cannot be broken off, and is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Objects for Bucket {
    fn names(&self, prefix: &str) -> io::Result<Vec<String>> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        // One request for all of them, when the first names are asked for.
        if prefix.is_empty() {
            *listed = self.list()?;
        }
        let below = |key: &String| match prefix {
            "" => key.split('/').next().map(str::to_owned),
            _ => key.strip_prefix(prefix)?.strip_prefix('/')?.split('/').next().map(str::to_owned),
        };
        let mut names: Vec<String> = listed.iter().filter_map(below).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn read(&self, key: &str) -> io::Result<(Vec<u8>, ObjectVersion)> {
        let key = self.key(key);
        let found = self.ask(async || {
            let found = self.store.get(&key).await?;
            let (tag, generation) = (found.meta.e_tag.clone(), found.meta.version.clone());
            Ok((found.bytes().await?, tag, generation))
        });
        let (content, tag, generation) = found.map_err(io::Error::from)?;
        Ok((content.into(), self.service.version(tag, generation)?))
    }

    fn put(&self, key: &str, content: &[u8], expected: Option<&ObjectVersion>) -> io::Result<ObjectVersion> {
        let mode = match expected {
            None => PutMode::Create,
            Some(version) => PutMode::Update(self.service.expecting(version)),
        };
        let at = self.key(key);
        let put = self.ask(async || {
            let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
            self.store.put_opts(&at, PutPayload::from(content.to_owned()), options).await
        });
        match put {
            Ok(put) => self.service.version(put.e_tag, put.version),
            // A request whose answer was lost has perhaps been heard: then it stands in the way of the next.
            Err(RequestFailure::Unexpected | RequestFailure::Absent) => match self.read(key) {
                Ok((there, version)) if there == content => Ok(version),
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Err(overtaken()),
            },
            Err(failure) => Err(failure.into()),
        }
    }

    fn remove(&self, key: &str, expected: &ObjectVersion) -> io::Result<()> {
        // Not all stores remove on a condition. Between the two requests another writer may come.
        if self.read(key)?.1 != *expected {
            return Err(overtaken());
        }
        let key = self.key(key);
        match self.ask(async || self.store.delete(&key).await) {
            // An earlier request was heard.
            Ok(()) | Err(RequestFailure::Absent) => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }
}

impl RequestFailure {
    fn of(error: &Error, retries: u32, service: BucketService) -> Self {
        let status = status(error);
        match error {
            // A bucket or a whole server may be absent as well, and is not to be taken for an object.
            Error::NotFound { .. } if status.is_none() || code(error).as_deref() == Some("NoSuchKey") => {
                Self::Absent
            }
            Error::AlreadyExists { .. } | Error::Precondition { .. } if status != Some(409) => {
                Self::Unexpected
            }
            error => {
                let times =
                    if retries > 0 { format!(", asked {} times", retries + 1) } else { String::new() };
                Self::Other(cannot(error, service) + &times)
            }
        }
    }
}

impl From<RequestFailure> for io::Error {
    fn from(failure: RequestFailure) -> Self {
        match failure {
            RequestFailure::Absent => ErrorKind::NotFound.into(),
            RequestFailure::Unexpected => overtaken(),
            RequestFailure::Other(why) => Self::other(why),
        }
    }
}

/// Returns whether the same request may end otherwise: nobody answered, or the answer says to come again.
fn may_pass(error: &Error) -> bool {
    match status(error) {
        Some(status) => matches!(status, 408 | 409 | 429 | 500..),
        None => http(error).is_some(),
    }
}

/// The error between the two ends, if there was one.
fn http(error: &Error) -> Option<&HttpError> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(http) = error.downcast_ref() {
            return Some(http);
        }
        cause = error.source();
    }
    None
}

/// The innermost cause, in its own words.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

/// The status of an answer. The crate has it in its text alone; tests with a server hold that it is there.
fn status(error: &Error) -> Option<u16> {
    let text = error.to_string();
    let (_, after) = text.split_once("status code: ")?;
    after.get(..3)?.parse().ok()
}

/// The store's code of an error.
fn code(error: &Error) -> Option<String> {
    let text = error.to_string();
    let (code, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
    code.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| code.to_owned())
}

/// An error in words.
fn cannot(error: &Error, service: BucketService) -> String {
    let text = error.to_string();
    if WHO_AM_I.iter().any(|place| text.contains(place)) {
        return format!("nobody says who asks: set {}", service.credentials());
    }
    if let Some(status) = status(error).or_else(|| text.contains(REDIRECTED).then_some(301)) {
        let code = code(error).map(|code| format!(" ({code})")).unwrap_or_default();
        let help = match status {
            301 | 307 | 308 if service == BucketService::S3 => {
                ": AWS_REGION is another than the bucket's".to_owned()
            }
            401 | 403 => format!(": the keys in {} may not do this", service.credentials()),
            404 => format!(": there is no such bucket, or {} is no object store", service.endpoint()),
            _ => String::new(),
        };
        return format!("the object store answers {status}{code}{help}");
    }
    match http(error) {
        Some(http) if http.kind() == HttpErrorKind::Timeout => "the object store does not answer".to_owned(),
        Some(http) => format!("the object store cannot be reached: {}", innermost(http)),
        None => format!("what answers is no object store: {}", innermost(error)),
    }
}

#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;
