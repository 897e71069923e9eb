//! The stage `packages`: what `./x release` makes is linted by its own tools, installed
//! in clean systems and used there.

mod bench;
mod chroot;
mod clean;
mod container;
mod foreign;
mod install;
mod semver;
mod target;
mod twice;

use crate::release::{self, Release, Version, quietly};
use crate::root;
use crate::runner::Summary;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use bench::{Bench, Outcome, expect_words, has, is_root, skip};
use clean::{DEBIAN, archive, debian};

/// A check: its name, and what runs it.
type Check = (&'static str, fn(&Bench) -> Result<Outcome>);

const CHECKS: &[Check] = &[
    ("reproducible-agent", twice::agent),
    ("reproducible-packages", packages_twice),
    ("checksums", checksums),
    ("signature", signature),
    ("deb-lintian", lintian),
    ("rpm-rpmlint", rpmlint),
    ("arch-makepkg", makepkg),
    ("homebrew-ruby", ruby),
    ("nix-parse", nix),
    ("yocto-oelint", oelint),
    ("buildroot-check", buildroot),
    ("container", container::small),
    ("container-lab", container::lab),
    ("archive", archive),
    ("debian-12", |bench| debian(bench, DEBIAN[0])),
    ("debian-13", |bench| debian(bench, DEBIAN[1])),
];

/// Checks that are run only if they are named in full, because each takes many minutes.
const LONG: &[Check] = &[
    ("reproducible-program", twice::program),
    ("other-processors", foreign::check),
    ("demo-debian-13", clean::demo),
    ("demo-container", container::demo),
    ("publish", publish),
    ("cargo-install", install::check),
    ("semver", semver::check),
];

/// Runs the checks that have one of `filter` in their names, and the long ones that it names
/// in full; all but the long ones if it is empty.
///
/// # Errors
/// If the release cannot be made.
pub fn test(filter: &[String]) -> Result<Summary> {
    let source = fs::canonicalize(root()).context("the checkout")?;
    let kept = source.join("target/packages");
    let release = Release {
        dist: kept.join("dist"),
        build: source.join("target/release-program"),
        version: Version::read(&source)?,
        source,
    };
    // Nothing of an earlier run is mistaken for this one's.
    if release.dist.exists() {
        fs::remove_dir_all(&release.dist)?;
    }
    let programs = release.build()?;
    release.package(&programs)?;
    let mut summary = Summary::default();
    for why in &programs.missing {
        summary.skipped.push(format!("packages: {why}"));
    }
    let bench = Bench {
        release,
        programs,
        kept,
    };
    let is_named = |(name, _): &&Check| filter.iter().any(|f| name.contains(f.as_str()));
    let usual = CHECKS.iter().filter(|c| filter.is_empty() || is_named(c));
    let long = LONG
        .iter()
        .filter(|(name, _)| filter.iter().any(|f| f == name));
    for (name, check) in usual.chain(long) {
        eprintln!("==> packages: {name}");
        let begun = Instant::now();
        let outcome = check(&bench);
        eprintln!("    {:.1} s", begun.elapsed().as_secs_f64());
        match outcome {
            Ok(Outcome::Passed) => summary.passed += 1,
            Ok(Outcome::Skipped(why)) => summary.skipped.push(format!("packages: {name}: {why}")),
            Err(why) => {
                eprintln!("{why:#}");
                let first = format!("{why:#}");
                let first = first.lines().next().unwrap_or_default().to_owned();
                summary.failed.push(format!("packages: {name}: {first}"));
            }
        }
    }
    Ok(summary)
}

/// All packages, made again of the same programs in another folder.
fn packages_twice(bench: &Bench) -> Result<Outcome> {
    let work = tempfile::tempdir()?;
    let again = Release {
        dist: work.path().join("again"),
        ..bench.release.clone()
    };
    fs::create_dir(&again.dist)?;
    for (agent, file) in &bench.programs.agents {
        fs::copy(file, again.dist.join(agent.file()))?;
    }
    again.package(&bench.programs)?;
    let mut compared = 0;
    for entry in fs::read_dir(&again.dist)?.flatten() {
        let name = entry.file_name();
        let (first, second) = (bench.release.dist.join(&name), entry.path());
        if first.is_file() && second.is_file() {
            compared += 1;
            if fs::read(&first)? != fs::read(&second)? {
                bail!("{} differs when it is made again", name.to_string_lossy());
            }
        }
    }
    match compared {
        0..8 => bail!("only {compared} files were made twice"),
        _ => Ok(Outcome::Passed),
    }
}

/// Every crate as it would be published, built from its package alone.
fn publish(bench: &Bench) -> Result<Outcome> {
    quietly(
        Command::new("cargo")
            .current_dir(&bench.release.source)
            .args(["publish", "--workspace", "--dry-run", "--locked"]),
    )?;
    Ok(Outcome::Passed)
}

fn checksums(bench: &Bench) -> Result<Outcome> {
    release::sums(&bench.release.dist)?;
    quietly(
        Command::new("sha256sum")
            .args(["--check", "--strict", "SHA256SUMS"])
            .current_dir(&bench.release.dist),
    )?;
    Ok(Outcome::Passed)
}

/// Signs the checksums with a key that is made for this, and verifies them.
fn signature(bench: &Bench) -> Result<Outcome> {
    if !has("gpg") {
        return skip("there is no gpg");
    }
    // Short, because gpg's agent listens on a socket in it.
    let home = tempfile::Builder::new().prefix("fl").tempdir()?;
    let key = "release-test@firstlight-boot.example";
    let gpg = |words: &[&str]| {
        quietly(
            Command::new("gpg")
                .env("GNUPGHOME", home.path())
                .current_dir(&bench.release.dist)
                .args(["--batch", "--passphrase", ""])
                .args(words),
        )
    };
    gpg(&["--quick-generate-key", key, "ed25519", "sign", "never"])?;
    release::sums(&bench.release.dist)?;
    release::sign(&bench.release.dist, key, Some(home.path()))?;
    let verified = gpg(&["--verify", "SHA256SUMS.asc", "SHA256SUMS"]).map(|_| Outcome::Passed);
    // The agent that gpg started keeps its folder in use.
    let _ = Command::new("gpgconf")
        .env("GNUPGHOME", home.path())
        .args(["--kill", "all"])
        .output();
    fs::remove_file(bench.file("SHA256SUMS.asc"))?;
    verified
}

fn lintian(bench: &Bench) -> Result<Outcome> {
    if !has("lintian") {
        return skip("there is no lintian");
    }
    linted(&bench.file(&release::deb_name(bench.version(), "amd64"))).map(|()| Outcome::Passed)
}

/// Fails if lintian finds an error or a warning in a package.
fn linted(deb: &Path) -> Result<()> {
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error,warning"]);
    lintian.args(["--tag-display-limit", "0"]).arg(deb);
    quietly(&mut lintian).map(|_| ())
}

fn rpmlint(bench: &Bench) -> Result<Outcome> {
    if !has("rpmlint") {
        return skip("there is no rpmlint");
    }
    let rpm = bench.file(&format!("firstlight-{}-1.x86_64.rpm", bench.version()));
    quietly(
        Command::new("rpmlint")
            .arg("--config")
            .arg(bench.packaging("rpm/rpmlint.toml"))
            .arg(rpm),
    )?;
    Ok(Outcome::Passed)
}

fn makepkg(bench: &Bench) -> Result<Outcome> {
    if !has("makepkg") {
        return skip("there is no makepkg");
    }
    let work = tempfile::tempdir()?;
    fs::copy(bench.file("PKGBUILD"), work.path().join("PKGBUILD"))?;
    // makepkg refuses root, who gives the work to nobody.
    let mut command = match is_root() {
        true => {
            quietly(
                Command::new("chmod")
                    .arg("-R")
                    .arg("a+rwX")
                    .arg(work.path()),
            )?;
            let mut command = Command::new("setpriv");
            command.env("HOME", work.path());
            command.args([
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                "makepkg",
            ]);
            command
        }
        false => Command::new("makepkg"),
    };
    let said = quietly(command.arg("--printsrcinfo").current_dir(work.path()))?;
    let said = String::from_utf8_lossy(&said);
    match said.contains(&format!("pkgver = {}", bench.version())) {
        true => Ok(Outcome::Passed),
        false => bail!("makepkg reads another version out of PKGBUILD:\n{said}"),
    }
}

fn ruby(bench: &Bench) -> Result<Outcome> {
    if !has("ruby") {
        return skip("there is no ruby; `brew audit` installs from no package");
    }
    quietly(
        Command::new("ruby")
            .arg("-wc")
            .arg(bench.file("firstlight.rb")),
    )?;
    Ok(Outcome::Passed)
}

fn nix(bench: &Bench) -> Result<Outcome> {
    if !has("nix-instantiate") {
        return skip("there is no nix-instantiate");
    }
    // It parses; nixpkgs, which the flake asks for, comes from no package registry.
    quietly(
        Command::new("nix-instantiate")
            .arg("--parse")
            .arg(bench.packaging("nix/flake.nix"))
            .env("NIX_STATE_DIR", bench.kept.join("nix/state"))
            .env("NIX_STORE_DIR", bench.kept.join("nix/store")),
    )?;
    Ok(Outcome::Passed)
}

fn oelint(bench: &Bench) -> Result<Outcome> {
    let venv = bench.kept.join("oelint");
    let program = venv.join("bin/oelint-adv");
    if !program.is_file() {
        let install = Command::new("python3")
            .args(["-m", "venv"])
            .arg(&venv)
            .output()
            .is_ok_and(|o| o.status.success())
            && quietly(Command::new(venv.join("bin/pip")).args([
                "install",
                "--quiet",
                "oelint-adv==9.11.2",
            ]))
            .is_ok();
        if !install {
            return skip("pip cannot install oelint-adv");
        }
    }
    let work = tempfile::tempdir()?;
    let name = format!("meta-firstlight-{}", bench.version());
    quietly(
        Command::new("tar")
            .arg("-xzf")
            .arg(bench.file(&format!("{name}.tar.gz")))
            .arg("-C")
            .arg(work.path()),
    )?;
    let layer = work.path().join(&name);
    known_to_yocto(&layer)?;
    let recipes = find(&layer, &["bb", "bbclass"])?;
    if recipes.len() < 3 {
        bail!("the layer has {} recipes and classes, not 3", recipes.len());
    }
    quietly(
        Command::new(program)
            .args(["--quiet", "--release", "scarthgap"])
            .args(recipes),
    )?;
    Ok(Outcome::Passed)
}

/// What yocto-check-layer, whose tree is in no registry, asks of a layer's texts
/// (scripts/lib/checklayer/cases/common.py in OpenEmbedded-Core).
fn known_to_yocto(layer: &Path) -> Result<()> {
    let readme = fs::read_to_string(layer.join("README.md"))?.to_lowercase();
    for word in ["maintainer", "patch", "@"] {
        if !readme.contains(word) {
            bail!("the README of the layer does not contain `{word}`");
        }
    }
    match fs::metadata(layer.join("SECURITY.md")) {
        Ok(file) if file.len() > 0 => Ok(()),
        _ => bail!("the layer has no SECURITY.md"),
    }
}

/// Buildroot's own linter is in its tree and in no registry, so the files are held to the
/// rules of its manual that a program can check.
fn buildroot(bench: &Bench) -> Result<Outcome> {
    let work = tempfile::tempdir()?;
    let name = format!("buildroot-firstlight-{}", bench.version());
    quietly(
        Command::new("tar")
            .arg("-xzf")
            .arg(bench.file(&format!("{name}.tar.gz")))
            .arg("-C")
            .arg(work.path()),
    )?;
    let tree = work.path().join(name);
    let package = "package/firstlight-agent/firstlight-agent";
    for (file, needed) in [
        ("external.desc".to_owned(), "name: FIRSTLIGHT\n".to_owned()),
        (
            "Config.in".to_owned(),
            "package/firstlight-agent/Config.in".to_owned(),
        ),
        (
            "package/firstlight-agent/Config.in".to_owned(),
            "config BR2_PACKAGE_FIRSTLIGHT_AGENT\n".to_owned(),
        ),
        (
            format!("{package}.mk"),
            format!("FIRSTLIGHT_AGENT_VERSION = {}\n", bench.version()),
        ),
        (
            format!("{package}.mk"),
            "\n$(eval $(generic-package))\n".to_owned(),
        ),
    ] {
        let text = fs::read_to_string(tree.join(&file)).with_context(|| file.clone())?;
        if !text.contains(&needed) {
            bail!("{file} lacks `{}`", needed.trim());
        }
    }
    let hash = fs::read_to_string(tree.join(format!("{package}.hash")))?;
    if bench.programs.missing.is_empty() && hash.contains('@') {
        bail!("{package}.hash lacks a checksum:\n{hash}");
    }
    // Make parses what Buildroot includes.
    fs::write(
        work.path().join("Makefile"),
        format!(
            "BR2_EXTERNAL_FIRSTLIGHT_PATH = {0}\nBR2_x86_64 = y\ninclude {0}/external.mk\n\
             all:\n\t@echo $(FIRSTLIGHT_AGENT_SOURCE)\n",
            tree.display()
        ),
    )?;
    let said = quietly(Command::new("make").arg("-s").current_dir(work.path()))?;
    expect_words(&said, "firstlight-agent-x86_64")?;
    Ok(Outcome::Passed)
}

/// The files below a folder that end in one of `ends`.
fn find(folder: &Path, ends: &[&str]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            all.extend(find(&path, ends)?);
        } else if path
            .extension()
            .is_some_and(|e| ends.iter().any(|end| e == *end))
        {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}
