//! One picture: a file, and what stands under it.

use crate::view::View;

/// A chart: the stem of its file, and the drawing.
pub(super) struct Chart {
    pub(super) stem: String,
    pub(super) svg: String,
}

/// The line under every chart: the run that it is of.
pub(super) fn source(view: &View<'_>) -> String {
    let manifest = &view.run.manifest;
    let fake = view.fake.as_ref().map_or_else(String::new, |fake| format!(" {fake}"));
    format!(
        "run {} of {}, commit {}, profile {}.{fake}",
        manifest.id,
        manifest.suite,
        view.commit(),
        manifest.profile
    )
}

/// The stem of a file: letters, digits and what keeps them apart.
pub(super) fn stem(kind: &str, title: &str) -> String {
    let safe = title
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let safe: String = safe.take(80).collect();
    format!("{kind}-{}", safe.trim_matches('-'))
}
