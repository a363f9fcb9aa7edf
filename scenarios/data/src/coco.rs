//! COCO captions, the validation images of 2017: one JSON file of captions and a folder of JPEG files.
//!
//! A pair is an image and one of its (about five) captions, in the order of image and caption number. The
//! image is brought to a square; as `f32` it is divided by 255. A caption's words (lower case, as whitespace
//! parts them) are CRC-32 modulo the vocabulary; the row is filled up with zeros, and what is longer is cut.
//! More elements than pairs begin again with the first pair.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use weighbridge::{Dtype, Error, Result};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::resize::resize;
use super::{DataSpec, root, text};

const CAPTIONS: &str = "coco/annotations/captions_val2017.json";
const IMAGES: &str = "coco/val2017";

pub(super) const FILES: &[&str] = &[CAPTIONS, IMAGES];

pub(super) const REMEDY: &str =
    "unpack annotations_trainval2017.zip and val2017.zip of COCO (https://cocodataset.org, 1 GB)";

/// The part of the JSON file that is read.
#[derive(Deserialize)]
struct Captions {
    images: Vec<Image>,
    annotations: Vec<Caption>,
}

#[derive(Deserialize)]
struct Image {
    id: u64,
    file_name: String,
}

#[derive(Deserialize)]
struct Caption {
    id: u64,
    image_id: u64,
    #[serde(rename = "caption")]
    text: String,
}

/// The captions' file and the images' folder.
pub(super) fn find(data_root: Option<&Path>) -> Result<Vec<PathBuf>> {
    FILES.iter().map(|name| root::below_root(data_root, &[name], REMEDY)).collect()
}

/// The first pairs: for each field of `spec` its bytes. A field with three axes takes the image, one with one
/// axis the caption.
pub(super) fn read(paths: &[PathBuf], spec: &DataSpec, vocabulary: u32) -> Result<Vec<Vec<u8>>> {
    let (captions, folder) = (&paths[0], &paths[1]);
    let file = File::open(captions).map_err(|error| root::unreadable(captions, &error))?;
    let read: Captions = serde_json::from_reader(BufReader::new(file)).map_err(|error| {
        Error::new(format!("{} is no file of COCO captions: {error}; unpack it again", captions.display()))
    })?;
    let names: HashMap<u64, &str> = read.images.iter().map(|image| (image.id, &*image.file_name)).collect();
    let mut pairs: Vec<&Caption> = read.annotations.iter().collect();
    pairs.sort_unstable_by_key(|caption| (caption.image_id, caption.id));
    if pairs.is_empty() {
        return Err(Error::new(format!("{} holds no captions", captions.display())));
    }
    let mut fields: Vec<Vec<u8>> = vec![Vec::new(); spec.fields.len()];
    let mut last: Option<(u64, CocoPicture)> = None; // captions of one image follow each other
    for caption in pairs.iter().cycle().take(spec.elements) {
        if last.as_ref().is_none_or(|(id, _)| *id != caption.image_id) {
            let name = names.get(&caption.image_id).filter(|name| is_plain(name)).ok_or_else(|| {
                let (id, image) = (caption.id, caption.image_id);
                Error::new(format!(
                    "{}: caption {id} is of image {image}, which has no file",
                    captions.display()
                ))
            })?;
            last = Some((caption.image_id, CocoPicture::read(&folder.join(name))?));
        }
        let Some((_, picture)) = &last else { unreachable!("read above") };
        for (field, bytes) in spec.kinds().zip(&mut fields) {
            match (&field.shape[..], field.dtype) {
                (&[side, width, 3], Dtype::U8) if side == width => bytes.extend(picture.square(side)),
                (&[side, width, 3], Dtype::F32) if side == width => {
                    let square = picture.square(side);
                    bytes.extend(square.into_iter().flat_map(|byte| (f32::from(byte) / 255.0).to_le_bytes()));
                }
                (&[length], Dtype::I32) => bytes.extend(tokens(&caption.text, length, vocabulary)),
                (shape, dtype) => {
                    let (name, dtype) = (&field.name, dtype.name());
                    return Err(Error::new(format!(
                        "field `{name}`: COCO captions have no {dtype} {shape:?}"
                    )));
                }
            }
        }
    }
    Ok(fields)
}

/// Returns whether a file's name leads nowhere else.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

fn tokens(caption: &str, length: usize, vocabulary: u32) -> impl Iterator<Item = u8> {
    let words = caption.to_lowercase();
    let mut ids: Vec<i32> = words.split_whitespace().map(|word| text::token(word, vocabulary)).collect();
    ids.resize(length, 0);
    ids.into_iter().flat_map(i32::to_le_bytes)
}

/// A decoded image: height by width by 3.
struct CocoPicture {
    pixels: Vec<u8>,
    height: usize,
    width: usize,
}

