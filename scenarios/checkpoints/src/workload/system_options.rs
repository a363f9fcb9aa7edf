//! Options that a system is told, by the names that it has for them itself.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Setting;

/// Options of a system, by its own names. A system takes no notice of those that another has.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SystemOptions(BTreeMap<&'static str, Value>);

impl SystemOptions {
    /// Every system as it is by itself.
    pub const NONE: Self = Self(BTreeMap::new());

    /// The same with an option of this name, if it is set.
    #[must_use]
    pub fn with<T: Into<Value>>(mut self, name: &'static str, setting: Setting<T>) -> Self {
        if let Setting::Set(value) = setting {
            self.0.insert(name, value.into());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_told_the_options_that_are_set_and_no_other() {
        let options =
            SystemOptions::NONE.with("use_zarr3", Setting::Set(true)).with::<u64>("limit", Setting::Own);
        assert_eq!(serde_json::to_string(&options).unwrap(), r#"{"use_zarr3":true}"#);
    }
}
