//! `./x docs`: the documentation as a site, by VitePress, which `npm` fetches.
//!
//! The pages are those of `docs/`, with commands, JSON documents and a gallery as the
//! program makes them. A link to a
//! file that is no page leads to the repository. A link to nothing fails.

mod generated;
mod links;

use crate::release::Version;
use crate::{root, runner, step};
use anyhow::{Context, Result, bail};
use regex::Regex;
use serde_json::{Value, json};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Where files are that are no pages.
const REPOSITORY: &str = "https://github.com/firstlight-boot/firstlight/blob/main";

/// Pages outside of `docs/`: the file, its page, its name in the list.
const OTHERS: [(&str, &str, &str); 6] = [
    ("ARCHITECTURE.md", "architecture.md", "Architecture"),
    ("CHANGELOG.md", "changelog.md", "Changelog"),
    ("CONTRIBUTING.md", "contributing.md", "Contributing"),
    ("SECURITY.md", "security.md", "Security"),
    (
        "experiments/classics/RESULTS.md",
        "classics.md",
        "Published results, run again",
    ),
    (
        "packaging/meta-firstlight/README.md",
        "yocto.md",
        "Yocto layer",
    ),
];

/// Builds the site into `target/site/out`.
///
/// # Errors
/// If a link leads nowhere, or the program, npm or VitePress fails.
pub fn build() -> Result<()> {
    let source = fs::canonicalize(root()).context("the checkout")?;
    let folder = source.join("target/site");
    let pages = folder.join("pages");
    if pages.exists() {
        fs::remove_dir_all(&pages)?;
    }
    runner::build_programs()?;
    let broken = lay_out(&source, &pages)?;
    if !broken.is_empty() {
        bail!("links that lead nowhere:\n  {}", broken.join("\n  "));
    }
    generated::write(&source, &pages)?;
    let version = Version::read(&source)?;
    let sidebar = json!({
        "version": version.number,
        "sidebar": sidebar(&fs::read_to_string(source.join("docs/README.md"))?),
    });
    fs::write(folder.join("sidebar.json"), sidebar.to_string())?;
    // Beside the pages, which import what npm installs.
    for file in [
        "package.json",
        "package-lock.json",
        ".vitepress/config.mjs",
        ".vitepress/theme/index.mjs",
        ".vitepress/theme/pages.css",
    ] {
        let (from, to) = (source.join("packaging/site").join(file), folder.join(file));
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&from, &to).with_context(|| from.display().to_string())?;
    }
    let site = folder.display().to_string();
    step(
        "npm",
        &["--prefix", &site, "ci", "--no-audit", "--no-fund"],
        &[],
    )?;
    let vitepress = folder.join("node_modules/.bin/vitepress");
    let envs = [("FIRSTLIGHT_SITE", site.as_str())];
    step(&vitepress.display().to_string(), &["build", &site], &envs)?;
    let out = folder.join("out");
    let (broken, count) = links::broken(&out)?;
    if !broken.is_empty() {
        bail!("links that lead nowhere:\n  {}", broken.join("\n  "));
    }
    println!(
        "{}: {count} links checked",
        out.join("index.html").display()
    );
    Ok(())
}

/// Copies the pages to `to`. Links that lead nowhere, a sentence each.
fn lay_out(source: &Path, to: &Path) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    let mut pages: Vec<(PathBuf, PathBuf)> = OTHERS
        .iter()
        .map(|(file, page, _)| (PathBuf::from(file), PathBuf::from(page)))
        .collect();
    for file in files(&source.join("docs"))? {
        let inside = file.strip_prefix(source)?.to_owned();
        let page = inside.strip_prefix("docs")?.to_owned();
        let page = match page.ends_with("README.md") {
            true => page.with_file_name("index.md"),
            false => page,
        };
        pages.push((inside, page));
    }
    for (file, page) in &pages {
        let target = to.join(page);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        if file.extension().is_none_or(|e| e != "md") {
            fs::copy(source.join(file), target)?;
            continue;
        }
        let text = fs::read_to_string(source.join(file))?;
        fs::write(
            target,
            linked(source, file, page, &text, &pages, &mut broken)?,
        )?;
    }
    Ok(broken)
}

/// A page whose links lead to pages, or to the repository.
fn linked(
    source: &Path,
    file: &Path,
    page: &Path,
    text: &str,
    pages: &[(PathBuf, PathBuf)],
    broken: &mut Vec<String>,
) -> Result<String> {
    let link = Regex::new(r"\]\(([^() \t]+)\)")?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut new = String::new();
    let mut at = 0;
    for found in link.captures_iter(text) {
        let Some(address) = found.get(1) else {
            continue;
        };
        let (path, anchor) = match address.as_str().split_once('#') {
            Some((path, anchor)) => (path, format!("#{anchor}")),
            None => (address.as_str(), String::new()),
        };
        if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
            continue;
        }
        let Some(inside) = plain(&folder.join(path)) else {
            broken.push(format!(
                "{}: {path} leads out of the checkout",
                file.display()
            ));
            continue;
        };
        // Of other kinds, such as notebooks, the site makes no page.
        let is_shown = ["md", "png", "svg"]
            .iter()
            .any(|kind| inside.extension().is_some_and(|e| e == *kind));
        let named = pages.iter().find(|(f, _)| is_shown && *f == inside);
        let to = match named {
            Some((_, other)) => {
                let up = page.components().count().saturating_sub(1);
                format!("{}{}{anchor}", "../".repeat(up), other.display())
            }
            None if source.join(&inside).exists() => {
                format!("{REPOSITORY}/{}{anchor}", inside.display())
            }
            None => {
                broken.push(format!("{}: {path} does not exist", file.display()));
                continue;
            }
        };
        new.push_str(text.get(at..address.start()).unwrap_or_default());
        new.push_str(&to);
        at = address.end();
    }
    new.push_str(text.get(at..).unwrap_or_default());
    Ok(new)
}

