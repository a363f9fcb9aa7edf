//! Generic scenarios: `types = [A, B]` and `consts = [1, 8]` make a generic parameter an axis.

use proc_macro2::{Ident, Literal, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, GenericParam, Generics, LitStr, Token, Type};

use crate::attr::{AttrOptions, parse_each, refuse_unshowable};
use crate::errors::Errors;
use crate::sweep::{AxisModel, AxisSource};

/// A generic parameter that is an axis: what it is instantiated with, and how that is shown.
pub(crate) struct Generic {
    pub(crate) axis: AxisModel,
    /// The arguments between the angle brackets, by the number of the value.
    pub(crate) arguments: Vec<TokenStream>,
}

/// The generic parameters of a scenario, in their order: at most one type and one constant, each with its
/// values.
pub(crate) fn check(generics: &Generics, options: &AttrOptions, errors: &mut Errors) -> Vec<Generic> {
    let (mut types, mut consts) = (false, false);
    let mut found = Vec::new();
    for parameter in &generics.params {
        match parameter {
            GenericParam::Type(parameter) if !types => {
                types = true;
                match options.types() {
                    Some(values) => found.extend(of_types(&parameter.ident, values, errors)),
                    None if options.is_missing("types") => errors.at(
                        &parameter.ident,
                        format!(
                            "which types `{}` stands for is not said: write `types = [Vec<u64>, \
                            VecDeque<u64>]`",
                            parameter.ident
                        ),
                    ),
                    None => {}
                }
            }
            GenericParam::Const(parameter) if !consts => {
                consts = true;
                let values = options.list("consts", errors);
                if options.is_missing("consts") {
                    let message = format!(
                        "which values `{}` has is not said: write `consts = [1, 64]`",
                        parameter.ident
                    );
                    errors.at(&parameter.ident, message);
                } else {
                    found.extend(of_consts(&parameter.ident, &parameter.ty, &values, errors));
                }
            }
            GenericParam::Type(_) => {
                errors.at(parameter, "a scenario has one type parameter at most, its axis of types");
            }
            GenericParam::Const(_) => {
                errors.at(parameter, "a scenario has one constant parameter at most, its axis of constants");
            }
            GenericParam::Lifetime(_) => errors
                .at(parameter, "nothing that outlives the call is lent to a scenario: remove the lifetime"),
        }
    }
    for (key, has) in [("types", types), ("consts", consts)] {
        if let (Some(given), false) = (options.key(key), has) {
            let example = if key == "types" {
                "fn name<T: Trait>(bencher: &mut Bencher)"
            } else {
                "fn name<const N: usize>(bencher: &mut Bencher)"
            };
            errors.at(given, format!("nothing takes the values of `{key}`: write `{example}`"));
        }
    }
    found
}

