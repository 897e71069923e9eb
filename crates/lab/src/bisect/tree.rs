//! The differences of two root trees, and trees between them.

use crate::error::{LabError, io_error};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use treat::mounted::Mounted;

/// A root tree of the user: a folder, or an image that is mounted as long as this lives.
pub struct Source {
    folder: PathBuf,
    _mounted: Option<Mounted>,
}

impl Source {
    /// Opens a folder, or mounts an image read-only.
    ///
    /// # Errors
    /// It is neither, or cannot be mounted.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        if path.is_dir() {
            let folder = fs::canonicalize(path).map_err(io_error(path, "cannot be opened"))?;
            return Ok(Self {
                folder,
                _mounted: None,
            });
        }
        let wrong = |why: String| LabError::Tree {
            path: path.to_owned(),
            why,
        };
        if !path.is_file() {
            return Err(wrong(
                "no such file or folder; pass the folder or the image of a root".to_owned(),
            ));
        }
        let why = "which shows its files; pass a folder with its content instead";
        let mounted = Mounted::new(path, "ro,loop", why).map_err(|e| wrong(e.to_string()))?;
        Ok(Self {
            folder: mounted.folder().to_owned(),
            _mounted: Some(mounted),
        })
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// What is at a path: everything but its times.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    kind: Kind,
    mode: u32,
    owner: (u32, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Folder { is_empty: bool },
    File(u64),
    Link(PathBuf),
    Device(u64),
    Socket,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The path in the tree.
    pub path: PathBuf,
    /// For the reader.
    pub name: String,
}

fn list(folder: &Path) -> Result<BTreeMap<PathBuf, Entry>, LabError> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let failed = || io_error(&next, "cannot be listed");
        for entry in fs::read_dir(&next).map_err(failed())? {
            let path = entry.map_err(failed())?.path();
            let failed = || io_error(&path, "cannot be read");
            let about = fs::symlink_metadata(&path).map_err(failed())?;
            let kind = if about.is_dir() {
                let mut inside = fs::read_dir(&path).map_err(failed())?;
                open.push(path.clone());
                Kind::Folder {
                    is_empty: inside.next().is_none(),
                }
            } else if about.is_symlink() {
                Kind::Link(fs::read_link(&path).map_err(failed())?)
            } else if about.is_file() {
                Kind::File(about.len())
            } else if about.file_type().is_socket() {
                Kind::Socket
            } else {
                Kind::Device(about.rdev())
            };
            let name = path.strip_prefix(folder).unwrap_or(&path).to_owned();
            all.insert(
                name,
                Entry {
                    kind,
                    mode: about.mode(),
                    owner: (about.uid(), about.gid()),
                },
            );
        }
    }
    Ok(all)
}

/// Whether two files of one length have the same content.
fn is_same(first: &Path, second: &Path) -> Result<bool, LabError> {
    let open = |path: &Path| {
        let file = File::open(path).map_err(io_error(path, "cannot be opened"))?;
        Ok::<_, LabError>(std::io::BufReader::with_capacity(1 << 16, file))
    };
    let (mut a, mut b) = (open(first)?, open(second)?);
    let mut blocks = [vec![0; 1 << 16], vec![0; 1 << 16]];
    loop {
        let [one, two] = &mut blocks;
        let n = fill(&mut a, one).map_err(io_error(first, "cannot be read"))?;
        let m = fill(&mut b, two).map_err(io_error(second, "cannot be read"))?;
        if one.get(..n) != two.get(..m) {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
    }
}

fn fill(from: &mut impl Read, block: &mut [u8]) -> std::io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = block.get_mut(done..).filter(|r| !r.is_empty()) {
        match from.read(rest)? {
            0 => break,
            n => done += n,
        }
    }
    Ok(done)
}

/// What differs between two trees, by path. Times and extended attributes do not count. A
/// folder that only one tree has is part of the files in it.
///
/// # Errors
/// Something cannot be read.
pub fn differences(first: &Path, second: &Path) -> Result<Vec<Changed>, LabError> {
    let [before, after] = [list(first)?, list(second)?];
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let mut all = Vec::new();
    for path in paths {
        let what = match (before.get(path), after.get(path)) {
            (Some(a), Some(b)) => match changed(a, b) {
                Some(what) => what,
                None if matches!(a.kind, Kind::File(_))
                    && !is_same(&first.join(path), &second.join(path))? =>
                {
                    "changed"
                }
                None => continue,
            },
            (Some(a), None) if counts(a) => "removed",
            (None, Some(b)) if counts(b) => "added",
            _ => continue,
        };
        all.push(Changed {
            name: format!("/{} ({what})", path.display()),
            path: path.clone(),
        });
    }
    Ok(all)
}

