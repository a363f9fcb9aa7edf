//! A load has loaded when it is over, and a save has saved.

use super::rule::{Accusation, Rule, gathered};
use crate::bencher::visible_in_line;
use crate::run::How;
use crate::verify::ExaminedCase;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "checkpoint",
    lie: "a load that reads when somebody looks, or gives what was loaded before; a save whose files are \
        filled later, are those of the checkpoint before, or hold a state that it was changed into meanwhile",
    looks: "every load and every save that is measured. In the time of a load eight numbers of each tensor, \
        and the sum of a byte of each of its pages, at places drawn as it ends, must be those of the state \
        that this checkpoint was saved of. Calls must have read nine tenths of the files' bytes by then, or \
        memory have grown by nine tenths of the state's. The state is another before each save. When \
        that is over, calls must have written nine tenths of the bytes that are new in its files, or the \
        file system have room taken for them, and what is at 64 drawn places of the files must be there \
        later too; drawn saves are loaded at once, and the last one by a system that was opened anew. \
        Steps beside a save in the background change the whole state",
    blind: "a checkpoint or a state of less than 4 MiB, where only content is looked at; the other \
        bytes of the pages of a mapping; a copy of what was loaded before, made in the time of a \
        load; who reads or writes as many bytes that are none of the checkpoint's; what is kept \
        where the loads of CKPT-7 find it, whose files stay as they are until the last",
    remedy: "return from a load when the tensors are in memory, and from a save, or from `wait`, when the \
        files are complete; copy what is written in the background before the caller goes on. A system \
        that is lazy by design is measured as one that loads and reads everything once",
    test: "verify::rules::tests::a_checkpoint_is_there_when_its_time_is_over",
    check,
};

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let failed = examined.failed().filter_map(|(repeat, how)| match how {
        How::Work(fault) if fault.is_of_checkpoint() && fault.is_proven() => {
            Some((repeat.number, Severity::Fail, visible_in_line(&fault.to_string())))
        }
        _ => None,
    });
    gathered(failed)
}
