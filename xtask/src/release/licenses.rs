//! The licenses of what is linked into the programs.

use super::sbom::Crate;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

const HEAD: &str = "\
Firstlight is licensed under MIT or Apache-2.0, at your choice.

Its programs contain Rust's standard library (MIT OR Apache-2.0). The program and the
agents for x86_64 and aarch64 contain musl (MIT). Agents for other processors contain the
GNU C library (LGPL-2.1-or-later) where the compiler has no musl for them; the source in
this release builds them again with another version of that library.

They also contain these crates:

";

/// Names of files that hold a license.
const NAMES: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// A list of the crates, and each license text once, with the crates that it is from.
pub(super) fn text(crates: &[Crate]) -> Result<String> {
    let mut text = HEAD.to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for c in crates {
        let name = format!("{} {}", c.name, c.version);
        writeln!(text, "    {name}: {}", c.license)?;
        let files = fs::read_dir(&c.folder).with_context(|| c.folder.display().to_string())?;
        for file in files.flatten() {
            let own = file.file_name().to_string_lossy().to_lowercase();
            if !NAMES.iter().any(|n| own.starts_with(n)) || !file.path().is_file() {
                continue;
            }
            let bytes = fs::read(file.path())?;
            let body = String::from_utf8_lossy(&bytes).replace('\r', "");
            let body = body.trim().to_owned();
            let of = texts.entry(body).or_default();
            if !of.contains(&name) {
                of.push(name.clone());
            }
        }
    }
    // In the order of the crates, not of the file system.
    let mut texts: Vec<(Vec<String>, String)> = texts.into_iter().map(|(t, n)| (n, t)).collect();
    texts.sort();
    for (names, body) in texts {
        write!(
            text,
            "\n{}\n{}\n\n{body}\n",
            "-".repeat(78),
            names.join(", ")
        )?;
    }
    Ok(text)
}
