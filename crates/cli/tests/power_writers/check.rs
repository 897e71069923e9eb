//! What a target is after a cut, and bringing it back.

use super::steps::{Step, treated};
use crate::power::disk::{Mounted, run, text};
use crate::power::state::{State, states};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Everything on a disk.
pub type Disk = BTreeMap<PathBuf, State>;

/// Where the prefetcher is noted in a root.
const INSTALLED: &str = "usr/lib/firstlight/installed";

/// What the prefetcher is installed in.
const ROOTS: [&str; 2] = ["systemd", "script"];

/// The image that is treated as a root, from the disk's root on.
const ROOT_IMAGE: &str = "img/root.img";

/// Everything on a disk, and in the image of a root that is on it. That image is not compared
/// byte by byte: whoever mounts it changes it. A copy of it is mounted here, so that nothing is
/// mended before Firstlight sees it.
pub fn everything(at: &Path) -> Disk {
    let mut all = states(at);
    let image = PathBuf::from(ROOT_IMAGE);
    let Some(state) = all.get_mut(&image) else {
        return all;
    };
    let folder = tempfile::tempdir().unwrap();
    let (copy, inside) = (folder.path().join("copy"), folder.path().join("inside"));
    fs::write(&copy, std::mem::take(&mut state.content)).unwrap();
    state.times = [(0, 0); 2];
    let mounted = Mounted::new(&copy, &inside, "loop,noatime").unwrap();
    for (path, state) in states(&inside) {
        all.insert(image.join(path), state);
    }
    drop(mounted);
    run("e2fsck", &["-f", "-n", &text(&copy)]).unwrap();
    all
}

/// As [`firstlight`]. An image that was mounted when the power went is refused until its
/// checker has replayed its journal, which is then done.
fn on_image(words: &str, inputs: &Path, at: &Path) -> Result<String, String> {
    match firstlight(words, inputs) {
        Err(why) if why.contains("`e2fsck ") && words.contains(ROOT_IMAGE) => {
            crate::power::say(&format!(
                "{ROOT_IMAGE}: put in order by e2fsck, as was asked for"
            ));
            run("e2fsck", &["-p", &text(&at.join(ROOT_IMAGE))]).ok();
            firstlight(words, inputs)
        }
        done => done,
    }
}

/// What was found of the target of a step that was under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// All is as before the step.
    pub old: usize,
    /// All is as after it.
    pub new: usize,
    /// Some files are as before it, some as after it.
    pub between: usize,
    /// Temporary files.
    pub left: usize,
}

impl Seen {
    pub fn add(&mut self, other: Self) {
        self.old += other.old;
        self.new += other.new;
        self.between += other.between;
        self.left += other.left;
    }
}

/// Firstlight as a user runs it: what it said, if that worked or not.
pub fn firstlight(words: &str, inputs: &Path) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args(words.split(' ').filter(|w| !w.is_empty()));
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    command.env("PATH", path);
    let out = command
        .env("FIRSTLIGHT_AGENT", inputs.join("agent"))
        .output()
        .unwrap();
    let said = [out.stdout, out.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    match out.status.success() {
        true => Ok(said),
        false => Err(format!("firstlight {words}: {said}")),
    }
}

/// A file that a writer has not yet given its place, or the journal of a treatment.
fn is_aside(path: &Path) -> bool {
    let names = path.components().map(|c| c.as_os_str().to_string_lossy());
    names
        .into_iter()
        .any(|n| n.starts_with(".firstlight-") || n.ends_with(".new") || n.ends_with(".firstlight"))
}

/// The files of a target, and how many temporary ones lie beside them.
fn of_target(disk: &Disk, target: &str) -> (Disk, usize) {
    let own = disk.iter().filter(|(path, _)| path.starts_with(target));
    let (aside, files): (Vec<_>, Vec<_>) = own.partition(|(path, _)| is_aside(path));
    // Those of a journal are in its own folder.
    let journal = |path: &Path| {
        path.components().any(|c| {
            let name = c.as_os_str().to_string_lossy().into_owned();
            name.ends_with(".firstlight")
        })
    };
    let left = aside.iter().filter(|(path, _)| !journal(path)).count();
    let files = files
        .into_iter()
        .map(|(p, s)| (p.clone(), s.clone()))
        .collect();
    (files, left)
}

