//! The options of an attribute: `key = value, key = value`.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, ExprLit, Lit, LitInt, LitStr, Path, Token};

use crate::errors::Errors;

/// A key that an attribute knows, and how one writes it.
pub(crate) struct AttrKey {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
}

/// The key whose values are types.
const TYPES: &str = "types";

/// The value behind the `=` of an option.
enum OptionValue {
    Expression(Expr),
    Types(TokenStream),
}

/// The options that were given, each once.
pub(crate) struct AttrOptions {
    given: Vec<(Ident, Expr)>,
    /// The list between the brackets of `types = [...]`, which is no expression.
    types: Option<(Ident, TokenStream)>,
    /// Keys that were meant and told as mistakes: nobody is told a second time that they are missing.
    meant: Vec<&'static str>,
    known: &'static [AttrKey],
}

impl AttrOptions {
    /// Reads `key = value, ...`. A mistake in one option does not hide those in the next.
    pub(crate) fn parse(tokens: TokenStream, known: &'static [AttrKey], errors: &mut Errors) -> Self {
        let mut options = Self { given: Vec::new(), types: None, meant: Vec::new(), known };
        let read = |input: ParseStream<'_>| {
            while !input.is_empty() {
                if let Err(error) = options.parse_one(input, errors) {
                    errors.add(error);
                    skip_to_comma(input);
                }
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = read.parse2(tokens) {
            errors.add(error);
        }
        options
    }

    fn parse_one(&mut self, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        let begin = input.fork();
        let Ok(key) = input.call(Ident::parse_any) else {
            let found: TokenTree = begin.parse()?;
            let first = &self.known[0];
            self.meant.push(first.name);
            let message = format!("options are written `key = value`, such as `{}`", first.example);
            return Err(syn::Error::new_spanned(found, message));
        };
        let name = key.to_string();
        let names = self.known.iter().map(|known| known.name);
        let Some(known) = self.known.iter().find(|known| known.name == name) else {
            self.meant.extend(nearest(&name, names.clone()));
            skip_to_comma(input);
            return Err(syn::Error::new_spanned(key, unknown("option", &name, names)));
        };
        self.meant.push(known.name);
        if !input.peek(Token![=]) {
            skip_to_comma(input);
            return Err(syn::Error::new_spanned(key, format!("write `{}`", known.example)));
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            let message = format!("the value is missing: write `{}`", known.example);
            return Err(syn::Error::new_spanned(key, message));
        }
        let value = if name == TYPES {
            match input.parse::<TokenTree>()? {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                    OptionValue::Types(group.stream())
                }
                other => {
                    skip_to_comma(input);
                    return Err(syn::Error::new_spanned(
                        other,
                        format!("`{name}` is a list: write `{}`", known.example),
                    ));
                }
            }
        } else {
            OptionValue::Expression(ungrouped(input.parse()?))
        };
        if !input.is_empty() && !input.peek(Token![,]) {
            let rest: TokenTree = input.parse()?;
            skip_to_comma(input);
            return Err(syn::Error::new_spanned(rest, "expected `,` before the next option"));
        }
        if self.key(&name).is_some() {
            errors.at(key, format!("`{name}` is given twice: remove one"));
            return Ok(());
        }
        match value {
            OptionValue::Expression(value) => self.given.push((key, value)),
            OptionValue::Types(types) => self.types = Some((key, types)),
        }
        Ok(())
    }

    /// Tells whether the author did not even try to give the option.
    pub(crate) fn is_missing(&self, name: &str) -> bool {
        !self.meant.contains(&name)
    }

    /// The key of the option where it is given, for mistakes about it as a whole.
    pub(crate) fn key(&self, name: &str) -> Option<&Ident> {
        let keys = self.given.iter().map(|(key, _)| key).chain(self.types.iter().map(|(key, _)| key));
        keys.into_iter().find(|key| *key == name)
    }

    /// The list between the brackets of `types = [...]`.
    pub(crate) fn types(&self) -> Option<&TokenStream> {
        self.types.as_ref().map(|(_, types)| types)
    }

