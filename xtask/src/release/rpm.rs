//! The RPM package, by `rpmbuild` from what is built already.

use super::base::Release;
use super::deb;
use super::files::quietly;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The name of the package's file.
pub(super) fn name(version: &str) -> String {
    format!("firstlight-{version}-1.x86_64.rpm")
}

/// Writes the package of what lies in `tree`; without `rpmbuild` it is left out, and
/// that is said.
pub(super) fn write(release: &Release, tree: &Path, work: &Path) -> Result<()> {
    let has_rpmbuild = Command::new("rpmbuild")
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success());
    if !has_rpmbuild {
        eprintln!("skipped: the RPM package (run `apt-get install rpm`)");
        return Ok(());
    }
    fs::create_dir_all(work)?;
    // rpmbuild empties its build root, so it gets a copy.
    let staged = work.join("tree");
    quietly(Command::new("cp").arg("-a").arg(tree).arg(&staged))?;
    fs::copy(
        release.source.join("LICENSE-MIT"),
        staged.join("usr/share/doc/firstlight/LICENSE-MIT"),
    )?;
    fs::copy(
        release.source.join("LICENSE-APACHE"),
        staged.join("usr/share/doc/firstlight/LICENSE-APACHE"),
    )?;
    // Its folders and times, so that the archive holds the release's.
    for file in deb::files(&staged)? {
        let at = format!("@{}", release.version.epoch);
        quietly(
            Command::new("touch")
                .args(["--date", &at])
                .arg(staged.join(file)),
        )?;
    }
    let define = |name: &str, value: &str| format!("{name} {value}");
    quietly(
        Command::new("rpmbuild")
            .arg("-bb")
            .args(["--define", &define("_topdir", &work.display().to_string())])
            .args([
                "--define",
                &define("firstlight_version", &release.version.number),
            ])
            .args([
                "--define",
                &define("firstlight_tree", &staged.display().to_string()),
            ])
            .args([
                "--define",
                &define("_rpmdir", &release.dist.display().to_string()),
            ])
            .args(["--target", "x86_64-linux"])
            .arg(release.source.join("packaging/rpm/firstlight.spec"))
            .env("SOURCE_DATE_EPOCH", release.version.epoch.to_string()),
    )
    .context("rpmbuild")?;
    Ok(())
}
