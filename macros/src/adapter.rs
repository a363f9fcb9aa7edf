//! `#[adapter]`: one `impl Contract for Type` becomes one entry of the registry.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ItemImpl, LitStr, Path, Type};

use crate::attr::{self, AttrKey, AttrOptions};
use crate::errors::Errors;
use crate::expansion::{contract, first_line, location, some_or_none};

const KEYS: &[AttrKey] = &[
    AttrKey { name: "name", example: "name = \"Google Grain\"" },
    AttrKey { name: "tier", example: "tier = 1" },
    AttrKey { name: "new", example: "new = Grain::open" },
    AttrKey { name: "probe", example: "probe = installed" },
    AttrKey { name: "resident", example: "resident = true" },
    AttrKey { name: "unequal", example: "unequal = \"decodes to float16\"" },
    AttrKey { name: "crate", example: "crate = weighbridge" },
];

/// The tier of an adapter that says none.
const TIER: u8 = 1;

/// An adapter that holds to all rules.
struct AdapterModel {
    runtime: Path,
    name: LitStr,
    tier: u8,
    new: Option<Expr>,
    probe: Option<Expr>,
    unequal: Option<LitStr>,
    resident: bool,
    description: String,
    contract: Path,
    ty: Type,
}

/// Expands `#[adapter(...)]`: the block as the author wrote it, and beside it its registration, or what is
/// wrong.
pub(crate) fn expand(options: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(block) = syn::parse2::<ItemImpl>(item.clone()) else {
        let message = "`#[adapter]` goes on an implementation: `impl Contract for Type { ... }`";
        let error = syn::Error::new_spanned(first_line(item), message).into_compile_error();
        return quote!(#item #error);
    };
    let beside = match AdapterModel::check(options, &block) {
        Ok(model) => model.into_tokens(),
        Err(errors) => errors.into_compile_error(),
    };
    quote!(#item #beside)
}

impl AdapterModel {
    fn check(options: TokenStream, block: &ItemImpl) -> syn::Result<Self> {
        let mut errors = Errors::default();
        let options = AttrOptions::parse(options, KEYS, &mut errors);
        attr::refuse_second("adapter", &block.attrs, &mut errors);
        let name = options.text("name", &mut errors);
        match &name {
            Some(name) => attr::refuse_unshowable("the name", name, &mut errors),
            None if !options.is_missing("name") => {}
            None => errors.at(
                ImplHead(block),
                "the adapter has no name: write `#[adapter(name = \"Google Grain\")]`, the name of the \
                 system in tables",
            ),
        }
        let tier = check_tier(&options, &mut errors);
        let new = options.path("new", &mut errors);
        let probe = options.path("probe", &mut errors);
        let unequal = options.text("unequal", &mut errors);
        let resident = options.truth("resident", &mut errors).unwrap_or(false);
        let runtime = options.runtime(&mut errors);
        if !block.generics.params.is_empty() {
            errors.at(
                &block.generics,
                "an adapter is one type and not a family of them: name the type, as in `impl Contract for \
                 Queue<u8>`",
            );
        }
        if let Some(word) = &block.unsafety {
            errors.at(word, "a contract is a safe trait: remove `unsafe` here and on the trait");
        }
        if let Some(word) = &block.modifiers.polarity {
            errors
                .at(word, "this says that the type does not fulfil the contract: remove `#[adapter]` or `!`");
        }
        let contract = block.trait_.as_ref().map(|(contract, _)| contract.clone());
        if contract.is_none() {
            errors.at(
                ImplHead(block),
                "`#[adapter]` goes on the implementation of a contract: `impl Contract for Type { ... }`",
            );
        }
        let model = name.zip(contract).map(|(name, contract)| Self {
            runtime,
            name,
            tier,
            new,
            probe,
            unequal,
            resident,
            description: attr::description(&block.attrs),
            contract,
            ty: (*block.self_ty).clone(),
        });
        errors.unless_any(model)
    }

    fn into_tokens(self) -> TokenStream {
        let Self { runtime, name, tier, new, probe, unequal, resident, description, contract: path, ty } =
            self;
        let object: Type = syn::parse_quote!(dyn #path);
        let contract = contract(&object, &path);
        // With the arguments of the trait: one type may fulfil `Queue<u8>` and `Queue<u16>`.
        let registration = format_ident!("__WEIGHBRIDGE_ADAPTER_{}_FOR_{}", flat(&path), flat(&ty));
        let made = new.map_or_else(
            || quote_spanned!(ty.span()=> <#ty as ::core::default::Default>::default()),
            |new| quote_spanned!(new.span()=> __wb::AdapterOutput::<#ty>::made(#new())?),
        );
        let probe = some_or_none(probe.as_ref());
        let unequal = some_or_none(unequal.as_ref());
        let location = location();
        quote! {
            #[doc(hidden)]
            #[allow(non_upper_case_globals)]
            static #registration: () = {
                use #runtime::__private as __wb;
                fn __make() -> __wb::Result<__wb::Box<dyn __wb::Any>, __wb::Error> {
                    let __subject: __wb::Box<#object> = __wb::Box::new(#made);
                    __wb::Result::Ok(__wb::Box::new(__subject))
                }
                __wb::submit! {
                    __wb::AdapterEntry {
                        name: #name,
                        tier: #tier,
                        contract: #contract,
                        description: #description,
                        unequal: #unequal,
                        resident: #resident,
                        version: __wb::version(::core::option_env!("CARGO_PKG_VERSION")),
                        location: #location,
                        make: __make,
                        probe: #probe,
                    }
                }
            };
        }
    }
}

fn check_tier(options: &AttrOptions, errors: &mut Errors) -> u8 {
    let Some(tier) = options.number("tier", errors) else { return TIER };
    tier.base10_parse().unwrap_or_else(|_| {
        errors.at(&tier, "a tier is a number from 0, the reference, to 255");
        TIER
    })
}

/// A type or path as one identifier.
fn flat(tokens: impl ToTokens) -> Ident {
    let text = tokens.to_token_stream().to_string();
    let mut flat = String::with_capacity(text.len());
    for character in text.chars().filter(|character| !character.is_whitespace()) {
        flat.push(if character.is_alphanumeric() { character } else { '_' });
    }
    format_ident!("{flat}")
}

/// `impl Contract for Type`, to underline.
struct ImplHead<'a>(&'a ItemImpl);

impl ToTokens for ImplHead<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.impl_token.to_tokens(tokens);
        self.0.self_ty.to_tokens(tokens);
    }
}
