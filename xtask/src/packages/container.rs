//! Containers, built from nothing but the release, and used.

use super::bench::{Bench, Outcome, expect_words, has, is_root, skip};
use super::clean::{BOOT, DEBIAN, DEMO, base, unpack, use_in};
use crate::release::quietly;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Buildah with storage of its own, which goes with its folder.
struct Buildah<'a>(&'a Path);

impl Buildah<'_> {
    fn run(&self, args: &[&str]) -> Result<String> {
        let said = quietly(
            Command::new("buildah")
                .arg("--root")
                .arg(self.0.join("storage"))
                .arg("--runroot")
                .arg(self.0.join("run"))
                .args(["--storage-driver", "vfs"])
                .args(args),
        )?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// Builds the image `firstlight` with a Containerfile; a container of it.
    fn build(&self, file: &Path, folder: &Path, more: &[&str]) -> Result<String> {
        let (file, folder) = (file.display().to_string(), folder.display().to_string());
        let build = [
            "bud",
            "--pull=never",
            "--isolation",
            "chroot",
            "--timestamp",
            "0",
        ];
        let what = ["-t", "firstlight", "-f", &file, &folder];
        self.run(&[&build[..], more, &what].concat())?;
        self.run(&["from", "--pull-never", "firstlight"])
    }
}

/// The image that the container with the lab is built on.
const BASE: &str = "localhost/firstlight-debian";

/// Why containers cannot be built here.
fn missing() -> Option<&'static str> {
    match (has("buildah"), is_root()) {
        (false, _) => Some("there is no buildah"),
        (_, false) => Some("buildah needs root here"),
        _ => None,
    }
}

/// The container for reading, built without a network.
pub(super) fn small(bench: &Bench) -> Result<Outcome> {
    if let Some(why) = missing() {
        return skip(why);
    }
    let work = tempfile::tempdir()?;
    let folder = unpack(bench, work.path())?;
    let buildah = Buildah(work.path());
    let file = bench.packaging("containers/Containerfile");
    let name = buildah.build(&file, &folder, &[])?;
    let mounted = PathBuf::from(buildah.run(&["mount", &name])?);
    let used = use_in(bench, &mounted);
    buildah.run(&["umount", &name])?;
    used.map(|()| Outcome::Passed)
}

/// The container with the lab, on a Debian that is made here: it boots a machine.
pub(super) fn lab(bench: &Bench) -> Result<Outcome> {
    in_lab(bench, BOOT, "identical")
}

/// The same container, with the demonstration.
pub(super) fn demo(bench: &Bench) -> Result<Outcome> {
    in_lab(bench, DEMO, "boot.html")
}

/// Runs a shell's line in the container with the lab, which must print `words`.
fn in_lab(bench: &Bench, line: &str, words: &str) -> Result<Outcome> {
    if let Some(why) = missing() {
        return skip(why);
    }
    let debian = match base(bench, DEBIAN[1])? {
        Ok(debian) => debian,
        Err(why) => return skip(why),
    };
    // Copies of whole systems: beside the archive, because /tmp may be memory.
    let work = tempfile::tempdir_in(&bench.kept)?;
    let buildah = Buildah(work.path());
    let scratch = buildah.run(&["from", "scratch"])?;
    buildah.run(&["add", &scratch, &debian.display().to_string(), "/"])?;
    // Not `debian`: buildah takes that short name for an image of a registry.
    buildah.run(&["commit", "--rm", &scratch, BASE])?;
    let folder = work.path().join("context");
    fs::create_dir(&folder)?;
    let deb = format!("firstlight_{}-1_amd64.deb", bench.version());
    fs::copy(bench.file(&deb), folder.join(&deb))?;
    let file = bench.packaging("containers/Containerfile.lab");
    let name = buildah
        .build(&file, &folder, &["--build-arg", &format!("BASE={BASE}")])
        .context("the container with the lab")?;
    let run = [
        "run",
        "--isolation",
        "chroot",
        &name,
        "--",
        "/bin/sh",
        "-ec",
    ];
    let said = buildah.run(&[&run[..], &[line]].concat())?;
    eprintln!("{said}");
    expect_words(said.as_bytes(), words)?;
    Ok(Outcome::Passed)
}
