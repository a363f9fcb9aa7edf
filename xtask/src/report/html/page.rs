//! A page of the report.

use maud::Markup;

/// A page of the report: what links call it, its title, and what stands on it.
pub(super) struct Page {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) body: Markup,
}
