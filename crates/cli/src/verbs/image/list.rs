//! Lists of paths: one in a line.

use anyhow::{Context, Result, bail};
use std::path::Path;
/// The paths in a list: one in a line; `#` begins a comment.
pub fn paths(list: &Path) -> Result<Vec<Vec<u8>>> {
    let shown = list.display();
    let text = std::fs::read(list).with_context(|| format!("{shown}: cannot be read"))?;
    if text.contains(&0) {
        bail!("{shown}: holds NUL bytes; expected one path in a line");
    }
    let lines = text.split(|b| *b == b'\n');
    let lines = lines.map(|l| l.strip_suffix(b"\r").unwrap_or(l));
    let paths = lines.filter(|l| !l.is_empty() && !l.starts_with(b"#"));
    Ok(paths.map(<[u8]>::to_vec).collect())
}
