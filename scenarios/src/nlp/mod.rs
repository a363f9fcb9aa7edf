//! Natural language.

pub mod nlp1_token_rows;
pub mod nlp2_dynamic_padding;