/// The axis of a type parameter: labelled by the types, all of which run.
fn of_types(parameter: &Ident, values: &TokenStream, errors: &mut Errors) -> Option<Generic> {
    let types = parse_each(values.clone(), errors, parse_type);
    if types.is_empty() {
        errors.at(parameter, "no type to run it with: write `types = [Vec<u64>, VecDeque<u64>]`");
        return None;
    }
    let mut labels: Vec<LitStr> = Vec::new();
    for (label, _) in &types {
        refuse_unshowable("the label of the type", label, errors);
        if labels.iter().any(|earlier| earlier.value() == label.value()) {
            errors
                .at(label, format!("`{}` is given twice: remove one, or write `name = Type`", label.value()));
        }
        labels.push(label.clone());
    }
    let values = types.iter().map(|(label, ty)| {
        let text = shown(ty.to_token_stream());
        AxisSource { label: Some(label.clone()), expression: syn::parse_quote!(__wb::WrittenValue(#text)) }
    });
    let axis = AxisModel::of_values(
        parameter,
        &syn::parse_quote!(__wb::WrittenValue<&'static str>),
        values.collect(),
    );
    Some(Generic { axis, arguments: types.iter().map(|(_, ty)| ty.to_token_stream()).collect() })
}

/// `Type`, or `label = Type`.
fn parse_type(input: ParseStream<'_>) -> syn::Result<(LitStr, Type)> {
    let ahead = input.fork();
    if ahead.call(Ident::parse_any).is_ok() && ahead.peek(Token![=]) {
        let label: Ident = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        return Ok((LitStr::new(&label.unraw().to_string(), label.span()), input.parse()?));
    }
    let ty: Type = input.parse()?;
    let span = ty
        .to_token_stream()
        .into_iter()
        .next()
        .map_or_else(proc_macro2::Span::call_site, |token| token.span());
    Ok((LitStr::new(&without_modules(&shown(ty.to_token_stream())), span), ty))
}

/// The axis of a constant parameter: its values are shown as they are, and all run.
fn of_consts(parameter: &Ident, ty: &Type, values: &[Expr], errors: &mut Errors) -> Option<Generic> {
    if values.is_empty() {
        errors.at(parameter, "no value to run it with: write `consts = [1, 64]`");
        return None;
    }
    for (index, value) in values.iter().enumerate() {
        let text = value.to_token_stream().to_string();
        if values[..index].iter().any(|earlier| earlier.to_token_stream().to_string() == text) {
            errors.at(value, format!("the value `{text}` is given twice: remove one"));
        }
    }
    let made = values.iter().map(|value| AxisSource {
        label: None,
        expression: syn::parse_quote!(__wb::WrittenValue::<#ty>(#value)),
    });
    let axis = AxisModel::of_values(parameter, &syn::parse_quote!(__wb::WrittenValue<#ty>), made.collect());
    Some(Generic { axis, arguments: values.iter().map(|value| quote!({ #value })).collect() })
}

/// The call of a generic function, for every choice of its parameters: `call` is given what stands behind the
/// name.
pub(crate) fn call(generics: &[Generic], call: impl Fn(&TokenStream) -> TokenStream) -> TokenStream {
    if generics.is_empty() {
        return call(&TokenStream::new());
    }
    let mut choices: Vec<(Vec<Literal>, Vec<TokenStream>)> = vec![(Vec::new(), Vec::new())];
    for generic in generics {
        let longer = choices.into_iter().flat_map(|(numbers, arguments)| {
            let with = move |(number, argument): (usize, &TokenStream)| {
                let mut numbers: Vec<Literal> = numbers.clone();
                numbers.push(Literal::usize_unsuffixed(number));
                (numbers, arguments.iter().cloned().chain([argument.clone()]).collect())
            };
            generic.arguments.iter().enumerate().map(with)
        });
        choices = longer.collect();
    }
    let numbers = (0..generics.len()).map(AxisModel::number);
    let arms = choices.iter().map(|(numbers, arguments)| {
        let called = call(&quote!(::<#(#arguments),*>));
        quote!((#(#numbers,)*) => #called,)
    });
    quote! {
        match (#(#numbers,)*) {
            #(#arms)*
            _ => ::core::unreachable!("an axis has no other values than those that are listed"),
        }
    }
}

/// Tokens as one writes them: a space after a comma and between words.
fn shown(tokens: TokenStream) -> String {
    let mut text = String::new();
    let mut after_word = false;
    for token in tokens {
        let is_word = matches!(token, TokenTree::Ident(_) | TokenTree::Literal(_));
        if is_word && after_word {
            text.push(' ');
        }
        after_word = is_word;
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                    proc_macro2::Delimiter::Brace => ("{", "}"),
                    proc_macro2::Delimiter::Bracket => ("[", "]"),
                    proc_macro2::Delimiter::None => ("", ""),
                };
                text.push_str(open);
                text.push_str(&shown(group.stream()));
                text.push_str(close);
            }
            TokenTree::Punct(mark) => {
                text.push(mark.as_char());
                let parts =
                    matches!(mark.as_char(), ',' | ';' | '+' | '=') && mark.spacing() == Spacing::Alone;
                if parts {
                    text.push(' ');
                }
            }
            other => text.push_str(&other.to_string()),
        }
    }
    text
}

/// `std::collections::VecDeque<core::num::NonZero<u8>>` as `VecDeque<NonZero<u8>>`.
fn without_modules(text: &str) -> String {
    let mut short = String::new();
    for piece in
        text.split_inclusive(|character: char| !(character.is_alphanumeric() || "_:".contains(character)))
    {
        short.push_str(piece.rsplit("::").next().unwrap_or(piece));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_shown_as_they_are_written_and_without_their_modules() {
        let check = |tokens: TokenStream, whole: &str, short: &str| {
            let text = shown(tokens);
            assert_eq!((&*text, &*without_modules(&text)), (whole, short));
        };
        check(quote!(Vec<u64>), "Vec<u64>", "Vec<u64>");
        check(
            quote!(std::collections::BTreeMap<u64, my::Value>),
            "std::collections::BTreeMap<u64, my::Value>",
            "BTreeMap<u64, Value>",
        );
        check(quote!(&'static str), "&'static str", "&'static str");
        check(quote!([u8; 4]), "[u8; 4]", "[u8; 4]");
        check(quote!((u8, dyn Fn(u8) -> u8)), "(u8, dyn Fn(u8)->u8)", "(u8, dyn Fn(u8)->u8)");
    }
}
