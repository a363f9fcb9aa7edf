//! Axes, their values, and the points they span.

use std::any::type_name;
use std::fmt::{self, Display};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::AxisTraits;
use crate::bencher;

/// One sweep axis of a scenario, as the stages see it: the type is known only to what is inside.
#[derive(Clone)]
pub struct Axis {
    /// The name: the parameter or field it belongs to.
    pub name: &'static str,
    /// True if a plain run takes every label, or every value beside one that is implied, and not the first
    /// alone.
    pub all: bool,
    /// True if the first value is implied: it stands in no point and so in no id. An axis that comes later
    /// leaves the names, and with them the baselines, of the cases that were there.
    pub implied: bool,
    /// The form of a value, for errors.
    pub form: String,
    /// The values that the author wrote.
    pub values: Vec<AxisValue>,
    typed: Arc<dyn ErasedAxis>,
}

impl Axis {
    /// The value that this text stands for: a label, else the text of one of the author's values, else
    /// whatever the axis type's own `FromStr` takes.
    ///
    /// # Errors
    /// Says why the text is no value, and what is.
    pub fn parse(&self, text: &str) -> Result<AxisValue, String> {
        if let Some(value) = self.values.iter().find(|value| value.text == text) {
            return Ok(value.clone());
        }
        self.typed.parse(text).map_err(|why| match why {
            Some(why) => format!("{why}; it takes {}", self.form),
            None => format!("it takes {}", self.form),
        })
    }

    /// Tells whether a point without this axis has this value.
    pub fn implies(&self, value: &AxisValue) -> bool {
        self.implied && self.values.first() == Some(value)
    }

    /// Tells whether its values are labelled variants.
    pub fn is_labelled(&self) -> bool {
        self.values.iter().any(|value| value.labelled)
    }

    /// The values of a plain run: the first of an axis that is labelled or implies it, unless it says `all`,
    /// and all of another.
    pub fn default_values(&self) -> &[AxisValue] {
        let first_alone = (self.is_labelled() || self.implied) && !self.all;
        if first_alone { &self.values[..1] } else { &self.values }
    }
}

impl fmt::Debug for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Axis")
            .field("name", &self.name)
            .field("all", &self.all)
            .field("implied", &self.implied)
            .field("form", &self.form)
            .field("values", &self.values)
            .finish_non_exhaustive()
    }
}

/// One value of an axis, as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AxisValue {
    /// The axis.
    pub axis: String,
    /// The label, else the `Display` of the value.
    pub text: String,
    /// True if the text is a label.
    pub labelled: bool,
    /// The `Debug` of the value, where it has one: what is meant by the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug: Option<String>,
}

impl Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.labelled { f.write_str(&self.text) } else { write!(f, "{}={}", self.axis, self.text) }
    }
}

/// One value for each axis, in the order in which the scenario declares them; none where the axis implies it.
///
/// ```
/// use weighbridge::{AxisValue, Point};
///
/// let value = |axis: &str, text: &str, labelled| AxisValue {
///     axis: axis.to_owned(),
///     text: text.to_owned(),
///     labelled,
///     debug: None,
/// };
/// let point: Point = [value("variant", "small", true), value("threads", "2", false)].into_iter().collect();
/// assert_eq!(point.to_string(), "small/threads=2");
/// assert_eq!(point.get("threads").map(|value| &*value.text), Some("2"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point(pub Vec<AxisValue>);

impl Point {
    /// The value on this axis.
    pub fn get(&self, axis: &str) -> Option<&AxisValue> {
        self.0.iter().find(|value| value.axis == axis)
    }

    /// The values, in the order of the axes.
    pub fn iter(&self) -> std::slice::Iter<'_, AxisValue> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Point {
    type Item = &'a AxisValue;
    type IntoIter = std::slice::Iter<'a, AxisValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<AxisValue> for Point {
    fn from_iter<I: IntoIterator<Item = AxisValue>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.iter().enumerate() {
            let between = if index == 0 { "" } else { "/" };
            write!(f, "{between}{value}")?;
        }
        Ok(())
    }
}

/// An axis as the expansion writes it down.
#[derive(Debug)]
pub struct TypedAxis<T> {
    /// The name.
    pub name: &'static str,
    /// True if a plain run takes every value where it would take the first alone.
    pub all: bool,
    /// True if the first value stands in no point.
    pub implied: bool,
    /// One entry per value: its label, if it has one.
    pub labels: &'static [Option<&'static str>],
    /// Makes the value with this index. Called anew for every use, so `T` needs to be nothing but `'static`.
    pub make: fn(usize) -> T,
    /// The functions of `T` that are known.
    pub traits: AxisTraits<T>,
}

