//! Programs and shared libraries of a root tree: stripped, or taken away if nothing
//! needs them.

use super::content::Content;
use super::error::FileError;
use super::library::{LIBRARY_FOLDERS, is_in_library_folder};
use super::plan::Change;
use super::strip::{Kept, strip, without_sections};
use super::tree::{Found, Target, What, join, split};
use std::collections::BTreeSet;

/// So deep in a tree nothing is looked for.
const DEEPEST: usize = 32;

/// As many links in a chain as the kernel follows (`MAXSYMLINKS`).
const MOST_LINKS: usize = 40;

/// Libraries whose names are put together while a program runs: what `nsswitch.conf(5)`
/// names, what the C library and the kernel look for themselves, and drivers of libglvnd.
const LOADED_BY_PARTS: [&str; 5] = ["libnss_", "libgcc_s.", "ld-", "libGLX_", "libEGL_"];

/// What names libraries and needs none: the lists of a package manager, texts about
/// packages, the linker's own cache; and what is no part of a root while it is not run.
pub(super) const NOT_USERS: [&str; 12] = [
    "dev",
    "etc/ld.so.cache",
    "lib/modules",
    "proc",
    "run",
    "sys",
    "usr/lib/modules",
    "usr/share/doc",
    "usr/share/man",
    "var/cache",
    "var/lib/dpkg",
    "var/log",
];

/// What is no program of the system, though it may look like one: what devices and boot
/// loaders run, of which there may be a sum elsewhere, and what is kept for debuggers.
const NOT_PROGRAMS: [&str; 5] = [
    "boot",
    "lib/firmware",
    "usr/lib/debug",
    "usr/lib/firmware",
    "usr/local/lib/firmware",
];

/// So many bytes of programs are planned for at once, before and after.
const MOST_PLANNED: u64 = 1 << 30;

/// What a program loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Symbols and debugging data.
    Symbols,
    /// The table of its sections, and all that only this leads to.
    Sections,
}

impl Loss {
    /// The program without it.
    fn of(self, bytes: &[u8]) -> Result<Vec<u8>, Kept> {
        match self {
            Self::Symbols => strip(bytes),
            Self::Sections => without_sections(bytes),
        }
    }
}

/// What stripping a file, or all programs in a folder, changes; and a sentence on what
/// was left as it is.
pub(super) fn stripped(
    target: &Target,
    path: &str,
    loss: Loss,
) -> Result<(Vec<Change>, Option<String>), FileError> {
    is_tree(target)?;
    if target.folder(path)?.is_some() {
        return all_stripped(target, path, loss);
    }
    let Some(found) = target.read(path)? else {
        return Err(target.wrong(format!("{path} does not exist or is not a regular file")));
    };
    if let Some(why) = signed(&found) {
        return Err(target.protected(why));
    }
    match change(found, loss) {
        Ok(change) => Ok((vec![change], None)),
        Err(Kept::Stripped) => Ok((Vec::new(), None)),
        Err(Kept::Other) => Err(target.wrong(format!(
            "{path} is not a program or shared library; pass an ELF file"
        ))),
        Err(Kept::Odd) => Err(target.wrong(format!(
            "{path} contains data outside its sections and segments, or they do not fit the file, \
             so it cannot be stripped safely"
        ))),
    }
}

