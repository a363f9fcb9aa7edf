//! Natural language.

pub mod hnlp1_long_context;
pub mod hnlp2_masked_rows;
pub mod nlp1_token_rows;
pub mod nlp2_dynamic_padding;
