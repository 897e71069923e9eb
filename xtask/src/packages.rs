//! The stage `packages`: what `./x release` makes is linted by its own tools, installed
//! in clean systems and used there.

use crate::release::{self, Programs, Release, TARGET, Version, quietly};
use crate::root;
use crate::runner::Summary;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Releases of Debian that the package is installed in.
const DEBIAN: [&str; 2] = ["bookworm", "trixie"];

/// What the lab needs to boot in a clean system; it is installed with that system.
const LAB: &str = "ca-certificates,qemu-system-x86,e2fsprogs,kmod,xz-utils,zstd,mmdebstrap";

/// What came of one check.
enum Outcome {
    Passed,
    Skipped(String),
}

/// A check: its name, and what runs it.
type Check = (&'static str, fn(&Bench) -> Result<Outcome>);

const CHECKS: &[Check] = &[
    ("reproducible-agent", agent_twice),
    ("reproducible-packages", packages_twice),
    ("checksums", checksums),
    ("deb-lintian", lintian),
    ("rpm-rpmlint", rpmlint),
    ("arch-makepkg", makepkg),
    ("homebrew-ruby", ruby),
    ("nix-parse", nix),
    ("yocto-oelint", oelint),
    ("buildroot-check", buildroot),
    ("container", container),
    ("archive", archive),
    ("debian-12", |bench| debian(bench, DEBIAN[0])),
    ("debian-13", |bench| debian(bench, DEBIAN[1])),
];

/// What the checks share.
struct Bench {
    release: Release,
    programs: Programs,
    /// A folder that is kept from one run to the next.
    kept: PathBuf,
}

/// Runs the checks that have one of `filter` in their names; all if it is empty.
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
    for (name, check) in CHECKS {
        if !filter.is_empty() && !filter.iter().any(|f| name.contains(f.as_str())) {
            continue;
        }
        eprintln!("==> packages: {name}");
        match check(&bench) {
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

fn skip(why: impl Into<String>) -> Result<Outcome> {
    Ok(Outcome::Skipped(why.into()))
}

/// Whether a program can be started.
fn has(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok()
}

fn is_root() -> bool {
    quietly(Command::new("id").arg("-u")).is_ok_and(|out| out == b"0\n")
}

impl Bench {
    fn file(&self, name: &str) -> PathBuf {
        self.release.dist.join(name)
    }

    fn packaging(&self, name: &str) -> PathBuf {
        self.release.source.join("packaging").join(name)
    }

    fn version(&self) -> &str {
        &self.release.version.number
    }
}

/// The agent, built from two copies of the source in folders of other names.
fn agent_twice(bench: &Bench) -> Result<Outcome> {
    let Some(agent) = release::AGENTS.iter().find(|a| a.arch == "x86_64") else {
        bail!("there is no agent for x86_64");
    };
    let way = match agent.way() {
        Ok(way) => way,
        Err(why) => return skip(why),
    };
    let work = tempfile::tempdir()?;
    let mut built = Vec::new();
    for name in ["one", "another-folder"] {
        let folder = work.path().join(name);
        fs::create_dir(&folder)?;
        let tar = work.path().join("source.tar");
        quietly(
            Command::new("git")
                .current_dir(&bench.release.source)
                .args(["archive", "HEAD", "--output"])
                .arg(&tar),
        )?;
        quietly(
            Command::new("tar")
                .arg("-xf")
                .arg(&tar)
                .arg("-C")
                .arg(&folder),
        )?;
        let program = release::agent(&folder, &folder.join("build"), way)?;
        built.push(fs::read(program)?);
    }
    match built.as_slice() {
        [a, b] if a == b => Ok(Outcome::Passed),
        _ => bail!("two builds of the agent in two folders differ"),
    }
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

fn checksums(bench: &Bench) -> Result<Outcome> {
    release::sums(&bench.release.dist)?;
    quietly(
        Command::new("sha256sum")
            .args(["--check", "--strict", "SHA256SUMS"])
            .current_dir(&bench.release.dist),
    )?;
    Ok(Outcome::Passed)
}

fn lintian(bench: &Bench) -> Result<Outcome> {
    if !has("lintian") {
        return skip("there is no lintian");
    }
    let deb = bench.file(&format!("firstlight_{}-1_amd64.deb", bench.version()));
    let said = quietly(
        Command::new("lintian")
            .args([
                "--allow-root",
                "--fail-on",
                "error,warning",
                "--tag-display-limit",
                "0",
            ])
            .arg(deb),
    );
    said.map(|_| Outcome::Passed)
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
    let recipes = find(&work.path().join(&name), &["bb", "bbclass"])?;
    if recipes.len() < 3 {
        bail!("the layer has {} recipes and classes, not 3", recipes.len());
    }
    quietly(
        Command::new(program)
            .args(["--quiet", "--release", "scarthgap", "--exit-zero=0"])
            .args(recipes),
    )?;
    Ok(Outcome::Passed)
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

/// The container for reading, built without a network, and run.
fn container(bench: &Bench) -> Result<Outcome> {
    if !has("buildah") {
        return skip("there is no buildah");
    }
    if !is_root() {
        return skip("buildah needs root here");
    }
    let work = tempfile::tempdir()?;
    let folder = unpack(bench, work.path())?;
    let storage = work.path().join("storage");
    let buildah = |args: &[&str]| {
        let mut command = Command::new("buildah");
        command
            .arg("--root")
            .arg(&storage)
            .arg("--runroot")
            .arg(work.path().join("run"))
            .args(["--storage-driver", "vfs"])
            .args(args);
        command
    };
    let file = bench.packaging("containers/Containerfile");
    quietly(
        buildah(&[
            "bud",
            "--isolation",
            "chroot",
            "--timestamp",
            "0",
            "-t",
            "firstlight",
        ])
        .arg("-f")
        .arg(file)
        .arg(&folder),
    )?;
    let name = quietly(&mut buildah(&["from", "firstlight"]))?;
    let name = String::from_utf8_lossy(&name).trim().to_owned();
    let mounted = quietly(&mut buildah(&["mount", &name]))?;
    let mounted = PathBuf::from(String::from_utf8_lossy(&mounted).trim());
    let used = use_in(bench, &mounted);
    quietly(&mut buildah(&["umount", &name]))?;
    used.map(|()| Outcome::Passed)
}

/// The archive, which is unpacked anywhere.
fn archive(bench: &Bench) -> Result<Outcome> {
    let work = tempfile::tempdir()?;
    let folder = unpack(bench, work.path())?;
    let log = bench
        .release
        .source
        .join("corpus/captures/v1-debian.tar.zst");
    let said = quietly(Command::new(folder.join("firstlight")).arg("show").arg(log))?;
    expect_words(&said, "First light")?;
    Ok(Outcome::Passed)
}

fn unpack(bench: &Bench, to: &Path) -> Result<PathBuf> {
    let name = format!("firstlight-{}-{TARGET}", bench.version());
    quietly(
        Command::new("tar")
            .arg("-xzf")
            .arg(bench.file(&format!("{name}.tar.gz")))
            .arg("-C")
            .arg(to),
    )?;
    Ok(to.join(name))
}

/// The package in a clean Debian: installed, used, lab and all, and removed.
fn debian(bench: &Bench, suite: &str) -> Result<Outcome> {
    if !is_root() {
        return skip("chroot needs root");
    }
    if !has("mmdebstrap") {
        return skip("there is no mmdebstrap");
    }
    fs::create_dir_all(&bench.kept)?;
    let base = bench.kept.join(format!("{suite}.tar"));
    if !base.is_file() {
        let beside = bench.kept.join(format!("{suite}.new.tar"));
        let made = quietly(
            Command::new("mmdebstrap")
                .args(["--quiet", "--variant=apt"])
                .arg(format!("--include={LAB}"))
                .arg(suite)
                .arg(&beside),
        );
        if let Err(why) = made {
            return skip(format!("mmdebstrap cannot make {suite}: {why:#}"));
        }
        fs::rename(beside, &base)?;
    }
    let work = tempfile::tempdir_in(&bench.kept)?;
    let top = work.path().join("root");
    fs::create_dir(&top)?;
    quietly(
        Command::new("tar")
            .arg("-xf")
            .arg(&base)
            .arg("-C")
            .arg(&top),
    )?;
    let deb = format!("firstlight_{}-1_amd64.deb", bench.version());
    fs::copy(bench.file(&deb), top.join(&deb))?;
    let inside = |line: &str| {
        quietly(
            Command::new("chroot")
                .arg(&top)
                .args(["/bin/sh", "-ec", line])
                .env_remove("CARGO")
                .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        )
    };
    inside(&format!("dpkg --install /{deb}"))?;
    inside("test -s /usr/share/man/man1/firstlight.1.gz")?;
    use_in(bench, &top)?;
    // A boot of the smallest kind, with the package's own agent.
    let _mounted = Mounted::proc(&top)?;
    inside(
        "cd /root; export XDG_CACHE_HOME=/root/cache; firstlight lab run --check-exact \
         /usr/share/doc/firstlight/examples/smoke.toml --out smoke >smoke.txt",
    )
    .context("the lab in a clean system")?;
    let said = fs::read(top.join("root/smoke.txt"))?;
    expect_words(&said, "identical")?;
    over_ssh(bench, &top, work.path())?;
    inside("dpkg --remove firstlight && test ! -e /usr/lib/firstlight")?;
    Ok(Outcome::Passed)
}

/// `install-agent ssh:HOST` on a clean system: the agent comes, captures this boot, and goes.
/// An `ssh` that enters the root stands for the connection.
fn over_ssh(bench: &Bench, top: &Path, work: &Path) -> Result<()> {
    let ssh = work.join("ssh");
    fs::write(
        &ssh,
        format!(
            "#!/bin/sh\nfor last; do :; done\ncase \" $* \" in *' -O exit '*) exit 0 ;; esac\n\
             exec chroot {} /bin/sh -c \"$last\"\n",
            top.display()
        ),
    )?;
    quietly(Command::new("chmod").arg("+x").arg(&ssh))?;
    let on_host = |words: &[&str]| {
        quietly(
            Command::new(&bench.programs.program)
                .args(["install-agent", "ssh:board", "--ssh"])
                .arg(&ssh)
                .args(words)
                .env("FIRSTLIGHT_AGENT", &bench.release.dist),
        )
    };
    let agent = top.join("usr/lib/firstlight-agent");
    on_host(&["--start", "systemd", "--dry-run"])?;
    if agent.exists() {
        bail!("a plan of install-agent changed the host");
    }
    on_host(&["--start", "systemd"])?;
    let inside = |words: &[&str]| quietly(Command::new("chroot").arg(top).args(words));
    inside(&["/usr/lib/firstlight-agent/collect"])?;
    let capture = "/var/lib/firstlight-agent/boot.tar";
    expect_words(
        &inside(&["/usr/bin/firstlight", "show", capture])?,
        "kernel",
    )?;
    on_host(&["--undo"])?;
    match agent.exists()
        || top
            .join("etc/systemd/system/firstlight-agent.service")
            .exists()
    {
        true => bail!("install-agent --undo left something on the host"),
        false => Ok(()),
    }
}

/// /proc in a root; it goes when this is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn proc(top: &Path) -> Result<Self> {
        let at = top.join("proc");
        quietly(Command::new("mount").args(["-t", "proc", "proc"]).arg(&at))?;
        Ok(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Reads a log and an image, and makes a page, with the program that lies in a root.
fn use_in(bench: &Bench, top: &Path) -> Result<()> {
    let corpus = bench.release.source.join("corpus");
    let work = top.join("firstlight-inputs");
    fs::create_dir_all(&work)?;
    for (from, name) in [
        ("kernel-log/caller/input", "dmesg.txt"),
        ("captures/v1-debian.tar.zst", "boot.tar.zst"),
        ("boot/board.itb", "board.itb"),
    ] {
        fs::copy(corpus.join(from), work.join(name)).with_context(|| from.to_owned())?;
    }
    let firstlight = |args: &[&str]| {
        quietly(
            Command::new("chroot")
                .arg(top)
                .arg("/usr/bin/firstlight")
                .args(args),
        )
    };
    expect_words(&firstlight(&["--version"])?, bench.version())?;
    expect_words(
        &firstlight(&["show", "/firstlight-inputs/dmesg.txt"])?,
        "kernel",
    )?;
    expect_words(
        &firstlight(&["show", "/firstlight-inputs/boot.tar.zst"])?,
        "First light",
    )?;
    expect_words(
        &firstlight(&["image", "info", "/firstlight-inputs/board.itb"])?,
        "FIT",
    )?;
    firstlight(&[
        "report",
        "/firstlight-inputs/boot.tar.zst",
        "-o",
        "/firstlight-inputs/boot.html",
    ])?;
    let page = fs::read(work.join("boot.html"))?;
    expect_words(&page, "<!doctype html>")?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

fn expect_words(said: &[u8], words: &str) -> Result<()> {
    let said = String::from_utf8_lossy(said);
    match said.contains(words) {
        true => Ok(()),
        false => bail!(
            "`{words}` is not in:\n{}",
            said.chars().take(2000).collect::<String>()
        ),
    }
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
