//! Computer vision.

pub mod cv1_image_classification;
