//! Mean and spread of a field, per index of its last axis: the constants of `Normalize`.

use super::manifest::Normalisation;

/// Adds up numbers and their squares, in `f64`, in the order of the data.
pub(super) struct Statistics {
    sums: Vec<f64>,
    squares: Vec<f64>,
    rows: u64,
}

impl Statistics {
    /// For a field whose last axis is this long.
    pub(super) fn new(columns: usize) -> Self {
        Self { sums: vec![0.0; columns], squares: vec![0.0; columns], rows: 0 }
    }

    /// Adds whole rows of the last axis.
    pub(super) fn add(&mut self, numbers: &[f32]) {
        for row in numbers.chunks_exact(self.sums.len()) {
            for ((sum, square), &number) in self.sums.iter_mut().zip(&mut self.squares).zip(row) {
                let number = f64::from(number);
                *sum += number;
                *square += number * number;
            }
            self.rows += 1;
        }
    }

    /// The mean, and one over the (population) standard deviation, both rounded to `f32`. A column without
    /// spread keeps its scale: there is nothing to bring to 1.
    pub(super) fn finish(self) -> Normalisation {
        let rows = self.rows as f64;
        let mean: Vec<f64> = self.sums.iter().map(|sum| sum / rows).collect();
        let scale = mean.iter().zip(&self.squares).map(|(mean, squares)| {
            let deviation = (squares / rows - mean * mean).max(0.0).sqrt();
            if deviation > 0.0 { (1.0 / deviation) as f32 } else { 1.0 }
        });
        Normalisation { scale: scale.collect(), mean: mean.iter().map(|&mean| mean as f32).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_those_of_each_column() {
        let mut statistics = Statistics::new(2);
        statistics.add(&[1.0, 7.0, 5.0, 7.0]);
        statistics.add(&[3.0, 7.0]);
        let found = statistics.finish();
        assert_eq!(found.mean, [3.0, 7.0]);
        assert_eq!(found.scale, [(1.0 / (8.0_f64 / 3.0).sqrt()) as f32, 1.0]);
    }
}
