//! What the type of an axis can do, found out where the type is known.
//!
//! An axis type needs no trait at all. But if it can be parsed, values may come from the command line; if it
//! can be displayed, they have a text; if it can be debugged, a change of meaning under one label is noticed.
//! The expansion asks `(&&&Probe::<T>::NEW).parser()`: method look-up tries the traits of [`kind`] from the
//! most to the least able, since each is implemented for one reference less.

use std::fmt::{Debug, Display};
use std::marker::PhantomData;

/// Stands for the type of an axis.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// The one value.
    pub const NEW: Self = Self(PhantomData);
}

/// The functions that the type of an axis has.
#[derive(Debug)]
pub struct AxisTraits<T> {
    /// Reads a value from text.
    pub parse: Option<kind::Parse<T>>,
    /// The text of a value.
    pub display: Option<kind::Write<T>>,
    /// The meaning of a value, in full.
    pub debug: Option<kind::Write<T>>,
}

/// The traits that the expansion looks methods up in; it imports all of them.
pub mod kind {
    use std::str::FromStr;

    use super::{Debug, Display, Probe};

    /// Reads a `T` from text.
    pub type Parse<T> = fn(&str) -> Result<T, String>;
    /// Writes a `T` as text.
    pub type Write<T> = fn(&T) -> String;

    /// Types that can be parsed.
    pub trait WithFromStr<T> {
        /// Tells how to parse one.
        fn parser(&self) -> Option<Parse<T>>;
    }
    impl<T: FromStr<Err: Display>> WithFromStr<T> for &&Probe<T> {
        fn parser(&self) -> Option<Parse<T>> {
            Some(|text| text.parse().map_err(|error: T::Err| error.to_string()))
        }
    }

    /// Text that lives as long as the program.
    pub trait Text<T> {
        /// Tells how to keep one.
        fn parser(&self) -> Option<Parse<T>>;
    }
    impl Text<&'static str> for &Probe<&'static str> {
        fn parser(&self) -> Option<Parse<&'static str>> {
            // Leaked once per value of a command line: a handful of bytes.
            Some(|text| Ok(text.to_owned().leak()))
        }
    }

    /// Types that take their labels only.
    pub trait Labels<T> {
        /// There is none.
        fn parser(&self) -> Option<Parse<T>>;
    }
    impl<T> Labels<T> for Probe<T> {
        fn parser(&self) -> Option<Parse<T>> {
            None
        }
    }

    /// Types that can be displayed.
    pub trait WithDisplay<T> {
        /// Tells how to display one.
        fn display(&self) -> Option<Write<T>>;
    }
    impl<T: Display> WithDisplay<T> for &Probe<T> {
        fn display(&self) -> Option<Write<T>> {
            Some(T::to_string)
        }
    }

    /// Types that cannot be displayed.
    pub trait WithoutDisplay<T> {
        /// There is none.
        fn display(&self) -> Option<Write<T>>;
    }
    impl<T> WithoutDisplay<T> for Probe<T> {
        fn display(&self) -> Option<Write<T>> {
            None
        }
    }

    /// Types that can be debugged.
    pub trait WithDebug<T> {
        /// Tells how to debug one.
        fn debug(&self) -> Option<Write<T>>;
    }
    impl<T: Debug> WithDebug<T> for &Probe<T> {
        fn debug(&self) -> Option<Write<T>> {
            Some(|value| format!("{value:?}"))
        }
    }

    /// Types that cannot be debugged.
    pub trait WithoutDebug<T> {
        /// There is none.
        fn debug(&self) -> Option<Write<T>>;
    }
    impl<T> WithoutDebug<T> for Probe<T> {
        fn debug(&self) -> Option<Write<T>> {
            None
        }
    }
}
