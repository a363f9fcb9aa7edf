//! The rules for the function under `#[scenario]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, FnArg, GenericArgument, Pat, PatType, Path, PathArguments, Safety, Signature, Token, Type,
    TypeParamBound, Visibility,
};

use crate::attr::{nearest, tight};
use crate::errors::Errors;
use crate::sweep::{AxisModel, SweepSpec, axis_name, sweeps};

/// A function whose body is nobody's business.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    visibility: Visibility,
    pub(crate) signature: Signature,
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl Function {
    /// Takes off the attributes that only we understand; after it the function is the author's again.
    pub(crate) fn without_helpers(mut self) -> Self {
        for input in &mut self.signature.inputs {
            if let FnArg::Typed(parameter) = input {
                parameter.attrs.retain(is_for_the_compiler);
            }
        }
        self
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attributes, visibility, signature, body } = self;
        tokens.extend(quote!(#(#attributes)* #visibility #signature #body));
    }
}

/// The parameters behind the bencher.
pub(crate) enum FunctionParameter {
    /// `&mut dyn Contract`: the type behind the reference, and the trait.
    Subject { ty: Type, contract: Path },
    /// An axis, or several in an options struct.
    Swept(SweepSpec),
}

/// The things that the parameters ask for.
#[derive(Default)]
pub(crate) struct FunctionParameters {
    /// The type of the first parameter.
    pub(crate) bencher: Option<Type>,
    /// All others, in order.
    pub(crate) rest: Vec<FunctionParameter>,
}

impl FunctionParameters {
    /// Reads the signature and gathers what is wrong with it.
    pub(crate) fn check(signature: &Signature, errors: &mut Errors) -> Self {
        check_qualifiers(signature, errors);
        let mut parameters = Self::default();
        if signature.inputs.is_empty() {
            errors.at(
                Parentheses(signature),
                "a scenario measures with the bencher: write `bencher: &mut Bencher` as its first parameter",
            );
        }
        let is_bencher =
            |input: &&FnArg| matches!(input, FnArg::Typed(input) if is_reference_to_bencher(&input.ty));
        // One in the wrong place is told there, and not as one that is missing.
        let misplaced = signature
            .inputs
            .iter()
            .skip(1)
            .find(is_bencher)
            .filter(|_| signature.inputs.first().is_some_and(|first| !is_bencher(&first)));
        for (index, input) in signature.inputs.iter().enumerate() {
            match input {
                FnArg::Receiver(receiver) => errors.at(
                    receiver,
                    "a scenario is a free function: move it out of the `impl`, and write `bencher: &mut \
                     Bencher` as its first parameter",
                ),
                FnArg::Typed(parameter) if index == 0 && misplaced.is_none() => {
                    parameters.first(parameter, errors);
                }
                FnArg::Typed(parameter)
                    if misplaced.is_some_and(|misplaced| std::ptr::eq(misplaced, input)) =>
                {
                    if signature.receiver().is_none() {
                        errors.at(parameter, "the bencher comes first: move it before the other parameters");
                    }
                }
                FnArg::Typed(parameter) => parameters.further(parameter, errors),
            }
        }
        parameters
    }

    fn first(&mut self, parameter: &PatType, errors: &mut Errors) {
        let ty = &*parameter.ty;
        // Whether a type of another name is a bencher is for the compiler to find out.
        let is_taken = matches!(ty, Type::Reference(reference)
            if reference.mutability.is_some() && matches!(*reference.elem, Type::Path(_)));
        if is_taken {
            self.bencher = Some(ty.clone());
            refuse_foreign(parameter, errors);
            for attribute in sweeps(&parameter.attrs) {
                errors.at(attribute, "the first parameter is the bencher, and the bencher is no axis");
            }
            return;
        }
        let is_shared = matches!(ty, Type::Reference(reference) if is_called(&reference.elem, "Bencher"));
        if is_shared || is_called(ty, "Bencher") {
            errors.at(ty, "the bencher is taken as `&mut Bencher`");
        } else {
            errors.at(
                parameter,
                "the first parameter is the bencher: write `bencher: &mut Bencher` before this one",
            );
            // It may be a fine parameter in the wrong place: what else is wrong with it is told now.
            self.further(parameter, errors);
        }
    }

    fn further(&mut self, parameter: &PatType, errors: &mut Errors) {
        refuse_foreign(parameter, errors);
        let ty = &*parameter.ty;
        let attributes: Vec<_> = sweeps(&parameter.attrs).collect();
        if let (Type::ImplTrait(_), false) = (ty, attributes.is_empty()) {
            errors.at(ty, "the values of an axis have one type: name it");
            return;
        }
        if let Some(object) = contract_object(ty, errors) {
            for attribute in attributes {
                errors.at(attribute, "a contract is no axis: its adapters are what it runs through");
            }
            self.subject(ty, object, errors);
            return;
        }
        let Some(first) = attributes.first() else {
            match ty {
                // Told by `contract_object`.
                _ if mentioned_trait(ty).is_some() => {}
                Type::Path(_) => {
                    self.rest.push(FunctionParameter::Swept(SweepSpec::Options(ty.clone(), false)));
                }
                _ if is_reference_to_bencher(ty) => {
                    errors.at(ty, "a second bencher: a scenario has one, its first parameter");
                }
                Type::Reference(reference)
                    if reference.mutability.is_none() && matches!(*reference.elem, Type::Path(_)) =>
                {
                    self.rest
                        .push(FunctionParameter::Swept(SweepSpec::Options((*reference.elem).clone(), true)));
                }
                _ => errors.at(
                    parameter,
                    "neither an axis nor a contract: write the values of an axis, as in `#[sweep(1, 2)] len: \
                     usize`, or `&mut dyn Contract` for the system under test",
                ),
            }
            return;
        };
        for second in &attributes[1..] {
            errors.at(second, "a second `#[sweep]`: write all values in one");
        }
        let Pat::Ident(pattern) = &*parameter.pat else {
            errors.at(&parameter.pat, "an axis is called like its parameter: give it a name");
            return;
        };
        let axis = AxisModel::parse(&pattern.ident, ty, first, errors);
        let is_same = |other: &FunctionParameter| {
            matches!(
                other,
                FunctionParameter::Swept(SweepSpec::Axis(other)) if other.name == axis.name
            )
        };
        if self.rest.iter().any(is_same) {
            errors.at(
                &pattern.ident,
                format!("a second axis called `{}`: rename one", axis_name(&pattern.ident)),
            );
        }
        self.rest.push(FunctionParameter::Swept(SweepSpec::Axis(axis)));
    }

    fn subject(&mut self, parameter: &Type, object: Type, errors: &mut Errors) {
        let Type::TraitObject(found) = &object else { unreachable!("only trait objects are contracts") };
        let mut bounds = found.bounds.iter();
        let (Some(TypeParamBound::Trait(contract)), None) = (bounds.next(), bounds.next()) else {
            let first = first_trait(&found.bounds);
            errors.at(
                &object,
                format!(
                    "name the contract alone, `&mut dyn {first}`: what else it needs (`Send`) belongs on \
                    the trait"
                ),
            );
            return;
        };
        if self.rest.iter().any(|other| matches!(other, FunctionParameter::Subject { .. })) {
            errors.at(
                parameter,
                "a second contract: a scenario tests one system; to test two together write one contract for \
                 both",
            );
            return;
        }
        let contract = contract.path.clone();
        self.rest.push(FunctionParameter::Subject { ty: object, contract });
    }
}

fn check_qualifiers(signature: &Signature, errors: &mut Errors) {
    if let Some(word) = &signature.constness {
        errors.at(word, "a scenario is run, not evaluated by the compiler: remove `const`");
    }
    if let Safety::Unsafe(word) = &signature.safety {
        errors.at(word, "a scenario is safe to call: put the `unsafe` block inside it");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "a scenario is an ordinary Rust function: remove `extern`");
    }
    if let Some(dots) = &signature.variadic {
        errors.at(dots, "a scenario has a fixed number of parameters");
    }
    if let (Some(word), false) = (&signature.asyncness, cfg!(feature = "tokio")) {
        errors.at(
            word,
            "an `async` scenario needs a runtime: switch on the feature `tokio` of `weighbridge`, or remove \
             `async`",
        );
    }
}