impl CocoPicture {
    fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|error| root::unreadable(path, &error))?;
        let bad = |why: String| {
            Error::new(format!(
                "{} is no JPEG image that can be read: {why}; unpack it again",
                path.display()
            ))
        };
        // Strict: a truncated file is an error, not an image that is half grey.
        let options =
            DecoderOptions::default().set_strict_mode(true).jpeg_set_out_colorspace(ColorSpace::RGB);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(&bytes), options);
        decoder.decode_headers().map_err(|error| bad(error.to_string()))?;
        let grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
        if grey {
            decoder.set_options(options.jpeg_set_out_colorspace(ColorSpace::Luma));
        }
        let mut pixels = decoder.decode().map_err(|error| bad(error.to_string()))?;
        if grey {
            pixels = pixels.into_iter().flat_map(|value| [value; 3]).collect();
        }
        let (width, height) = decoder.dimensions().ok_or_else(|| bad("it has no size".into()))?;
        if width == 0 || pixels.len() != width * height * 3 {
            return Err(bad(format!("{} bytes for {width} x {height} pixels", pixels.len())));
        }
        Ok(Self { pixels, height, width })
    }

    fn square(&self, side: usize) -> Vec<u8> {
        resize(&self.pixels, self.height, self.width, side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Origin};

    const VOCABULARY: u32 = 49_408;

    /// 8 x 8 pixels in colour and in grey, as an encoder wrote them.
    const COLOUR: &[u8] = include_bytes!("coco/colour.jpg");
    const GREY: &[u8] = include_bytes!("coco/grey.jpg");

    const JSON: &str = r#"{"info": {"year": 2017}, "licenses": [],
        "images": [{"license": 4, "file_name": "b.jpg", "height": 8, "width": 8, "id": 9},
                   {"license": 1, "file_name": "a.jpg", "height": 8, "width": 8, "id": 3}],
        "annotations": [{"image_id": 9, "id": 2, "caption": "A  red square."},
                        {"image_id": 3, "id": 7, "caption": "grey"},
                        {"image_id": 9, "id": 1, "caption": "first one of the red"}]}"#;

    fn open(json: &str, images: &[(&str, &[u8])], spec: DataSpec) -> Result<Vec<Vec<u8>>> {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("coco/annotations")).unwrap();
        fs::create_dir_all(place.path().join(IMAGES)).unwrap();
        fs::write(place.path().join(CAPTIONS), json).unwrap();
        for (name, bytes) in images {
            fs::write(place.path().join(IMAGES).join(name), bytes).unwrap();
        }
        let cache = Cache::at(place.path().join("cache")).with_data_root(place.path());
        let set = cache.open(&spec.read_from(Origin::CocoCaptions { vocabulary: VOCABULARY }))?;
        Ok((0..2).map(|field| set.rows(field, 0..set.elements()).to_vec()).collect())
    }

    fn pairs(elements: usize, dtype: Dtype) -> DataSpec {
        let mut spec = DataSpec::images(elements, 4, 3);
        spec.fields[0].kind.dtype = dtype;
        spec.fields.extend(DataSpec::tokens(elements, 4).fields);
        spec
    }

    #[test]
    fn pairs_follow_image_and_caption_and_begin_again() {
        let images = [("a.jpg", GREY), ("b.jpg", COLOUR)];
        let found = open(JSON, &images, pairs(4, Dtype::U8)).unwrap();
        let token = |word| text::token(word, VOCABULARY);
        let rows: Vec<i32> = bytemuck::pod_collect_to_vec(&found[1]);
        let grey = [token("grey"), 0, 0, 0];
        let first = [token("first"), token("one"), token("of"), token("the")];
        assert_eq!(rows, [grey, first, [token("a"), token("red"), token("square."), 0], grey].concat());
        let pixel = |element: usize| &found[0][element * 48..][..3];
        assert!(pixel(0).iter().all(|&x| x.abs_diff(120) < 4), "{:?}", pixel(0));
        assert!(pixel(1)[0] > 200 && pixel(1)[1] < 60 && pixel(1)[2] < 60, "{:?}", pixel(1));
        assert_eq!(pixel(1), pixel(2));
        assert_eq!(pixel(0), pixel(3));
    }

    #[test]
    fn floats_are_the_bytes_over_255() {
        let images = [("a.jpg", GREY), ("b.jpg", COLOUR)];
        let bytes = open(JSON, &images, pairs(2, Dtype::U8)).unwrap().swap_remove(0);
        let floats = open(JSON, &images, pairs(2, Dtype::F32)).unwrap().swap_remove(0);
        let floats: Vec<f32> = bytemuck::pod_collect_to_vec(&floats);
        assert_eq!(floats, bytes.into_iter().map(|byte| f32::from(byte) / 255.0).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let images = [("a.jpg", GREY), ("b.jpg", COLOUR)];
        let said = |json: &str, images: &[(&str, &[u8])]| {
            open(json, images, pairs(4, Dtype::U8)).unwrap_err().to_string()
        };
        assert!(said("{", &images).contains("is no file of COCO captions"));
        assert!(said(r#"{"images": [], "annotations": []}"#, &images).contains("holds no captions"));
        assert!(
            said(&JSON.replace("\"id\": 3", "\"id\": 4"), &images)
                .contains("is of image 3, which has no file")
        );
        assert!(
            said(&JSON.replace("a.jpg", "../a.jpg"), &images).contains("is of image 3, which has no file")
        );
        assert!(said(JSON, &images[1..]).contains("failed to read"));
        assert!(
            said(JSON, &[("a.jpg", &GREY[..GREY.len() / 2]), images[1]]).contains("a.jpg is no JPEG image")
        );
    }

    #[test]
    fn absent_files_are_a_skip_that_says_what_to_fetch() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path()).with_data_root(place.path());
        let spec = pairs(1, Dtype::U8).read_from(Origin::CocoCaptions { vocabulary: VOCABULARY });
        let error = cache.open(&spec).unwrap_err();
        assert!(error.is_skip() && error.to_string().contains("annotations_trainval2017.zip"), "{error}");
    }
}
