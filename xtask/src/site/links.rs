//! Links of the built site: each leads to a page, and to a place in it.

use super::files;
use anyhow::{Context, Result};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Links of the pages below `out` that lead nowhere, a sentence each, and how many there are in
/// all. Pages that the program made, in `gallery`, have no links of the site.
///
/// # Errors
/// If a page cannot be read.
pub(super) fn broken(out: &Path) -> Result<(Vec<String>, usize)> {
    let (id, link) = (
        Regex::new(r#" id="([^"]+)""#)?,
        Regex::new(r#"<a[^>]* href="([^"]+)""#)?,
    );
    let gallery = out.join("gallery");
    let mut pages = BTreeMap::new();
    for file in files(out)? {
        if file.extension().is_some_and(|e| e == "html") && !file.starts_with(&gallery) {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            pages.insert(file, text);
        }
    }
    let places: BTreeMap<&PathBuf, BTreeSet<&str>> = pages
        .iter()
        .map(|(file, text)| {
            let ids = id.captures_iter(text).filter_map(|c| c.get(1));
            (file, ids.map(|m| m.as_str()).collect())
        })
        .collect();
    let (mut wrong, mut count) = (BTreeSet::new(), 0);
    for (file, text) in &pages {
        for address in link.captures_iter(text).filter_map(|c| c.get(1)) {
            let address = address.as_str();
            if address.contains("://") || address.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (path, place) = address.split_once('#').unwrap_or((address, ""));
            let to = target(out, file, path);
            let known = match places.get(&to) {
                Some(ids) => place.is_empty() || ids.contains(place),
                None => to.is_file(),
            };
            if !known {
                let page = file.strip_prefix(out).unwrap_or(file).display();
                wrong.insert(format!("{page}: {address}"));
            }
        }
    }
    Ok((wrong.into_iter().collect(), count))
}

/// The file that `path` on the page `file` leads to.
fn target(out: &Path, file: &Path, path: &str) -> PathBuf {
    let to = match path.strip_prefix('/') {
        _ if path.is_empty() => return file.to_owned(),
        Some(inside) => out.join(inside),
        None => file.parent().unwrap_or(out).join(path),
    };
    let to = fs::canonicalize(&to).unwrap_or(to);
    match to.is_dir() {
        true => to.join("index.html"),
        false => to,
    }
}

#[cfg(test)]
mod tests {
    use super::broken;
    use std::fs;

    #[test]
    fn a_link_to_no_page_and_one_to_no_place_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let out = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(out.join("a")).unwrap();
        let index = "<a href=\"/a/\">1</a> <a class=\"x\" href=\"a/index.html#here\">2</a>\
            <a href=\"https://x.example/y\">3</a> <a href=\"/none.html\">4</a>\
            <a href=\"/a/#there\">5</a> <a href=\"#top\">6</a> <p id=\"top\"></p>";
        fs::write(out.join("index.html"), index).unwrap();
        fs::write(out.join("a/index.html"), "<h2 id=\"here\"></h2>").unwrap();
        let (wrong, count) = broken(&out).unwrap();
        assert_eq!(wrong, ["index.html: /a/#there", "index.html: /none.html"]);
        assert_eq!(count, 5);
    }
}
