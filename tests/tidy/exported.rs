//! The names that the crate `weighbridge` gives to others are few.
//!
//! A name counts once, by whatever path it is reached: an item of a public module of `lib.rs`, defined there
//! or handed on, macros too. Modules themselves do not count, nor what is `#[doc(hidden)]`.

use std::collections::BTreeSet;

use super::circles::{Names, Target, Uses, name_of};
use super::root;
use super::source::{Crate, of_item};
use syn::visit::Visit;

/// The most names.
const MOST: usize = 120;

fn is_hidden(item: &syn::Item) -> bool {
    of_item(item).iter().any(|attribute| {
        let arguments = || attribute.parse_args::<syn::Path>();
        attribute.path().is_ident("doc") && arguments().is_ok_and(|argument| argument.is_ident("hidden"))
    })
}

fn is_public(item: &syn::Item) -> bool {
    let visibility = match item {
        syn::Item::Const(of) => &of.vis,
        syn::Item::Enum(of) => &of.vis,
        syn::Item::Fn(of) => &of.vis,
        syn::Item::Mod(of) => &of.vis,
        syn::Item::Static(of) => &of.vis,
        syn::Item::Struct(of) => &of.vis,
        syn::Item::Trait(of) => &of.vis,
        syn::Item::Type(of) => &of.vis,
        syn::Item::Union(of) => &of.vis,
        syn::Item::Use(of) => &of.vis,
        _ => return false,
    };
    matches!(visibility, syn::Visibility::Public(_))
}

/// Adds the names that a public module gives, those of public modules in it too.
fn add_exported(of: &Crate, names: &Names<'_>, module: usize, found: &mut BTreeSet<String>) {
    for item in of.modules[module].items.iter().filter(|item| !is_hidden(item)) {
        match item {
            syn::Item::Macro(item) => {
                let is_exported = item.attrs.iter().any(|of| of.path().is_ident("macro_export"));
                found.extend(item.ident.as_ref().filter(|_| is_exported).map(ToString::to_string));
            }
            item if !is_public(item) => {}
            syn::Item::Mod(item) => {
                let child = of.modules[module].children.iter().find(|(name, _)| item.ident == name);
                let (_, child) = child.expect("the crate was read along its modules");
                add_exported(of, names, *child, found);
            }
            syn::Item::Use(item) => {
                let mut uses = Uses::default();
                uses.visit_item_use(item);
                for (_, path, name) in uses.0 {
                    let modules =
                        names.resolve(module, &path).into_iter().filter_map(|target| match target {
                            Target::Module(of) => Some(of),
                            Target::Item(_) => None,
                        });
                    let modules: Vec<usize> = modules.collect();
                    match name {
                        Some(name) if modules.is_empty() => drop(found.insert(name)),
                        _ => modules.into_iter().for_each(|child| add_exported(of, names, child, found)),
                    }
                }
            }
            item => found.extend(name_of(item)),
        }
    }
}

fn exported(of: &Crate) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    add_exported(of, &Names::new(of), 0, &mut found);
    found
}

#[test]
fn the_crate_gives_few_names_to_others() {
    let found = exported(&Crate::read(&root().join("runtime/src/lib.rs")));
    for name in ["Bencher", "Runs", "Worker", "scenario", "main"] {
        assert!(found.contains(name), "`{name}` is not among {found:?}");
    }
    assert!(found.len() <= MOST, "{} names, and {MOST} may be: {found:?}", found.len());
}

#[test]
fn a_name_counts_once_and_a_hidden_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "lib.rs",
        "mod a; pub use a::{One, b}; pub mod c { pub use crate::a::{One, Two as Three}; \
         #[doc(hidden)] pub use crate::a::Two; } #[doc(hidden)] pub mod d { pub fn e() \
         {} } #[macro_export] macro_rules! m { () => {} }",
    );
    write("a.rs", "pub struct One; pub struct Two; pub mod b { pub fn f() {} fn g() {} }");
    let found = exported(&Crate::read(&folder.path().join("lib.rs")));
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), ["One", "Three", "f", "m"]);
}
