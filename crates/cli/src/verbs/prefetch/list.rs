//! Access lists in files.

use agent::access::{AccessList, MOST_BYTES, decode};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The list in the file `path`.
pub fn read(path: &Path) -> Result<AccessList> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(|| format!("{shown}: cannot be opened"))?;
    file.take(MOST_BYTES as u64 + 4096)
        .read_to_end(&mut bytes)
        .with_context(|| format!("{shown}: cannot be read"))?;
    decode(&bytes).with_context(|| shown.to_string())
}
