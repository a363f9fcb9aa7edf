//! Tables.

pub mod tab1_dense_table;
