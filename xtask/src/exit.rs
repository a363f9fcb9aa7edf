//! Exit codes: those of a bench target, so that a script need learn them once.

use std::process::ExitCode;

/// How a command ends. If several hold, the graver one is the end: usage, unexpected, failed, nothing to judge,
/// regressed, inconclusive, fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: fine.
    Fine,
    /// 1: unexpected: a store that cannot be read, a full disk.
    Unexpected,
    /// 2: usage: an unknown flag or name.
    Usage,
    /// 3: something regressed.
    Regressed,
    /// 4: nothing to judge by: no baseline, the run is the baseline, another machine, ids missing.
    NothingToJudge,
    /// 5: inconclusive.
    Inconclusive,
    /// 6: a case failed, or its work or clock did not verify.
    Failed,
}

impl Exit {
    const BY_GRAVITY: [Self; 7] = [
        Self::Usage,
        Self::Unexpected,
        Self::Failed,
        Self::NothingToJudge,
        Self::Regressed,
        Self::Inconclusive,
        Self::Fine,
    ];

    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::Regressed => 3,
            Self::NothingToJudge => 4,
            Self::Inconclusive => 5,
            Self::Failed => 6,
        }
    }

    /// The graver of two.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        let rank = |exit| Self::BY_GRAVITY.iter().position(|known| *known == exit);
        if rank(self) <= rank(other) { self } else { other }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_ends_the_graver_one_holds() {
        let check = |exits: &[Exit], code| {
            let end = exits.iter().fold(Exit::Fine, |end, exit| end.or(*exit));
            assert_eq!(end.code(), code, "{exits:?}");
        };
        check(&[], 0);
        check(&[Exit::Inconclusive, Exit::Regressed], 3);
        check(&[Exit::Regressed, Exit::NothingToJudge], 4);
        check(&[Exit::NothingToJudge, Exit::Failed], 6);
        check(&[Exit::Failed, Exit::Unexpected], 1);
        check(&[Exit::Unexpected, Exit::Usage], 2);
    }
}