impl<T: 'static> TypedAxis<T> {
    /// The axis as the stages see it.
    pub fn erase(self) -> Axis {
        Axis {
            name: self.name,
            all: self.all,
            implied: self.implied,
            form: form(self.labels, self.traits.parse.is_some(), type_name::<T>(), || self.text(0)),
            values: (0..self.labels.len()).map(|index| self.value(index)).collect(),
            typed: Arc::new(self),
        }
    }

    /// The value that the point has on this axis, or that is implied, built anew.
    ///
    /// # Errors
    /// When the point lacks an axis that implies nothing, or its text is no value of it.
    pub fn take(&self, point: &Point) -> Result<T, bencher::Error> {
        let name = self.name;
        let Some(value) = point.get(name) else {
            if self.implied {
                return Ok((self.make)(0));
            }
            return Err(bencher::Error::new(format!("the point `{point}` has no axis `{name}`")));
        };
        if let Some(index) = self.index_of(value) {
            return Ok((self.make)(index));
        }
        let text = &value.text;
        match self.traits.parse {
            Some(parse) if !value.labelled => parse(text)
                .map_err(|why| bencher::Error::new(format!("`{text}` is no value of axis `{name}`: {why}"))),
            _ => Err(bencher::Error::new(format!("axis `{name}` has no value `{text}`"))),
        }
    }

    /// Returns the index of the point's value among the author's: for an axis that takes no others.
    ///
    /// # Errors
    /// When the point lacks the axis, or has another value.
    pub fn number(&self, point: &Point) -> Result<usize, bencher::Error> {
        let name = self.name;
        let Some(value) = point.get(name) else {
            return Err(bencher::Error::new(format!("the point `{point}` has no axis `{name}`")));
        };
        let unknown = || bencher::Error::new(format!("axis `{name}` has no value `{}`", value.text));
        self.index_of(value).ok_or_else(unknown)
    }

    fn index_of(&self, value: &AxisValue) -> Option<usize> {
        let written = |index: &usize| {
            self.labels[*index].is_some() == value.labelled && self.text(*index) == value.text
        };
        (0..self.labels.len()).find(written)
    }

    fn value(&self, index: usize) -> AxisValue {
        let debug = self.traits.debug.map(|debug| debug(&(self.make)(index)));
        self.described(self.text(index), self.labels[index].is_some(), debug)
    }

    fn text(&self, index: usize) -> String {
        match (self.labels[index], self.traits.display) {
            (Some(label), _) => label.to_owned(),
            (None, Some(display)) => display(&(self.make)(index)),
            (None, None) => unreachable!("the expansion asks `Display` of every unlabelled value"),
        }
    }

    fn described(&self, text: String, labelled: bool, debug: Option<String>) -> AxisValue {
        AxisValue { axis: self.name.to_owned(), text, labelled, debug }
    }
}

/// A value that exists only as the author wrote it, such as a type: the command line names it, and makes no
/// other.
pub struct WrittenValue<T>(pub T);

impl<T: Display> Display for WrittenValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Display> fmt::Debug for WrittenValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An axis without its type.
trait ErasedAxis: Send + Sync {
    /// A text that the author did not write. The error is the type's own, `None` when it takes its labels
    /// only.
    fn parse(&self, text: &str) -> Result<AxisValue, Option<String>>;
}

impl<T: 'static> ErasedAxis for TypedAxis<T> {
    fn parse(&self, text: &str) -> Result<AxisValue, Option<String>> {
        let parse = self.traits.parse.ok_or(None)?;
        let value = parse(text)?;
        // The text of the parsed value: `0007` and `7` are one point.
        let canonical = self.traits.display.map_or_else(|| text.to_owned(), |display| display(&value));
        let debug = self.traits.debug.map(|debug| debug(&value));
        Ok(self.described(canonical, false, debug))
    }
}

/// Returns the form of an axis's values: ``one of `small`, `large` ``, or ``a `usize`, such as `7` ``.
fn form(labels: &[Option<&str>], parsed: bool, type_name: &str, first: impl FnOnce() -> String) -> String {
    let quoted: Vec<String> = labels.iter().flatten().map(|label| format!("`{label}`")).collect();
    let type_name = without_modules(type_name);
    match (quoted.is_empty(), parsed) {
        (true, true) => format!("a `{type_name}`, such as `{}`", first()),
        (true, false) => "only the values that its author wrote".to_owned(),
        (false, true) => format!("{}, or a `{type_name}`", quoted.join(", ")),
        (false, false) => format!("one of {}", quoted.join(", ")),
    }
}

/// The name of a type without the modules it lives in.
pub fn without_modules(type_name: &str) -> String {
    let mut short = String::new();
    for piece in type_name.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        short.push_str(piece.rsplit("::").next().unwrap_or(piece));
    }
    short
}

/// Types whose values need no label.
#[diagnostic::on_unimplemented(
    message = "an axis value of type `{Self}` needs a label",
    label = "write `name = value`",
    note = "without a label the value is shown by its `Display`, which `{Self}` does not have"
)]
pub trait DisplayValue {}