/// Whether two files are the same in content, rights, owner and attributes; what is in a
/// folder is compared by itself.
fn same(one: Option<&State>, other: Option<&State>, times: bool) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            one.content == other.content
                && one.numbers[..3] == other.numbers[..3]
                && one.xattrs == other.xattrs
                && (!times || one.times[0] == other.times[0])
        }
        _ => false,
    }
}

fn differing<'d>(one: &'d Disk, other: &'d Disk, times: bool) -> Vec<&'d Path> {
    let paths: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    let paths = paths
        .into_iter()
        .filter(|p| !same(one.get(*p), other.get(*p), times));
    paths.map(PathBuf::as_path).collect()
}

fn shown(state: Option<&State>) -> String {
    state.map_or_else(
        || "nothing".to_owned(),
        |s| {
            format!(
                "{} bytes, {:?}, {:?}",
                s.content.len(),
                &s.numbers[..3],
                s.times[0]
            )
        },
    )
}

/// Holds a target against what it may be.
fn expect(what: &str, is: &Disk, expected: &Disk, times: bool) -> Result<(), String> {
    match differing(is, expected, times).first() {
        None => Ok(()),
        Some(path) => Err(format!(
            "{what}: {} is {}, and not {}",
            path.display(),
            shown(is.get(*path)),
            shown(expected.get(*path))
        )),
    }
}

/// Every target is as the steps that were reported done have left it; that of the step
/// under way file by file as before it or as after it.
pub fn targets(
    found: &Disk,
    [before, after]: [&Disk; 2],
    all: &BTreeSet<&str>,
    under_way: Option<&Step>,
) -> Result<Seen, String> {
    let mut seen = Seen::default();
    for target in all {
        let (now, left) = of_target(found, target);
        let (old, new) = (of_target(before, target).0, of_target(after, target).0);
        if under_way.is_none_or(|s| s.target != *target) {
            expect("nothing was under way", &now, &old, false)?;
            if left > 0 {
                return Err(format!(
                    "{target}: {left} temporary files, and nothing was under way"
                ));
            }
            continue;
        }
        let neither = differing(&now, &old, false);
        let neither = neither
            .into_iter()
            .find(|p| !same(now.get(*p), new.get(*p), false));
        if let Some(path) = neither {
            return Err(format!(
                "{} is {}, before {}, after {}",
                path.display(),
                shown(now.get(path)),
                shown(old.get(path)),
                shown(new.get(path))
            ));
        }
        seen.left = left;
        let is = |other: &Disk| usize::from(differing(&now, other, false).is_empty());
        seen.old = is(&old);
        seen.new = is(&new) * (1 - seen.old);
        seen.between = 1 - seen.old - seen.new;
    }
    Ok(seen)
}

/// Leaves out what folders there are, and their times.
fn without_folders(one: &mut Disk, other: &mut Disk) {
    for disk in [one, other] {
        disk.retain(|_, state| state.numbers[0] & 0o170_000 != 0o040_000);
    }
}

/// The root in which an installation was cut off before anything told of it, and in which
/// there are folders around its own now: they are empty, and stay.
pub fn cut_off<'s>(found: &Disk, before: &Disk, under_way: Option<&'s Step>) -> Option<&'s str> {
    let root = under_way?.target;
    let note = Path::new(root).join(INSTALLED);
    let is_new = |path: &&PathBuf| path.starts_with(root) && !before.contains_key(*path);
    let around = |path: &&PathBuf| Some(path.as_path()) != note.parent();
    let is_folder = |path: &&PathBuf| found[*path].numbers[0] & 0o170_000 == 0o040_000;
    let mut new = found.keys().filter(is_new).filter(around);
    let is_cut_off = ROOTS.contains(&root)
        && !found.contains_key(&note)
        && !before.contains_key(&note)
        && new.any(|path| is_folder(&path));
    is_cut_off.then_some(root)
}

