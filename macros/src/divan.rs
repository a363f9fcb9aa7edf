//! `#[divan::bench]` and `#[divan::bench_group]`: a function, or a module, becomes one entry of what divan's
//! style registers.

mod instances;
mod options;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, Token};

use crate::attr;
use crate::errors::Errors;
use crate::expansion::{first_line, location};
use crate::signature::Function;
use options::{DivanOptions, For};

/// Expands `#[divan::bench(...)]`: the function as the author wrote it, and beside it its registration, or
/// what is wrong.
pub(crate) fn bench(options: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(mut function) = syn::parse2::<Function>(item.clone()) else {
        let message = "`#[divan::bench]` goes on a function: `fn name(bencher: Bencher) { ... }`";
        let error = syn::Error::new_spanned(first_line(item), message).into_compile_error();
        return quote!(#item #error);
    };
    let beside = check_bench(options, &function).unwrap_or_else(syn::Error::into_compile_error);
    // The compiler would warn that it is no test.
    function.attributes.retain(|attribute| !attribute.path().is_ident("ignore"));
    quote!(#function #beside)
}

fn check_bench(options: TokenStream, function: &Function) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let signature = &function.signature;
    let mut options = DivanOptions::parse(options, For::Bench, &mut errors);
    attr::refuse_second("bench", &function.attributes, &mut errors);
    if let Some(ignore) = function.attributes.iter().find(|attribute| attribute.path().is_ident("ignore")) {
        options.ignore_by(ignore);
    }
    if let Some(word) = &signature.asyncness {
        errors.at(word, "divan runs no `async` benches: write `#[weighbridge::scenario]`, which does");
    }
    for input in &signature.inputs {
        if let FnArg::Receiver(receiver) = input {
            errors.at(receiver, "a bench is a free function: move it out of the `impl`");
        }
    }
    check_parameters(signature, &options, &mut errors);
    let instances = instances::check(signature, &options, &mut errors);
    let registration = {
        let (runtime, said) = (options.runtime(), options.tokens());
        let name = options.name(&signature.ident);
        let (description, location, suite) = (attr::description(&function.attributes), location(), suite());
        let registration = format_ident!("__WEIGHBRIDGE_DIVAN_{}", signature.ident);
        quote! {
            #[doc(hidden)]
            #[allow(non_upper_case_globals)]
            static #registration: () = {
                use #runtime::__private as __wb;
                static __BENCH: __wb::Bench = __wb::Bench {
                    name: #name,
                    location: #location,
                    description: #description,
                    suite: #suite,
                    options: || #said,
                    instances: &[#(#instances),*],
                };
                fn __axes() -> __wb::Vec<__wb::Axis> { __wb::axes(&__BENCH) }
                fn __keep(__point: &__wb::Point) -> __wb::Keep { __wb::keep(&__BENCH, __point) }
                fn __run(
                    __bencher: &mut __wb::LentNumbers,
                    _: __wb::Option<&mut dyn __wb::Any>,
                    __point: &__wb::Point,
                ) -> __wb::Result<(), __wb::Error> {
                    __wb::run(&__BENCH, __bencher, __point)
                }
                __wb::submit! {
                    __wb::RegisteredBench { bench: &__BENCH, axes: __axes, keep: __keep, run: __run }
                }
            };
        }
    };
    errors.unless_any(Some(registration))
}

/// A bench takes a bencher, an argument, both in this order, or nothing.
fn check_parameters(signature: &syn::Signature, options: &DivanOptions, errors: &mut Errors) {
    let (taken, most) = (signature.inputs.len(), if options.args.is_some() { 2 } else { 1 });
    if let (Some((key, _)), 0) = (&options.args, taken) {
        errors.at(key, "nothing takes the values of `args`: write `fn name(value: usize)`");
    }
    if taken > most {
        let last = signature.inputs.last();
        errors.at(
            last,
            match most {
                1 => "a bench takes a bencher alone: what else it takes has its values in `args = [...]`",
                _ => "a bench takes a bencher and one argument: make the argument a tuple",
            },
        );
    }
}

/// Expands `#[divan::bench_group(...)]`: the module as the author wrote it, and beside it its registration.
pub(crate) fn group(options: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(module) = syn::parse2::<Module>(item.clone()) else {
        let message = "`#[divan::bench_group]` goes on a module: `mod name { ... }`";
        let error = syn::Error::new_spanned(first_line(item), message).into_compile_error();
        return quote!(#item #error);
    };
    let beside = check_group(options, &module).unwrap_or_else(syn::Error::into_compile_error);
    let item = module.without_ignore();
    quote!(#item #beside)
}

fn check_group(options: TokenStream, module: &Module) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let mut options = DivanOptions::parse(options, For::Group, &mut errors);
    attr::refuse_second("bench_group", &module.attributes, &mut errors);
    if let Some(ignore) = module.attributes.iter().find(|attribute| attribute.path().is_ident("ignore")) {
        options.ignore_by(ignore);
    }
    let (runtime, said, name) = (options.runtime(), options.tokens(), options.name(&module.name));
    let own = module.name.to_string();
    let registration = format_ident!("__WEIGHBRIDGE_DIVAN_GROUP_{}", module.name);
    errors.unless_any(Some(quote! {
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        static #registration: () = {
            use #runtime::__private as __wb;
            __wb::submit! {
                __wb::RegisteredGroup(__wb::Group {
                    module: ::core::concat!(::core::module_path!(), "::", #own),
                    name: #name,
                    options: || #said,
                })
            }
        };
    }))
}

/// A module whose content is nobody's business.
struct Module {
    attributes: Vec<Attribute>,
    name: Ident,
    /// All behind the attributes.
    item: TokenStream,
}

impl Parse for Module {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility: syn::Visibility = input.parse()?;
        let word: Token![mod] = input.parse()?;
        let name: Ident = input.parse()?;
        let rest: TokenStream = input.parse()?;
        Ok(Self { attributes, item: quote!(#visibility #word #name #rest), name })
    }
}

impl Module {
    fn without_ignore(mut self) -> TokenStream {
        self.attributes.retain(|attribute| !attribute.path().is_ident("ignore"));
        let Self { attributes, item, .. } = self;
        quote!(#(#attributes)* #item)
    }
}

/// The facts that a bench binary bakes in, as `weighbridge::main!` does: `divan::main` is a function and
/// cannot.
fn suite() -> impl ToTokens {
    quote! {
        __wb::Suite {
            target_tmp: ::core::option_env!("CARGO_TARGET_TMPDIR"),
            package: ::core::env!("CARGO_PKG_NAME"),
            version: ::core::env!("CARGO_PKG_VERSION"),
            target: ::core::env!("CARGO_CRATE_NAME"),
            directory: ::core::env!("CARGO_MANIFEST_DIR"),
            family: ::core::option::Option::None,
        }
    }
}
