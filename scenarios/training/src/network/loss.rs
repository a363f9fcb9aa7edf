//! Softmax and cross-entropy.

use ndarray::Array2;
use weighbridge::{Error, Result};

use super::real::Real;

/// The mean over all rows of `-ln softmax(logits)[label]`, and its gradient to the logits.
///
/// # Errors
/// As many labels as there are rows are due, each from 0 and below the number of columns.
pub(crate) fn cross_entropy<T: Real>(mut logits: Array2<T>, labels: &[i32]) -> Result<(T, Array2<T>)> {
    let (rows, classes) = logits.dim();
    if labels.len() != rows {
        return Err(Error::new(format!("{} labels for {rows} rows of logits", labels.len())));
    }
    let count = T::of(rows as f64);
    let mut loss = T::zero();
    for (mut row, &label) in logits.rows_mut().into_iter().zip(labels) {
        let label = usize::try_from(label).ok().filter(|&label| label < classes).ok_or_else(|| {
            Error::new(format!("the label {label} is none of {classes} classes, which are counted from 0"))
        })?;
        let most = row.fold(T::neg_infinity(), |most, &logit| most.max(logit));
        let own = row[label] - most;
        row.mapv_inplace(|logit| (logit - most).exp());
        let sum = row.sum();
        loss += sum.ln() - own;
        row.mapv_inplace(|weight| weight / sum / count);
        row[label] -= count.recip();
    }
    Ok((loss / count, logits))
}
