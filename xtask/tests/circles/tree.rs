//! The modules of a crate, and the names in each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, UseTree, Visibility};

/// A module's place: `["a", "b"]` is `crate::a::b`.
pub type Place = Vec<String>;

/// Where a name in a module comes from.
#[derive(Clone, Debug)]
pub enum Name {
    /// It is defined here.
    Item,
    /// It is a module below.
    Module,
    /// A `use` brings it from the path.
    Use {
        path: Vec<String>,
        /// Whether others may name it here: `pub use`.
        is_re_export: bool,
    },
}

/// A module.
pub struct Module {
    pub file: PathBuf,
    /// A name may stand for a module and for a function at the same time.
    pub names: BTreeMap<String, Vec<Name>>,
    /// The paths whose names all come here: `use a::*`.
    pub globs: Vec<(Vec<String>, bool)>,
    /// Its items, without modules and tests.
    pub items: Vec<Item>,
}

impl Module {
    fn add(&mut self, name: String, what: Name) {
        self.names.entry(name).or_default().push(what);
    }
}

/// All modules of a crate.
pub type Tree = BTreeMap<Place, Module>;

/// Reads the modules of the crate whose root is the file `root`.
pub fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    file(
        root,
        Vec::new(),
        root.parent().expect("a folder"),
        &mut tree,
    );
    tree
}

/// Reads a file: its child modules lie in `folder`.
fn file(path: &Path, place: Place, folder: &Path, tree: &mut Tree) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    module(parsed.items, path, place, folder, tree);
}

fn module(items: Vec<Item>, path: &Path, place: Place, folder: &Path, tree: &mut Tree) {
    let mut new = Module {
        file: path.to_owned(),
        names: BTreeMap::new(),
        globs: Vec::new(),
        items: Vec::new(),
    };
    for item in items {
        if attributes(&item).iter().any(is_test) {
            continue;
        }
        match item {
            Item::Mod(child) => {
                let name = child.ident.to_string();
                new.add(name.clone(), Name::Module);
                let below = [place.as_slice(), std::slice::from_ref(&name)].concat();
                let inner = folder.join(&name);
                if let Some((_, items)) = child.content {
                    module(items, path, below, &inner, tree);
                } else if let Some(other) = named_path(&child.attrs) {
                    let other = path.parent().expect("a folder").join(other);
                    file(&other, below, &inner, tree);
                } else {
                    let flat = folder.join(format!("{name}.rs"));
                    let found = if flat.is_file() {
                        flat
                    } else {
                        inner.join("mod.rs")
                    };
                    file(&found, below, &inner, tree);
                }
            }
            Item::Use(item) => {
                let is_re_export = !matches!(item.vis, Visibility::Inherited);
                uses(&item.tree, &mut Vec::new(), is_re_export, &mut new);
            }
            item => {
                if let Some(name) = name_of(&item) {
                    new.add(name, Name::Item);
                }
                new.items.push(item);
            }
        }
    }
    tree.insert(place, new);
}

fn uses(tree: &UseTree, path: &mut Vec<String>, is_re_export: bool, module: &mut Module) {
    let mut add = |name: String, last: Option<String>| {
        let path = path.iter().cloned().chain(last).collect();
        module.add(name, Name::Use { path, is_re_export });
    };
    match tree {
        UseTree::Path(p) => {
            path.push(p.ident.to_string());
            uses(&p.tree, path, is_re_export, module);
            path.pop();
        }
        UseTree::Name(n) if n.ident == "self" => {
            if let Some(name) = path.last().cloned() {
                add(name, None);
            }
        }
        UseTree::Name(n) => add(n.ident.to_string(), Some(n.ident.to_string())),
        UseTree::Rename(r) => add(r.rename.to_string(), Some(r.ident.to_string())),
        UseTree::Glob(_) => module.globs.push((path.clone(), is_re_export)),
        UseTree::Group(g) => {
            for tree in &g.items {
                uses(tree, path, is_re_export, module);
            }
        }
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(i) => i.ident.to_string(),
        Item::Enum(i) => i.ident.to_string(),
        Item::Fn(i) => i.sig.ident.to_string(),
        Item::Macro(i) => i.ident.as_ref()?.to_string(),
        Item::Static(i) => i.ident.to_string(),
        Item::Struct(i) => i.ident.to_string(),
        Item::Trait(i) => i.ident.to_string(),
        Item::Type(i) => i.ident.to_string(),
        Item::Union(i) => i.ident.to_string(),
        _ => return None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, also as a part: `#[cfg(all(test, unix))]`.
fn is_test(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else {
        return false;
    };
    let words = list.tokens.to_string();
    let mut words = words.split(|c: char| !c.is_alphanumeric());
    attribute.path().is_ident("cfg")
        && words.clone().any(|w| w == "test")
        && !words.any(|w| w == "not")
}

/// `#[path = "other.rs"]`.
fn named_path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|a| {
        let syn::Meta::NameValue(pair) = &a.meta else {
            return None;
        };
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) = &pair.value
        else {
            return None;
        };
        a.path().is_ident("path").then(|| text.value())
    })
}
