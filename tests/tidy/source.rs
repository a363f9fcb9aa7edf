//! Our own sources as they are parsed: the files that a crate consists of, and each without its tests.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;

use super::root;

/// A file without its tests.
pub struct Source {
    pub text: String,
    pub code: syn::File,
    /// The lines of what was taken away, counted from 1.
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    pub fn read(file: &Path) -> Source {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Source::parse(text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    pub fn parse(text: String) -> syn::Result<Source> {
        let mut code = syn::parse_file(&text)?;
        let mut tests = Tests::default();
        tests.visit_file_mut(&mut code);
        Ok(Source { text, code, tests: tests.0 })
    }

    /// The lines of the file but those of tests, counted from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = (1..).zip(self.text.lines());
        numbered.filter(|(number, _)| !self.tests.iter().any(|tests| tests.contains(number)))
    }

    /// The lines of code: neither of tests nor comments.
    pub fn statements(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// Takes what only a test build has out of a file, and notes its lines.
#[derive(Default)]
struct Tests(Vec<RangeInclusive<usize>>);

impl Tests {
    fn keeps(&mut self, attributes: &[syn::Attribute], whole: impl Spanned) -> bool {
        let is_test = attributes.iter().any(is_of_tests);
        if is_test {
            let span = whole.span();
            self.0.push(span.start().line..=span.end().line);
        }
        !is_test
    }
}

impl VisitMut for Tests {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        file.items.retain(|item| self.keeps(of_item(item), item));
        syn::visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, item: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut item.content {
            items.retain(|item| self.keeps(of_item(item), item));
        }
        syn::visit_mut::visit_item_mod_mut(self, item);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        item.items.retain(|item| match item {
            syn::ImplItem::Const(of) => self.keeps(&of.attrs, of),
            syn::ImplItem::Fn(of) => self.keeps(&of.attrs, of),
            syn::ImplItem::Type(of) => self.keeps(&of.attrs, of),
            _ => true,
        });
        syn::visit_mut::visit_item_impl_mut(self, item);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| match statement {
            syn::Stmt::Local(of) => self.keeps(&of.attrs, of),
            syn::Stmt::Item(of) => self.keeps(of_item(of), of),
            syn::Stmt::Macro(of) => self.keeps(&of.attrs, of),
            syn::Stmt::Expr(..) => true,
        });
        syn::visit_mut::visit_block_mut(self, block);
    }
}

/// Whether an attribute says that only a test build has the item: `#[test]`, `#[cfg(test)]`,
/// `#[cfg(all(test, unix))]`.
pub fn is_of_tests(attribute: &syn::Attribute) -> bool {
    fn asks_for_test(condition: &syn::Meta) -> bool {
        let all = |list: &syn::MetaList| {
            type Parts = syn::punctuated::Punctuated<syn::Meta, syn::Token![,]>;
            let parts = list.parse_args_with(Parts::parse_terminated);
            parts.is_ok_and(|parts| parts.iter().any(asks_for_test))
        };
        match condition {
            syn::Meta::Path(path) => path.is_ident("test"),
            syn::Meta::List(list) => list.path.is_ident("all") && all(list),
            syn::Meta::NameValue(_) => false,
        }
    }
    let of_a_condition = || attribute.parse_args::<syn::Meta>().is_ok_and(|meta| asks_for_test(&meta));
    attribute.path().is_ident("test") || attribute.path().is_ident("cfg") && of_a_condition()
}

pub fn of_item(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(of) => &of.attrs,
        syn::Item::Enum(of) => &of.attrs,
        syn::Item::ExternCrate(of) => &of.attrs,
        syn::Item::Fn(of) => &of.attrs,
        syn::Item::ForeignMod(of) => &of.attrs,
        syn::Item::Impl(of) => &of.attrs,
        syn::Item::Macro(of) => &of.attrs,
        syn::Item::Mod(of) => &of.attrs,
        syn::Item::Static(of) => &of.attrs,
        syn::Item::Struct(of) => &of.attrs,
        syn::Item::Trait(of) => &of.attrs,
        syn::Item::TraitAlias(of) => &of.attrs,
        syn::Item::Type(of) => &of.attrs,
        syn::Item::Union(of) => &of.attrs,
        syn::Item::Use(of) => &of.attrs,
        _ => &[],
    }
}

/// A module of a crate, in a file of its own or within one.
pub struct Module {
    /// Where it is in the crate: empty for the root.
    pub path: Vec<String>,
    /// Its place among the files of its crate.
    pub file: usize,
    pub parent: Option<usize>,
    pub children: Vec<(String, usize)>,
    pub items: Vec<syn::Item>,
}

