//! Roots that BusyBox' init starts: by scripts of `/etc/init.d/S*`, or by one script alone.

use crate::attributes::attributes;
use crate::durable;
use rustix::fs::{XattrFlags, fsetxattr};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::Path;

/// The script that BusyBox' init runs first, if its table names no other.
pub(crate) const RCS: &str = "etc/init.d/rcS";
const TABLE: &str = "etc/inittab";

/// A file that starts nothing, and why.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// The file.
    pub path: String,
    /// Why, and what to do.
    pub why: String,
}

/// Whether the first script starts those of `/etc/init.d/S*`.
///
/// # Errors
/// Nothing would run it, or it cannot be changed.
pub(crate) fn starts_scripts(root: &Path) -> Result<bool, Unfit> {
    let unfit = |path: &Path, why: String| Unfit {
        path: path.display().to_string(),
        why,
    };
    let script = root.join(RCS);
    let table = root.join(TABLE);
    // Without a table, BusyBox runs the script by itself.
    let others = fs::read_to_string(&table).unwrap_or_default();
    let mut entries = code(&others).filter(|l| l.contains(":sysinit:")).peekable();
    if entries.peek().is_some() && !entries.any(|l| l.contains("rcS") || l.contains("init.d")) {
        let why = format!(
            "starts no /{RCS}, so nothing would start the prefetcher; add a line that does, or \
             install with --init initramfs"
        );
        return Err(unfit(&table, why));
    }
    let text =
        fs::read_to_string(&script).map_err(|e| unfit(&script, format!("cannot be read: {e}")))?;
    // A pattern of names: `for i in /etc/init.d/S??*`.
    let pattern = |line: &str| {
        line.match_indices("/S")
            .any(|(at, _)| matches!(line.as_bytes().get(at + 2), Some(b'?' | b'*' | b'[')))
    };
    let mut lines = code(&text);
    if lines.any(|l| pattern(l) || l.contains("run-parts")) {
        return Ok(true);
    }
    let is_file = fs::symlink_metadata(&script).is_ok_and(|m| m.is_file());
    let is_shell = text
        .lines()
        .next()
        .is_some_and(|l| l.starts_with("#!") && l.trim_end().ends_with("sh"));
    if !is_file || !is_shell {
        let why = "starts no /etc/init.d/S* scripts and is no shell script, so nothing would start \
                   the prefetcher; install with --init initramfs";
        return Err(unfit(&script, why.to_owned()));
    }
    Ok(false)
}

/// The lines that are no comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|l| !l.trim_start().starts_with('#'))
}

/// Puts `lines` behind the first line of the script at `path`.
pub(crate) fn insert(path: &Path, lines: &str) -> io::Result<()> {
    change(path, |text| {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        format!("{first}\n{lines}{rest}")
    })
}

/// Takes `lines` away again, wherever they stand by now. What is gone starts nothing.
pub(crate) fn remove(path: &Path, lines: &str) -> io::Result<()> {
    match change(path, |text| text.replacen(lines, "", 1)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Writes beside and renames, with the rights, owner, attributes and times of before.
fn change(path: &Path, with: impl FnOnce(&str) -> String) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    let text = fs::read_to_string(path)?;
    let new = with(&text);
    if new == text {
        return Ok(());
    }
    let attributes = attributes(&fs::File::open(path)?)?;
    durable::put(path, new.as_bytes(), |file| {
        // Only root can give files away, and set some attributes; others keep what is theirs.
        fchown(file, Some(meta.uid()), Some(meta.gid())).ok();
        for (name, value) in &attributes {
            fsetxattr(file, name.as_str(), value, XattrFlags::empty()).ok();
        }
        file.set_permissions(meta.permissions())?;
        file.set_modified(meta.modified()?)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    fn root(script: &str, table: Option<&str>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc/init.d")).unwrap();
        fs::write(root.path().join(RCS), script).unwrap();
        if let Some(table) = table {
            fs::write(root.path().join(TABLE), table).unwrap();
        }
        root
    }

    #[test]
    fn what_starts_a_script_is_told_apart_from_what_does_not() {
        let loops = "#!/bin/sh\nfor i in /etc/init.d/S??* ;do $i start; done\n";
        assert!(starts_scripts(root(loops, None).path()).unwrap());
        let table = "::sysinit:/etc/init.d/rcS\n";
        assert!(starts_scripts(root(loops, Some(table)).path()).unwrap());
        // One script that starts everything itself: a name is no pattern, nor a comment.
        let single = "#!/bin/sh\n# for i in /etc/init.d/S??*\n/etc/init.d/S10net start\napp &\n";
        assert!(!starts_scripts(root(single, None).path()).unwrap());
        let elsewhere = "# ::sysinit:/etc/init.d/rcS\n::sysinit:/sbin/start\n";
        let refused = starts_scripts(root(loops, Some(elsewhere)).path()).unwrap_err();
        assert!(
            refused.path.ends_with("inittab") && refused.why.contains("starts no"),
            "{}",
            refused.why
        );
        let program = root("\x7fELF", None);
        let refused = starts_scripts(program.path()).unwrap_err();
        assert!(
            refused.why.contains("is no shell script"),
            "{}",
            refused.why
        );
    }

    #[test]
    fn lines_come_and_go() {
        let root = root("#!/bin/sh\nmount -a\n", None);
        let path = root.path().join(RCS);
        insert(&path, "# ours\nrun &\n").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "#!/bin/sh\n# ours\nrun &\nmount -a\n");
        fs::write(&path, format!("{text}more\n")).unwrap();
        remove(&path, "# ours\nrun &\n").unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "#!/bin/sh\nmount -a\nmore\n"
        );
    }
}