fn counts(entry: &Entry) -> bool {
    !matches!(entry.kind, Kind::Folder { is_empty: false } | Kind::Socket)
}

/// How two entries differ, apart from the content of files of one length.
fn changed(a: &Entry, b: &Entry) -> Option<&'static str> {
    let same_kind = match (&a.kind, &b.kind) {
        (Kind::Folder { .. }, Kind::Folder { .. }) => true,
        (a, b) => a == b,
    };
    match same_kind {
        false => Some("changed"),
        true if a.mode != b.mode || a.owner != b.owner => Some("mode or owner"),
        true => None,
    }
}

/// Makes the tree `to`: the first one with the `applied` paths of `all` from the second.
///
/// # Errors
/// The outer one: something cannot be read or written. The inner one: a sentence, if these
/// paths do not fit together.
pub fn make(
    (first, second): (&Path, &Path),
    all: &[Changed],
    applied: &[usize],
    to: &Path,
) -> Result<Result<(), String>, LabError> {
    let differs: BTreeSet<&Path> = all.iter().map(|c| c.path.as_path()).collect();
    let chosen = applied.iter().filter_map(|i| all.get(*i));
    let chosen: BTreeSet<&Path> = chosen.map(|c| c.path.as_path()).collect();
    let [before, after] = [list(first)?, list(second)?];
    if to.exists() {
        fs::remove_dir_all(to).map_err(io_error(to, "cannot be removed"))?;
    }
    fs::create_dir_all(to).map_err(io_error(to, "cannot be created"))?;
    let mut placed: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    for path in paths {
        let from_second = chosen.contains(path.as_path());
        let (entries, from) = match from_second {
            true => (&after, second),
            false => (&before, first),
        };
        let Some(entry) = entries.get(path) else {
            continue;
        };
        let is_part = !counts(entry) && !differs.contains(path.as_path());
        let is_both = before.contains_key(path) && after.contains_key(path);
        // Folders of one tree come with their files.
        if is_part && !is_both {
            continue;
        }
        if let Err(why) = parents(path, &before, &after, (first, second), to, &mut placed)? {
            return Ok(Err(why));
        }
        put(&from.join(path), &to.join(path))?;
        placed.insert(path.clone(), from.join(path));
    }
    // What was put into a folder changed its time.
    for (path, from) in placed.iter().rev() {
        let about = fs::symlink_metadata(from).map_err(io_error(from, "cannot be read"))?;
        if about.is_dir() {
            set_times(&to.join(path), &about)?;
        }
    }
    Ok(Ok(()))
}

/// Makes the folders that `path` lies in, where they are not there yet.
fn parents(
    path: &Path,
    before: &BTreeMap<PathBuf, Entry>,
    after: &BTreeMap<PathBuf, Entry>,
    (first, second): (&Path, &Path),
    to: &Path,
    placed: &mut BTreeMap<PathBuf, PathBuf>,
) -> Result<Result<(), String>, LabError> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    for folder in above.into_iter().filter(|f| !f.as_os_str().is_empty()) {
        let place = to.join(folder);
        match fs::symlink_metadata(&place) {
            Ok(about) if about.is_dir() => continue,
            Ok(_) => {
                return Ok(Err(format!(
                    "/{} is a folder in one tree and none in the other",
                    folder.display()
                )));
            }
            Err(_) => {}
        }
        let is_folder = |of: &BTreeMap<PathBuf, Entry>| {
            let kind = of.get(folder).map(|e| &e.kind);
            matches!(kind, Some(Kind::Folder { .. }))
        };
        let from = match (is_folder(before), is_folder(after)) {
            (true, _) => first.join(folder),
            (false, true) => second.join(folder),
            (false, false) => continue,
        };
        put(&from, &place)?;
        placed.insert(folder.to_owned(), from);
    }
    Ok(Ok(()))
}

