//! The pages for people, held true: every command is run, every block is read by what it is written for,
//! every name that a page gives leads to what it names. A new page is found by itself.

mod catalogue;
mod commands;
#[path = "../cargo/external.rs"]
mod external;
mod fields;
#[path = "../cargo/help.rs"]
mod help;
mod names;
mod page;
mod reference;
mod workflows;
