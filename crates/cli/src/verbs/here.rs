//! This machine's last boot: on the screen, or as a capture.

use crate::input;
use crate::out::Out;
use crate::verbs::show;
use agent::here::Gathered;
use anyhow::{Context, Result, bail};
use std::fs::File;
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
    let shown = path.display();
    if path.exists() {
        bail!("{shown}: is there already; name a file that is not");
    }
    let mut gathered = agent::here::gather(None);
    gathered.more(path.parent().filter(|folder| folder.is_dir()));
    let name = path.to_string_lossy();
    let zstd = name.ends_with(".tar.zst");
    if !zstd && !name.ends_with(".tar") {
        bail!("{shown}: a capture is a .tar or a .tar.zst; name it so");
    }
    let beside = path.with_extension("new");
    let written =
        write(&beside, &gathered, zstd).and_then(|()| Ok(std::fs::rename(&beside, path)?));
    if written.is_err() {
        // The first error is the one to tell.
        std::fs::remove_file(&beside).ok();
    }
    written.with_context(|| format!("{shown}: cannot be written"))?;
    print(path, &gathered, out)
}

fn write(path: &Path, gathered: &Gathered, zstd: bool) -> Result<()> {
    let file = File::create(path)?;
    if zstd {
        let mut encoder = zstd::Encoder::new(&file, 0)?;
        gathered.write(&mut encoder)?;
        encoder.finish()?;
    } else {
        gathered.write(&file)?;
    }
    Ok(file.sync_all()?)
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
