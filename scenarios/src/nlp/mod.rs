//! Natural language.

pub mod nlp1_token_rows;
