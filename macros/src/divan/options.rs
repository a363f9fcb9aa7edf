//! The options of `#[divan::bench]` and `#[divan::bench_group]`: `key = value`, or a key alone that is true.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Expr, ExprLit, Lit, Path, Token, Type};

use crate::attr::{parse_each, unknown};
use crate::errors::Errors;

/// The attribute that options stand in.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum For {
    Bench,
    Group,
}

/// The values that a key takes.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    /// An expression, handed on to the field of this name.
    Value,
    /// An expression, or nothing, which is `true`.
    Truth,
    /// A time, or seconds.
    Time,
    /// Counters, or one.
    Counters,
    /// A number that counts this.
    Count(&'static str),
    /// The keys that this file has a field for.
    Own,
}

const KEYS: &[(&str, Takes)] = &[
    ("name", Takes::Own),
    ("crate", Takes::Own),
    ("args", Takes::Own),
    ("types", Takes::Own),
    ("consts", Takes::Own),
    ("sample_count", Takes::Value),
    ("sample_size", Takes::Value),
    ("threads", Takes::Truth),
    ("counter", Takes::Counters),
    ("counters", Takes::Counters),
    ("bytes_count", Takes::Count("BytesCount")),
    ("chars_count", Takes::Count("CharsCount")),
    ("cycles_count", Takes::Count("CyclesCount")),
    ("items_count", Takes::Count("ItemsCount")),
    ("min_time", Takes::Time),
    ("max_time", Takes::Time),
    ("skip_ext_time", Takes::Truth),
    ("ignore", Takes::Truth),
];

/// Keys that stand on a function alone.
const OF_BENCHES: [&str; 3] = ["args", "types", "consts"];

/// The options that were given, each once.
#[derive(Default)]
pub(super) struct DivanOptions {
    seen: Vec<String>,
    runtime: Option<Path>,
    name: Option<Expr>,
    pub(super) args: Option<(Ident, Expr)>,
    pub(super) types: Option<(Ident, Vec<Type>)>,
    pub(super) consts: Option<(Ident, Expr)>,
    /// Fields of what is registered.
    fields: Vec<TokenStream>,
    counters: Vec<TokenStream>,
}

