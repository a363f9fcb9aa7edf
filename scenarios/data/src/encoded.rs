//! Encoded images of a data set as people keep them: the bytes of each without the zeros behind its end, its
//! name, and its place in a tar file of all.

use std::ops::Range;

use super::DataSet;

/// Bytes of a block of a tar file.
pub const TAR_BLOCK: usize = 512;

/// Bytes behind the last entry of a tar file.
pub const TAR_END: usize = 2 * TAR_BLOCK;

/// The bytes of an element of a data set with one field, without the zeros behind its end.
pub fn encoded(data: &DataSet, element: usize) -> &[u8] {
    let row = data.rows(0, element..element + 1);
    &row[..row.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
}

/// The name of the file of an element.
pub fn encoded_name(element: usize) -> String {
    format!("{element:09}.jpg")
}

/// The place of each element's bytes in a tar file of all.
pub fn tar_places(data: &DataSet) -> Vec<Range<u64>> {
    let mut at = 0;
    let place = |element| {
        let size = encoded(data, element).len();
        let first = at + TAR_BLOCK as u64;
        at = first + size.next_multiple_of(TAR_BLOCK) as u64;
        first..first + size as u64
    };
    (0..data.elements()).map(place).collect()
}

/// The header of an entry of a tar file, in the form `ustar`.
pub fn tar_header(element: usize, size: usize) -> [u8; TAR_BLOCK] {
    let mut header = [0; TAR_BLOCK];
    let mut put = |at: usize, text: &str| header[at..][..text.len()].copy_from_slice(text.as_bytes());
    put(0, &encoded_name(element));
    put(100, "0000644\0");
    put(124, &format!("{size:011o}\0"));
    put(136, "00000000000\0");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}