    /// Whatever stands after the key.
    pub(crate) fn expression(&self, name: &str) -> Option<&Expr> {
        self.given.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A text in quotes.
    pub(crate) fn text(&self, name: &str, errors: &mut Errors) -> Option<LitStr> {
        let value = self.expression(name)?;
        let text = as_text(value);
        if text.is_none() {
            errors.at(value, format!("`{name}` is a text in quotes: write `{}`", self.example(name)));
        }
        text
    }

    /// A whole number.
    pub(crate) fn number(&self, name: &str, errors: &mut Errors) -> Option<LitInt> {
        let value = self.expression(name)?;
        if let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = value {
            return Some(number.clone());
        }
        errors.at(value, format!("`{name}` is a whole number: write `{}`", self.example(name)));
        None
    }

    /// A time in seconds that is above zero.
    pub(crate) fn seconds(&self, name: &str, errors: &mut Errors) -> Option<f64> {
        let value = self.expression(name)?;
        let number = match value {
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
            Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok(),
            _ => None,
        };
        let number = number.filter(|seconds: &f64| *seconds > 0.0);
        if number.is_none() {
            errors
                .at(value, format!("`{name}` is a time in seconds above 0: write `{}`", self.example(name)));
        }
        number
    }

    /// A whole number above zero.
    pub(crate) fn count(&self, name: &str, errors: &mut Errors) -> Option<LitInt> {
        let number = self.number(name, errors)?;
        if number.base10_parse::<u32>().is_ok_and(|number| number > 0) {
            return Some(number);
        }
        errors.at(&number, format!("`{name}` is at least 1: write `{}`", self.example(name)));
        None
    }

    /// The expressions of a list in brackets.
    pub(crate) fn list(&self, name: &str, errors: &mut Errors) -> Vec<Expr> {
        match self.expression(name) {
            None => Vec::new(),
            Some(Expr::Array(array)) => array.elems.iter().cloned().collect(),
            Some(value) => {
                errors.at(value, format!("`{name}` is a list: write `{}`", self.example(name)));
                Vec::new()
            }
        }
    }

    /// `true` or `false`.
    pub(crate) fn truth(&self, name: &str, errors: &mut Errors) -> Option<bool> {
        let value = self.expression(name)?;
        if let Expr::Lit(ExprLit { lit: Lit::Bool(truth), .. }) = value {
            return Some(truth.value);
        }
        errors.at(value, format!("`{name}` is `true` or `false`: write `{}`", self.example(name)));
        None
    }

    /// The path of a function, or of a crate.
    pub(crate) fn path(&self, name: &str, errors: &mut Errors) -> Option<Expr> {
        let value = self.expression(name)?;
        if matches!(value, Expr::Path(_)) {
            return Some(value.clone());
        }
        let (what, instead) = match value {
            Expr::Call(call) => ("call", format!("{name} = {}", tight(&call.func))),
            Expr::Closure(_) => ("closure", self.example(name).to_owned()),
            _ => ("value", self.example(name).to_owned()),
        };
        errors.at(value, format!("`{name}` takes a path, not a {what}: write `{instead}`"));
        None
    }

    /// Texts in quotes, in brackets.
    pub(crate) fn texts(&self, name: &str, errors: &mut Errors) -> Vec<LitStr> {
        let Some(value) = self.expression(name) else { return Vec::new() };
        let Expr::Array(array) = value else {
            errors.at(value, format!("`{name}` is a list: write `{}`", self.example(name)));
            return Vec::new();
        };
        let mut texts = Vec::new();
        for element in &array.elems {
            match as_text(element) {
                Some(text) => texts.push(text),
                None => errors
                    .at(element, format!("`{name}` holds texts in quotes: write `{}`", self.example(name))),
            }
        }
        texts
    }

    /// The path of the runtime crate: `crate = path`, else what the author's manifest calls it.
    pub(crate) fn runtime(&self, errors: &mut Errors) -> Path {
        match self.path("crate", errors) {
            Some(Expr::Path(path)) => path.path,
            _ => crate::dependency::runtime(),
        }
    }

    fn example(&self, name: &str) -> &'static str {
        self.known.iter().find(|known| known.name == name).map_or("", |known| known.example)
    }
}