fn all_stripped(
    target: &Target,
    folder: &str,
    loss: Loss,
) -> Result<(Vec<Change>, Option<String>), FileError> {
    let mut changes = Vec::new();
    let (mut programs, mut left, mut planned) = (0_u64, 0_u64, 0_u64);
    let folder = target.real_folder(folder)?.unwrap_or_default();
    walk(target, &folder, &NOT_PROGRAMS, &mut |path, what| {
        let Some((path, What::File(bytes))) = path.map(|p| (p, what)) else {
            return Ok(());
        };
        if target.head(path) != Some(*b"\x7fELF") {
            return Ok(());
        }
        programs += 1;
        if bytes > MOST_PLANNED {
            left += 1;
            return Ok(());
        }
        let found = match target.read(path) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(()),
            // A new file would part the names.
            Err(FileError::Linked { .. }) => {
                left += 1;
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        let may = signed(&found).is_none();
        match may.then(|| change(found, loss)) {
            Some(Ok(change)) => {
                planned = planned.saturating_add(bytes);
                changes.push(change);
            }
            Some(Err(Kept::Stripped)) => {}
            Some(Err(Kept::Other)) => programs -= 1,
            Some(Err(Kept::Odd)) | None => left += 1,
        }
        match planned > MOST_PLANNED {
            true => Err(target.wrong(format!(
                "the programs in {folder} have more than {MOST_PLANNED} bytes in total; strip its \
                 subfolders one at a time"
            ))),
            false => Ok(()),
        }
    })?;
    if programs == 0 {
        return Err(target.wrong(format!("found no program in {folder}")));
    }
    let left = (left > 0).then(|| {
        format!(
            "programs left unchanged because they are hard-linked, signed, too large or contain \
             data outside their sections: {left}"
        )
    });
    Ok((changes, left))
}

/// A file's change; its rest is what it was.
fn change(found: Found, loss: Loss) -> Result<Change, Kept> {
    let Content::File(bytes) = &found.content else {
        return Err(Kept::Other);
    };
    let after = Content::File(loss.of(bytes)?);
    Ok(Change {
        path: found.path,
        before: found.content,
        metadata: Some(found.metadata),
        after,
    })
}

/// Attributes in which a kernel keeps a sum or a signature of a file: IMA and EVM.
const SUMS: [&str; 2] = ["security.ima", "security.evm"];

fn signed(found: &Found) -> Option<String> {
    let mut names = found.metadata.attributes.iter().map(|(name, _)| name);
    let sum = names.find(|name| SUMS.contains(&name.as_str()))?;
    Some(format!(
        "{} has a checksum or signature in {sum}",
        found.path
    ))
}

pub(super) fn is_tree(target: &Target) -> Result<(), FileError> {
    match target.file() {
        Some(_) => Err(target.wrong("this is a file; pass the folder of a root tree")),
        None => Ok(()),
    }
}

/// What taking a shared library away changes: the file and the links by which the linker
/// finds it; and a sentence if it is not there.
pub(super) fn without_library(
    target: &Target,
    path: &str,
) -> Result<(Vec<Change>, Option<String>), FileError> {
    is_tree(target)?;
    let (real, found) = target.look(path)?;
    let Some(found) = found else {
        // It was taken away, and its links with it.
        let gone = is_in_library_folder(&real) && is_library_name(split(&real).1);
        return match gone {
            true => Ok((Vec::new(), Some(format!("{path} does not exist")))),
            false => Err(target.wrong(format!("{path} does not exist"))),
        };
    };
    if let Content::Link(to) = &found.content {
        return Err(target.wrong(format!(
            "{path} is a link to {to}; name the library itself, and its links are removed with it"
        )));
    }
    let is_library = matches!(&found.content, Content::File(b) if b.starts_with(b"\x7fELF"))
        && is_in_library_folder(&real)
        && is_library_name(split(&real).1);
    if !is_library {
        return Err(target.wrong(format!(
            "{path} is not a shared library in one of the linker's folders ({})",
            LIBRARY_FOLDERS.join(", ")
        )));
    }
    if LOADED_BY_PARTS
        .iter()
        .any(|p| split(&real).1.starts_with(p))
    {
        return Err(target.wrong(format!(
            "programs load {path} by a name that they build at run time, so it may be needed"
        )));
    }
    // Undoing could not give it its other names again.
    target.read(&real)?;
    let mut going = vec![found];
    going.extend(links_to(target, &real)?);
    let names: BTreeSet<&str> = going.iter().map(|f| split(&f.path).1).collect();
    let own: BTreeSet<&str> = going.iter().map(|f| f.path.as_str()).collect();
    walk(target, "", &NOT_USERS, &mut |path, what| {
        let Some(path) = path else {
            return Err(target.wrong(format!(
                "the tree contains file names that are not valid UTF-8, so whether {real} is \
                 needed is unknown"
            )));
        };
        if own.contains(path) {
            return Ok(());
        }
        let needed = match what {
            What::File(_) => target.mentions(path, &names)?,
            What::Link(to) => names
                .contains(split(&to).1)
                .then(|| split(&to).1.to_owned()),
            What::Folder | What::Other => None,
        };
        match needed {
            Some(name) => Err(target.wrong(format!(
                "{path} refers to {name}, so {real} may be needed; only libraries that no file \
                 refers to can be removed"
            ))),
            None => Ok(()),
        }
    })?;
    let gone = |found: Found| Change {
        path: found.path,
        before: found.content,
        metadata: Some(found.metadata),
        after: Content::Absent,
    };
    Ok((going.into_iter().map(gone).collect(), None))
}

fn is_library_name(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.")
}

/// The linker's folders of a tree, without links.
pub(super) fn linker_folders(target: &Target) -> Result<BTreeSet<String>, FileError> {
    let mut folders: BTreeSet<String> = BTreeSet::new();
    for known in LIBRARY_FOLDERS {
        folders.extend(target.real_folder(known)?);
        for name in target.names(known) {
            let path = join(known, &name);
            if name.contains("-linux-") && target.what(&path)? == What::Folder {
                folders.extend(target.real_folder(&path)?);
            }
        }
    }
    Ok(folders)
}

/// The links in the linker's folders that lead to a library.
fn links_to(target: &Target, library: &str) -> Result<Vec<Found>, FileError> {
    let mut links: Vec<Found> = Vec::new();
    for folder in linker_folders(target)? {
        for name in target.names(&folder) {
            if !is_library_name(&name) {
                continue;
            }
            let (_, found) = target.look(&join(&folder, &name))?;
            let found = found.filter(|f| matches!(f.content, Content::Link(_)));
            let Some(link) = found else { continue };
            if leads_to(target, &link, library)? {
                links.push(link);
            }
        }
    }
    Ok(links)
}

/// Whether a link ends at `library`.
fn leads_to(target: &Target, link: &Found, library: &str) -> Result<bool, FileError> {
    let mut at = link.clone();
    for _ in 0..MOST_LINKS {
        let Content::Link(to) = &at.content else {
            return Ok(at.path == library);
        };
        let folder = split(&at.path).0;
        // `/lib/x` is beneath the tree, as it will be when that is the root.
        let next = match to.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => join(folder, to),
        };
        match target.look(&next) {
            Ok((_, Some(found))) => at = found,
            // Of folders, and of what is elsewhere, nothing is said here.
            Ok((_, None)) | Err(FileError::WrongTarget { .. } | FileError::Outside { .. }) => {
                return Ok(false);
            }
            Err(e) => return Err(e),
        }
    }
    Ok(false)
}

/// Told of a path, or of a name that is no text, and of what is there.
pub(super) type Each<'e> = &'e mut dyn FnMut(Option<&str>, What) -> Result<(), FileError>;

/// Calls `each` for everything below `folder` that is no folder, by its path from the
/// root, but for what is in `without`. A name that is no text is `None`. No link is
/// followed.
pub(super) fn walk(
    target: &Target,
    folder: &str,
    without: &[&str],
    each: Each<'_>,
) -> Result<(), FileError> {
    below(target, folder, (without, DEEPEST), each)
}

fn below(
    target: &Target,
    folder: &str,
    (without, depth): (&[&str], usize),
    each: Each<'_>,
) -> Result<(), FileError> {
    for name in target.listed(folder)? {
        let Some(name) = name else {
            each(None, What::Other)?;
            continue;
        };
        let path = join(folder, &name);
        if without.contains(&path.as_str()) {
            continue;
        }
        match target.what(&path)? {
            What::Folder if depth > 0 => below(target, &path, (without, depth - 1), each)?,
            What::Folder => {
                return Err(target.wrong(format!("{path} is nested too deeply to be searched")));
            }
            what => each(Some(&path), what)?,
        }
    }
    Ok(())
}
