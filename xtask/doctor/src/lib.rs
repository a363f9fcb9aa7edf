//! The doctor of training scripts that know nothing of it: what limits a step, by how much, and what to do.
//!
//! It runs a script as it is, looks at it from outside and by a hook from inside, and then changes one thing
//! at a time while the script's own loop goes on: its batches come from memory, its loader has more workers,
//! its logging does nothing. Each change is made and unmade in turns, so that a machine that changes
//! meanwhile changes both sides.
//!
//! Data flows down this list, and imports point up it.
//!
//! | part | idea |
//! |---|---|
//! | `args`, `error` | the command line; the reasons to stop |
//! | `layer` | files: what a script writes goes to a scratch folder |
//! | `hook`, `journal` | the Python files that are put before a script; what they tell |
//! | `processes` | what the system tells of the script's processes |
//! | `guard` | a process that ends what a killed doctor leaves |
//! | `attempt` | one run of the script, watched and ended |
//! | `place` | a line of the user's |
//! | `look` | where the time of a run went |
//! | `trial` | what each change took, with its interval |
//! | `verdict` | the limit, the evidence and one remedy |
//! | `report` | the verdict beside the runs: what `--json` writes |
//! | `page`, `html` | the same for people |
//! | `session` | all of it, from a command line to an answer |

mod args;
mod attempt;
mod error;
mod guard;
mod hook;
mod html;
mod journal;
mod layer;
mod look;
mod page;
mod place;
mod processes;
mod report;
mod session;
mod trial;
mod verdict;

pub use args::DoctorArgs;
pub use error::DoctorError;
pub use session::{DoctorAnswer, run};

/// Becomes the script below its layer, or a guard, where this program was started for that. It comes back
/// with an exit code then; `None` where nobody asked for it.
pub fn started_anew() -> Option<std::process::ExitCode> {
    guard::guard().or_else(layer::layer)
}
