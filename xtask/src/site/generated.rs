//! Pages that are made of what the program says of itself: commands, JSON, a gallery.

use crate::release::quietly;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A page of the gallery: its file, its title, what it shows, the words that make it.
type Shown = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

/// What the gallery shows, of inputs that are in the checkout.
const GALLERY: [Shown; 5] = [
    (
        "debian",
        "A Debian in the lab",
        "Kernel log, units, processes and storage of one boot, on one clock.",
        &["report", "corpus/captures/v1-debian.tar.zst"],
    ),
    (
        "compared",
        "Two boots beside each other",
        "The same Debian with three changes: where 5.6 s went, item by item.",
        &[
            "report",
            "corpus/captures/v1-debian.tar.zst",
            "--against",
            "corpus/captures/v1-debian-all.tar.zst",
        ],
    ),
    (
        "board",
        "A serial log of a board",
        "From power-on through SPL, U-Boot and the kernel to the prompt.",
        &["report", "corpus/serial/reset.log"],
    ),
    (
        "calls",
        "A function trace",
        "The tree of calls as an icicle graph, and the `kd` table.",
        &["report", "corpus/kft/log"],
    ),
    (
        "processes",
        "A bootchart",
        "Processes, processor and disk over time.",
        &["report", "corpus/bootchart/bootchart2.tgz"],
    ),
];

fn program(source: &Path) -> Command {
    let mut command = Command::new(source.join("target/debug/firstlight"));
    command.current_dir(source);
    command
}

/// Writes all of them below `pages`.
///
/// # Errors
/// If the program fails, or a schema is no JSON.
pub(super) fn write(source: &Path, pages: &Path) -> Result<()> {
    fs::write(pages.join("commands.md"), commands(source)?)?;
    schemas(source, &pages.join("schemas"))?;
    gallery(source, pages)
}

/// The reference of the command line, as the program prints it.
fn commands(source: &Path) -> Result<String> {
    let help = |words: &[&str]| -> Result<String> {
        let mut command = program(source);
        let said = quietly(command.arg("help").args(words).env("COLUMNS", "90"))?;
        Ok(String::from_utf8_lossy(&said).trim_end().to_owned())
    };
    let whole = help(&[])?;
    let mut text = format!("# Commands\n\n~~~text\n{whole}\n~~~\n");
    // The verbs are the indented words of the groups, before the options.
    for line in whole.lines().take_while(|l| !l.starts_with("Options:")) {
        let Some(verb) = line
            .strip_prefix("  ")
            .filter(|l| !l.starts_with([' ', '$']))
            .and_then(|l| l.split(' ').next())
        else {
            continue;
        };
        write!(
            text,
            "\n## firstlight {verb}\n\n~~~text\n{}\n~~~\n",
            help(&[verb])?
        )?;
    }
    Ok(text)
}

/// Pages that the program makes, to look at, and one that lists them.
fn gallery(source: &Path, pages: &Path) -> Result<()> {
    // VitePress copies this folder as it is.
    let folder = pages.join("public/gallery");
    fs::create_dir_all(&folder)?;
    let mut text = "# Gallery\n\nEach of these pages is one file that `firstlight report` wrote, \
                    with no network access. Choose an item in a page to see its evidence.\n\n\
                    | Page | Shows | Made by |\n|---|---|---|\n"
        .to_owned();
    for (name, title, about, words) in GALLERY {
        let file = folder.join(format!("{name}.html"));
        quietly(program(source).args(words).arg("-o").arg(&file))?;
        writeln!(
            text,
            "| [{title}](/gallery/{name}.html){{target=\"_self\"}} | {about} | `firstlight {}` |",
            words.join(" ")
        )?;
    }
    Ok(fs::write(pages.join("gallery.md"), text)?)
}