/// Refuses attributes of a parameter that nobody would read.
fn refuse_foreign(parameter: &PatType, errors: &mut Errors) {
    for attribute in &parameter.attrs {
        if attribute.path().is_ident("sweep") || is_for_the_compiler(attribute) {
            continue;
        }
        let name = tight(attribute.path());
        let hint = if nearest(&name, ["sweep"].into_iter()).is_some() {
            "did you mean `sweep`?"
        } else {
            "a parameter takes `#[sweep(...)]`"
        };
        errors.at(attribute, format!("unknown attribute `{name}`: {hint}"));
    }
}

fn is_for_the_compiler(attribute: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid"].iter().any(|lint| attribute.path().is_ident(lint))
}

/// The `dyn Contract` of `&mut dyn Contract`. Other ways of writing it are refused with the right one.
fn contract_object(ty: &Type, errors: &mut Errors) -> Option<Type> {
    let name = mentioned_trait(ty)?;
    let why = match ty {
        Type::Reference(reference) => match inner(&reference.elem) {
            object @ Type::TraitObject(_) => {
                if reference.mutability.is_none() {
                    errors.at(ty, format!("write `&mut dyn {name}`: what adapters do changes them"));
                }
                return Some(object.clone());
            }
            _ => "which adapter it is becomes known when it runs",
        },
        Type::ImplTrait(_) => "which adapter it is becomes known when it runs",
        _ => "the adapter is lent to the scenario",
    };
    errors.at(ty, format!("write `&mut dyn {name}`: {why}"));
    None
}

