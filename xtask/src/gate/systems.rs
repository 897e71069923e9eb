//! Pairs of systems that differ in [`DIFFERENCES`] things, of which some are planted, and what
//! `firstlight bisect` finds in them by boots.

use super::stage::{Stage, copy, firstlight, quiet};
use crate::root;
use anyhow::{Result, bail};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// In how many things two systems differ.
pub const DIFFERENCES: usize = 64;

/// The most boots that one culprit of [`DIFFERENCES`] may take.
const BOOTS: u64 = 14;

/// In what two systems differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Files of the root.
    Image,
    /// Parameters of the kernel command line.
    Cmdline,
    /// Packages of the root, made by dpkg-deb.
    Packages,
}

/// A difference that changes the boot.
#[derive(Clone, Debug)]
pub struct Planted {
    /// Which one.
    pub at: usize,
    /// What a shell does there at boot.
    pub work: Work,
}

/// What a planted difference does at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Makes the boot about 1 % slower.
    Slow,
    /// Nothing, but [`Work::SlowIfOn`] works then.
    On,
    /// The same as [`Work::Slow`], behind [`Work::On`].
    SlowIfOn,
}

impl Kind {
    /// The word of `firstlight bisect`.
    const fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Cmdline => "cmdline",
            Self::Packages => "packages",
        }
    }

    /// So many turns of a shell's loop take about 1 % of the boot: of the initramfs of
    /// `experiments/gate/boot.toml`, and of an ext4 root on an eMMC, which boots longer.
    const fn turns(self) -> usize {
        match self {
            Self::Image | Self::Cmdline => 700,
            Self::Packages => 1_200,
        }
    }

    /// What a shell runs for a difference that is applied.
    fn script(self, work: Work) -> String {
        let spin = spin(&self.turns().to_string());
        match work {
            Work::Slow => spin,
            Work::On => "switch=on".to_owned(),
            Work::SlowIfOn => format!("[ \"$switch\" != on ] || {{ {spin}; }}"),
        }
    }
}

/// A loop of a shell.
fn spin(turns: &str) -> String {
    format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done")
}

/// The name of a difference.
fn part(n: usize) -> String {
    format!("{n:02}-part")
}

impl Stage {
    /// Bisects two systems with [`DIFFERENCES`] differences of this kind, of which these are
    /// planted in the second.
    ///
    /// # Errors
    /// The systems cannot be made, or the program cannot be started.
    pub fn bisect(&mut self, kind: Kind, name: &str, planted: &[Planted]) -> Result<()> {
        let name = format!("{} {name}", kind.word());
        if !self.filter.is_empty() && !self.filter.iter().any(|f| name.contains(f)) {
            return Ok(());
        }
        let work = self.folder.join("bisect");
        fs::create_dir_all(&work)?;
        let args = match kind {
            Kind::Image => files(&work, planted)?,
            Kind::Cmdline => words(&work, planted)?,
            Kind::Packages => packages(&work, planted)?,
        };
        let trials = work.join("trials");
        let trials = trials.to_string_lossy();
        let mut all = vec!["bisect", kind.word()];
        all.extend(args.iter().map(String::as_str));
        all.extend(["--out", &*trials, "--json"]);
        let begun = Instant::now();
        let out = firstlight(&all)?;
        // Kernels and images that a search makes are large.
        fs::remove_dir_all(work.join("trials/made")).ok();
        let Ok(found) = serde_json::from_slice::<Value>(&out.stdout) else {
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            self.judge(&name, Err(anyhow::anyhow!(said)));
            return Ok(());
        };
        eprintln!(
            "    {name}: {} {:?} after {} boots and {} s, {:+.2} % in all",
            found["verdict"],
            culprits(&found),
            found["boots"],
            begun.elapsed().as_secs(),
            part_of(&found)
        );
        self.judge(&name, as_planted(&found, kind, planted));
        Ok(())
    }
}

