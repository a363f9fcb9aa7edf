//! What the services that keep buckets differ by.

use std::io;

use object_store::UpdateVersion;

use crate::baseline_path::objects::ObjectVersion;

/// A service that keeps buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BucketService {
    /// Amazon's, and all that speak as it does: an object's version is its entity tag.
    S3,
    /// Google's: an object's version is its generation.
    Gs,
}

impl BucketService {
    /// The version of an object, by its entity tag and its generation.
    ///
    /// # Errors
    /// Where the answer has none.
    pub(super) fn version(
        self,
        tag: Option<String>,
        generation: Option<String>,
    ) -> io::Result<ObjectVersion> {
        let (version, name) = match self {
            Self::S3 => (tag, "entity tags"),
            Self::Gs => (generation, "generations"),
        };
        let none = || io::Error::other(format!("what answers is no object store: it gives no {name}"));
        version.map(ObjectVersion).ok_or_else(none)
    }

    /// The version that a put expects, as the crate takes it.
    pub(super) fn expecting(self, version: &ObjectVersion) -> UpdateVersion {
        let version = Some(version.0.clone());
        match self {
            Self::S3 => UpdateVersion { e_tag: version, version: None },
            Self::Gs => UpdateVersion { e_tag: None, version },
        }
    }

    /// The variables that say who asks.
    pub(super) fn credentials(self) -> &'static str {
        match self {
            Self::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            Self::Gs => "GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT_KEY or GOOGLE_BEARER_TOKEN",
        }
    }

    /// The variable that says where the service is.
    pub(super) fn endpoint(self) -> &'static str {
        match self {
            Self::S3 => "AWS_ENDPOINT_URL",
            Self::Gs => "GOOGLE_BASE_URL",
        }
    }

    /// Holds an address against the form of one: the crate panics for what is none.
    ///
    /// # Errors
    /// The sentence for whoever set it. The address is not repeated: some have a password in it.
    pub(super) fn check_address(self, address: &str) -> Result<(), String> {
        let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
        let (host, path) = rest.map_or(("", ""), |rest| rest.split_once('/').unwrap_or((rest, "")));
        let (name, port) = host.rsplit_once(':').filter(|_| !host.ends_with(']')).unwrap_or((host, "1"));
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        let is_of = |text: &str, more: &[u8]| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
        };
        if name.is_empty() || !is_of(name, b".-_:") || port.parse::<u16>().is_err() || !is_of(path, b"._~-/")
        {
            let variable = self.endpoint();
            return Err(format!("{variable} is no address like `https://minio.example.org:9000`"));
        }
        Ok(())
    }
}

/// Holds a key against the form of one: the crate panics for what no header can have.
///
/// # Errors
/// The sentence for whoever set the variable. The key is not repeated.
pub(super) fn check_key(variable: &str, key: &str) -> Result<(), String> {
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("{variable} is empty, or has a letter that none of its kind has"));
    }
    Ok(())
}
