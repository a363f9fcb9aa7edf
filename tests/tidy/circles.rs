//! No file imports, over whatever detour, a file that imports it.
//!
//! An import counts as one of the file that defines the thing, through however many front doors it is handed
//! on. What a type's methods call is not seen where the method's name alone stands: that takes types.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

use super::source::{Crate, crate_roots};

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    Module(usize),
    /// An item of the file.
    Item(usize),
}

/// One name that a `use` brings into a module; `None` for all names.
struct Import {
    path: Vec<String>,
    name: Option<String>,
    is_handed_on: bool,
}

/// The names of a crate, as its modules see them.
pub struct Names<'a> {
    of: &'a Crate,
    items: Vec<BTreeSet<String>>,
    imports: Vec<Vec<Import>>,
    /// `macro_rules!` by name, with the file of each.
    macros: BTreeMap<String, usize>,
    exported: BTreeMap<String, usize>,
}

impl<'a> Names<'a> {
    pub fn new(of: &'a Crate) -> Names<'a> {
        let mut names = Names {
            of,
            items: Vec::new(),
            imports: Vec::new(),
            macros: BTreeMap::new(),
            exported: BTreeMap::new(),
        };
        for module in &of.modules {
            let mut items = BTreeSet::new();
            let mut imports = Vec::new();
            for item in &module.items {
                match item {
                    syn::Item::Use(_) | syn::Item::Mod(_) | syn::Item::Impl(_) => {}
                    syn::Item::Macro(item) => {
                        let Some(name) = &item.ident else { continue };
                        names.macros.insert(name.to_string(), module.file);
                        if item.attrs.iter().any(|of| of.path().is_ident("macro_export")) {
                            names.exported.insert(name.to_string(), module.file);
                        }
                    }
                    item => items.extend(name_of(item)),
                }
            }
            let mut uses = Uses::default();
            module
                .items
                .iter()
                .filter(|item| !matches!(item, syn::Item::Mod(_)))
                .for_each(|item| uses.visit_item(item));
            for (item, path, name) in uses.0 {
                let is_handed_on = !matches!(item.vis, syn::Visibility::Inherited);
                imports.push(Import { path, name, is_handed_on });
            }
            names.items.push(items);
            names.imports.push(imports);
        }
        names
    }

    /// What a path in a module leads to: items where there are any, else modules; nothing for other crates'
    /// things.
    pub fn resolve(&self, module: usize, path: &[String]) -> BTreeSet<Target> {
        let found = self.path(module, path, &mut BTreeSet::new());
        let items: BTreeSet<Target> =
            found.iter().copied().filter(|target| matches!(target, Target::Item(_))).collect();
        if items.is_empty() { found } else { items }
    }

    fn path(&self, module: usize, path: &[String], seen: &mut BTreeSet<(usize, String)>) -> BTreeSet<Target> {
        let Some((first, rest)) = path.split_first() else { return BTreeSet::new() };
        let parent = |of: usize| self.of.modules[of].parent.unwrap_or(of);
        let mut found = match first.as_str() {
            "crate" | "$crate" => BTreeSet::from([Target::Module(0)]),
            "self" => BTreeSet::from([Target::Module(module)]),
            "super" => BTreeSet::from([Target::Module(parent(module))]),
            name => self.name(module, name, seen),
        };
        for segment in rest {
            let mut next = BTreeSet::new();
            for target in &found {
                match (target, segment.as_str()) {
                    (Target::Module(of), "super") => drop(next.insert(Target::Module(parent(*of)))),
                    (Target::Module(of), "self") => drop(next.insert(Target::Module(*of))),
                    (Target::Module(of), segment) => next.extend(self.name(*of, segment, seen)),
                    (Target::Item(_), _) => {}
                }
            }
            if next.is_empty() {
                // An item's own: a variant, an associated function.
                next.extend(found.into_iter().filter(|target| matches!(target, Target::Item(_))));
            }
            found = next;
        }
        found
    }

    fn name(&self, module: usize, name: &str, seen: &mut BTreeSet<(usize, String)>) -> BTreeSet<Target> {
        let mut found = BTreeSet::new();
        if !seen.insert((module, name.to_owned())) {
            return found;
        }
        let of = &self.of.modules[module];
        if self.items[module].contains(name) {
            found.insert(Target::Item(of.file));
        }
        if let Some(file) = self.exported.get(name).filter(|_| module == 0) {
            found.insert(Target::Item(*file));
        }
        found
            .extend(of.children.iter().filter(|(child, _)| child == name).map(|(_, id)| Target::Module(*id)));
        for import in &self.imports[module] {
            // `use name::Thing;` says nothing of what `name` is.
            let of_itself = import.path.first().is_some_and(|first| first == name);
            if import.name.as_deref() == Some(name) && (import.path.len() > 1 || !of_itself) {
                found.extend(self.path(module, &import.path, seen));
            }
        }
        if found.is_empty() {
            for import in self.imports[module].iter().filter(|import| import.name.is_none()) {
                for target in self.path(module, &import.path, &mut seen.clone()) {
                    if let Target::Module(of) = target {
                        found.extend(self.name(of, name, seen));
                    }
                }
            }
        }
        seen.remove(&(module, name.to_owned()));
        found
    }

    /// The files that each file names, with a name for each.
    fn edges(&self) -> BTreeMap<(usize, usize), BTreeSet<String>> {
        let mut edges: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
        for (id, module) in self.of.modules.iter().enumerate() {
            let mut add = |path: &[String], target: Target| {
                if let Target::Item(file) = target
                    && file != module.file
                {
                    edges.entry((module.file, file)).or_default().insert(path.join("::"));
                }
            };
            for import in &self.imports[id] {
                for target in self.resolve(id, &import.path) {
                    let below = match target {
                        Target::Item(file) | Target::Module(file) => self.is_below(file, id),
                    };
                    // A front door is no user of what it hands on.
                    if import.name.is_some() && !(import.is_handed_on && below) {
                        add(&import.path, target);
                    }
                }
            }
            let mut paths = Paths::default();
            module
                .items
                .iter()
                .filter(|item| !matches!(item, syn::Item::Mod(_)))
                .for_each(|item| paths.visit_item(item));
            for path in &paths.named {
                self.resolve(id, path).into_iter().for_each(|target| add(path, target));
            }
            for name in &paths.macros {
                if let Some(file) = self.macros.get(name) {
                    add(&[format!("{name}!")], Target::Item(*file));
                }
            }
        }
        edges
    }

    /// Whether a file holds a module below this one.
    fn is_below(&self, file: usize, module: usize) -> bool {
        let path = &self.of.modules[module].path;
        let holds = |of: &&super::source::Module| of.file == file;
        self.of.modules.iter().find(holds).is_some_and(|of| of.path.starts_with(path))
    }
}

pub fn name_of(item: &syn::Item) -> Option<String> {
    Some(match item {
        syn::Item::Const(of) => of.ident.to_string(),
        syn::Item::Enum(of) => of.ident.to_string(),
        syn::Item::Fn(of) => of.sig.ident.to_string(),
        syn::Item::Mod(of) => of.ident.to_string(),
        syn::Item::Static(of) => of.ident.to_string(),
        syn::Item::Struct(of) => of.ident.to_string(),
        syn::Item::Trait(of) => of.ident.to_string(),
        syn::Item::TraitAlias(of) => of.ident.to_string(),
        syn::Item::Type(of) => of.ident.to_string(),
        syn::Item::Union(of) => of.ident.to_string(),
        _ => return None,
    })
}

/// Every `use`, of functions' bodies too, as one entry for each name.
#[derive(Default)]
pub struct Uses(pub Vec<(syn::ItemUse, Vec<String>, Option<String>)>);

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.tree(item, &item.tree, &[]);
        }
    }
}

