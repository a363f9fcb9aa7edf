//! What people see. The only stage that prints.
//!
//! Takes plans, events, records and comparisons; hands on text, or writes it to the terminal.

mod bencher_lines;
mod caveats;
mod cells;
mod change;
mod columns;
mod machine;
mod plan;
mod progress;
pub mod quantity;
mod reasons;
mod skips;
mod summary;
mod table;
mod targets;
mod terminal;
mod traces;
mod tree;

pub use bencher_lines::bencher_lines;
pub use change::{changes, row, verdicts};
pub use columns::Columns;
pub use machine::{clock_is_behind, fake_device, machine};
pub use plan::{details, header, skips};
pub use progress::Progress;
pub use skips::shortened;
pub use summary::{duel_summary, summary};
pub use table::{first_figures, metrics, table};
pub use targets::{TargetEnd, targets};
pub use terminal::{Style, Terminal};
pub use traces::{case_traces, traces};

#[cfg(test)]
mod tests;