/// The trait that the type is, points to, or holds in its first argument.
fn mentioned_trait(ty: &Type) -> Option<String> {
    match ty {
        Type::ImplTrait(object) => Some(first_trait(&object.bounds)),
        Type::TraitObject(object) => Some(first_trait(&object.bounds)),
        Type::Reference(reference) => mentioned_trait(inner(&reference.elem)),
        Type::Path(path) => match &path.path.segments.last()?.arguments {
            PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
                GenericArgument::Type(held @ Type::TraitObject(_)) => mentioned_trait(held),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The first bound that is a contract and no marker.
fn first_trait(bounds: &Punctuated<TypeParamBound, Token![+]>) -> String {
    let mut named = bounds.iter().filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) if !is_marker(&bound.path) => Some(tight(&bound.path)),
        _ => None,
    });
    named.next().unwrap_or_else(|| "Contract".to_owned())
}

fn is_reference_to_bencher(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference)
        if reference.mutability.is_some() && is_called(&reference.elem, "Bencher"))
}

/// The type without the parentheses and invisible groups around it.
fn inner(ty: &Type) -> &Type {
    match ty {
        Type::Paren(paren) => inner(&paren.elem),
        Type::Group(group) => inner(&group.elem),
        other => other,
    }
}

fn is_called(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

fn is_marker(path: &Path) -> bool {
    ["Send", "Sync", "Unpin"]
        .iter()
        .any(|marker| path.segments.last().is_some_and(|last| last.ident == marker))
}

/// The empty parentheses of a signature, to underline.
struct Parentheses<'a>(&'a Signature);

impl ToTokens for Parentheses<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let name: &Ident = &self.0.ident;
        name.to_tokens(tokens);
        self.0.paren_token.surround(tokens, |_| {});
    }
}
