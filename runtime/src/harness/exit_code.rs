//! Exit codes: documented, tested, the same for a bench target and for `compare-baseline`.

use std::process;

use crate::compare::GateOutcome;

/// The end of a program of ours. If several hold, the one that comes first in
/// [`Exit::BY_PRECEDENCE`] is the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: fine.
    Fine,
    /// 1: unexpected: the store cannot be read or written, a baseline does not build.
    Unexpected,
    /// 2: usage: an unknown flag, name, axis or key; debug assertions; a profile against the platform.
    Usage,
    /// 3: something regressed.
    Regressed,
    /// 4: nothing to judge by: nothing registered, selected or compared; no baseline; another machine; ids
    /// missing.
    NothingToJudge,
    /// 5: inconclusive.
    Inconclusive,
    /// 6: a case failed, or its work or clock did not verify.
    Failed,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// From the one that hides all others to the one that any other hides.
    pub const BY_PRECEDENCE: [Self; 8] = [
        Self::Interrupted,
        Self::Usage,
        Self::Unexpected,
        Self::Failed,
        Self::NothingToJudge,
        Self::Regressed,
        Self::Inconclusive,
        Self::Fine,
    ];

    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::Regressed => 3,
            Self::NothingToJudge => 4,
            Self::Inconclusive => 5,
            Self::Failed => 6,
            Self::Interrupted => 130,
        }
    }

    /// The end that this number stands for; `None` where it is none of ours.
    pub(super) fn of_code(code: u8) -> Option<Self> {
        Self::BY_PRECEDENCE.into_iter().find(|exit| exit.code() == code)
    }

    /// The one of two that is the end.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let rank = |exit| Self::BY_PRECEDENCE.iter().position(|known| *known == exit);
        if rank(self) <= rank(other) { self } else { other }
    }
}

impl From<GateOutcome> for Exit {
    fn from(outcome: GateOutcome) -> Self {
        match outcome {
            GateOutcome::Pass => Self::Fine,
            GateOutcome::Regressed => Self::Regressed,
            GateOutcome::NothingToJudge => Self::NothingToJudge,
            GateOutcome::Inconclusive => Self::Inconclusive,
            GateOutcome::Failed => Self::Failed,
        }
    }
}

impl From<Exit> for process::ExitCode {
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
        check(&[Exit::Regressed, Exit::Failed], 6);
        check(&[Exit::Inconclusive, Exit::Regressed], 3);
        check(&[Exit::Regressed, Exit::NothingToJudge], 4);
        check(&[Exit::Failed, Exit::Unexpected], 1);
        check(&[Exit::Unexpected, Exit::Usage, Exit::Interrupted], 130);
    }
}
