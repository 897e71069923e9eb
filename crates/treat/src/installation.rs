//! Files that are installed in a root filesystem, and taken out of it again.
//!
//! What is made is written down first, in a file `installed` in the folder of what is
//! installed: each new file with its CRC, each new directory, and the times of directories
//! that were there. So an installation that was cut short is taken back, too.

use crate::busybox;
use crate::durable;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The first line of the file that says what was made.
const KIND: &str = "firstlight-installed 1";

/// Something that is installed.
pub(crate) struct Thing {
    /// Its name in sentences: `the prefetcher`.
    pub name: &'static str,
    /// The file that says what was made, in a folder of its own below the root.
    pub installed: &'static str,
    /// The command that takes it out again, up to the root.
    pub undo: &'static str,
    /// The lines that were put into scripts.
    pub lines: &'static str,
    /// What it leaves by itself.
    pub leaves: &'static [&'static str],
}

/// Why something cannot be installed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, and what is wrong with it.
    #[error("{path}: {why}")]
    Unfit {
        /// The file.
        path: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The system refused something.
    #[error("{path}: {what}")]
    Io {
        /// The file.
        path: String,
        /// What could not be done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl From<busybox::Unfit> for Error {
    fn from(unfit: busybox::Unfit) -> Self {
        Self::Unfit {
            path: unfit.path,
            why: unfit.why,
        }
    }
}

impl Error {
    pub(crate) fn unfit(path: &Path, why: impl Into<String>) -> Self {
        Self::Unfit {
            path: path.display().to_string(),
            why: why.into(),
        }
    }

    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.display().to_string();
        move |source| Self::Io { path, what, source }
    }
}

/// A file to make, below the root.
pub(crate) enum Made {
    File {
        path: &'static str,
        bytes: Vec<u8>,
        mode: u32,
    },
    Link {
        path: &'static str,
        to: &'static str,
    },
    /// Lines that are put behind the first line of a script that is there.
    Lines {
        path: &'static str,
        text: &'static str,
    },
}

impl Made {
    pub(crate) const fn path(&self) -> &'static str {
        match self {
            Self::File { path, .. } | Self::Link { path, .. } | Self::Lines { path, .. } => path,
        }
    }
}

/// Refuses a root that has it already.
pub(crate) fn is_new(thing: &Thing, root: &Path) -> Result<(), Error> {
    if root.join(thing.installed).exists() {
        let why = format!(
            "{} is installed already; `{} {}` removes it",
            thing.name,
            thing.undo,
            root.display()
        );
        return Err(Error::unfit(&root.join(thing.installed), why));
    }
    Ok(())
}

/// Makes `all` in `root`. The changes, a sentence each; with `dry_run` nothing is changed.
pub(crate) fn install(
    thing: &Thing,
    root: &Path,
    all: &[Made],
    dry_run: bool,
) -> Result<Vec<String>, Error> {
    let (directories, touched) = directories(thing, root, all)?;
    for made in all {
        let path = root.join(made.path());
        if !matches!(made, Made::Lines { .. }) && fs::symlink_metadata(&path).is_ok() {
            let why = "a file that firstlight did not write already exists; move it away";
            return Err(Error::unfit(&path, why));
        }
    }
    let lines = all
        .iter()
        .map(|m| match m {
            Made::File { path, bytes, mode } => {
                format!("new /{path}, {} bytes, mode {mode:o}", bytes.len())
            }
            Made::Link { path, to } => format!("new /{path}, a link to {to}"),
            Made::Lines { path, text } => {
                let count = text.lines().count();
                format!("/{path} starts {}: {count} new lines", thing.name)
            }
        })
        .collect();
    if !dry_run {
        make(thing, root, all, &directories, &touched)?;
    }
    Ok(lines)
}

/// The directories that are not there yet, the outer ones first; and those that
/// get new names, with their times.
type Touched = Vec<(PathBuf, [i64; 4])>;

