//! What a bench is run with: its types, its constants, its arguments.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, GenericParam, Signature, Type};

use super::options::DivanOptions;
use crate::errors::Errors;

/// A list of constants that is written elsewhere is gone through to so many: what it holds is not known here.
const MOST_CONSTS: usize = 20;

/// A constant: its value, and whether it exists.
struct ConstantType {
    value: TokenStream,
    exists: TokenStream,
}

/// One entry for every choice of the generic parameters, and one where there are none.
pub(super) fn check(signature: &Signature, options: &DivanOptions, errors: &mut Errors) -> Vec<TokenStream> {
    let (mut type_parameter, mut const_parameter) = (None, None);
    for parameter in &signature.generics.params {
        match parameter {
            GenericParam::Type(parameter) if type_parameter.is_none() => {
                type_parameter = Some(&parameter.ident);
            }
            GenericParam::Const(parameter) if const_parameter.is_none() => const_parameter = Some(parameter),
            GenericParam::Lifetime(_) => {}
            _ => errors.at(parameter, "a bench has one type parameter and one constant at most"),
        }
    }
    let types = match (type_parameter, &options.types) {
        (Some(_), Some((_, types))) => types.iter().map(Some).collect(),
        // The compiler finds the type that a parameter stands for, or says that it cannot.
        (None, Some((key, _))) => {
            errors.at(key, "nothing takes the values of `types`: write `fn name<T: Trait>()`");
            Vec::new()
        }
        (_, None) => vec![None],
    };
    let consts = match (const_parameter, &options.consts) {
        (Some(_), Some((_, list))) => constants(list).into_iter().map(Some).collect(),
        (None, Some((key, _))) => {
            errors.at(key, "nothing takes the values of `consts`: write `fn name<const N: usize>()`");
            Vec::new()
        }
        (_, None) => vec![None],
    };
    let const_type = const_parameter.map(|parameter| &parameter.ty);
    let mut instances = Vec::new();
    for ty in &types {
        for constant in &consts {
            instances.push(instance(signature, options, *ty, constant.as_ref().zip(const_type)));
        }
    }
    instances
}

/// The constants of a list in brackets, or of one that is elsewhere.
fn constants(list: &Expr) -> Vec<ConstantType> {
    if let Expr::Array(list) = list {
        let of = |value: &Expr| ConstantType { value: quote!(#value), exists: quote!(true) };
        return list.elems.iter().map(of).collect();
    }
    let message = format!("a list of constants that is written elsewhere has {MOST_CONSTS} of them at most");
    let of = |at: usize| ConstantType {
        value: quote! {{
            const { ::core::assert!(#list.len() <= #MOST_CONSTS, #message) };
            if #at < #list.len() { #list[#at] } else { #list[0] }
        }},
        exists: quote!(#at < #list.len()),
    };
    (0..MOST_CONSTS).map(of).collect()
}

fn instance(
    signature: &Signature,
    options: &DivanOptions,
    ty: Option<&Type>,
    constant: Option<(&ConstantType, &Type)>,
) -> TokenStream {
    // In the order of the parameters; lifetimes are found by the compiler.
    let arguments = signature.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(_) => Some(ty.map_or_else(|| quote!(_), |ty| quote!(#ty))),
        GenericParam::Const(_) => Some(constant.map_or_else(
            || quote!(_),
            |(constant, _)| {
                let value = &constant.value;
                quote!({ #value })
            },
        )),
        GenericParam::Lifetime(_) => None,
    });
    let name = &signature.ident;
    let function = match (ty, constant) {
        (None, None) => quote!(#name),
        _ => quote!(#name::<#(#arguments),*>),
    };
    let body = match (&options.args, signature.inputs.len()) {
        (None, 0) => quote!(__wb::DivanBody::Plain(|__bencher| __bencher.bench(|| #function()))),
        (None, _) => quote!(__wb::DivanBody::Plain(|__bencher| { #function(__bencher); })),
        (Some((_, list)), taken) => {
            let call = match taken {
                1 => quote!(__bencher.bench(|| #function(__wb::ArgFor::give(__arg)))),
                _ => quote!({ #function(__bencher, __wb::ArgFor::give(__arg)); }),
            };
            quote! {
                __wb::DivanBody::Args(|| __wb::args(
                    #list,
                    |__arg| {
                        use __wb::{DebugLabel as _, DisplayLabel as _};
                        (&&__wb::ArgLabel(__arg)).text()
                    },
                    |__bencher, __arg| #call,
                ))
            }
        }
    };
    let type_name = match ty {
        Some(ty) => quote!(__wb::Option::Some(|| ::core::any::type_name::<#ty>())),
        None => quote!(__wb::Option::None),
    };
    let (text, exists) = match constant {
        Some((ConstantType { value, exists }, const_type)) => (
            quote! {
                __wb::Option::Some(|| {
                    const __VALUE: #const_type = #value;
                    ::std::string::ToString::to_string(&__VALUE)
                })
            },
            exists.clone(),
        ),
        None => (quote!(__wb::Option::None), quote!(true)),
    };
    quote! {
        __wb::Instance { type_name: #type_name, constant: #text, exists: #exists, body: #body }
    }
}
