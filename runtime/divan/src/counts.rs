//! What a bench counts, and as what it is shown.

use super::counter::{CounterKind, IntoCounter, Sealed};
use weighbridge::{Bencher, Error};

/// At most one number of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    bytes: Option<u64>,
    chars: Option<u64>,
    cycles: Option<u64>,
    items: Option<u64>,
}

impl Counts {
    /// Counts this as well, instead of what was counted of its kind.
    #[must_use]
    pub fn with(mut self, counter: impl IntoCounter) -> Self {
        self.set(counter);
        self
    }

    pub(super) fn set<C: IntoCounter>(&mut self, counter: C) {
        *self.slot(C::Counter::KIND) = Some(counter.into_counter().count());
    }

    pub(super) fn forget(&mut self, kind: CounterKind) {
        *self.slot(kind) = None;
    }

    fn slot(&mut self, kind: CounterKind) -> &mut Option<u64> {
        match kind {
            CounterKind::Bytes => &mut self.bytes,
            CounterKind::Chars => &mut self.chars,
            CounterKind::Cycles => &mut self.cycles,
            CounterKind::Items => &mut self.items,
        }
    }

    /// Fills in from `other` the kinds that are not counted here.
    #[must_use]
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.or(other.bytes),
            chars: self.chars.or(other.chars),
            cycles: self.cycles.or(other.cycles),
            items: self.items.or(other.items),
        }
    }

    /// States to the bencher what is counted. `by_input` are the kinds that are counted over inputs instead.
    ///
    /// # Errors
    /// When two kinds would be shown as elements.
    pub(super) fn state(&self, bencher: &Bencher, by_input: &[CounterKind]) -> Result<(), Error> {
        let named = [
            (CounterKind::Items, self.items),
            (CounterKind::Chars, self.chars),
            (CounterKind::Cycles, self.cycles),
        ];
        let stated: Vec<(CounterKind, Option<u64>)> =
            named.into_iter().filter(|(kind, count)| count.is_some() || by_input.contains(kind)).collect();
        if let [(first, _), (second, _), ..] = stated[..] {
            return Err(Error::new(format!(
                "`{first:?}Count` and `{second:?}Count` would both be shown as elements: count one of them"
            )));
        }
        let elements = stated.first().and_then(|(_, count)| *count);
        bencher.elements(elements.unwrap_or(0) as usize).bytes(self.bytes.unwrap_or(0) as usize);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::counter::{BytesCount, CharsCount, ItemsCount};
    use super::*;
    use weighbridge::style::{Budget, Purpose, Settings};

    #[test]
    fn the_last_counter_of_a_kind_and_that_of_the_bench_itself_count() {
        let of_group = Counts::default().with(BytesCount::new(3_u64)).with(7_u64);
        let own = Counts::default().with(ItemsCount::new(1_u64)).with(ItemsCount::new(2_u64));
        assert_eq!(own.or(of_group), Counts { bytes: Some(3), items: Some(2), ..Counts::default() });
    }

    #[test]
    fn two_kinds_of_elements_are_refused_by_name() {
        let bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
        let chars = Counts::default().with(CharsCount::new(3_u64));
        assert!(chars.with(BytesCount::new(4_u64)).state(&bencher, &[CounterKind::Bytes]).is_ok());
        let refused = chars.state(&bencher, &[CounterKind::Items]).unwrap_err().to_string();
        assert_eq!(
            refused,
            "`ItemsCount` and `CharsCount` would both be shown as elements: count one of them"
        );
    }
}
