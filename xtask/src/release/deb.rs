//! The Debian package, by `dpkg-deb`. Nothing is linked dynamically, so one package
//! serves every release of Debian.

use super::base::Release;
use super::files::{place, put, quietly};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's name for x86-64.
pub(super) const AMD64: &str = "amd64";

/// The name of the package's file for one of Debian's architectures.
#[must_use]
pub fn name(version: &str, arch: &str) -> String {
    format!("firstlight_{version}-1_{arch}.deb")
}

/// Writes the package of what lies in `tree`, with the program for one of Debian's
/// architectures; `work` is made.
pub(super) fn write(
    release: &Release,
    tree: &Path,
    (arch, program): (&str, &Path),
    work: &Path,
) -> Result<()> {
    let from = release.source.join("packaging/debian");
    quietly(Command::new("cp").arg("-a").arg(tree).arg(work))?;
    place(program, &work.join("usr/bin/firstlight"), 0o755)?;
    let version = format!("{}-1", release.version.number);
    let read = |name: &str| {
        fs::read_to_string(from.join(name)).with_context(|| format!("packaging/debian/{name}"))
    };
    // Debian's places, and its names for what is compressed.
    let share = work.join("usr/share");
    let zsh = share.join("zsh/vendor-completions");
    fs::rename(share.join("zsh/site-functions"), zsh)?;
    let doc = share.join("doc/firstlight");
    fs::rename(doc.join("CHANGELOG.md"), doc.join("changelog"))?;
    quietly(Command::new("gzip").arg("-9n").arg(doc.join("changelog")))?;
    let changelog = read("changelog.in")?
        .replace("@VERSION@", &version)
        .replace("@DATE@", &date(release.version.epoch)?);
    put(&doc.join("changelog.Debian"), changelog.as_bytes(), 0o644)?;
    quietly(
        Command::new("gzip")
            .arg("-9n")
            .arg(doc.join("changelog.Debian")),
    )?;
    put(&doc.join("copyright"), read("copyright")?.as_bytes(), 0o644)?;
    let overrides = share.join("lintian/overrides/firstlight");
    put(&overrides, read("lintian-overrides")?.as_bytes(), 0o644)?;

    let files = files(work)?;
    let mut sums = String::new();
    let mut kib = 0;
    for file in &files {
        let path = work.join(file);
        kib += fs::metadata(&path)?.len().div_ceil(1024);
        let line = quietly(Command::new("md5sum").current_dir(work).arg(file))?;
        write!(sums, "{}", String::from_utf8_lossy(&line))?;
    }
    let control = read("control.in")?
        .replace("@VERSION@", &version)
        .replace("@ARCH@", arch)
        .replace("@SIZE@", &kib.to_string());
    put(&work.join("DEBIAN/control"), control.as_bytes(), 0o644)?;
    put(&work.join("DEBIAN/md5sums"), sums.as_bytes(), 0o644)?;
    let to = release.dist.join(name(&release.version.number, arch));
    quietly(
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .arg(work)
            .arg(to)
            .env("SOURCE_DATE_EPOCH", release.version.epoch.to_string())
            // The pieces that several threads compress depend on their number.
            .env("DPKG_DEB_THREADS_MAX", "1"),
    )?;
    Ok(())
}

/// The time in the form of RFC 5322, as Debian's changelogs have it.
pub(super) fn date(epoch: u64) -> Result<String> {
    let at = format!("@{epoch}");
    let text = quietly(
        Command::new("date")
            .args(["--utc", "--rfc-email", "--date", &at])
            .env("LC_ALL", "C"),
    )?;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

/// All files below a folder, relative to it and sorted.
pub(super) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    fn walk(root: &Path, folder: &Path, all: &mut Vec<PathBuf>) -> Result<()> {
        for entry in fs::read_dir(folder)?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(root, &path, all)?;
            } else if let Ok(inside) = path.strip_prefix(root) {
                all.push(inside.to_owned());
            }
        }
        Ok(())
    }
    let mut all = Vec::new();
    walk(root, root, &mut all)?;
    all.sort();
    Ok(all)
}