impl DivanOptions {
    /// Reads `key = value, key, ...`. A mistake in one option does not hide those in the next.
    pub(super) fn parse(tokens: TokenStream, place: For, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut mistakes = Vec::new();
        let known: Vec<&str> = KEYS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| place == For::Bench || !OF_BENCHES.contains(name))
            .collect();
        let read = |input: ParseStream<'_>| options.parse_one(input, &known, &mut mistakes);
        parse_each(tokens, errors, read);
        for mistake in mistakes {
            errors.add(mistake);
        }
        options
    }

    fn parse_one(
        &mut self,
        input: ParseStream<'_>,
        known: &[&str],
        mistakes: &mut Vec<syn::Error>,
    ) -> syn::Result<()> {
        let Ok(key) = input.call(Ident::parse_any) else {
            let found: TokenTree = input.parse()?;
            return Err(syn::Error::new_spanned(
                found,
                "options are written `key = value`, such as `args = [1, 2]`",
            ));
        };
        let name = key.unraw().to_string();
        let Some((_, takes)) = KEYS.iter().find(|(key, _)| *key == name && known.contains(key)) else {
            return Err(syn::Error::new_spanned(key, unknown("option", &name, known.iter().copied())));
        };
        if self.seen.contains(&name) {
            mistakes.push(syn::Error::new_spanned(&key, format!("`{name}` is given twice: remove one")));
        }
        self.seen.push(name.clone());
        if !input.peek(Token![=]) {
            if *takes != Takes::Truth {
                return Err(syn::Error::new_spanned(key, format!("write `{name} = ...`")));
            }
            self.field(&key, &quote!(true));
            return Ok(());
        }
        input.parse::<Token![=]>()?;
        match (&*name, takes) {
            ("crate", _) => self.runtime = Some(input.parse()?),
            ("name", _) => self.name = Some(input.parse()?),
            ("args", _) => self.args = Some((key, input.parse()?)),
            ("consts", _) => self.consts = Some((key, input.parse()?)),
            ("types", _) => {
                let list;
                syn::bracketed!(list in input);
                let types = list.parse_terminated(<Type as syn::parse::Parse>::parse, Token![,])?;
                self.types = Some((key, types.into_iter().collect()));
            }
            (_, Takes::Counters) => self.take_counters(input.parse()?),
            (_, Takes::Count(counter)) => {
                let (counter, count) = (format_ident!("{counter}"), sized(input.parse()?, "u64"));
                self.counters.push(quote!(__wb::counter::#counter::from(#count)));
            }
            (_, _) => {
                let value: Expr = input.parse()?;
                self.field(&key, &value);
            }
        }
        Ok(())
    }

    fn take_counters(&mut self, value: Expr) {
        match value {
            Expr::Array(list) => self.counters.extend(list.elems.iter().map(ToTokens::to_token_stream)),
            other => self.counters.push(other.to_token_stream()),
        }
    }

    fn field(&mut self, key: &Ident, value: &impl ToTokens) {
        let name = key.unraw();
        let value = match &*name.to_string() {
            "threads" => {
                let value = syn::parse2(value.to_token_stream())
                    .map_or(value.to_token_stream(), |value| sized(value, "usize"));
                quote!(__wb::threads(#value))
            }
            "min_time" | "max_time" => quote!(__wb::duration(#value)),
            _ => value.to_token_stream(),
        };
        // On the author's key, so that a value of another type is told there.
        let name = Ident::new(&name.to_string(), key.span());
        self.fields.push(quote!(#name: __wb::Option::Some(#value)));
    }

    /// Takes `#[ignore]` for the option of that name, which is stronger.
    pub(super) fn ignore_by(&mut self, attribute: &Attribute) {
        if !self.seen.iter().any(|name| name == "ignore")
            && let Some(word) = attribute.path().get_ident()
        {
            self.field(&word.clone(), &quote!(true));
        }
    }

    /// The crate that stands for divan: `crate = path`, else `divan` as divan's own attributes have it.
    pub(super) fn runtime(&self) -> TokenStream {
        match &self.runtime {
            Some(path) => path.to_token_stream(),
            None => quote!(::divan),
        }
    }

    /// Its name: its own where nothing else is said.
    pub(super) fn name(&self, own: &Ident) -> TokenStream {
        let own = own.to_string();
        self.name.as_ref().map_or_else(|| own.to_token_stream(), ToTokens::to_token_stream)
    }

    /// All options as the runtime takes them.
    pub(super) fn tokens(&self) -> TokenStream {
        let Self { fields, counters, .. } = self;
        let base = quote!(<__wb::Options as ::core::default::Default>::default());
        let counters = (!counters.is_empty()).then(|| {
            quote! {
                counters: <__wb::Counts as ::core::default::Default>::default() #(.with(#counters))*
            }
        });
        let fields = fields.iter().chain(&counters);
        quote!(__wb::Options { #(#fields,)* ..#base })
    }
}

/// A number without a suffix gets a type: of all that could take it none stands out for the compiler.
fn sized(value: Expr, suffix: &str) -> TokenStream {
    match &value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) if number.suffix().is_empty() => {
            let mut sized = syn::LitInt::new(&format!("{}{suffix}", number.base10_digits()), number.span());
            sized.set_span(number.span());
            sized.to_token_stream()
        }
        _ => value.to_token_stream(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_suffix_gets_one_and_nothing_else_does() {
        let check = |value: TokenStream, expected: &str| {
            assert_eq!(sized(syn::parse2(value).unwrap(), "usize").to_string(), expected);
        };
        check(quote!(4), "4usize");
        check(quote!(4u8), "4u8");
        check(quote!(COUNT), "COUNT");
    }
}
