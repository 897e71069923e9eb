//! This machine's last boot: on the screen, or as a capture.

use crate::input;
use crate::out::Out;
use crate::verbs::capture::keep;
use crate::verbs::show;
use agent::here::{Gathered, Missing};
use anyhow::{Result, bail};
use std::path::Path;

/// `firstlight` without a verb.
pub fn run(out: &mut Out) -> Result<()> {
    let gathered = agent::here::gather(agent::sys::counter_hz());
    if gathered.manifest.sources.iter().all(|s| s.format == "none") {
        let why: Vec<String> = gathered.missing.iter().map(sentence).collect();
        bail!(
            "nothing of this machine's boot could be read: {}",
            why.join("; ")
        );
    }
    let missing: Vec<String> = gathered.missing.iter().map(sentence).collect();
    let record = input::record_of(
        vec![input::gathered(gathered)],
        &crate::args::Reading::default(),
    )?;
    show::print(&record, &analysis::Options::default(), out)?;
    out.flush()?;
    for m in missing {
        anstream::eprintln!("firstlight: {m}");
    }
    Ok(())
}

/// `firstlight capture here`.
pub fn capture(path: &Path, out: &mut Out) -> Result<()> {
    keep::check(path)?;
    let gathered = agent::here::gather(agent::sys::counter_hz());
    keep::pack(path, &gathered.with_manifest()?)?;
    print(path, &gathered, out)
}

fn print(path: &Path, gathered: &Gathered, out: &mut Out) -> Result<()> {
    let missing: Vec<String> = gathered.missing.iter().map(sentence).collect();
    if out.json {
        let files: Vec<&str> = gathered.members.iter().map(|m| m.0.as_str()).collect();
        let done = serde_json::json!({
            "schema": "firstlight.capture/1", "capture": path, "files": files, "missing": missing,
        });
        return out.text(&views::json::text(&done));
    }
    for m in &missing {
        anstream::eprintln!("firstlight: {m}");
    }
    out.text(&format!(
        "{}: {} files\n",
        path.display(),
        gathered.members.len()
    ))
}

fn sentence(m: &Missing) -> String {
    format!("{} could not be read: {}; {}", m.what, m.why, m.advice)
}
