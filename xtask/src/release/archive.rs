//! Archives and recipes.

use super::{Release, TARGET, place, put, quietly, sbom, sums, tree};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Packs a folder `name` of `parent`: sorted, owned by root, with the release's time.
fn pack(release: &Release, parent: &Path, name: &str) -> Result<()> {
    let tar = release.dist.join(format!("{name}.tar"));
    quietly(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .args(["--format=ustar", "--mode=go=rX,u+rw"])
            .arg(format!("--mtime=@{}", release.version.epoch))
            .arg("--create")
            .arg("--file")
            .arg(&tar)
            .arg("-C")
            .arg(parent)
            .arg(name),
    )?;
    quietly(Command::new("gzip").args(["-9nf"]).arg(&tar)).map(|_| ())
}

/// What is unpacked anywhere: the program, the agents beside it, and the rest.
pub(super) fn program(release: &Release, tree: &Path) -> Result<()> {
    let name = format!("firstlight-{}-{TARGET}", release.version.number);
    let parent = tree.with_file_name("archive");
    let folder = parent.join(&name);
    place(
        &tree.join("usr/bin/firstlight"),
        &folder.join("firstlight"),
        0o755,
    )?;
    for entry in fs::read_dir(tree.join("usr/lib/firstlight"))?.flatten() {
        place(&entry.path(), &folder.join(entry.file_name()), 0o755)?;
    }
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        place(&release.source.join(license), &folder.join(license), 0o644)?;
    }
    tree::copy(
        &tree.join("usr/share"),
        &folder.join("share"),
        &["gz", "md", "png", "svg", "toml", "json", "txt", "fish"],
    )?;
    for file in [
        "bash-completion/completions/firstlight",
        "zsh/site-functions/_firstlight",
    ] {
        place(
            &tree.join("usr/share").join(file),
            &folder.join("share").join(file),
            0o644,
        )?;
    }
    pack(release, &parent, &name)
}

/// The source, as git has it.
pub(super) fn source(release: &Release) -> Result<()> {
    let name = format!("firstlight-{}", release.version.number);
    let tar = release.dist.join(format!("{name}.tar"));
    quietly(
        Command::new("git")
            .current_dir(&release.source)
            .args(["archive", "--format=tar"])
            .arg(format!("--prefix={name}/"))
            .arg("--output")
            .arg(&tar)
            .arg("HEAD"),
    )?;
    quietly(Command::new("gzip").args(["-9nf"]).arg(&tar)).map(|_| ())
}

/// The Yocto layer with the list of crates, and the tree for Buildroot.
pub(super) fn layers(release: &Release, work: &Path) -> Result<()> {
    let packaging = release.source.join("packaging");
    let version = &release.version.number;
    for (from, ends) in [
        (
            "meta-firstlight",
            &["conf", "bb", "inc", "bbclass", "md"][..],
        ),
        (
            "buildroot",
            &["mk", "in", "desc", "md", "config", "sh", "txt"][..],
        ),
    ] {
        let name = match from {
            "buildroot" => format!("buildroot-firstlight-{version}"),
            _ => format!("{from}-{version}"),
        };
        let to = work.join(&name);
        tree::copy(&packaging.join(from), &to, ends)?;
        if from == "buildroot" {
            for entry in fs::read_dir(packaging.join("buildroot/configs"))?.flatten() {
                place(
                    &entry.path(),
                    &to.join("configs").join(entry.file_name()),
                    0o644,
                )?;
            }
        } else {
            let lock = fs::read_to_string(release.source.join("Cargo.lock"))?;
            let list = to.join("recipes-firstlight/firstlight/firstlight-crates.inc");
            put(&list, crates(&lock).as_bytes(), 0o644)?;
        }
        pack(release, work, &name)?;
    }
    Ok(())
}

/// The crates of `Cargo.lock` as BitBake's crate fetcher takes them.
pub(super) fn crates(lock: &str) -> String {
    let all = sbom::checksums(lock);
    let mut text = "# From Cargo.lock, by `./x release`.\nSRC_URI += \" \\\n".to_owned();
    for (name, version) in all.keys() {
        let _ = writeln!(text, "    crate://crates.io/{name}/{version} \\");
    }
    text.push_str("\"\n\n");
    for ((name, version), sum) in &all {
        let _ = writeln!(text, "SRC_URI[{name}-{version}.sha256sum] = \"{sum}\"");
    }
    text
}

/// Recipes that name this release's files with their checksums.
pub(super) fn recipes(release: &Release) -> Result<()> {
    let version = &release.version.number;
    let source = sums::of(&release.dist.join(format!("firstlight-{version}.tar.gz")))?;
    let program = sums::of(
        &release
            .dist
            .join(format!("firstlight-{version}-{TARGET}.tar.gz")),
    )?;
    for (from, to) in [
        ("arch/PKGBUILD", "PKGBUILD"),
        ("homebrew/firstlight.rb", "firstlight.rb"),
    ] {
        let path = release.source.join("packaging").join(from);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let text = text
            .replace("@VERSION@", version)
            .replace("@SHA256_SOURCE@", &source)
            .replace("@SHA256_PROGRAM@", &program);
        put(&release.dist.join(to), text.as_bytes(), 0o644)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::crates;

    #[test]
    fn every_crate_has_an_address_and_a_checksum() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n";
        let text = crates(lock);
        assert!(text.contains("    crate://crates.io/a/1.0.0 \\\n\"\n"));
        assert!(text.contains("SRC_URI[a-1.0.0.sha256sum] = \"ff\"\n"));
    }
}