/// Two roots with files that differ, and the arguments that bisect them.
fn files(work: &Path, planted: &[Planted]) -> Result<Vec<String>> {
    let base = root().join("experiments/gate");
    let [first, second] = ["first", "second"].map(|n| work.join(n));
    for (tree, value) in [(&first, 1), (&second, 2)] {
        emptied(tree)?;
        copy(&base.join("root"), tree)?;
        for n in 0..DIFFERENCES {
            let plant = planted.iter().find(|p| p.at == n && value == 2);
            let text = plant.map_or(format!("v={value}"), |p| Kind::Image.script(p.work));
            fs::write(tree.join("etc/boot.d").join(part(n)), text + "\n")?;
        }
    }
    Ok(vec![
        shown(&first),
        shown(&second),
        "--experiment".to_owned(),
        shown(&base.join("boot.toml")),
    ])
}

/// Two kernel command lines: a script of the root does what the parameters say.
fn words(work: &Path, planted: &[Planted]) -> Result<Vec<String>> {
    let base = root().join("experiments/gate");
    let tree = work.join("root");
    emptied(&tree)?;
    copy(&base.join("root"), &tree)?;
    let script = format!(
        "[ -e /proc/cmdline ] || {{ /bin/busybox mkdir -p /proc; /bin/busybox mount -t proc proc \
         /proc; }}\nturns=0; switch=off; behind=0\n\
         for word in $(/bin/busybox cat /proc/cmdline); do\n    case $word in\n    \
         *.turns=*) turns=${{word#*=}} ;;\n    *.switch=*) switch=${{word#*=}} ;;\n    \
         *.behind=*) behind=${{word#*=}} ;;\n    esac\ndone\n\
         [ \"$switch\" != on ] || turns=$behind\n{}\n",
        spin("$turns")
    );
    fs::write(tree.join("etc/boot.d/50-words"), script)?;
    let experiment = fs::read_to_string(base.join("boot.toml"))?;
    let path = work.join("boot.toml");
    fs::write(&path, experiment)?;
    let line = |value: usize| {
        let word = |n: usize| {
            let plant = planted.iter().find(|p| p.at == n).map(|p| p.work);
            let turns = Kind::Cmdline.turns();
            match plant {
                None => format!("p{n:02}.v={value}"),
                Some(Work::Slow) => format!("p{n:02}.turns={}", turns * (value - 1)),
                Some(Work::SlowIfOn) => format!("p{n:02}.behind={}", turns * (value - 1)),
                Some(Work::On) => format!("p{n:02}.switch={}", ["off", "on"][value - 1]),
            }
        };
        (0..DIFFERENCES).map(word).collect::<Vec<_>>().join(" ")
    };
    let [first, second] = [line(1), line(2)];
    Ok(vec![first, second, "--experiment".to_owned(), shown(&path)])
}

