//! `./x release`: everything that is sent out, into `dist/`, with one version.
//!
//! Two runs on one commit give the same bytes, wherever the checkout lies: times are the
//! commit's, paths are remapped, and archives are sorted.

mod agents;
mod archive;
mod base;
mod deb;
mod files;
mod foreign;
mod licenses;
mod notes;
mod program;
mod programs;
mod rpm;
mod sbom;
mod sums;
mod tree;
mod version;

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

pub use agents::{AGENTS, one as agent};
pub use base::{Release, TARGET};
pub use deb::name as deb_name;
pub use files::quietly;
pub use foreign::{FOREIGN, build as foreign};
pub use program::{BUILT, build as program};
pub use programs::Programs;
pub use sums::{of as sum, sign, write as sums};
pub use version::Version;

/// `./x release [--dry-run] [--out DIR] [--sign KEY]`.
///
/// # Errors
/// If something of a release cannot be made.
pub fn run(args: &[String]) -> Result<()> {
    let (mut dry_run, mut out, mut key) = (false, None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--dry-run" => dry_run = true,
            "--out" => out = args.next().map(PathBuf::from),
            "--sign" => key = args.next(),
            other => bail!("unknown option '{other}'; use --dry-run, --out DIR or --sign KEY"),
        }
    }
    let source = fs::canonicalize(crate::root()).context("the checkout")?;
    let release = Release {
        dist: out.unwrap_or_else(|| source.join("dist")),
        build: source.join("target/release-program"),
        version: Version::read(&source)?,
        source,
    };
    if dry_run {
        return release.plan(key.is_some());
    }
    let mut programs = release.build()?;
    let (built, missing) = foreign(&release)?;
    programs.foreign = built;
    programs.missing.extend(missing);
    release.package(&programs)?;
    sums(&release.dist)?;
    if let Some(key) = key {
        sign(&release.dist, key, None)?;
    }
    release.report(&programs)
}

impl Release {
    /// Names of the results that depend on the version alone.
    fn names(&self) -> Vec<(String, &'static str)> {
        let v = &self.version.number;
        let mut names = vec![
            (
                format!("{}.tar.gz", archive::name(v, TARGET)),
                "the program, agents, man page, completions, docs and experiments",
            ),
            (
                format!("firstlight-{v}-{TARGET}.debug"),
                "the program's debug information",
            ),
            (
                deb::name(v, deb::AMD64),
                "for Debian 12, Debian 13 and Ubuntu",
            ),
            (rpm::name(v), "for Fedora, openSUSE and RHEL"),
            (format!("firstlight-{v}.tar.gz"), "the source"),
            (
                format!("meta-firstlight-{v}.tar.gz"),
                "the Yocto layer, with the crates that its recipe fetches",
            ),
            (
                format!("buildroot-firstlight-{v}.tar.gz"),
                "the external tree for Buildroot",
            ),
            ("PKGBUILD".to_owned(), "for Arch Linux"),
            ("firstlight.rb".to_owned(), "for Homebrew on Linux"),
            (
                format!("firstlight-{v}.cdx.json"),
                "bill of materials (CycloneDX 1.5)",
            ),
            (
                "THIRD-PARTY-LICENSES.txt".to_owned(),
                "licenses of the crates",
            ),
            ("RELEASE-NOTES.md".to_owned(), "cut from CHANGELOG.md"),
        ];
        for foreign in &FOREIGN {
            let name = format!("{}.tar.gz", archive::name(v, foreign.target));
            names.push((name, "the same for another processor"));
            let name = deb::name(v, foreign.debian);
            names.push((name, "for Debian and Ubuntu on it"));
        }
        for agent in AGENTS {
            names.push((agent.file(), "the agent for a target"));
        }
        names.push((sums::NAME.to_owned(), "checksums of all of these"));
        names
    }

    fn plan(&self, signed: bool) -> Result<()> {
        println!(
            "Version {} from commit {}, dated {} (SOURCE_DATE_EPOCH).",
            self.version.number, self.version.commit, self.version.epoch
        );
        println!("`./x release` would write to {}:\n", self.dist.display());
        for (name, about) in self.names() {
            println!("  {name:<52} {about}");
        }
        if signed {
            println!("  {:<52} detached signature", format!("{}.asc", sums::NAME));
        }
        println!();
        for agent in AGENTS {
            match agent.way() {
                Ok(way) => println!("  agent {:<8} {way}", agent.arch),
                Err(why) => println!("  agent {:<8} missing: {why}", agent.arch),
            }
        }
        if notes::cut(&self.source, &self.version.number)?.is_empty() {
            bail!("CHANGELOG.md lists no change; write what changed before you release");
        }
        Ok(())
    }

    /// Builds the program for x86-64, and the agents.
    ///
    /// # Errors
    /// If the program cannot be built; an agent that cannot is in `missing`.
    pub fn build(&self) -> Result<Programs> {
        fs::create_dir_all(&self.dist).context("dist")?;
        let changed = self.version.changed(&self.source)?;
        if changed > 0 {
            eprintln!(
                "x: {changed} files differ from commit {}; the source archive has them as \
                 committed, everything else as they are",
                self.version.commit
            );
        }
        let (agents, missing) = agents::build(self)?;
        let program = program::build(self)?;
        Ok(Programs {
            program,
            foreign: Vec::new(),
            agents,
            missing,
        })
    }

    /// Writes everything that is made of the programs.
    ///
    /// # Errors
    /// If a file cannot be written or a packager fails.
    pub fn package(&self, programs: &Programs) -> Result<()> {
        fs::create_dir_all(&self.dist).context("dist")?;
        let crates = sbom::crates(self)?;
        fs::write(
            self.dist
                .join(format!("firstlight-{}.cdx.json", self.version.number)),
            sbom::document(self, &crates)?,
        )?;
        let licenses = licenses::text(&crates)?;
        fs::write(self.dist.join("THIRD-PARTY-LICENSES.txt"), &licenses)?;
        let notes = notes::cut(&self.source, &self.version.number)?;
        fs::write(self.dist.join("RELEASE-NOTES.md"), notes)?;

        let work = tempfile::tempdir().context("a temporary folder")?;
        let tree = tree::stage(self, programs, &licenses, &work.path().join("tree"))?;
        archive::program(self, &tree, TARGET, &programs.program)?;
        archive::source(self)?;
        archive::layers(self, &work.path().join("layers"))?;
        archive::recipes(self)?;
        let debs = work.path().join("deb");
        fs::create_dir(&debs)?;
        let amd64 = (deb::AMD64, &*programs.program);
        deb::write(self, &tree, amd64, &debs.join(deb::AMD64))?;
        for (foreign, program) in &programs.foreign {
            archive::program(self, &tree, foreign.target, program)?;
            let debian = (foreign.debian, &**program);
            deb::write(self, &tree, debian, &debs.join(foreign.debian))?;
        }
        rpm::write(self, &tree, &work.path().join("rpm"))?;
        Ok(())
    }

    fn report(&self, programs: &Programs) -> Result<()> {
        println!("\n{}:", self.dist.display());
        for (name, about) in self.names() {
            if let Ok(meta) = fs::metadata(self.dist.join(&name)) {
                println!("{:>12}  {name:<52} {about}", meta.len());
            }
        }
        for why in &programs.missing {
            println!("missing: {why}");
        }
        Ok(())
    }
}