#[diagnostic::do_not_recommend]
impl<T: Display> DisplayValue for T {}

/// A value without a label, as it is. Its bound is what the compiler tells the author about.
pub fn plain<T: DisplayValue>(value: T) -> T {
    value
}

#[cfg(test)]
mod tests {
    use super::super::{Probe, kind::*};
    use super::*;

    fn lengths() -> TypedAxis<usize> {
        TypedAxis {
            name: "len",
            all: false,
            implied: false,
            labels: &[None, None],
            make: |index| [1_000, 7][index],
            traits: AxisTraits {
                parse: (&&&Probe::<usize>::NEW).parser(),
                display: (&&Probe::<usize>::NEW).display(),
                debug: (&&Probe::<usize>::NEW).debug(),
            },
        }
    }

    /// Neither `Clone`, `Display` nor `Debug`.
    struct Images(usize);

    #[expect(clippy::needless_borrow, reason = "as the expansion writes it for every type")]
    fn variants() -> TypedAxis<Images> {
        TypedAxis {
            name: "variant",
            all: false,
            implied: false,
            labels: &[Some("small"), Some("224px")],
            make: |index| Images([32, 224][index]),
            traits: AxisTraits {
                parse: (&&&Probe::<Images>::NEW).parser(),
                display: (&&Probe::<Images>::NEW).display(),
                debug: (&&Probe::<Images>::NEW).debug(),
            },
        }
    }

    #[test]
    fn a_label_stands_for_its_value() {
        let axis = variants().erase();
        let value = axis.parse("224px").unwrap();
        assert_eq!((value.text.as_str(), value.labelled), ("224px", true));
        assert_eq!(variants().take(&Point(vec![value])).unwrap().0, 224);
    }

    #[test]
    fn a_value_has_one_text_however_it_is_spelt() {
        let axis = lengths().erase();
        assert_eq!(axis.parse("0007").unwrap(), axis.values[1]);
        assert_eq!(axis.parse("12").unwrap().to_string(), "len=12");
    }

    #[test]
    fn a_bad_value_is_told_with_the_accepted_form() {
        assert_eq!(
            lengths().erase().parse("many").unwrap_err(),
            "invalid digit found in string; it takes a `usize`, such as `1000`"
        );
        assert_eq!(variants().erase().parse("huge").unwrap_err(), "it takes one of `small`, `224px`");
    }

    #[test]
    fn a_point_gives_back_the_typed_values_in_another_process() {
        let point: Point = [variants().erase().values[0].clone(), lengths().erase().parse("12").unwrap()]
            .into_iter()
            .collect();
        assert_eq!(point.to_string(), "small/len=12");
        let sent = serde_json::to_string(&point).unwrap();
        let received: Point = serde_json::from_str(&sent).unwrap();
        assert_eq!(received, point);
        assert_eq!(variants().take(&received).unwrap().0, 32);
        assert_eq!(lengths().take(&received).unwrap(), 12);
    }

    #[test]
    fn a_point_without_the_axis_or_with_a_strange_value_is_an_error() {
        assert_eq!(
            lengths().take(&Point::default()).unwrap_err().to_string(),
            "the point `` has no axis `len`"
        );
        let strange = AxisValue { text: "huge".to_owned(), ..variants().erase().values[0].clone() };
        assert_eq!(
            variants().take(&Point(vec![strange])).err().unwrap().to_string(),
            "axis `variant` has no value `huge`"
        );
    }

    #[test]
    fn a_point_without_an_implied_axis_has_its_first_value() {
        let implied = || TypedAxis { implied: true, ..variants() };
        assert_eq!(implied().take(&Point::default()).unwrap().0, 32);
        let axis = implied().erase();
        assert_eq!(axis.values.iter().map(|value| axis.implies(value)).collect::<Vec<_>>(), [true, false]);
        let plain = variants().erase();
        assert!(!plain.implies(&plain.values[0]));
    }

    #[test]
    fn a_plain_run_takes_the_first_label_what_is_implied_or_all_values() {
        assert_eq!(variants().erase().default_values().len(), 1);
        assert_eq!(TypedAxis { all: true, ..variants() }.erase().default_values().len(), 2);
        assert_eq!(lengths().erase().default_values().len(), 2);
        assert_eq!(TypedAxis { implied: true, ..lengths() }.erase().default_values().len(), 1);
        assert_eq!(TypedAxis { implied: true, all: true, ..lengths() }.erase().default_values().len(), 2);
    }

    #[test]
    fn what_can_be_debugged_keeps_what_a_label_means() {
        assert_eq!(lengths().erase().values[0].debug.as_deref(), Some("1000"));
        assert_eq!(variants().erase().values[0].debug, None);
    }

    #[test]
    fn the_name_of_a_type_is_told_without_its_modules() {
        assert_eq!(without_modules("core::option::Option<alloc::string::String>"), "Option<String>");
        assert_eq!(without_modules("&str"), "&str");
    }
}
