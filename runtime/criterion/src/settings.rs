//! Words of criterion's surface that only change its plots and its statistics, or that are small.

use regex_lite::Regex;

/// The number of inputs that are made at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::manual_non_exhaustive, reason = "criterion's own")]
pub enum BatchSize {
    /// As many as a sample has iterations, at most 1024.
    SmallInput,
    /// At most 64.
    LargeInput,
    /// One.
    PerIteration,
    /// The same as `SmallInput`.
    NumBatches(u64),
    /// At most so many.
    NumIterations(u64),
    #[doc(hidden)]
    __NonExhaustive,
}

impl BatchSize {
    /// The most inputs that live at once.
    pub(crate) fn most(self) -> usize {
        match self {
            Self::SmallInput | Self::NumBatches(_) => 1024,
            Self::LargeInput => 64,
            Self::PerIteration | Self::__NonExhaustive => 1,
            Self::NumIterations(most) => most.clamp(1, 1 << 20) as usize,
        }
    }
}

/// The amount that one iteration handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// Bits: eight are a byte.
    Bits(u64),
    /// Bytes, shown in powers of 1024.
    Bytes(u64),
    /// The same here.
    BytesDecimal(u64),
    /// Elements.
    Elements(u64),
    /// Both.
    ElementsAndBytes {
        /// Elements.
        elements: u64,
        /// Bytes.
        bytes: u64,
    },
}

impl Throughput {
    /// Elements and bytes; 0 of what is not stated. Bits that are no whole bytes count as elements.
    pub(crate) fn counts(&self) -> (u64, u64) {
        match *self {
            Self::Bits(bits) if bits % 8 == 0 => (0, bits / 8),
            Self::Bits(elements) | Self::Elements(elements) => (elements, 0),
            Self::Bytes(bytes) | Self::BytesDecimal(bytes) => (0, bytes),
            Self::ElementsAndBytes { elements, bytes } => (elements, bytes),
        }
    }
}

/// Accepted: samples are blocks of about a millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "none has an effect")]
pub enum SamplingMode {
    #[default]
    Auto,
    Linear,
    Flat,
}

/// Accepted: there are no plots.
#[derive(Clone, Debug, Default)]
pub struct PlotConfiguration(());

impl PlotConfiguration {
    /// No effect.
    #[must_use]
    pub fn summary_scale(self, _: AxisScale) -> Self {
        self
    }
}

/// Accepted: there are no plots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "none has an effect")]
pub enum AxisScale {
    #[default]
    Linear,
    Logarithmic,
}

/// Accepted: there are no plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "none has an effect")]
pub enum PlottingBackend {
    Gnuplot,
    Plotters,
    None,
}

/// Accepted: the command line says what is kept and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "none has an effect")]
pub enum Baseline {
    CompareLenient,
    CompareStrict,
    Save,
    Discard,
}

/// A choice of benchmarks, where the command line makes none.
#[derive(Clone, Debug)]
pub enum BenchmarkFilter {
    /// All.
    AcceptAll,
    /// Those whose name it matches.
    Regex(Regex),
    /// The one of this name.
    Exact(String),
    /// None.
    RejectAll,
}

impl BenchmarkFilter {
    /// Tells whether it takes the benchmark.
    pub(crate) fn takes(&self, name: &str) -> bool {
        match self {
            Self::AcceptAll => true,
            Self::Regex(expression) => expression.is_match(name),
            Self::Exact(whole) => whole == name,
            Self::RejectAll => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_iteration_handles_is_elements_and_bytes() {
        assert_eq!(Throughput::Bits(16).counts(), (0, 2));
        assert_eq!(Throughput::Bits(3).counts(), (3, 0));
        assert_eq!(Throughput::BytesDecimal(4).counts(), (0, 4));
        assert_eq!(Throughput::ElementsAndBytes { elements: 1, bytes: 2 }.counts(), (1, 2));
    }

    #[test]
    fn a_filter_takes_what_it_matches() {
        let expression = BenchmarkFilter::Regex(Regex::new("^a/").unwrap());
        assert!(expression.takes("a/b") && !expression.takes("b/a/"));
        assert!(BenchmarkFilter::Exact("a".to_owned()).takes("a") && !BenchmarkFilter::RejectAll.takes("a"));
    }
}
