//! Pieces of expansions that the attributes share.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Path, Type};

use crate::attr;

/// The contract as both attributes name it: they meet by its type.
pub(crate) fn contract(object: &Type, path: &Path) -> TokenStream {
    let name = path.segments.last().map(attr::tight);
    quote!(__wb::Contract { id: __wb::TypeId::of::<#object>, name: #name })
}

/// The place of the attribute.
pub(crate) fn location() -> TokenStream {
    quote! {
        __wb::Location {
            module: ::core::module_path!(),
            file: ::core::file!(),
            line: ::core::line!(),
        }
    }
}

/// An option of the expansion.
pub(crate) fn some_or_none(tokens: Option<impl ToTokens>) -> TokenStream {
    tokens.map_or_else(|| quote!(__wb::Option::None), |tokens| quote!(__wb::Option::Some(#tokens)))
}

/// The head of an item, up to its first group: enough to underline.
pub(crate) fn first_line(item: &TokenStream) -> TokenStream {
    let head = |token: &proc_macro2::TokenTree| !matches!(token, proc_macro2::TokenTree::Group(_));
    item.clone().into_iter().take_while(head).collect()
}
