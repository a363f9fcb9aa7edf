//! The order of measured commits: that of the repository, as far as it has them. A history that was measured
//! from the newest commit back would else run backwards.

use super::MeasuredCommit;

impl MeasuredCommit {
    /// Returns commits, given in the order in which they were measured first, in that of the repository. One
    /// that it has not stays behind the one that was measured before it.
    pub(super) fn sorted(measured: Vec<Self>, order: &[String]) -> Vec<Self> {
        let mut last = 0;
        let mut placed = Vec::with_capacity(measured.len());
        for commit in measured {
            let known = commit.id.as_ref().and_then(|id| order.iter().position(|one| one == id));
            last = known.map_or(last, |place| place + 1);
            placed.push((last, commit));
        }
        placed.sort_by_key(|(place, commit)| (*place, commit.is_changed));
        placed.into_iter().map(|(_, commit)| commit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(measured: &[&str]) -> String {
        let commit = |name: &&str| MeasuredCommit {
            name: (*name).to_owned(),
            id: Some(name.trim_end_matches('+').to_owned()),
            is_changed: name.ends_with('+'),
            values: vec![1.0],
        };
        let measured = measured.iter().map(commit).collect();
        let sorted = MeasuredCommit::sorted(measured, &["a", "b", "c"].map(str::to_owned));
        sorted.into_iter().map(|commit| commit.name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn commits_go_by_the_repository_and_not_by_when_they_were_measured() {
        assert_eq!(names(&["c", "b", "a"]), "a b c");
        assert_eq!(names(&["c", "b+", "b", "a"]), "a b b+ c");
        assert_eq!(names(&["b", "elsewhere", "a"]), "a b elsewhere");
        assert_eq!(names(&["x", "y"]), "x y");
    }
}
