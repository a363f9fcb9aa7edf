//! What moves pixels: the transforms that give a pixel another place, or none, and leave its numbers as they
//! are.

use super::formulas::{below, coin};
use super::images::{cell_at, split_cell};
use super::writer::{ParamClass, Writer, WriterValue};
use crate::workload::Transform;

/// Where a moved pixel comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct MoveOrigin {
    pub(super) cell: WriterValue,
    /// Whether anything comes from there, where that is not certain: the pixel is 0 if not.
    pub(super) exists: Option<WriterValue>,
}

/// Whether a transform moves pixels, and nothing else.
pub(super) fn is_move(transform: Transform) -> bool {
    use Transform::{AffineRotation, RandomCrop, RandomFlip};
    matches!(transform, AffineRotation | RandomCrop | RandomFlip)
}

/// Where a transform that moves pixels takes the one at a cell from, by the draws of a key.
pub(super) fn origin(
    w: &mut Writer,
    transform: Transform,
    key: WriterValue,
    cell: WriterValue,
    [rows, columns]: [usize; 2],
) -> MoveOrigin {
    let (row, column) = split_cell(w, cell, columns);
    match transform {
        Transform::RandomCrop => {
            let [(row, in_rows), (column, in_columns)] =
                [(row, rows, 0), (column, columns, 1)].map(|(place, whole, number)| {
                    let kept = Transform::crop_window(whole);
                    let start = below(w, key, number, whole - kept + 1);
                    let inside = w.put(ParamClass::Flag, "setp.lt.u32", &[&place, &kept]);
                    (w.word("add.u32", place, start), inside)
                });
            let inside = w.put(ParamClass::Flag, "and.pred", &[&in_rows, &in_columns]);
            let from = cell_at(w, row, column, columns);
            // What is outside reads itself: something has to be read.
            MoveOrigin {
                cell: w.put(ParamClass::Word, "selp.b32", &[&from, &cell, &inside]),
                exists: Some(inside),
            }
        }
        Transform::AffineRotation => {
            // Two quarters are a half: both axes backwards. One more changes the axes.
            let turns = below(w, key, 0, 4);
            let half = w.put(ParamClass::Flag, "setp.ge.u32", &[&turns, &2]);
            let odd = w.word("and.b32", turns, 1);
            let quarter = w.put(ParamClass::Flag, "setp.eq.u32", &[&odd, &1]);
            let [row, column] = [row, column].map(|place| {
                let opposite = backwards(w, place, columns);
                w.put(ParamClass::Word, "selp.b32", &[&opposite, &place, &half])
            });
            let opposite = backwards(w, row, columns);
            let [row, column] = [(column, row), (opposite, column)]
                .map(|(turned, same)| w.put(ParamClass::Word, "selp.b32", &[&turned, &same, &quarter]));
            MoveOrigin { cell: cell_at(w, row, column, columns), exists: None }
        }
        _ => {
            debug_assert_eq!(transform, Transform::RandomFlip);
            let flips = coin(w, key, 0);
            let opposite = backwards(w, column, columns);
            let opposite = cell_at(w, row, opposite, columns);
            MoveOrigin {
                cell: w.put(ParamClass::Word, "selp.b32", &[&opposite, &cell, &flips]),
                exists: None,
            }
        }
    }
}

/// The place from the other end of an axis.
fn backwards(w: &mut Writer, place: WriterValue, whole: usize) -> WriterValue {
    w.put(ParamClass::Word, "sub.s32", &[&(whole - 1), &place])
}
