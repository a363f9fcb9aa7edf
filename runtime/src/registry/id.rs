//! Ids that other programs can live with: in file names, filters and lists of tests.

/// The slug of one part of an id: lower case, and every run of characters outside `[a-z0-9.+=]` is one `_`.
///
/// It is not injective (`CV-1` and `cv_1` have one slug), so whoever names files by it refuses equal slugs.
pub fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for character in text.chars().map(|character| character.to_ascii_lowercase()) {
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '+' | '=') {
            slug.push(character);
        } else if !slug.ends_with('_') {
            slug.push('_');
        }
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(slug(text), expected, "of {text:?}");
    }

    #[test]
    fn a_slug_is_lower_case_and_holds_only_what_file_names_and_filters_can() {
        check("CV-1", "cv_1");
        check("Google Grain", "google_grain");
        check("workers=2", "workers=2");
        check("ratio=2.5", "ratio=2.5");
        check("1GiB", "1gib");
        check("a / b :: c", "a_b_c");
        check("depth=-1", "depth=_1");
        check("__a", "_a");
        check("Größe", "gr_e");
        check("", "");
    }
}
