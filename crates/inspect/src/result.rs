//! The file that `lab run` writes into the folder of a run.

use crate::error::Error;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest result that is read, in bytes: a thousand boots take one million.
pub(crate) const MOST_BYTES: u64 = 64 << 20;

/// A kind of such a file.
pub(crate) struct Kind {
    /// Its name in the folder.
    pub file: &'static str,
    /// What it says of itself.
    pub schema: &'static str,
    /// Who writes it, for errors.
    pub writer: &'static str,
}

impl Kind {
    /// Whether a folder has such a file, and is no capture.
    pub fn is_in(&self, dir: &Path) -> bool {
        dir.join(self.file).is_file() && !dir.join(agent::capture::MANIFEST).is_file()
    }

    /// Where it lies in a folder, as errors name it.
    pub fn shown(&self, dir: &Path) -> String {
        dir.join(self.file).display().to_string()
    }

    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read<T: DeserializeOwned>(
        &self,
        dir: &Path,
        schema: impl Fn(&T) -> &str,
    ) -> Result<T, Error> {
        let shown = self.shown(dir);
        let text = text(&dir.join(self.file))?;
        let results: T = serde_json::from_str(&text)
            .map_err(|e| Error::unusable(&shown, format!("not what {}: {e}", self.writer)))?;
        let own = schema(&results);
        if own != self.schema {
            let why = format!(
                "its schema is `{own}`; expected `{}`, which {}",
                self.schema, self.writer
            );
            return Err(Error::unusable(&shown, why));
        }
        Ok(results)
    }
}

/// The text of such a file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn text(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let file = File::open(path).and_then(|f| f.take(MOST_BYTES).read_to_string(&mut text));
    file.map_err(|e| Error::io(&path.display().to_string(), "cannot be read", e))?;
    Ok(text)
}
