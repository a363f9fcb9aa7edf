//! The attributes of weighbridge: `#[scenario]`, `#[adapter]`, `#[derive(Sweep)]`.
//!
//! Use them through the `weighbridge` crate, which re-exports them. They check and register, and nothing else: out
//! comes the author's item as it was, and beside it one static that names `weighbridge::__private` alone.
//! `WEIGHBRIDGE_MACRO_DEBUG=1` prints what comes out.

mod adapter;
mod attr;
mod errors;
mod scenario;
mod signature;
mod sweep;

use proc_macro::TokenStream;

#[proc_macro_attribute]
pub fn scenario(options: TokenStream, item: TokenStream) -> TokenStream {
    shown("scenario", scenario::expand(options.into(), &item.into()))
}

#[proc_macro_attribute]
pub fn adapter(options: TokenStream, item: TokenStream) -> TokenStream {
    shown("adapter", adapter::expand(options.into(), &item.into()))
}

#[proc_macro_derive(Sweep, attributes(sweep))]
pub fn sweep(item: TokenStream) -> TokenStream {
    shown("Sweep", sweep::derive(item.into()).unwrap_or_else(syn::Error::into_compile_error))
}

/// Prints the expansion for those who ask.
fn shown(attribute: &str, expansion: proc_macro2::TokenStream) -> TokenStream {
    if std::env::var("WEIGHBRIDGE_MACRO_DEBUG").is_ok_and(|asked| asked == "1") {
        eprintln!("// #[{attribute}]\n{expansion}\n");
    }
    expansion.into()
}
