//! Which file uses names of which.

use crate::Graph;
use crate::tree::{Module, Name, Place, Tree};
use proc_macro2::{TokenStream, TokenTree};
use std::path::PathBuf;
use syn::visit::{self, Visit};

/// A chain of re-exports longer than this is a circle of its own.
const DEEPEST: usize = 32;

/// The graph of a crate's files.
pub fn graph(tree: &Tree) -> Graph {
    let mut graph = Graph::new();
    for (place, module) in tree {
        let edges = graph.entry(module.file.clone()).or_default();
        let mut paths = Paths::default();
        for item in &module.items {
            paths.visit_item(item);
        }
        // What a `use` inside a function brings is a path like any other.
        for name in module.names.values().flatten() {
            if let Name::Use {
                path,
                is_re_export: false,
            } = name
            {
                paths.found.push(path.clone());
            }
        }
        for path in paths.found {
            if let Some(file) = defining(tree, place, &path, 0)
                && file != module.file
            {
                edges.entry(file).or_insert_with(|| path.join("::"));
            }
        }
    }
    graph
}

/// The file that defines what `path` names in the module at `place`; `None` if that is
/// a module, or of another crate.
fn defining(tree: &Tree, place: &Place, path: &[String], depth: usize) -> Option<PathBuf> {
    if depth > DEEPEST {
        return None;
    }
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => from(tree, &Place::new(), rest, depth),
        "self" => from(tree, place, rest, depth),
        "super" => {
            let (_, parent) = place.split_last()?;
            let parent = parent.to_vec();
            match rest.first().map(String::as_str) {
                Some("super") => defining(tree, &parent, rest, depth + 1),
                _ => from(tree, &parent, rest, depth),
            }
        }
        _ => from(tree, place, path, depth),
    }
}

/// The file that defines what `path` names, seen from the module at `place` downwards.
fn from(tree: &Tree, place: &Place, path: &[String], depth: usize) -> Option<PathBuf> {
    if depth > DEEPEST {
        return None;
    }
    let module = tree.get(place)?;
    let (first, rest) = path.split_first()?;
    let all = module.names.get(first).map_or(&[][..], Vec::as_slice);
    // A function may have the name of a module, but nothing is below it.
    let is_module = !rest.is_empty() && all.iter().any(|n| matches!(n, Name::Module));
    let names = all
        .iter()
        .filter(|n| !is_module || matches!(n, Name::Module));
    let by_name = names.filter_map(|name| match name {
        Name::Item => Some(module.file.clone()),
        Name::Module => {
            let below = [place.as_slice(), std::slice::from_ref(first)].concat();
            from(tree, &below, rest, depth + 1)
        }
        Name::Use { path, .. } => {
            // `use name;` brings another crate.
            let is_itself = path.len() == 1 && path.first() == Some(first);
            let whole = [path.as_slice(), rest].concat();
            (!is_itself).then(|| defining(tree, place, &whole, depth + 1))?
        }
    });
    by_name
        .into_iter()
        .next()
        .or_else(|| by_glob(tree, place, module, path, depth))
}

fn by_glob(
    tree: &Tree,
    place: &Place,
    module: &Module,
    path: &[String],
    depth: usize,
) -> Option<PathBuf> {
    module.globs.iter().find_map(|(glob, _)| {
        let whole = [glob.as_slice(), path].concat();
        // A glob of an enum brings its variants, and names the enum's file.
        defining(tree, place, &whole, depth + 1)
    })
}

/// All paths in a piece of code.
#[derive(Default)]
struct Paths {
    found: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|s| s.ident.to_string());
            self.found.push(segments.collect());
        }
        visit::visit_path(self, path);
    }

    /// `pub(in crate::a)` says who may see a thing, and uses nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &mut Vec::new());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

impl Paths {
    fn tree(&mut self, tree: &syn::UseTree, path: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(p) => {
                path.push(p.ident.to_string());
                self.tree(&p.tree, path);
                path.pop();
            }
            syn::UseTree::Name(n) => {
                self.found
                    .push([path.as_slice(), &[n.ident.to_string()]].concat());
            }
            syn::UseTree::Rename(r) => {
                self.found
                    .push([path.as_slice(), &[r.ident.to_string()]].concat());
            }
            syn::UseTree::Glob(_) => self.found.push(path.clone()),
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.tree(t, path)),
        }
    }

    /// The paths in a macro's arguments, whose grammar only the macro knows.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.found.extend((!path.is_empty()).then(|| path.clone()));
                        path.clear();
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(p) if p.as_char() == ':' => colons += 1,
                other => {
                    self.found.extend((!path.is_empty()).then(|| path.clone()));
                    path.clear();
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.found.extend((!path.is_empty()).then_some(path));
    }
}