/// Copies one entry, without what is in it, with owner, mode and times.
fn put(from: &Path, to: &Path) -> Result<(), LabError> {
    let cannot = || io_error(to, "cannot be written");
    let about = fs::symlink_metadata(from).map_err(io_error(from, "cannot be read"))?;
    let is_root = rustix::process::geteuid().is_root();
    let owner = (Some(about.uid()), Some(about.gid()));
    if about.is_symlink() {
        let target = fs::read_link(from).map_err(io_error(from, "cannot be read"))?;
        symlink(target, to).map_err(cannot())?;
        if is_root {
            lchown(to, owner.0, owner.1).map_err(cannot())?;
        }
        return Ok(());
    }
    if about.is_dir() {
        if !to.is_dir() {
            fs::create_dir(to).map_err(cannot())?;
        }
    } else if about.is_file() {
        fs::copy(from, to).map_err(cannot())?;
    } else {
        let kind = FileType::from_raw_mode(about.mode());
        let mode = Mode::from_raw_mode(about.mode());
        mknodat(CWD, to, kind, mode, about.rdev()).map_err(|e| cannot()(e.into()))?;
    }
    if is_root {
        chown(to, owner.0, owner.1).map_err(cannot())?;
    }
    // Last, because a new owner takes some bits away.
    let mode = Permissions::from_mode(about.mode() & 0o7777);
    fs::set_permissions(to, mode).map_err(cannot())?;
    match about.is_file() {
        true => set_times(to, &about),
        false => Ok(()),
    }
}

fn set_times(path: &Path, about: &Metadata) -> Result<(), LabError> {
    let failed = || io_error(path, "cannot be given its times");
    let modified = about.modified().map_err(failed())?;
    let times = FileTimes::new()
        .set_modified(modified)
        .set_accessed(modified);
    let file = File::open(path).map_err(failed())?;
    file.set_times(times).map_err(failed())
}

#[cfg(test)]
mod tests {
    use super::{differences, list, make};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn trees_between_two_have_what_is_applied() {
        let work = tempfile::tempdir().unwrap();
        let [a, b, to] = ["a", "b", "to"].map(|n| work.path().join(n));
        for tree in [&a, &b] {
            write(tree, "etc/same", "same");
            write(tree, "usr/bin/tool", "1");
            write(tree, "etc/init.d/S10", "run");
            symlink("same", tree.join("etc/link")).unwrap();
        }
        write(&a, "old/gone", "x");
        write(&b, "new/deep/file", "y");
        write(&b, "usr/bin/tool", "2");
        fs::remove_file(b.join("etc/link")).unwrap();
        symlink("other", b.join("etc/link")).unwrap();
        fs::set_permissions(b.join("etc/init.d/S10"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(b.join("empty")).unwrap();

        let all = differences(&a, &b).unwrap();
        let names: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
        let wanted = [
            "/empty (added)",
            "/etc/init.d/S10 (mode or owner)",
            "/etc/link (changed)",
            "/new/deep/file (added)",
            "/old/gone (removed)",
            "/usr/bin/tool (changed)",
        ];
        assert_eq!(names, wanted);
        let every: Vec<usize> = (0..all.len()).collect();
        for (applied, equal) in [(&[][..], &a), (&every, &b)] {
            make((&a, &b), &all, applied, &to).unwrap().unwrap();
            assert_eq!(list(&to).unwrap(), list(equal).unwrap());
            assert!(differences(&to, equal).unwrap().is_empty());
            let time = |path: &Path| fs::metadata(path.join("etc")).unwrap().modified().unwrap();
            assert_eq!(time(&to), time(&a));
        }
        make((&a, &b), &all, &[3, 5], &to).unwrap().unwrap();
        assert_eq!(fs::read_to_string(to.join("new/deep/file")).unwrap(), "y");
        assert_eq!(fs::read_to_string(to.join("usr/bin/tool")).unwrap(), "2");
        assert!(to.join("old/gone").exists() && !to.join("empty").exists());
    }

    #[test]
    fn a_folder_that_becomes_a_file_takes_all_of_it() {
        let work = tempfile::tempdir().unwrap();
        let [a, b, to] = ["a", "b", "to"].map(|n| work.path().join(n));
        write(&a, "data/one", "1");
        write(&b, "data", "file");
        let all = differences(&a, &b).unwrap();
        let names: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["/data (changed)", "/data/one (removed)"]);
        let why = make((&a, &b), &all, &[0], &to).unwrap().unwrap_err();
        assert!(why.contains("/data is a folder"), "{why}");
        make((&a, &b), &all, &[0, 1], &to).unwrap().unwrap();
        assert!(to.join("data").is_file());
    }
}