/// The files of a crate that a build without tests has, and the modules in them.
pub struct Crate {
    pub files: Vec<(PathBuf, Source)>,
    /// The root first.
    pub modules: Vec<Module>,
}

impl Crate {
    /// Reads a crate from its root file, along its `mod` items.
    pub fn read(root_file: &Path) -> Crate {
        let mut read = Crate { files: Vec::new(), modules: Vec::new() };
        let folder = root_file.parent().unwrap().to_owned();
        read.file(root_file.to_owned(), folder, Vec::new(), None);
        read
    }

    fn file(&mut self, file: PathBuf, below: PathBuf, path: Vec<String>, parent: Option<usize>) -> usize {
        let source = Source::read(&file);
        let items = source.code.items.clone();
        self.files.push((file, source));
        self.module(self.files.len() - 1, items, below, path, parent)
    }

    /// `below` is where the files of child modules lie.
    fn module(
        &mut self,
        file: usize,
        items: Vec<syn::Item>,
        below: PathBuf,
        path: Vec<String>,
        parent: Option<usize>,
    ) -> usize {
        let id = self.modules.len();
        self.modules.push(Module { path: path.clone(), file, parent, children: Vec::new(), items });
        let mods: Vec<syn::ItemMod> = (self.modules[id].items.iter())
            .filter_map(|item| if let syn::Item::Mod(of) = item { Some(of.clone()) } else { None })
            .collect();
        for item in mods {
            let name = item.ident.to_string();
            let path: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
            let inner = below.join(&name);
            let child = match item.content {
                Some((_, items)) => self.module(file, items, inner, path, Some(id)),
                None => {
                    let told = item.attrs.iter().find(|attribute| attribute.path().is_ident("path"));
                    let beside = self.files[file].0.parent().unwrap().to_owned();
                    let at = match told.map(|attribute| &attribute.meta) {
                        Some(syn::Meta::NameValue(syn::MetaNameValue {
                            value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }),
                            ..
                        })) => beside.join(text.value()),
                        _ => below.join(format!("{name}.rs")),
                    };
                    let at = if at.exists() { at } else { inner.join("mod.rs") };
                    self.file(at, inner, path, Some(id))
                }
            };
            self.modules[id].children.push((name, child));
        }
        id
    }

    /// A file as it is named below the workspace.
    pub fn name(&self, file: usize) -> String {
        self.files[file].0.strip_prefix(root()).unwrap_or(&self.files[file].0).display().to_string()
    }
}

/// The files of all crates below a folder, each under its name below the workspace.
pub fn sources(folder: &str) -> BTreeMap<String, Source> {
    let mut found = BTreeMap::new();
    for root_file in crate_roots().iter().filter(|file| file.starts_with(root().join(folder))) {
        let of = Crate::read(root_file);
        let names: Vec<String> = (0..of.files.len()).map(|file| of.name(file)).collect();
        found.extend(names.into_iter().zip(of.files.into_iter().map(|(_, source)| source)));
    }
    found
}

/// The root files of the crates of the workspace: libraries, programs and bench targets.
pub fn crate_roots() -> Vec<PathBuf> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.split("members = [").nth(1).unwrap().split(']').next().unwrap();
    let packages =
        members.split(',').map(|member| member.trim().trim_matches('"')).filter(|name| !name.is_empty());
    let mut roots = Vec::new();
    for package in packages.chain(["."]) {
        let package = root().join(package);
        let fixed = ["src/lib.rs", "src/main.rs"].map(|name| package.join(name));
        roots.extend(fixed.into_iter().filter(|file| file.exists()));
        for entry in fs::read_dir(package.join("benches")).into_iter().flatten().flatten() {
            let path = entry.path();
            let file = if path.is_dir() { path.join("main.rs") } else { path };
            roots.extend(
                Some(file).filter(|file| {
                    file.extension().is_some_and(|extension| extension == "rs") && file.exists()
                }),
            );
        }
    }
    roots.sort();
    roots
}

#[test]
fn what_only_a_test_build_has_is_left_out_wherever_it_stands() {
    let text = "fn a() {}\n#[cfg(test)]\nfn b() {\n}\nfn c() {}\n#[cfg(all(test, unix))]\n\
                mod d { fn e() {} }\n\
                impl A {\n#[cfg(test)]\nfn f() {}\n}\n#[cfg(not(test))]\nfn g() {}\n";
    let source = Source::parse(text.to_owned()).unwrap();
    let left: Vec<&str> = source.lines().map(|(_, line)| line).collect();
    assert_eq!(left, ["fn a() {}", "fn c() {}", "impl A {", "}", "#[cfg(not(test))]", "fn g() {}"]);
}
