//! Axes: `#[sweep(...)]` on a parameter or a field, and `#[derive(Sweep)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Data, DeriveInput, Expr, Fields, Lifetime, LitStr, Meta, Path, Token, Type};

use crate::attr::{AttrKey, AttrOptions, parse_each, refuse_unshowable};
use crate::errors::Errors;
use crate::expansion::some_or_none;

/// One axis: a parameter or a field with its values.
pub(crate) struct AxisModel {
    pub(crate) name: String,
    pub(crate) ty: Type,
    all: bool,
    implied: bool,
    values: Vec<AxisSource>,
}

/// One value of an axis, as the author wrote it.
pub(crate) struct AxisSource {
    pub(crate) label: Option<LitStr>,
    pub(crate) expression: Expr,
}

/// An entry between two commas of `#[sweep(...)]`.
enum SweepItem {
    All(Ident),
    Implied(Ident),
    Value(AxisSource),
}

impl AxisModel {
    /// Reads the attribute of a parameter or field of this name and type.
    pub(crate) fn parse(name: &Ident, ty: &Type, attribute: &Attribute, errors: &mut Errors) -> Self {
        let (name, ty) = (axis_name(name), owned(ty));
        let items = match &attribute.meta {
            Meta::List(list) if !list.tokens.is_empty() => {
                parse_each(list.tokens.clone(), errors, parse_item)
            }
            _ => {
                errors
                    .at(attribute, "an axis without values: write `#[sweep(1, 2)]` or `#[sweep(small = 1)]`");
                return Self { name, ty, all: false, implied: false, values: Vec::new() };
            }
        };
        let (mut all, mut implied) = (None, None);
        let mut values = Vec::new();
        for item in items {
            match item {
                SweepItem::All(word) if values.is_empty() && all.is_none() => all = Some(word),
                SweepItem::Implied(word) if values.is_empty() && implied.is_none() => implied = Some(word),
                SweepItem::All(word) => {
                    errors.at(word, "`all` comes first, once: `#[sweep(all, small = 1, large = 2)]`");
                }
                SweepItem::Implied(word) => {
                    errors
                        .at(word, "`implied` comes first, once: `#[sweep(implied, plain = 0, doubled = 1)]`");
                }
                SweepItem::Value(value) => values.push(value),
            }
        }
        check(all.as_ref(), implied.as_ref(), &values, errors);
        Self { name, ty, all: all.is_some(), implied: implied.is_some(), values }
    }

    /// An axis whose values are there already, all of which a plain run takes.
    pub(crate) fn of_values(name: &Ident, ty: &Type, values: Vec<AxisSource>) -> Self {
        Self { name: axis_name(name), ty: ty.clone(), all: true, implied: false, values }
    }

