//! Where requests go: what the user named, and nothing else.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use hyper::Uri;

/// The reason that a target is none.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// No URL.
    #[error("`{0}` is not a URL: write it as http://127.0.0.1:8000")]
    NoUrl(String),
    /// Another scheme than `http`, and `https` where there is TLS.
    #[error("the load client speaks http, and https with the feature `tls`, and not {0}")]
    Scheme(String),
    /// `https` without TLS.
    #[error(
        "this build speaks no https: build it with the feature `tls` (`load-tls` of the command), or put a \
         proxy that ends TLS on this machine before the server"
    )]
    NoTls,
    /// Certificates that are to be trusted, and are none.
    #[error("failed to read certificates from {}: {why}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// A name or a key in the URL.
    #[error("the URL has a user in it: hand a key over by an environment variable, with --key-env NAME")]
    User,
    /// A name that does not resolve.
    #[error("failed to find the address of `{host}`: {why}")]
    NoAddress {
        /// The name.
        host: String,
        /// The words of the system.
        why: String,
    },
    /// A variable without a key.
    #[error("the environment variable `{0}` has no key: set it, or leave --key-env out")]
    NoKey(String),
}

/// The form of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
    /// The path as it stands: any answer with the status 200 is one.
    Plain,
    /// A POST to the path as it stands, with the bodies of [`Workload::bodies`](crate::Workload): any JSON
    /// with the status 200 is an answer. Whoever made the bodies knows what is due.
    Posted,
}

impl Api {
    /// Tells whether answers are of the `OpenAI` protocol: tokens are counted in them.
    pub fn is_protocol(self) -> bool {
        matches!(self, Self::Chat | Self::Completions)
    }
}

/// A key for an endpoint. It is shown nowhere, and stored nowhere.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// The key in this variable of the environment.
    ///
    /// # Errors
    ///
    /// If the variable is not set, is empty, or has what no header may have.
    pub fn from_environment(variable: &str) -> Result<Self, TargetError> {
        let is_plain = |key: &String| !key.is_empty() && key.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        let key = std::env::var(variable).ok().filter(is_plain);
        key.map(Key).ok_or_else(|| TargetError::NoKey(variable.to_owned()))
    }

    /// The value of the header `authorization`.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(not shown)")
    }
}

/// An endpoint.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name or the address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// By TLS.
    pub is_tls: bool,
    /// A file of certificates that are trusted beside those of the system.
    pub trusted: Option<PathBuf>,
    /// The path with its query.
    pub path: String,
    /// The form of the requests.
    pub api: Api,
    /// The model that requests name.
    pub model: Option<String>,
    /// The key, if the endpoint wants one.
    pub key: Option<Key>,
}

impl Target {
    /// The endpoint that is meant without a URL: on this machine, at the port that most servers take.
    pub const DEFAULT: &'static str = "http://127.0.0.1:8000";

    /// Reads a URL. The API follows from the path if it is not named; without a path it is [`Api::Chat`].
    ///
    /// # Errors
    ///
    /// If it is no URL of `http`, or has a user in it.
    pub fn parse(url: &str, api: Option<Api>) -> Result<Self, TargetError> {
        let no_url = || TargetError::NoUrl(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| no_url())?;
        let is_tls = uri.scheme_str() == Some("https");
        match uri.scheme_str() {
            Some("https") if !cfg!(feature = "tls") => return Err(TargetError::NoTls),
            Some("http" | "https") => {}
            Some(other) => return Err(TargetError::Scheme(other.to_owned())),
            None => return Err(no_url()),
        }
        let authority = uri.authority().ok_or_else(no_url)?;
        if authority.as_str().contains('@') {
            return Err(TargetError::User);
        }
        let host = authority.host().to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let (api, path) = api_and_path(path, api);
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if is_tls => 443,
            None => 80,
        };
        if host.is_empty() || port == 0 {
            return Err(no_url());
        }
        Ok(Self { host, port, is_tls, trusted: None, path, api, model: None, key: None })
    }

    /// The addresses of the host, in the order in which the system names them.
    ///
    /// # Errors
    ///
    /// If the name does not resolve.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>, TargetError> {
        let failed = |why: String| TargetError::NoAddress { host: self.host.clone(), why };
        let name = self.host.trim_start_matches('[').trim_end_matches(']');
        let found = (name, self.port).to_socket_addrs().map_err(|error| failed(error.to_string()))?;
        let found: Vec<SocketAddr> = found.collect();
        if found.is_empty() { Err(failed("it has none".to_owned())) } else { Ok(found) }
    }

    /// The value of the header `host`.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may have a key in it.
        let path = self.path.split('?').next().unwrap_or_default();
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}{path}", self.host, self.port)
    }
}