/// A page for each JSON Schema, and one that lists them.
fn schemas(source: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let mut files: Vec<PathBuf> = fs::read_dir(source.join("schemas"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    let mut index = "# JSON documents\n\nEach document begins with its schema. \
                     [JSON output](../json.md) says how to read it, and what stays stable.\n\n\
                     | Document | Is |\n|---|---|\n"
        .to_owned();
    for file in files {
        let Some(name) = file.file_stem().and_then(|n| n.to_str()) else {
            continue;
        };
        let schema: Value = serde_json::from_slice(&fs::read(&file)?)
            .with_context(|| file.display().to_string())?;
        fs::write(to.join(format!("{name}.md")), document(name, &schema)?)?;
        let title = cell(schema["title"].as_str().unwrap_or(name));
        writeln!(index, "| [{name}]({name}.md) | {title} |")?;
    }
    Ok(fs::write(to.join("index.md"), index)?)
}

/// The page of one schema: its keys, and those of the objects in it.
fn document(name: &str, schema: &Value) -> Result<String> {
    let mut text = format!("# {name}\n");
    object(&mut text, schema)?;
    let parts = schema["$defs"].as_object().into_iter().flatten();
    for (part, schema) in parts {
        write!(text, "\n## {part}\n")?;
        object(&mut text, schema)?;
    }
    Ok(text)
}

/// A description, and a table of keys; of what is no object, its type.
fn object(text: &mut String, schema: &Value) -> Result<()> {
    if let Some(about) = schema["description"].as_str() {
        write!(text, "\n{}\n", cell(about))?;
    }
    let Some(keys) = schema["properties"].as_object() else {
        write!(text, "\n{}\n", kind(schema))?;
        return Ok(());
    };
    text.push_str("\n| Key | Type | Meaning |\n|---|---|---|\n");
    for (key, schema) in keys {
        let about = cell(schema["description"].as_str().unwrap_or_default());
        writeln!(text, "| `{key}` | {} | {about} |", kind(schema))?;
    }
    Ok(())
}

/// What a value can be, in words.
fn kind(schema: &Value) -> String {
    if let Some(part) = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()) {
        // Another document has a page of its own.
        if let Some(document) = part.strip_suffix(".json") {
            return format!("[{document}]({document}.md)");
        }
        return format!("[{part}](#{})", part.to_lowercase());
    }
    if let Some(only) = schema.get("const") {
        return format!("`{}`", cell(&only.to_string()));
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .map(|w| format!("`{}`", cell(&w.to_string())))
            .collect();
        return words.join(", ");
    }
    for either in ["anyOf", "oneOf"] {
        if let Some(all) = schema[either].as_array() {
            let all: Vec<String> = all.iter().map(kind).collect();
            return all.join(" or ");
        }
    }
    let one = |kind: &Value| match (kind.as_str(), schema.get("items")) {
        (Some("array"), Some(items)) if items.is_object() => {
            format!("array of {}", self::kind(items))
        }
        (Some(name), _) => name.to_owned(),
        (None, _) => "any".to_owned(),
    };
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(one).collect::<Vec<_>>().join(" or "),
        kind => one(kind),
    }
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::{document, schemas};
    use serde_json::json;

    #[test]
    fn a_schema_becomes_tables_of_its_keys() {
        let schema = json!({
            "title": "T", "description": "About.", "type": "object",
            "properties": {
                "n_ns": {"type": ["integer", "null"], "description": "A | B."},
                "whole": {"$ref": "diff.json"},
                "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
            },
            "$defs": {"Row": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}}},
        });
        let page = document("x", &schema).unwrap();
        for line in [
            "| `n_ns` | integer or null | A \\| B. |",
            "| `rows` | array of [Row](#row) |  |",
            "| `whole` | [diff](diff.md) |  |",
            "## Row",
            "| `kind` | `\"a\"`, `\"b\"` |  |",
        ] {
            assert!(page.lines().any(|l| l == line), "{line}: {page}");
        }
    }

    #[test]
    fn every_schema_has_a_page() {
        let source = std::fs::canonicalize(crate::root()).unwrap();
        let to = tempfile::tempdir().unwrap();
        schemas(&source, to.path()).unwrap();
        let count = |folder| std::fs::read_dir(folder).unwrap().count();
        assert_eq!(
            count(to.path().to_owned()),
            count(source.join("schemas")) + 1
        );
    }
}
