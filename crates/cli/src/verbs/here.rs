//! This machine's last boot: on the screen, or as a capture.

use crate::input;
use crate::out::Out;
use crate::verbs::show;
use agent::capture::{Member, write_tar};
use agent::here::{Gathered, Missing};
use anyhow::{Context, Result, bail};
use std::fs::File;
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
    let shown = path.display();
    if path.exists() {
        bail!("{shown}: is there already; name a file that is not");
    }
    let gathered = agent::here::gather(agent::sys::counter_hz());
    let members = gathered.with_manifest()?;
    let name = path.to_string_lossy();
    let zstd = name.ends_with(".tar.zst");
    if !zstd && !name.ends_with(".tar") {
        bail!("{shown}: a capture is a .tar or a .tar.zst; name it so");
    }
    let beside = path.with_extension("new");
    let written = write(&beside, &members, zstd).and_then(|()| Ok(std::fs::rename(&beside, path)?));
    if written.is_err() {
        // The first error is the one to tell.
        std::fs::remove_file(&beside).ok();
    }
    written.with_context(|| format!("{shown}: cannot be written"))?;
    print(path, &gathered, out)
}

fn write(path: &Path, members: &[Member], zstd: bool) -> Result<()> {
    let file = File::create(path)?;
    if zstd {
        let mut encoder = zstd::Encoder::new(&file, 0)?;
        write_tar(&mut encoder, members)?;
        encoder.finish()?;
    } else {
        write_tar(&file, members)?;
    }
    Ok(file.sync_all()?)
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