/// Does the step that was under way again; its target is then as after it, but for what
/// tells of folders in a root that was `cut_off`.
pub fn again(
    step: &Step,
    at: &Path,
    inputs: &Path,
    after: &Disk,
    cut_off: Option<&str>,
) -> Result<(), String> {
    let words = step.at(&text(at), &format!("{}/", text(inputs)));
    // What a writer left is swept by the next, if it is old enough to be nobody's.
    for (path, _) in states(at) {
        let path = at.join(path);
        // What was staged for a target has the times of the file that it becomes.
        let is_staged = step.writer().starts_with("treat");
        if is_aside(&path) && path.is_file() && !is_staged {
            let then = SystemTime::now() - Duration::from_secs(7200);
            File::open(&path).unwrap().set_modified(then).unwrap();
        }
    }
    let ran = on_image(&words, inputs, at);
    let installed = at.join(step.target).join(INSTALLED);
    match (step.writer().as_str(), ran) {
        (_, Ok(_)) => {}
        ("treat undo", Err(why)) if why.contains("was not applied here") => {}
        ("prefetch uninstall", Err(why)) if why.contains("is it installed there") => {}
        ("prefetch install", Err(why)) if why.contains("is installed already") => {
            firstlight(&words.replace("install", "uninstall"), inputs)?;
            firstlight(&words, inputs)?;
            assert!(installed.exists());
        }
        (_, Err(why)) => return Err(format!("again: {why}")),
    }
    let (mut now, left) = of_target(&everything(at), step.target);
    let (mut after, _) = of_target(after, step.target);
    if ROOTS.contains(&step.target) && (cut_off.is_some() || !installed.exists()) {
        without_folders(&mut now, &mut after);
    }
    if cut_off.is_some() {
        let note = Path::new(step.target).join(INSTALLED);
        now.remove(&note);
        after.remove(&note);
    }
    expect("done again", &now, &after, false)?;
    match left {
        0 => Ok(()),
        left => Err(format!(
            "{}: {left} temporary files after doing it again",
            step.target
        )),
    }
}

/// Whether a target is a file in its folder.
fn is_file(target: &str) -> bool {
    treated()
        .iter()
        .any(|(t, path)| *t == target && (path.ends_with("/image") || path.ends_with(ROOT_IMAGE)))
}

/// Undoes what can be undone. All is then as in the beginning, times too.
pub fn undone(
    at: &Path,
    inputs: &Path,
    original: &Disk,
    was_cut_off: Option<&str>,
) -> Result<(), String> {
    let mut back = Vec::new();
    for (target, path) in treated() {
        let path = path.replace("DISK", &text(at));
        on_image(&format!("treat undo --all {path}"), inputs, at)?;
        if Path::new(&format!("{path}.firstlight")).exists() {
            return Err(format!("{path}: a journal is left"));
        }
        back.push(target);
    }
    let mut cut_off = Vec::from_iter(was_cut_off);
    for root in ROOTS {
        match at.join(root).join(INSTALLED).exists() {
            true => {
                firstlight(&format!("prefetch uninstall {}/{root}", text(at)), inputs)?;
            }
            false => cut_off.push(root),
        }
        back.push(root);
    }
    let now = everything(at);
    for target in back {
        let (mut now, mut left) = of_target(&now, target);
        let mut original = of_target(original, target).0;
        // Empty folders and the note itself are harmless.
        if cut_off.contains(&target) {
            left -= left.min(1);
            without_folders(&mut now, &mut original);
        }
        // A journal beside a file comes and goes in the file's folder.
        if let Some(folder) = original
            .get_mut(Path::new(target))
            .filter(|_| is_file(target))
        {
            folder.times = now[Path::new(target)].times;
        }
        expect("undone", &now, &original, true)?;
        if left > 0 {
            return Err(format!("{target}: {left} temporary files after undoing"));
        }
    }
    Ok(())
}

/// The history has no damaged entry; it says that it ignores a file that has no place yet.
pub fn history(at: &Path, inputs: &Path) -> Result<(), String> {
    let store = at.join("history");
    let folders = fs::read_dir(store.join("entries"))
        .into_iter()
        .flatten()
        .flatten();
    let files = folders.flat_map(|f| fs::read_dir(f.path()).unwrap().flatten());
    let (aside, files): (Vec<_>, Vec<_>) = files.partition(|f| is_aside(Path::new(&f.file_name())));
    let (aside, files) = (aside.len(), files.len());
    if files == 0 {
        return Ok(());
    }
    let said = firstlight(&format!("history show --json {}", text(&store)), inputs)?;
    let told: serde_json::Value = serde_json::from_str(&said).unwrap();
    let entries = told["check"]["entries"].as_u64().unwrap();
    let ignored = format!("ignored, because it is no entry of a history: {aside} file");
    match told["check"]["notes"].as_array().unwrap().as_slice() {
        [] if aside == 0 && entries == files as u64 => Ok(()),
        [note] if aside == 1 && entries == files as u64 && *note == *ignored => Ok(()),
        notes => Err(format!(
            "history: {files} files, {entries} entries, {notes:?}"
        )),
    }
}