/// A path without `.` and `..`; `None` if it leads above its start.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut new = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !new.pop() => return None,
            Component::Normal(name) => new.push(name),
            _ => {}
        }
    }
    Some(new)
}

/// All files below a folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .flatten()
    {
        let path = entry.path();
        match path.is_dir() {
            true => all.extend(files(&path)?),
            false => all.push(path),
        }
    }
    all.sort();
    Ok(all)
}

/// The list beside each page: the headings and pages of `docs/README.md`.
fn sidebar(readme: &str) -> Value {
    let mut groups: Vec<(String, Vec<Value>)> = Vec::new();
    for line in readme.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            groups.push((heading.to_owned(), Vec::new()));
        }
        let Some((_, pages)) = groups.last_mut() else {
            continue;
        };
        // The last cell of a row.
        let cells = line.strip_suffix(" |").and_then(|l| l.rsplit_once(" | "));
        let Some((_, row)) = cells else {
            continue;
        };
        for link in row.split('[').skip(1) {
            let Some((name, address)) = link.split_once("](") else {
                continue;
            };
            let address = address.split([')', '#']).next().unwrap_or_default();
            let Some(page) = address.strip_suffix(".md").filter(|a| !a.starts_with("..")) else {
                continue;
            };
            let page = page.strip_suffix("README").unwrap_or(page);
            pages.push(json!({"text": name, "link": format!("/{page}")}));
        }
    }
    let mut all: Vec<Value> = groups
        .into_iter()
        .filter(|(_, pages)| !pages.is_empty())
        .map(|(text, items)| json!({"text": text, "items": items}))
        .collect();
    let others: Vec<Value> = OTHERS
        .iter()
        .map(|(_, page, name)| json!({"text": name, "link": format!("/{}", page.trim_end_matches(".md"))}))
        .chain([
            json!({"text": "Commands", "link": "/commands"}),
            json!({"text": "JSON documents", "link": "/schemas/"}),
            json!({"text": "Gallery", "link": "/gallery"}),
        ])
        .collect();
    all.push(json!({"text": "Reference", "items": others}));
    Value::Array(all)
}

#[cfg(test)]
mod tests {
    use super::{lay_out, linked, plain, sidebar};
    use std::path::{Path, PathBuf};

    #[test]
    fn every_link_of_the_documentation_leads_somewhere() {
        let source = std::fs::canonicalize(crate::root()).unwrap();
        let to = tempfile::tempdir().unwrap();
        let broken = lay_out(&source, to.path()).unwrap();
        assert!(broken.is_empty(), "{}", broken.join("\n"));
        assert!(to.path().join("findings/index.md").is_file());
    }

    #[test]
    fn a_link_leads_to_a_page_or_to_the_repository() {
        let source = std::fs::canonicalize(crate::root()).unwrap();
        let pages = [
            (PathBuf::from("docs/a.md"), PathBuf::from("a.md")),
            (PathBuf::from("SECURITY.md"), PathBuf::from("security.md")),
            (
                PathBuf::from("docs/fleet.ipynb"),
                PathBuf::from("fleet.ipynb"),
            ),
        ];
        let mut broken = Vec::new();
        let mut to = |text| {
            let (file, page) = (Path::new("docs/x/b.md"), Path::new("x/b.md"));
            linked(&source, file, page, text, &pages, &mut broken).unwrap()
        };
        assert_eq!(to("[a](../a.md#b)"), "[a](../a.md#b)");
        assert_eq!(to("[s](../../SECURITY.md)"), "[s](../security.md)");
        assert!(to("[c](../../Cargo.toml)").contains("/blob/main/Cargo.toml)"));
        assert!(to("[f](../fleet.ipynb)").contains("/blob/main/docs/fleet.ipynb)"));
        assert_eq!(to("[w](https://x.example)"), "[w](https://x.example)");
        to("[n](none.md)");
        assert_eq!(broken, ["docs/x/b.md: none.md does not exist"]);
        assert_eq!(plain(Path::new("a/../../b")), None);
    }

    #[test]
    fn the_list_of_pages_has_the_groups_of_the_readme() {
        let text = "# D\n\n## Look\n\n| You want | Page |\n|---|---|\n| see | [show](show.md) |\n\
            | both | [image](image.md), [prefetch](prefetch.md) |\n| x | [f](findings/README.md) |\n";
        let list = sidebar(text).to_string();
        for page in ["/show", "/image", "/prefetch", "/findings/", "/security"] {
            assert!(list.contains(&format!("\"{page}\"")), "{page}: {list}");
        }
    }
}
