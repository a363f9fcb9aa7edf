//! How weights are changed by their gradients.

use ndarray::{Array2, Zip};

use super::real::Real;
use super::{Gradients, NetworkParameters};
use crate::workload::{Optimiser, Schedule};

/// An optimiser with what it keeps of earlier steps.
#[derive(Debug)]
pub(crate) struct Descent<T> {
    kind: Optimiser,
    schedule: Schedule,
    /// Means of gradients (and of their squares), one for each parameter.
    kept: [Vec<Array2<T>>; 2],
    steps: i32,
}

impl<T: Real> Descent<T> {
    /// One that has seen nothing of these parameters.
    pub(crate) fn new(kind: Optimiser, schedule: Schedule, parameters: &NetworkParameters<T>) -> Self {
        let zeros = || parameters.iter().map(|one| Array2::zeros(one.raw_dim())).collect();
        let second = if matches!(kind, Optimiser::Adamw { .. }) { zeros() } else { Vec::new() };
        Self { kind, schedule, kept: [zeros(), second], steps: 0 }
    }

    /// Returns the optimiser with its numbers, and the schedule of its rate.
    pub(crate) fn kind(&self) -> (Optimiser, Schedule) {
        (self.kind, self.schedule)
    }

    /// One step: the formulae are those of [`Optimiser`] and [`Schedule`].
    pub(crate) fn step(&mut self, parameters: &mut NetworkParameters<T>, gradients: &Gradients<T>) {
        let kind = self.kind.slowed(self.schedule.share(self.steps as usize));
        self.steps += 1;
        let [first, second] = &mut self.kept;
        match kind {
            Optimiser::Sgd { rate, momentum } => {
                let (rate, momentum) = (T::of(rate), T::of(momentum));
                for ((w, g), v) in parameters.iter_mut().zip(gradients).zip(first) {
                    Zip::from(w).and(g).and(v).for_each(|w, &g, v| {
                        *v = momentum * *v + g;
                        *w -= rate * *v;
                    });
                }
            }
            Optimiser::Adamw { rate, beta1, beta2, epsilon, decay } => {
                let left = [beta1, beta2].map(|beta| T::of(1.0 - beta.powi(self.steps)));
                let [rate, beta1, beta2, epsilon, decay] = [rate, beta1, beta2, epsilon, decay].map(T::of);
                let kept = first.iter_mut().zip(second);
                for ((w, g), (m, v)) in parameters.iter_mut().zip(gradients).zip(kept) {
                    Zip::from(w).and(g).and(m).and(v).for_each(|w, &g, m, v| {
                        *m = beta1 * *m + (T::one() - beta1) * g;
                        *v = beta2 * *v + (T::one() - beta2) * g * g;
                        let step = (*m / left[0]) / ((*v / left[1]).sqrt() + epsilon);
                        *w -= rate * (step + decay * *w);
                    });
                }
            }
        }
    }
}