/// Two lists of Debian packages that this makes, and the command that makes a root of them.
fn packages(work: &Path, planted: &[Planted]) -> Result<Vec<String>> {
    let base = root().join("experiments/gate/packages");
    let debs = work.join("debs");
    emptied(&debs)?;
    let busybox = work.join("busybox-static.deb");
    if !busybox.is_file() {
        // apt names the file by its version.
        quiet(
            Command::new("apt-get")
                .args(["download", "-qq", "busybox-static"])
                .current_dir(&debs),
        );
        let loaded = fs::read_dir(&debs)?.flatten().next();
        let Some(loaded) = loaded else {
            bail!("apt-get cannot download busybox-static");
        };
        fs::rename(loaded.path(), &busybox)?;
    }
    for n in 0..DIFFERENCES {
        for version in [1, 2] {
            let plant = planted.iter().find(|p| p.at == n && version == 2);
            let text = plant.map_or(format!("v={version}"), |p| Kind::Packages.script(p.work));
            let tree = work.join("package");
            emptied(&tree)?;
            fs::create_dir_all(tree.join("DEBIAN"))?;
            fs::create_dir_all(tree.join("etc/boot.d"))?;
            fs::write(
                tree.join("DEBIAN/control"),
                format!(
                    "Package: part-{n:02}\nVersion: {version}\nArchitecture: all\n\
                     Maintainer: nobody <nobody@example.invalid>\nDescription: a part\n"
                ),
            )?;
            fs::write(tree.join("etc/boot.d").join(part(n)), text + "\n")?;
            let deb = debs.join(format!("part-{n:02}_{version}.deb"));
            let made = quiet(
                Command::new("dpkg-deb")
                    .args(["--build", "--root-owner-group", "-Znone"])
                    .args([&tree, &deb]),
            );
            if !made {
                bail!("dpkg-deb cannot make {}", deb.display());
            }
        }
    }
    let [first, second] = [1, 2].map(|version| {
        let path = work.join(format!("{version}.list"));
        let lines = (0..DIFFERENCES).map(|n| format!("part-{n:02} {version}\n"));
        (path, lines.collect::<String>())
    });
    for (path, text) in [&first, &second] {
        fs::write(path, text)?;
    }
    let make = format!(
        "BUSYBOX='{}' DEBS='{}' '{}' \"$1\" \"$2\"",
        busybox.display(),
        debs.display(),
        base.join("make-parts").display()
    );
    Ok(vec![
        shown(&first.0),
        shown(&second.0),
        "--make".to_owned(),
        make,
        "--experiment".to_owned(),
        shown(&base.join("boot.toml")),
    ])
}

fn emptied(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The change between both systems, in percent of the first boot.
fn part_of(found: &Value) -> f64 {
    let delta = found["change"]["delta_ns"].as_f64().unwrap_or(0.0);
    let whole = found["samples"][0]["times_ns"][0].as_f64().unwrap_or(1.0);
    100.0 * delta / whole
}

/// The name that the program gives to a difference.
fn named(kind: Kind, planted: &Planted) -> String {
    let n = planted.at;
    let turns = kind.turns();
    match (kind, planted.work) {
        (Kind::Image, _) => format!("/etc/boot.d/{} (changed)", part(n)),
        (Kind::Packages, _) => format!("part-{n:02} 1 -> part-{n:02} 2"),
        (Kind::Cmdline, Work::Slow) => format!("p{n:02}.turns=0 -> p{n:02}.turns={turns}"),
        (Kind::Cmdline, Work::SlowIfOn) => format!("p{n:02}.behind=0 -> p{n:02}.behind={turns}"),
        (Kind::Cmdline, Work::On) => format!("p{n:02}.switch=off -> p{n:02}.switch=on"),
    }
}

/// The names of the differences that were found, sorted.
fn culprits(found: &Value) -> Vec<String> {
    let mut names: Vec<String> = found["culprits"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|c| c["names"].as_array().cloned().unwrap_or_default())
        .map(|n| n.as_str().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    names
}

/// Whether exactly the planted differences were found, in as few boots as promised.
fn as_planted(found: &Value, kind: Kind, planted: &[Planted]) -> Result<()> {
    let names = culprits(found);
    let wanted: Vec<String> = planted.iter().map(|p| named(kind, p)).collect();
    if names != wanted {
        bail!("found {names:?}, planted {wanted:?}");
    }
    let verdict = if planted.is_empty() {
        "no_difference"
    } else {
        "found"
    };
    if found["verdict"] != verdict {
        bail!("the verdict is {}, not {verdict}", found["verdict"]);
    }
    let boots = found["boots"].as_u64().unwrap_or(u64::MAX);
    if planted.len() < 2 && boots > BOOTS {
        bail!("{boots} boots, more than {BOOTS}");
    }
    if planted.len() == 2 && found["interact"] != true {
        bail!("the pair is not named as such");
    }
    Ok(())
}