/// The words about a name that is none of the known ones.
pub(crate) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(name, known.clone()) {
        return format!("unknown {what} `{name}`: did you mean `{near}`?");
    }
    let known: Vec<String> = known.map(|known| format!("`{known}`")).collect();
    format!("unknown {what} `{name}`: the known ones are {}", known.join(", "))
}

/// The known name that was probably meant: at most every third letter of it is another.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let by_distance = known.map(|known| (strsim::osa_distance(name, known), known));
    by_distance.filter(|(distance, known)| *distance <= known.len().div_ceil(3)).min().map(|(_, known)| known)
}

/// Tokens as text, without the spaces that printing them puts between.
pub(crate) fn tight(tokens: impl ToTokens) -> String {
    tokens.to_token_stream().to_string().replace(' ', "")
}

/// The first line of the documentation: what listings show.
pub(crate) fn description(attributes: &[syn::Attribute]) -> String {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| attribute.meta.require_name_value().ok())
        .filter_map(|doc| as_text(&doc.value))
        .find_map(|text| {
            let text = text.value();
            let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
            Some(line.to_owned())
        })
        .unwrap_or_default()
}

/// Refuses the second of two equal attributes on one item: the outer one sees the inner.
pub(crate) fn refuse_second(name: &str, attributes: &[syn::Attribute], errors: &mut Errors) {
    for attribute in attributes {
        if attribute.path().segments.last().is_some_and(|last| last.ident == name) {
            errors.at(attribute, format!("a second `#[{name}]` on the same item: remove one"));
        }
    }
}

/// Refuses a text that listings, ids or the command line could not show. `what` begins the sentence.
pub(crate) fn refuse_unshowable(what: &str, text: &LitStr, errors: &mut Errors) {
    let value = text.value();
    if value.trim().is_empty() {
        errors.at(text, format!("{what} is empty"));
    } else if value.trim() != value {
        errors.at(text, format!("{what} begins or ends with a space"));
    } else if let Some(bad) = value.chars().find(|character| character.is_control() || *character == '/') {
        errors.at(text, format!("{what} holds {bad:?}, which ids cannot show"));
    } else if !value.contains(|character: char| character.is_ascii_alphanumeric()) {
        errors.at(text, format!("{what} holds no letter and no digit of ASCII: ids could not tell it apart"));
    }
}

/// Without the invisible brackets that a value has when a `macro_rules!` macro hands it on.
fn ungrouped(value: Expr) -> Expr {
    match value {
        Expr::Group(group) => ungrouped(*group.expr),
        Expr::Array(mut array) => {
            array.elems = array.elems.into_iter().map(ungrouped).collect();
            Expr::Array(array)
        }
        other => other,
    }
}

fn as_text(value: &Expr) -> Option<LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// Reads `value, value, ...` one by one; a mistake in one does not hide those in the next.
pub(crate) fn parse_each<T>(
    tokens: TokenStream,
    errors: &mut Errors,
    mut parse: impl FnMut(ParseStream<'_>) -> syn::Result<T>,
) -> Vec<T> {
    let mut parsed = Vec::new();
    let read = |input: ParseStream<'_>| {
        while !input.is_empty() {
            match parse(input) {
                Ok(one) => parsed.push(one),
                Err(error) => {
                    errors.add(error);
                    skip_to_comma(input);
                }
            }
            if !input.is_empty() && input.parse::<Token![,]>().is_err() {
                let found: TokenTree = input.parse()?;
                errors.at(found, "expected `,` before the next value");
                skip_to_comma(input);
            }
        }
        Ok(())
    };
    if let Err(error) = read.parse2(tokens) {
        errors.add(error);
    }
    parsed
}

fn skip_to_comma(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        drop(input.parse::<TokenTree>());
    }
}
