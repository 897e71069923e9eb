//! A folder, local or on a network file system.

use crate::too_large;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub fn path_of(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.path_of(name).is_file()
    }

    pub fn get(&self, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(self.path_of(name)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let bytes = file.metadata()?.len();
        if bytes > limit {
            return Err(too_large(bytes, limit));
        }
        let mut content = Vec::new();
        file.take(limit).read_to_end(&mut content)?;
        Ok(Some(content))
    }

    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path_of(name);
        let parent = path.parent().unwrap_or(&self.0);
        fs::create_dir_all(parent)?;
        let mut beside = tempfile::NamedTempFile::new_in(parent)?;
        beside.write_all(bytes)?;
        beside.as_file().sync_all()?;
        // Others take files too, by whatever account they run under.
        beside
            .as_file()
            .set_permissions(Permissions::from_mode(0o644))?;
        beside.persist(&path)?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::Folder;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let place = Folder::new(&folder.path().join("new"));
        assert_eq!(place.get("a/b", 10).unwrap(), None);
        place.put("a/b", b"first").unwrap();
        place.put("a/b", b"second").unwrap();
        assert!(place.has("a/b"));
        assert_eq!(place.get("a/b", 10).unwrap().unwrap(), b"second");
        let said = place.get("a/b", 3).unwrap_err().to_string();
        assert_eq!(said, "it has 6 bytes, but at most 3 are read");
        let left = folder.path().join("new/a").read_dir().unwrap().count();
        assert_eq!(left, 1, "nothing is left beside");
    }
}
