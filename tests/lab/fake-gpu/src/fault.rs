//! Errors planted by a test: `CALL:COUNT:CODE`, at the counted call from now on.
//!
//! `kernel:1:700` lets the next kernel fail while it runs (told late, by a later call); `launch:3:701` makes
//! the third launch return the code; `sync:2:214:sticky` kills the context at the second wait; `init:1:34` is
//! a stub library.

use crate::code::{self, Code};

/// Where a fault can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    Init,
    Devices,
    Context,
    Module,
    Alloc,
    Copy,
    Event,
    Launch,
    Kernel,
    Sync,
    Graph,
    Nvml,
    Other,
}

const SITES: &[(&str, Site)] = &[
    ("init", Site::Init),
    ("devices", Site::Devices),
    ("context", Site::Context),
    ("module", Site::Module),
    ("alloc", Site::Alloc),
    ("copy", Site::Copy),
    ("event", Site::Event),
    ("launch", Site::Launch),
    ("kernel", Site::Kernel),
    ("sync", Site::Sync),
    ("graph", Site::Graph),
    ("nvml", Site::Nvml),
];

#[derive(Debug)]
struct Fault {
    site: Site,
    left: u64,
    code: Code,
    sticky: bool,
}

/// Faults that wait for their call.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Plants one.
    ///
    /// # Errors
    ///
    /// A text that is none of the forms above, or a code that no caller may be given.
    pub fn plant(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("`{text}` is no fault: write CALL:COUNT:CODE or CALL:COUNT:CODE:sticky");
        let parts: Vec<&str> = text.split(':').collect();
        let (site, left, code, sticky) = match parts[..] {
            [site, left, code] => (site, left, code, false),
            [site, left, code, "sticky"] => (site, left, code, true),
            _ => return Err(wrong()),
        };
        let (_, site) = SITES.iter().find(|(name, _)| *name == site).ok_or_else(wrong)?;
        let left = left.parse().ok().filter(|left| *left > 0).ok_or_else(wrong)?;
        let code: i32 = code.parse().map_err(|_| wrong())?;
        // NVML has numbers of its own, which nobody reads as this enum.
        if *site != Site::Nvml && code::name(code).is_none_or(|_| code == 0) {
            return Err(format!("`{text}`: no driver returns {code}"));
        }
        self.0.push(Fault { site: *site, left, code: Code(code), sticky });
        Ok(())
    }

    /// Counts a call; the error that was planted for it, and whether it kills the context.
    pub fn strike(&mut self, site: Site) -> Option<(Code, bool)> {
        let mut struck = None;
        self.0.retain_mut(|fault| {
            if fault.site != site {
                return true;
            }
            fault.left -= 1;
            if fault.left == 0 && struck.is_none() {
                struck = Some((fault.code, fault.sticky));
            }
            fault.left > 0
        });
        struck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_once_at_its_count() {
        let mut faults = Faults::default();
        faults.plant("launch:3:701").unwrap();
        faults.plant("sync:1:214:sticky").unwrap();
        let struck: Vec<_> = (0..4).map(|_| faults.strike(Site::Launch)).collect();
        assert_eq!(struck, [None, None, Some((Code(701), false)), None]);
        assert_eq!(faults.strike(Site::Sync), Some((Code(214), true)));
        assert_eq!(faults.strike(Site::Sync), None);
    }

    #[test]
    fn what_is_no_fault_is_refused() {
        for text in [
            "",
            "launch",
            "launch:0:701",
            "launch:1:12345",
            "nowhere:1:700",
            "launch:1:700:often",
            "sync:1:0",
        ] {
            assert!(Faults::default().plant(text).is_err(), "{text}");
        }
    }
}