impl Uses {
    fn tree(&mut self, item: &syn::ItemUse, tree: &syn::UseTree, before: &[String]) {
        let and = |name: &syn::Ident| {
            let is_self = name == "self" && !before.is_empty();
            let more = (!is_self).then(|| name.to_string());
            before.iter().cloned().chain(more).collect::<Vec<String>>()
        };
        match tree {
            syn::UseTree::Path(path) => self.tree(item, &path.tree, &and(&path.ident)),
            syn::UseTree::Name(name) => {
                let path = and(&name.ident);
                let name = path.last().cloned();
                self.0.push((item.clone(), path, name));
            }
            syn::UseTree::Rename(rename) => {
                self.0.push((item.clone(), and(&rename.ident), Some(rename.rename.to_string())));
            }
            syn::UseTree::Glob(_) => self.0.push((item.clone(), before.to_vec(), None)),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(item, tree, before)),
        }
    }
}

/// The paths that a module's items name, those in calls of macros and in the texts of attributes too.
#[derive(Default)]
struct Paths {
    named: BTreeSet<Vec<String>>,
    macros: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, _: &'ast syn::ItemUse) {}

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.named.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let (true, syn::Meta::List(list)) = (attribute.path().is_ident("serde"), &attribute.meta) {
            for tree in list.tokens.clone() {
                if let TokenTree::Literal(literal) = tree
                    && let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
                    && let Ok(path) = text.parse::<syn::Path>()
                    && path.segments.len() > 1
                {
                    self.visit_path(&path);
                }
            }
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        match item.path.get_ident() {
            Some(name) => drop(self.macros.insert(name.to_string())),
            None => self.visit_path(&item.path),
        }
        self.tokens(item.tokens.clone());
    }
}

