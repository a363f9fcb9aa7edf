//! Counters of what each iteration processes.

use std::any::Any;

pub(super) use sealed::Sealed;

/// A kind of thing that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterKind {
    /// Bytes.
    Bytes,
    /// Characters.
    Chars,
    /// Cycles of whatever goes round.
    Cycles,
    /// Items.
    Items,
}

mod sealed {
    /// Nobody else counts.
    pub trait Sealed {
        /// The kind of thing that it counts.
        const KIND: super::CounterKind;

        /// The number of them.
        fn count(&self) -> u64;

        /// So many.
        fn of(count: u64) -> Self;
    }
}

/// So many things of one kind, processed in each iteration.
pub trait Counter: Sized + Any + Sealed {}

/// A value that becomes a counter: one, or a number, which counts items.
pub trait IntoCounter {
    /// The counter that it becomes.
    type Counter: Counter;

    /// Becomes it.
    fn into_counter(self) -> Self::Counter;
}

impl<C: Counter> IntoCounter for C {
    type Counter = C;

    fn into_counter(self) -> C {
        self
    }
}

/// A number of things: `u8` to `u64` and `usize`.
pub trait CountUInt: Copy + Any {
    /// The same number.
    fn count(self) -> u64;
}

/// A value that tells a number of things: a [`CountUInt`], or a reference to one.
pub trait AsCountUInt {
    /// The number.
    fn as_count(&self) -> u64;
}

impl<T: AsCountUInt> AsCountUInt for &T {
    fn as_count(&self) -> u64 {
        T::as_count(self)
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(
            impl CountUInt for $number {
                fn count(self) -> u64 {
                    self as u64
                }
            }

            impl AsCountUInt for $number {
                fn as_count(&self) -> u64 {
                    *self as u64
                }
            }

            impl IntoCounter for $number {
                type Counter = ItemsCount;

                fn into_counter(self) -> ItemsCount {
                    ItemsCount::new(self)
                }
            }
        )*
    };
}

numbers!(u8, u16, u32, u64, usize);

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident: $kind:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
            pub struct $name(u64);

            impl Sealed for $name {
                const KIND: CounterKind = CounterKind::$kind;

                fn count(&self) -> u64 {
                    self.0
                }

                fn of(count: u64) -> Self {
                    Self(count)
                }
            }

            impl Counter for $name {}

            impl $name {
                /// So many.
                pub fn new<N: CountUInt>(count: N) -> Self {
                    Self(count.count())
                }
            }

            impl<N: AsCountUInt> From<N> for $name {
                fn from(count: N) -> Self {
                    Self(count.as_count())
                }
            }
        )*
    };
}

counters! {
    /// Bytes: shown as bytes a second.
    BytesCount: Bytes,
    /// Characters: shown as elements a second.
    CharsCount: Chars,
    /// Cycles of whatever goes round: shown as elements a second.
    CyclesCount: Cycles,
    /// Items: shown as elements a second.
    ItemsCount: Items,
}

macro_rules! bytes_of_numbers {
    ($($number:ident),*) => {
        $(
            #[doc = concat!("The bytes of so many `", stringify!($number), "`.")]
            pub const fn $number(count: usize) -> Self {
                Self::of_many::<$number>(count)
            }
        )*
    };
}

impl BytesCount {
    /// The size of a type.
    pub const fn of<T>() -> Self {
        Self(size_of::<T>() as u64)
    }

    /// The size of so many values of a type.
    ///
    /// # Panics
    /// If that is more than a `u64` holds.
    pub const fn of_many<T>(count: usize) -> Self {
        match (size_of::<T>() as u64).checked_mul(count as u64) {
            Some(bytes) => Self(bytes),
            None => panic!("so many bytes are more than a u64 holds"),
        }
    }

    /// The size of a value, without what it points to.
    pub fn of_val<T: ?Sized>(value: &T) -> Self {
        Self(size_of_val(value) as u64)
    }

    /// The size of all items, which are gone through for it.
    pub fn of_iter<T, I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::of_many::<T>(items.into_iter().count())
    }

    /// The bytes of a text.
    pub fn of_str<S: ?Sized + AsRef<str>>(text: &S) -> Self {
        Self::of_val(text.as_ref())
    }

    /// The size of all values of a slice.
    pub fn of_slice<T, S: ?Sized + AsRef<[T]>>(values: &S) -> Self {
        Self::of_val(values.as_ref())
    }

    bytes_of_numbers!(f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, isize, usize);
}

impl CharsCount {
    /// The characters of a text.
    pub fn of_str<S: ?Sized + AsRef<str>>(text: &S) -> Self {
        Self::new(text.as_ref().chars().count())
    }
}

impl ItemsCount {
    /// All items, which are gone through for it.
    pub fn of_iter<T, I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::new(items.into_iter().count())
    }
}

/// The powers in which bytes are shown: accepted, without effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BytesFormat {
    /// Of 1000.
    #[default]
    Decimal,
    /// Of 1024.
    Binary,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_count_what_they_are_called_by() {
        let numbers = vec![1_u32, 2, 3];
        assert_eq!(BytesCount::of_slice(&numbers), BytesCount::u32(3));
        assert_eq!(BytesCount::of_iter(numbers.iter().copied()), BytesCount::new(12_u8));
        assert_eq!(BytesCount::of_str("grün").count(), 5);
        assert_eq!(CharsCount::of_str(&String::from("grün")).count(), 4);
        assert_eq!(ItemsCount::of_iter(&numbers), 3_usize.into_counter());
        assert_eq!(CyclesCount::from(&7_u64).count(), 7);
    }
}
