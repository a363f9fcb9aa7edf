//! How long a server is waited for, and how late the client may be.

use std::time::Duration;

use weighbridge::{Error, Result};

/// The times that a server and the client have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// From its start until it takes requests.
    pub ready: Duration,
    /// From the request to stop until nothing of it is left.
    pub stop: Duration,
    /// The time that the client may send late at p99, where that is more than its own bound. Then its core
    /// may be busy all the time, too.
    pub delay: Duration,
}

/// The variables that change them, each in seconds, and the usual times.
const VARIABLES: [(&str, Duration); 3] = [
    ("WEIGHBRIDGE_SERVER_READY", Duration::from_mins(2)),
    ("WEIGHBRIDGE_SERVER_STOP", Duration::from_secs(10)),
    ("WEIGHBRIDGE_CLIENT_DELAY", Duration::ZERO),
];

impl Patience {
    /// The usual times, or those that the environment says.
    ///
    /// # Errors
    /// When one of them is no number of seconds.
    pub fn from_environment() -> Result<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let time = |(name, usual)| match variable(name).filter(|text| !text.is_empty()) {
            None => Ok(usual),
            Some(text) => seconds(&text).ok_or_else(|| {
                Error::new(format!("{name} is `{text}`: give a number of seconds, or leave it unset"))
            }),
        };
        let [ready, stop, delay] = VARIABLES.map(time);
        Ok(Self { ready: ready?, stop: stop?, delay: delay? })
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_of_seconds() {
        let of = |value: &str| Patience::of(|name| (name == VARIABLES[2].0).then(|| value.to_owned()));
        let usual = Patience::of(|_| None).unwrap();
        assert_eq!((usual.ready, usual.delay), (Duration::from_mins(2), Duration::ZERO));
        assert_eq!(of("0.5").unwrap(), Patience { delay: Duration::from_millis(500), ..usual });
        for wrong in ["x", "-1", "NaN", "inf", "1e300"] {
            assert!(of(wrong).unwrap_err().to_string().contains("WEIGHBRIDGE_CLIENT_DELAY"), "{wrong}");
        }
    }
}
