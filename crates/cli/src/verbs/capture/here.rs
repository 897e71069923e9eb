//! `firstlight capture here`: this machine's last boot, as a capture.

use crate::out::Out;
use agent::here::Gathered;
use anyhow::Result;
use capture::here::gather;
use capture::keep;
use std::path::Path;
use views::json::{self, Document};

/// `firstlight capture here`.
pub fn capture(path: &Path, out: &mut Out) -> Result<()> {
    keep::check(path)?;
    let mut gathered = gather();
    gathered.more(path.parent().filter(|folder| folder.is_dir()));
    keep::pack(path, |to| gathered.write(to))?;
    print(path, &gathered, out)
}

fn print(path: &Path, gathered: &Gathered, out: &mut Out) -> Result<()> {
    let missing: Vec<&str> = gathered.notes().collect();
    let sources = &gathered.manifest.sources;
    if out.json {
        let done = json::Capture {
            capture: path.display().to_string(),
            files: sources.iter().map(|s| s.file.clone()).collect(),
            missing: missing.iter().map(ToString::to_string).collect(),
            schema: json::Capture::SCHEMA,
            serial: None,
            ssh: None,
            board: None,
        };
        return out.text(&json::text(&done));
    }
    for m in &missing {
        anstream::eprintln!("firstlight: {m}");
    }
    out.text(&format!("{}: {} files\n", path.display(), sources.len()))
}
