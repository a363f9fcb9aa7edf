//! Predictors that do not do what they say: for tests.
