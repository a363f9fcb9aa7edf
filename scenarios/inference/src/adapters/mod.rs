//! The systems that are measured. Nothing here knows which scenarios exist.

pub mod native;
pub mod python;
