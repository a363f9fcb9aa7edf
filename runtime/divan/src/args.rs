//! Arguments: values that a bench is run with, each under its text.

use std::borrow::Cow;
use std::fmt::{self, Debug, Display};

use super::Bencher;

/// The body of a bench, with one choice of its generic parameters.
pub enum DivanBody {
    /// It takes no arguments.
    Plain(fn(Bencher<'_, '_>)),
    /// It does: made anew for each use, so that they are made where they are used alone.
    Args(fn() -> Vec<Arg>),
}

impl Debug for DivanBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Args(_) => "Args",
        })
    }
}

/// An argument, and the bench that is run with it.
pub struct Arg {
    pub(super) text: String,
    pub(super) run: Box<dyn Fn(Bencher<'_, '_>)>,
}

impl Debug for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arg").field("text", &self.text).finish_non_exhaustive()
    }
}

/// The arguments of a list. Where they come from is hidden from the optimiser.
pub fn args<A: 'static, L: IntoIterator<Item = A>>(
    list: L,
    text: fn(&A) -> String,
    run: fn(Bencher<'_, '_>, &A),
) -> Vec<Arg> {
    let of = |value| {
        let (text, value) = (text(&value), std::hint::black_box(value));
        Arg { text, run: Box::new(move |bencher| run(bencher, &value)) }
    };
    list.into_iter().map(of).collect()
}

/// A value whose text is asked for: its `Display`, else its `Debug`.
pub struct ArgLabel<'a, A>(pub &'a A);

impl<A> Debug for ArgLabel<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text")
    }
}

/// A value that can be displayed: found first.
pub trait DisplayLabel {
    /// The text.
    fn text(&self) -> String;
}

/// A value that has only a `Debug`: found where it cannot be displayed.
pub trait DebugLabel {
    /// The text.
    fn text(&self) -> String;
}

impl<A: Display> DisplayLabel for &ArgLabel<'_, A> {
    fn text(&self) -> String {
        self.0.to_string()
    }
}

impl<A: Debug> DebugLabel for ArgLabel<'_, A> {
    fn text(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A value of a list, as the bench's parameter takes it: itself, what it refers to, a reference to it, or its
/// text.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` cannot be given to a parameter of type `{P}`",
    label = "`args` holds `{Self}`",
    note = "a value is given as it is if it is `Copy`, by reference, or as `&str` if it is a text"
)]
pub trait ArgFor<'a, P> {
    /// Gives it.
    fn give(&'a self) -> P;
}

impl<A: Copy> ArgFor<'_, A> for A {
    fn give(&self) -> A {
        *self
    }
}

impl<'a, A> ArgFor<'a, &'a A> for A {
    fn give(&'a self) -> &'a A {
        self
    }
}

impl<A: Copy> ArgFor<'_, A> for &A {
    fn give(&self) -> A {
        **self
    }
}

macro_rules! texts {
    ($($text:ty),*) => {
        $(
            impl<'a> ArgFor<'a, &'a str> for $text {
                fn give(&'a self) -> &'a str {
                    self
                }
            }

            impl<'a> ArgFor<'a, &'a str> for &$text {
                fn give(&'a self) -> &'a str {
                    self
                }
            }
        )*
    };
}

texts!(String, Box<str>, Cow<'static, str>, std::rc::Rc<str>, std::sync::Arc<str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_given_as_the_parameter_takes_it() {
        let takes_number: fn(usize) -> usize = |number| number;
        let takes_text: fn(&str) -> usize = str::len;
        let takes_reference: fn(&String) -> usize = String::len;
        let text = String::from("four");
        assert_eq!(takes_number(ArgFor::give(&7)), 7);
        assert_eq!(takes_number(ArgFor::give(&&7)), 7);
        assert_eq!(takes_text(ArgFor::give(&text)) + takes_text(ArgFor::give(&"ab")), 6);
        assert_eq!(takes_reference(ArgFor::give(&text)), 4);
    }

    #[test]
    #[expect(clippy::needless_borrow, reason = "as the expansion writes it for every type")]
    fn a_value_is_called_by_its_display_else_by_its_debug() {
        #[derive(Debug)]
        struct Large;
        assert_eq!((&&ArgLabel(&Large)).text(), "Large");
        assert_eq!((&&ArgLabel(&"a")).text(), "a", "and not in quotes");
    }
}
