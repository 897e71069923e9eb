//! Packages in clean systems: installed, and used there.

use super::bench::{Bench, Outcome, expect_words, has, is_root, skip};
use super::chroot::{Mounted, inside};
use super::target;
use crate::release::{TARGET, quietly};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Releases of Debian that the package is installed in.
pub(super) const DEBIAN: [&str; 2] = ["bookworm", "trixie"];

/// What the lab needs to boot in a clean system; it is installed with that system.
const LAB: &str = "ca-certificates,qemu-system-x86,e2fsprogs,kmod,xz-utils,zstd,mmdebstrap";

/// The archive, which is unpacked anywhere.
pub(super) fn archive(bench: &Bench) -> Result<Outcome> {
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

pub(super) fn unpack(bench: &Bench, to: &Path) -> Result<PathBuf> {
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

/// Boots the smallest experiment twice, in a system that the package is installed in.
pub(super) const BOOT: &str = "cd /root; export XDG_CACHE_HOME=/root/cache; firstlight lab run \
     --check-exact /usr/share/doc/firstlight/examples/smoke.toml --out smoke";

/// The demonstration, with each line's second since its begin, so that both limits show, and
/// the processor's time, for hosts that do other work as well.
pub(super) const DEMO: &str = "cd /root; export XDG_CACHE_HOME=/root/cache; \
     begun=$(date +%s); { firstlight demo --out demo; code=$?; times; echo \"exit $code\"; } 2>&1 | \
     while IFS= read -r line; do echo \"$(($(date +%s) - begun)) s  $line\"; done > demo.txt; \
     cat demo.txt; tail -n 1 demo.txt | grep -q 'exit 0$'";

/// A clean system with what the lab needs, as an archive that is kept; else why not.
pub(super) fn base(bench: &Bench, suite: &str) -> Result<Result<PathBuf, String>> {
    if !is_root() {
        return Ok(Err("chroot needs root".to_owned()));
    }
    if !has("mmdebstrap") {
        return Ok(Err("there is no mmdebstrap".to_owned()));
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
            return Ok(Err(format!("mmdebstrap cannot make {suite}: {why:#}")));
        }
        fs::rename(beside, &base)?;
    }
    Ok(Ok(base))
}

/// A clean system, in a folder that goes with the second; else why not.
fn system(bench: &Bench, suite: &str) -> Result<Result<(PathBuf, tempfile::TempDir), String>> {
    let base = match base(bench, suite)? {
        Ok(base) => base,
        Err(why) => return Ok(Err(why)),
    };
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
    inside(&top, &format!("dpkg --install /{deb}"))?;
    Ok(Ok((top, work)))
}

/// The package in a clean Debian: installed, used, lab and all, and removed.
pub(super) fn debian(bench: &Bench, suite: &str) -> Result<Outcome> {
    let (top, work) = match system(bench, suite)? {
        Ok(system) => system,
        Err(why) => return skip(why),
    };
    inside(&top, "test -s /usr/share/man/man1/firstlight.1.gz")?;
    use_in(bench, &top)?;
    // A boot of the smallest kind, with the package's own agent.
    {
        let _mounted = Mounted::proc(&top)?;
        inside(&top, "apt-get update -qq").context("the lists of Debian's packages")?;
        let said = inside(&top, BOOT).context("the lab in a clean system")?;
        expect_words(&said, "identical")?;
        over_ssh(bench, &top, work.path())?;
        if suite == DEBIAN[1] {
            target::hooks(bench, &top)?;
        }
    }
    if suite == DEBIAN[1] {
        target::busybox(bench, &top)?;
    }
    inside(
        &top,
        "dpkg --remove firstlight && test ! -e /usr/lib/firstlight",
    )?;
    Ok(Outcome::Passed)
}

/// The demonstration in a clean Debian 13, as the package's own user starts it.
pub(super) fn demo(bench: &Bench) -> Result<Outcome> {
    let (top, _work) = match system(bench, DEBIAN[1])? {
        Ok(system) => system,
        Err(why) => return skip(why),
    };
    let _mounted = Mounted::proc(&top)?;
    inside(&top, "apt-get update -qq").context("the lists of Debian's packages")?;
    let said = inside(&top, DEMO).context("the demonstration")?;
    eprintln!("{}", String::from_utf8_lossy(&said));
    expect_words(&said, "boot.html")?;
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
    inside(top, "/usr/lib/firstlight-agent/collect")?;
    let said = inside(top, "firstlight show /var/lib/firstlight-agent/boot.tar")?;
    expect_words(&said, "First light")?;
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

/// Reads a log and an image, and makes a page, with the program that lies in a root.
pub(super) fn use_in(bench: &Bench, top: &Path) -> Result<()> {
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