fn directories(thing: &Thing, root: &Path, all: &[Made]) -> Result<(Vec<PathBuf>, Touched), Error> {
    let mut new: Vec<PathBuf> = Vec::new();
    let mut touched: Touched = Vec::new();
    let base = fs::metadata(root).map_err(Error::io(root, "cannot be read"))?;
    if !base.is_dir() {
        return Err(Error::unfit(
            root,
            "is no folder; expected a root filesystem",
        ));
    }
    let own = Path::new(thing.installed).parent();
    let half = durable::beside(&root.join(thing.installed));
    for path in all.iter().map(Made::path).chain([thing.installed]) {
        let mut folder = PathBuf::new();
        let parents = Path::new(path)
            .parent()
            .into_iter()
            .flat_map(Path::components);
        let mut inside = Some(base.clone());
        for part in parents {
            let before = folder.clone();
            folder.push(part);
            let shown = root.join(&folder);
            // What an installation leaves that was cut off before it was written down.
            let is_left = own == Some(&*folder) && holds_only(&shown, &half);
            match fs::symlink_metadata(&shown) {
                Ok(meta) if meta.is_dir() && !is_left => inside = Some(meta),
                Ok(meta) if !meta.is_dir() => {
                    let why = "is no folder; nothing is written through a link, which may lead \
                               out of the root";
                    return Err(Error::unfit(&shown, why));
                }
                _ => {
                    if !new.contains(&folder) {
                        new.push(folder.clone());
                    }
                    if let Some(meta) = inside.take() {
                        touch(&mut touched, before, &meta);
                    }
                }
            }
        }
        if let Some(meta) = inside {
            touch(&mut touched, folder, &meta);
        }
    }
    Ok((new, touched))
}

/// Whether nothing but that file is in a folder, if anything is.
fn holds_only(folder: &Path, file: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut all| all.all(|e| e.is_ok_and(|e| e.path() == file)))
}

fn touch(touched: &mut Touched, folder: PathBuf, meta: &fs::Metadata) {
    if touched.iter().all(|(f, _)| *f != folder) {
        let times = [
            meta.atime(),
            meta.atime_nsec(),
            meta.mtime(),
            meta.mtime_nsec(),
        ];
        touched.push((folder, times));
    }
}

fn make(
    thing: &Thing,
    root: &Path,
    all: &[Made],
    directories: &[PathBuf],
    touched: &Touched,
) -> Result<(), Error> {
    let mut text = format!("{KIND}\n");
    for (folder, [a, an, m, mn]) in touched {
        text += &format!("times {a} {an} {m} {mn} {}\n", folder.display());
    }
    for folder in directories {
        text += &format!("folder {}\n", folder.display());
    }
    for made in all {
        text += &match made {
            Made::File { path, bytes, .. } => format!("file {:08x} {path}\n", crc(bytes)),
            Made::Link { path, .. } => format!("link {path}\n"),
            Made::Lines { path, .. } => format!("lines {path}\n"),
        };
    }
    let installed = root.join(thing.installed);
    let folder = installed.parent().unwrap_or(root).to_owned();
    let cannot = |path: &Path| Error::io(path, "cannot be written");
    // All but our own folder's parents wait until what is done is written down.
    fs::create_dir_all(&folder).map_err(cannot(&folder))?;
    // What is cut off here has left a folder that says nothing, and no other trace.
    for (around, times) in touched {
        if folder.starts_with(root.join(around)) {
            set_times(&root.join(around), *times);
        }
    }
    for around in folder.ancestors().skip(1) {
        durable::folder(around).map_err(cannot(around))?;
        if around == root {
            break;
        }
    }
    durable::put(&installed, text.as_bytes(), |_| Ok(())).map_err(cannot(&installed))?;
    for directory in directories {
        let path = root.join(directory);
        fs::create_dir_all(&path).map_err(cannot(&path))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))
            .and_then(|()| durable::folder(&path))
            .and_then(|()| durable::parent(&path))
            .map_err(cannot(&path))?;
    }
    for made in all {
        let path = root.join(made.path());
        match made {
            Made::File { bytes, mode, .. } => {
                let mode = Permissions::from_mode(*mode);
                durable::put(&path, bytes, |file| file.set_permissions(mode))
                    .map_err(cannot(&path))?;
            }
            Made::Link { to, .. } => symlink(to, &path)
                .and_then(|()| durable::parent(&path))
                .map_err(cannot(&path))?,
            Made::Lines { text, .. } => {
                busybox::insert(&path, text).map_err(cannot(&path))?;
            }
        }
    }
    Ok(())
}

