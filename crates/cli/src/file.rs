//! Files that we write: whole, or not at all.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Writes a file beside and renames it: a crash or an error leaves the old one,
/// if there was one, and nothing of the new one.
pub fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let shown = path.display();
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = Path::new(&name);
    let written: Result<()> = (|| {
        let mut out = BufWriter::new(File::create(beside)?);
        fill(&mut out)?;
        let file = out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(beside, path)?;
        Ok(())
    })();
    if written.is_err() {
        std::fs::remove_file(beside).ok();
    }
    written.with_context(|| format!("{shown}: cannot be written"))
}
