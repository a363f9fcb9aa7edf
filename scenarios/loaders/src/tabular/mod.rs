//! Tables.

pub mod htab1_recommendation;
pub mod tab1_dense_table;
pub mod tab2_sparse_features;