impl Paths {
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut is_field = false;
        let end = |path: &mut Vec<String>, named: &mut BTreeSet<Vec<String>>| {
            let is_type = |name: &String| name.starts_with(|first: char| first.is_uppercase());
            if path.len() > 1 || path.first().is_some_and(is_type) {
                named.insert(std::mem::take(path));
            }
            path.clear();
        };
        for tree in tokens {
            match tree {
                TokenTree::Ident(name) => {
                    if colons != 2 || path.is_empty() {
                        end(&mut path, &mut self.named);
                    }
                    if !is_field && (colons == 0 || !path.is_empty()) {
                        path.push(name.to_string());
                    }
                    (colons, is_field) = (0, false);
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Punct(mark) => {
                    end(&mut path, &mut self.named);
                    (colons, is_field) = (0, mark.as_char() == '.');
                }
                TokenTree::Group(group) => {
                    end(&mut path, &mut self.named);
                    (colons, is_field) = (0, false);
                    self.tokens(group.stream());
                }
                TokenTree::Literal(_) => {
                    end(&mut path, &mut self.named);
                    (colons, is_field) = (0, false);
                }
            }
        }
        end(&mut path, &mut self.named);
    }
}

/// The strongly connected parts of more than one file, by Tarjan (1972).
fn circles(edges: &BTreeMap<(usize, usize), BTreeSet<String>>, files: usize) -> Vec<BTreeSet<usize>> {
    struct Walk {
        next: Vec<Vec<usize>>,
        index: Vec<Option<usize>>,
        low: Vec<usize>,
        stack: Vec<usize>,
        count: usize,
        found: Vec<BTreeSet<usize>>,
    }
    fn visit(walk: &mut Walk, file: usize) {
        walk.index[file] = Some(walk.count);
        walk.low[file] = walk.count;
        walk.count += 1;
        walk.stack.push(file);
        for next in walk.next[file].clone() {
            match walk.index[next] {
                None => {
                    visit(walk, next);
                    walk.low[file] = walk.low[file].min(walk.low[next]);
                }
                Some(index) if walk.stack.contains(&next) => walk.low[file] = walk.low[file].min(index),
                Some(_) => {}
            }
        }
        if Some(walk.low[file]) == walk.index[file] {
            let start =
                walk.stack.iter().position(|on| *on == file).expect("a file is on the stack until here");
            let part: BTreeSet<usize> = walk.stack.drain(start..).collect();
            if part.len() > 1 {
                walk.found.push(part);
            }
        }
    }
    let mut next = vec![Vec::new(); files];
    for (from, to) in edges.keys() {
        next[*from].push(*to);
    }
    let mut walk = Walk {
        next,
        index: vec![None; files],
        low: vec![0; files],
        stack: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    for file in 0..files {
        if walk.index[file].is_none() {
            visit(&mut walk, file);
        }
    }
    walk.found
}

#[test]
fn no_file_imports_a_file_that_imports_it() {
    let mut looked = 0;
    let mut found = String::new();
    for root in crate_roots() {
        let of = Crate::read(&root);
        looked += of.files.len();
        let edges = Names::new(&of).edges();
        for circle in &circles(&edges, of.files.len()) {
            found += &format!("{} files\n", circle.len());
            let within = |(from, to): &(usize, usize)| circle.contains(from) && circle.contains(to);
            for ((from, to), names) in edges.iter().filter(|(ends, _)| within(ends)) {
                found += &format!("  {} -> {}: {names:?}\n", of.name(*from), of.name(*to));
            }
        }
    }
    assert!(looked > 500, "only {looked} files were looked at");
    assert!(found.is_empty(), "files are in circles:\n{found}");
}

#[test]
fn an_import_leads_through_front_doors_to_the_file_that_defines_the_thing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("bencher")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
    write("lib.rs", "mod bencher; mod run; mod user; pub use bencher::Bencher;");
    write("bencher/mod.rs", "mod bench; mod stream; pub use self::{bench::Bencher, stream::*};");
    write("bencher/bench.rs", "use super::Stream; pub struct Bencher(Stream);");
    write(
        "bencher/stream.rs",
        "pub struct Stream; fn f() { assert!(crate::bencher::Bencher::new().is_ok()); }",
    );
    write("run.rs", "use crate::Bencher; fn f(_: Bencher) {} #[cfg(test)] mod tests { use crate::user::f; }");
    write("user.rs", "use crate::{bencher, run as execute}; fn f() { bencher::Stream; execute::f(); }");
    let of = Crate::read(&at("lib.rs"));
    let edges = Names::new(&of).edges();
    let name = |file: &usize| of.files[*file].0.strip_prefix(folder.path()).unwrap().display().to_string();
    let found: Vec<String> =
        edges.keys().map(|(from, to)| format!("{} -> {}", name(from), name(to))).collect();
    let expected = [
        "bencher/bench.rs -> bencher/stream.rs",
        "bencher/stream.rs -> bencher/bench.rs",
        "run.rs -> bencher/bench.rs",
        "user.rs -> bencher/stream.rs",
        "user.rs -> run.rs",
    ];
    assert_eq!(found, expected);
    let circle = circles(&edges, of.files.len());
    assert_eq!(circle.len(), 1);
    assert!(circle[0].iter().map(name).eq(["bencher/bench.rs", "bencher/stream.rs"]));
}
