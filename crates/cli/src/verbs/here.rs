//! This machine's last boot: on the screen, or as a capture.

use crate::input;
use crate::out::Out;
use crate::verbs::capture::keep;
use crate::verbs::show;
use agent::here::Gathered;
use anyhow::{Result, bail};
use std::path::Path;

/// `firstlight` without a verb.
pub fn run(out: &mut Out) -> Result<()> {
    let gathered = agent::here::gather(None);
    if gathered.manifest.sources.iter().all(|s| s.format == "none") {
        let why: Vec<&str> = gathered.notes().collect();
        bail!(
            "nothing of this machine's boot could be read: {}",
            why.join("; ")
        );
    }
    let record = input::record_of(
        vec![input::gathered(gathered)],
        &crate::args::Reading::default(),
    )?;
    show::print(&record, &analysis::Options::default(), out)?;
    out.flush()
}

/// `firstlight capture here`.
pub fn capture(path: &Path, out: &mut Out) -> Result<()> {
    keep::check(path)?;
    let mut gathered = agent::here::gather(None);
    gathered.more(path.parent().filter(|folder| folder.is_dir()));
    keep::pack(path, |to| Ok(gathered.write(to)?))?;
    print(path, &gathered, out)
}

fn print(path: &Path, gathered: &Gathered, out: &mut Out) -> Result<()> {
    let missing: Vec<&str> = gathered.notes().collect();
    let sources = &gathered.manifest.sources;
    if out.json {
        let files: Vec<&str> = sources.iter().map(|s| s.file.as_str()).collect();
        let done = serde_json::json!({
            "schema": "firstlight.capture/1", "capture": path, "files": files, "missing": missing,
        });
        return out.text(&views::json::text(&done));
    }
    for m in &missing {
        anstream::eprintln!("firstlight: {m}");
    }
    out.text(&format!("{}: {} files\n", path.display(), sources.len()))
}