/// Takes it out of `root` again. The changes, a sentence each; with `dry_run` nothing is
/// changed.
pub(crate) fn uninstall(thing: &Thing, root: &Path, dry_run: bool) -> Result<Vec<String>, Error> {
    let installed = root.join(thing.installed);
    let text = fs::read_to_string(&installed).map_err(Error::io(
        &installed,
        "cannot be read; is it installed there?",
    ))?;
    let mut lines = text.lines();
    if lines.next() != Some(KIND) {
        let why = format!("expected `{KIND}` in its first line; another version installed it");
        return Err(Error::unfit(&installed, why));
    }
    let (mut files, mut folders, mut times) = (Vec::new(), Vec::new(), Vec::new());
    let mut inserted = Vec::new();
    for line in lines {
        let wrong = || Error::unfit(&installed, format!("cannot be understood: `{line}`"));
        let (word, rest) = line.split_once(' ').ok_or_else(wrong)?;
        let path = match word {
            "file" => rest.split_once(' ').ok_or_else(wrong)?.1,
            "times" => rest.splitn(5, ' ').nth(4).ok_or_else(wrong)?,
            _ => rest,
        };
        // Whoever wrote this, nothing outside of the root is removed.
        let inside = agent::access::is_plain(format!("/{path}").as_bytes());
        if !inside {
            let why = format!("`{path}` leads out of the root; nothing was removed");
            return Err(Error::unfit(&installed, why));
        }
        match word {
            "file" => {
                let crc_before = rest.split_once(' ').ok_or_else(wrong)?.0;
                files.push((path.to_owned(), Some(crc_before.to_owned())));
            }
            "link" => files.push((path.to_owned(), None)),
            "lines" => inserted.push(path.to_owned()),
            "folder" => folders.push(path.to_owned()),
            "times" => times.push((path.to_owned(), rest.to_owned())),
            _ => return Err(wrong()),
        }
    }
    let mut done = Vec::new();
    let mut changed = Vec::new();
    for (path, crc_before) in &files {
        let full = root.join(path);
        let same = match crc_before {
            Some(before) => fs::read(&full).is_ok_and(|b| format!("{:08x}", crc(&b)) == *before),
            None => fs::symlink_metadata(&full).is_ok_and(|m| m.is_symlink()),
        };
        match (same, fs::symlink_metadata(&full).is_ok()) {
            (true, _) => done.push(format!("remove /{path}")),
            (false, true) => changed.push(format!("/{path} was changed since, and stays")),
            (false, false) => {}
        }
    }
    for path in &inserted {
        done.push(format!("/{path} no longer starts {}", thing.name));
        if !dry_run {
            let path = root.join(path);
            busybox::remove(&path, thing.lines).map_err(Error::io(&path, "cannot be written"))?;
        }
    }
    let stays = |path: &str| changed.iter().any(|c| c.starts_with(&format!("/{path} ")));
    if !dry_run {
        let gone = files.iter().map(|f| &*f.0).filter(|p| !stays(p));
        // An installation that was cut short has left files that have no place yet.
        let half = files.iter().map(|f| &f.0).chain(&inserted);
        let half = half.map(|path| durable::beside(&root.join(path)));
        let own = thing.leaves.iter().copied();
        for path in gone.chain(own).map(|p| root.join(p)).chain(half) {
            remove(&path)?;
        }
        // As long as anything is there, so is what tells of it.
        for (folder, _) in &times {
            synced(&root.join(folder))?;
        }
        remove(&installed)?;
        for folder in folders.iter().rev() {
            // What somebody else put there stays, and the folder with it.
            fs::remove_dir(root.join(folder)).ok();
        }
        for (folder, line) in &times {
            let mut numbers = line.split(' ').map_while(|n| n.parse::<i64>().ok());
            let mut next = || numbers.next().unwrap_or(0);
            set_times(&root.join(folder), [next(), next(), next(), next()]);
            synced(&root.join(folder))?;
        }
    }
    done.extend(changed);
    Ok(done)
}

/// Gives a folder its times of reading and of writing, if this user may.
fn set_times(path: &Path, [read, read_nsec, written, written_nsec]: [i64; 4]) {
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let times = Timestamps {
        last_access: time(read, read_nsec),
        last_modification: time(written, written_nsec),
    };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).ok();
}

/// Brings the names in a folder to the disk, if it is there.
fn synced(path: &Path) -> Result<(), Error> {
    match durable::folder(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(path, "cannot be written")(e))
        }
        _ => Ok(()),
    }
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(path, "cannot be removed")(e))
        }
        _ => Ok(()),
    }
}

fn crc(bytes: &[u8]) -> u32 {
    agent::access::checksum(bytes)
}
