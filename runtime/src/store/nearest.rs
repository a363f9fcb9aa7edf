//! The name that was probably meant.

/// The known name nearest to a misspelt one, if any is near: at least seven letters of ten agree.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const NEAR: f64 = 0.7;
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&typed.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near_or_none() {
        assert_eq!(nearest("mian", ["release", "main"]), Some("main"));
        assert_eq!(nearest("Main", ["release", "main"]), Some("main"));
        assert_eq!(nearest("xyz", ["release", "main"]), None);
        assert_eq!(nearest("main", []), None);
    }
}
