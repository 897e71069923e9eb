//! Archives and recipes.

use super::agents::AGENTS;
use super::base::{Release, TARGET};
use super::files::{place, put, quietly};
use super::{deb, sbom, sums, tree};
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

/// The name of a version's archive for a target, and of the folder in it.
#[must_use]
pub fn name(version: &str, target: &str) -> String {
    format!("firstlight-{version}-{target}")
}

/// What is unpacked anywhere: the program for a target, the agents beside it, and the rest of
/// `tree`.
pub(super) fn program(release: &Release, tree: &Path, target: &str, program: &Path) -> Result<()> {
    let name = name(&release.version.number, target);
    let parent = tree.with_file_name("archive");
    let folder = parent.join(&name);
    place(program, &folder.join("firstlight"), 0o755)?;
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

/// The source, as git has it in the release's commit: others may come while it is made.
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
            .arg(&release.version.commit),
    )?;
    quietly(Command::new("gzip").args(["-9nf"]).arg(&tar)).map(|_| ())
}

/// The Yocto layer and the external tree for Buildroot: their files with this release's
/// checksums, the list of crates, and what starts the agent.
pub(super) fn layers(release: &Release, work: &Path) -> Result<()> {
    let version = &release.version.number;
    let filled = filled(release)?;
    let starts = release.source.join("crates/treat/src/target_agent");
    for (from, name, scripts) in [
        (
            "meta-firstlight",
            format!("meta-firstlight-{version}"),
            "recipes-firstlight/firstlight/files",
        ),
        (
            "buildroot",
            format!("buildroot-firstlight-{version}"),
            "package/firstlight-agent",
        ),
    ] {
        let (packaging, to) = (
            release.source.join("packaging").join(from),
            work.join(&name),
        );
        for file in deb::files(&packaging)? {
            let text = fs::read_to_string(packaging.join(&file))?;
            put(&to.join(&file), fill(&text, &filled).as_bytes(), 0o644)?;
        }
        for script in ["collect", "firstlight-agent.service", "S99firstlight-agent"] {
            place(&starts.join(script), &to.join(scripts).join(script), 0o644)?;
        }
        if from == "meta-firstlight" {
            let lock = fs::read_to_string(release.source.join("Cargo.lock"))?;
            let list = to.join("recipes-firstlight/firstlight/firstlight-crates.inc");
            put(&list, crates(&lock).as_bytes(), 0o644)?;
            let security = release.source.join("SECURITY.md");
            place(&security, &to.join("SECURITY.md"), 0o644)?;
        }
        pack(release, work, &name)?;
    }
    Ok(())
}

/// What stands for each placeholder of a recipe: version and checksums. An agent that is
/// missing keeps its placeholder, so that nobody can use it.
fn filled(release: &Release) -> Result<Vec<(String, String)>> {
    let version = &release.version.number;
    let mut all = vec![("@VERSION@".to_owned(), version.clone())];
    for (placeholder, file) in [
        ("@SHA256_SOURCE@", format!("firstlight-{version}.tar.gz")),
        (
            "@SHA256_PROGRAM@",
            format!("{}.tar.gz", name(version, TARGET)),
        ),
    ] {
        all.push((placeholder.to_owned(), sums::of(&release.dist.join(file))?));
    }
    for agent in AGENTS {
        let file = release.dist.join(agent.file());
        if file.is_file() {
            let placeholder = format!("@SHA256_AGENT_{}@", agent.arch.to_uppercase());
            all.push((placeholder, sums::of(&file)?));
        }
    }
    Ok(all)
}

fn fill(text: &str, filled: &[(String, String)]) -> String {
    filled
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The crates of `Cargo.lock` as BitBake's crate fetcher takes them.
pub(super) fn crates(lock: &str) -> String {
    let all = sbom::checksums(lock);
    let mut text = "# From Cargo.lock, by `./x release`.\nSRC_URI += \"\\\n".to_owned();
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
    let filled = filled(release)?;
    for (from, to) in [
        ("arch/PKGBUILD", "PKGBUILD"),
        ("homebrew/firstlight.rb", "firstlight.rb"),
    ] {
        let path = release.source.join("packaging").join(from);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        put(
            &release.dist.join(to),
            fill(&text, &filled).as_bytes(),
            0o644,
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::base::Release;
    use super::super::version::Version;
    use super::{crates, quietly, source};
    use std::fs;
    use std::process::Command;

    #[test]
    fn the_source_is_that_of_the_release_whatever_is_committed_later() {
        let work = tempfile::tempdir().unwrap();
        let checkout = work.path().join("checkout");
        fs::create_dir(&checkout).unwrap();
        let git = |args: &[&str]| {
            let out = quietly(
                Command::new("git")
                    .current_dir(&checkout)
                    .args(["-c", "user.name=a", "-c", "user.email=a@b.example"])
                    .args(["-c", "commit.gpgsign=false"])
                    .args(args),
            );
            String::from_utf8(out.unwrap()).unwrap().trim().to_owned()
        };
        let commit = |text: &str| {
            fs::write(checkout.join("file"), text).unwrap();
            git(&["add", "file"]);
            git(&["commit", "--quiet", "--no-verify", "-m", text]);
            git(&["rev-parse", "HEAD"])
        };
        git(&["init", "--quiet"]);
        let release = Release {
            source: checkout.clone(),
            dist: work.path().to_owned(),
            build: work.path().to_owned(),
            version: Version {
                number: "1.0.0".to_owned(),
                commit: commit("one"),
                epoch: 1_700_000_000,
            },
        };
        let packed = || {
            source(&release).unwrap();
            fs::read(work.path().join("firstlight-1.0.0.tar.gz")).unwrap()
        };
        let first = packed();
        commit("another");
        assert!(first == packed());
    }

    #[test]
    fn every_crate_has_an_address_and_a_checksum() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n";
        let text = crates(lock);
        assert!(text.contains("    crate://crates.io/a/1.0.0 \\\n\"\n"));
        assert!(text.contains("SRC_URI[a-1.0.0.sha256sum] = \"ff\"\n"));
    }
}
