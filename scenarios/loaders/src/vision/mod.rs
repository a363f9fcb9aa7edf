//! Computer vision.

pub mod cv1_image_classification;
pub mod cv2_volumes;
pub mod cv3_batch_mixing;
pub mod cv4_multi_resolution;
pub mod hcv1_imagenet_scale;
pub mod hcv2_segmentation;
pub mod jpeg1_photographs;
pub mod jpeg2_object_store;