    /// The functions that make its values and its description, called `__make_<index>` and `__axis_<index>`.
    pub(crate) fn functions(&self, index: usize) -> TokenStream {
        let Self { name, ty, all, implied, values } = self;
        let (make, axis) = (format_ident!("__make_{index}"), format_ident!("__axis_{index}"));
        let labels = values.iter().map(|value| some_or_none(value.label.as_ref()));
        let mut made = values.iter().map(|value| {
            let expression = &value.expression;
            if value.label.is_some() { quote!(#expression) } else { quote!(__wb::plain(#expression)) }
        });
        let last = made.next_back();
        let numbers = 0_usize..;
        // One function for all values: a closure each would cost the author's build more than it is worth.
        let body = if values.len() == 1 {
            quote!(#last)
        } else {
            quote!(match __index { #(#numbers => #made,)* _ => #last })
        };
        quote! {
            fn #make(__index: usize) -> #ty { #body }
            fn #axis() -> __wb::TypedAxis<#ty> {
                __wb::TypedAxis {
                    name: #name,
                    all: #all,
                    implied: #implied,
                    labels: &[#(#labels),*],
                    make: #make,
                    traits: __wb::traits_of!(#ty),
                }
            }
        }
    }

    /// The value at a point, inside a function that may fail.
    pub(crate) fn take(index: usize) -> TokenStream {
        let axis = format_ident!("__axis_{index}");
        quote!(#axis().take(__point)?)
    }

    /// The author's value that the point has, inside a function that may fail.
    pub(crate) fn number(index: usize) -> TokenStream {
        let axis = format_ident!("__axis_{index}");
        quote!(#axis().number(__point)?)
    }
}

/// The sweep of a scenario or of a struct: axes of its own, and whole options structs.
pub(crate) enum SweepSpec {
    Axis(AxisModel),
    /// The type of an options struct, and whether the scenario borrows it.
    Options(Type, bool),
}

impl SweepSpec {
    /// The body of a function that lists the axes in order: first those that stand for themselves.
    pub(crate) fn listing<'a>(
        first: impl ExactSizeIterator<Item = &'a AxisModel>,
        swept: impl Iterator<Item = &'a Self>,
    ) -> TokenStream {
        let push = |index: usize| {
            let axis = format_ident!("__axis_{index}");
            quote!(__axes.push(#axis().erase());)
        };
        let own = first.len();
        let rest = swept.zip(own..).map(|(swept, index)| match swept {
            Self::Axis(_) => push(index),
            Self::Options(ty, _) => quote!(__axes.extend(<#ty as __wb::Sweep>::axes());),
        });
        let pushes = (0..own).map(push).chain(rest);
        quote! {
            let mut __axes = __wb::Vec::new();
            #(#pushes)*
            __axes
        }
    }

    /// The functions of its axis, if it is one.
    pub(crate) fn functions(&self, index: usize) -> TokenStream {
        match self {
            Self::Axis(axis) => axis.functions(index),
            Self::Options(..) => TokenStream::new(),
        }
    }

    /// Its value at a point, inside a function that may fail.
    pub(crate) fn take(&self, index: usize) -> TokenStream {
        match self {
            Self::Axis(_) => AxisModel::take(index),
            Self::Options(ty, _) => quote!(<#ty as __wb::Sweep>::take(__point)?),
        }
    }

    /// The same as the scenario takes it: an options struct may be borrowed.
    pub(crate) fn argument(&self, index: usize) -> TokenStream {
        let value = self.take(index);
        if matches!(self, Self::Options(_, true)) { quote!(&#value) } else { value }
    }
}

fn parse_item(input: ParseStream<'_>) -> syn::Result<SweepItem> {
    if input.peek(Ident::peek_any) {
        let ahead = input.fork();
        let word = ahead.call(Ident::parse_any)?;
        if ahead.is_empty() || ahead.peek(Token![,]) {
            let item: Option<fn(Ident) -> SweepItem> = match word.to_string().as_str() {
                "all" => Some(SweepItem::All),
                "implied" => Some(SweepItem::Implied),
                _ => None, // a constant
            };
            if let Some(item) = item {
                return Ok(item(input.call(Ident::parse_any)?));
            }
        }
        if is_assignment(&ahead) {
            input.call(Ident::parse_any)?;
            let label = LitStr::new(&word.unraw().to_string(), word.span());
            return parse_labelled(input, label);
        }
    } else if input.peek(LitStr) {
        let ahead = input.fork();
        ahead.parse::<LitStr>()?;
        if is_assignment(&ahead) {
            let label = input.parse()?;
            return parse_labelled(input, label);
        }
    }
    let expression = parse_value(input)?;
    if let Expr::Assign(assignment) = &expression {
        let label = assignment.left.to_token_stream();
        return Err(syn::Error::new_spanned(
            &assignment.left,
            format!("a label is a name or a text in quotes: write `\"{label}\" = ...`"),
        ));
    }
    Ok(SweepItem::Value(AxisSource { label: None, expression }))
}

fn is_assignment(input: ParseStream<'_>) -> bool {
    input.peek(Token![=]) && !input.peek(Token![==]) && !input.peek(Token![=>])
}

fn parse_labelled(input: ParseStream<'_>, label: LitStr) -> syn::Result<SweepItem> {
    input.parse::<Token![=]>()?;
    if input.is_empty() || input.peek(Token![,]) {
        let text = label.value();
        return Err(syn::Error::new_spanned(label, format!("the value of `{text}` is missing")));
    }
    let expression = parse_value(input)?;
    Ok(SweepItem::Value(AxisSource { label: Some(label), expression }))
}

fn parse_value(input: ParseStream<'_>) -> syn::Result<Expr> {
    if input.peek(Token![..]) {
        return Err(input.error("a value is missing here"));
    }
    input.parse()
}

fn check(all: Option<&Ident>, implied: Option<&Ident>, values: &[AxisSource], errors: &mut Errors) {
    let labels: Vec<&LitStr> = values.iter().filter_map(|value| value.label.as_ref()).collect();
    for (index, label) in labels.iter().enumerate() {
        refuse_unshowable("the label", label, errors);
        let text = label.value();
        if text == "all" {
            errors.at(label, "`all` stands for every value on the command line: choose another label");
        }
        if labels[..index].iter().any(|earlier| earlier.value() == text) {
            errors.at(label, format!("the label `{text}` is given twice: rename one"));
        }
    }
    for (index, value) in values.iter().enumerate() {
        let text = value.expression.to_token_stream().to_string();
        let is_same = |earlier: &AxisSource| {
            earlier.label.is_none() && earlier.expression.to_token_stream().to_string() == text
        };
        if value.label.is_none() && values[..index].iter().any(is_same) {
            errors.at(&value.expression, format!("the value `{text}` is given twice: remove one"));
        }
        if value.label.is_none() && !labels.is_empty() {
            errors.at(
                &value.expression,
                "either all values of an axis have a label or none: a plain run takes the first of those \
                 with labels and all of those without",
            );
        }
    }
    if let Some(implied) = implied
        && values.len() < 2
    {
        errors.at(
            implied,
            "an axis with one value at most implies nothing: write two after `implied`, as in \
             `#[sweep(implied, plain = 0, doubled = 1)]`, or remove it",
        );
    }
    match all {
        Some(all) if values.is_empty() => {
            errors
                .at(all, "an axis without values: write them after `all`, as in `#[sweep(all, small = 1)]`");
        }
        Some(all) if labels.is_empty() && implied.is_none() => {
            errors.at(all, "remove `all`: of an axis without labels a plain run takes every value anyway");
        }
        _ => {}
    }
}

/// The name of an axis: the parameter's, without what says that the body does not use it.
pub(crate) fn axis_name(name: &Ident) -> String {
    let name = name.unraw().to_string();
    match name.trim_start_matches('_') {
        "" => name,
        trimmed => trimmed.to_owned(),
    }
}

/// The type of the values: a reference in a parameter is one to what lives as long as the program.
fn owned(ty: &Type) -> Type {
    let mut ty = ty.clone();
    if let Type::Reference(reference) = &mut ty {
        reference.lifetime.get_or_insert_with(|| Lifetime::new("'static", reference.and_token.span));
    }
    ty
}

const KEYS: &[AttrKey] = &[
    AttrKey { name: "filter", example: "filter = Options::fits" },
    AttrKey { name: "crate", example: "crate = weighbridge" },
];

/// A struct whose fields are axes, or such structs themselves.
struct SweepModel {
    runtime: Path,
    name: Ident,
    filter: Option<Expr>,
    fields: Vec<(Ident, SweepSpec)>,
}

/// Expands `#[derive(Sweep)]`.
pub(crate) fn derive(item: TokenStream) -> syn::Result<TokenStream> {
    let model = SweepModel::check(&syn::parse2(item)?)?;
    Ok(model.into_tokens())
}

impl SweepModel {
    fn check(item: &DeriveInput) -> syn::Result<Self> {
        let mut errors = Errors::default();
        if !item.generics.params.is_empty() {
            errors.at(&item.generics, "an options struct has no generic parameters: name the types");
        }
        let mut tokens = TokenStream::new();
        for attribute in sweeps(&item.attrs) {
            match attribute.meta.require_list() {
                Ok(list) if tokens.is_empty() => tokens = list.tokens.clone(),
                Ok(list) => tokens.extend([quote!(,), list.tokens.clone()]),
                Err(_) => errors.at(attribute, "write `#[sweep(filter = path)]`"),
            }
        }
        let options = AttrOptions::parse(tokens, KEYS, &mut errors);
        let filter = options.path("filter", &mut errors);
        let runtime = options.runtime(&mut errors);
        let mut fields: Vec<(Ident, SweepSpec)> = Vec::new();
        match &item.data {
            Data::Struct(data) => match &data.fields {
                Fields::Named(named) => {
                    for field in &named.named {
                        let name = field.ident.as_ref().expect("a named field has a name");
                        let attributes: Vec<_> = sweeps(&field.attrs).collect();
                        let Some(first) = attributes.first() else {
                            fields.push((name.clone(), SweepSpec::Options(field.ty.clone(), false)));
                            continue;
                        };
                        for second in &attributes[1..] {
                            errors.at(second, "a second `#[sweep]`: write all values in one");
                        }
                        let axis = AxisModel::parse(name, &field.ty, first, &mut errors);
                        let same = |swept: &SweepSpec| {
                            matches!(
                                swept,
                                SweepSpec::Axis(other) if other.name == axis.name
                            )
                        };
                        if fields.iter().any(|(_, swept)| same(swept)) {
                            errors.at(name, format!("a second axis called `{}`: rename one", axis.name));
                        }
                        fields.push((name.clone(), SweepSpec::Axis(axis)));
                    }
                }
                Fields::Unnamed(fields) => errors.at(
                    fields,
                    "the fields of an options struct have names, since they name the axes: write \
                     `struct Options { #[sweep(1, 2)] workers: usize }`",
                ),
                Fields::Unit => errors.at(&item.ident, "an options struct has at least one field, its axis"),
            },
            Data::Enum(data) => errors.at(
                data.enum_token,
                "`Sweep` is for structs: for an enum write its variants as values, as in \
                 `#[sweep(fast = Mode::Fast, safe = Mode::Safe)] mode: Mode`",
            ),
            Data::Union(data) => errors.at(data.union_token, "`Sweep` is for structs"),
        }
        let model = Self { runtime, name: item.ident.clone(), filter, fields };
        errors.unless_any(Some(model))
    }

    fn into_tokens(self) -> TokenStream {
        let Self { runtime, name, filter, fields } = self;
        let functions = fields.iter().enumerate().map(|(index, (_, swept))| swept.functions(index));
        let listing = SweepSpec::listing([].iter(), fields.iter().map(|(_, swept)| swept));
        let taken = fields.iter().enumerate().map(|(index, (field, swept))| {
            let take = swept.take(index);
            quote!(#field: #take)
        });
        let nested = fields.iter().filter_map(|(_, swept)| match swept {
            SweepSpec::Axis(_) => None,
            SweepSpec::Options(ty, _) => Some(quote! {
                let __keep = <#ty as __wb::Sweep>::keep(__point);
                if !::core::matches!(__keep, __wb::Keep::Yes) {
                    return __keep;
                }
            }),
        });
        let nested: TokenStream = nested.collect();
        let keep = match filter {
            None => quote!(__wb::Keep::always(__point)),
            Some(filter) => quote! {
                match <Self as __wb::Sweep>::take(__point) {
                    __wb::Result::Ok(__options) => __wb::KeepOutput::kept(#filter(&__options)),
                    __wb::Result::Err(__why) => __wb::KeepOutput::kept(__wb::Result::<(), _>::Err(__why)),
                }
            },
        };
        quote! {
            const _: () = {
                use #runtime::__private as __wb;
                #(#functions)*
                impl __wb::Sweep for #name {
                    fn axes() -> __wb::Vec<__wb::Axis> { #listing }
                    fn take(__point: &__wb::Point) -> __wb::Result<Self, __wb::Error> {
                        __wb::Result::Ok(Self { #(#taken),* })
                    }
                    fn keep(__point: &__wb::Point) -> __wb::Keep { #nested #keep }
                }
            };
        }
    }
}

/// The attributes that are ours.
pub(crate) fn sweeps(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("sweep"))
}
