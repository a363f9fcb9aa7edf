//! What people see. The only stage that prints.

pub mod quantity;
