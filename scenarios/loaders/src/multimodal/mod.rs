//! Several fields of different kinds.

pub mod hmm1_image_text_scale;
pub mod mm1_image_text;
pub mod mm2_audio_text;