/// The API that a path means, and the whole path of that API.
fn api_and_path(path: &str, api: Option<Api>) -> (Api, String) {
    let trimmed = path.trim_end_matches('/');
    let of_path = if trimmed.ends_with("/chat/completions") {
        Some(Api::Chat)
    } else if trimmed.ends_with("/completions") {
        Some(Api::Completions)
    } else {
        None
    };
    let is_root = trimmed.is_empty() || trimmed.ends_with("/v1");
    let api = api.or(of_path).unwrap_or(if is_root { Api::Chat } else { Api::Plain });
    let base = if trimmed.is_empty() { "/v1" } else { trimmed };
    let whole = match api {
        Api::Chat if of_path != Some(Api::Chat) => format!("{base}/chat/completions"),
        Api::Completions if of_path != Some(Api::Completions) => format!("{base}/completions"),
        _ => path.to_owned(),
    };
    (api, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, api: Option<Api>, expected: (&str, u16, &str, Api)) {
        let target = Target::parse(url, api).unwrap();
        assert_eq!((&*target.host, target.port, &*target.path, target.api), expected, "{url}");
    }

    #[test]
    fn a_url_names_host_port_path_and_api() {
        check(Target::DEFAULT, None, ("127.0.0.1", 8000, "/v1/chat/completions", Api::Chat));
        check("http://a:1/v1/", None, ("a", 1, "/v1/chat/completions", Api::Chat));
        check("http://a/v1/completions", None, ("a", 80, "/v1/completions", Api::Completions));
        check("http://a/x/v1", Some(Api::Completions), ("a", 80, "/x/v1/completions", Api::Completions));
        check("http://[::1]:9/predict?k=1", None, ("[::1]", 9, "/predict?k=1", Api::Plain));
        check("http://a:1", Some(Api::Plain), ("a", 1, "/", Api::Plain));
    }

    #[test]
    fn what_is_no_http_url_is_refused_with_what_would_do() {
        let error = |url: &str| Target::parse(url, None).unwrap_err().to_string();
        assert!(error("127.0.0.1:8000").contains("http://127.0.0.1:8000"));
        assert!(error("ftp://a").contains("and not ftp"));
        if !cfg!(feature = "tls") {
            assert!(error("https://a").contains("feature `tls`"));
        }
        assert!(error("http://me:secret@a").contains("--key-env"));
        assert!(!error("http://me:secret@a").contains("secret"));
        assert!(error("").contains("not a URL"));
    }

    #[test]
    fn a_name_that_does_not_resolve_is_an_error_with_the_name() {
        let target = Target::parse("http://nowhere.invalid:1", None).unwrap();
        assert!(target.addresses().unwrap_err().to_string().contains("nowhere.invalid"));
    }

    #[test]
    fn a_key_is_shown_by_nothing() {
        let mut target = Target::parse("http://a:1/x?key=hidden", None).unwrap();
        target.key = Some(Key("hidden".to_owned()));
        assert!(!format!("{:?} {target}", target.key).contains("hidden"));
    }
}
