//! A kernel's source tree: which file an initcall is in, which option and module build it,
//! and how long that file's code waits.
//!
//! Kbuild is read as text (Documentation/kbuild/makefiles.rst): `obj-$(CONFIG_X) += a.o dir/`,
//! and the parts of an object, `a-y`, `a-objs`, `a-$(CONFIG_Y)`. Nothing is run.

use crate::error::Error;
use analysis::{DriverSource, DriverWait, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Larger files of source are left out, in bytes.
const LARGEST: u64 = 4 << 20;

/// Folders deeper than this are left out; the kernel has some 12.
const DEEPEST: usize = 24;

/// So many waits and parameters of a file are kept, the longest first.
const MOST: usize = 5;

/// Shorter waits are not worth a look, in microseconds.
const SHORT_US: u64 = 1_000;

/// Folders that no kernel is built of.
const LEFT_OUT: [&str; 6] = [
    "Documentation",
    "tools",
    "samples",
    "scripts",
    "usr",
    ".git",
];

/// Where `functions`, the names of initcalls, come from in the tree at `folder`.
///
/// # Errors
/// If that is no kernel tree, or cannot be read.
pub fn read(folder: &Path, functions: &BTreeSet<String>) -> Result<Vec<DriverSource>, Error> {
    let shown = folder.display().to_string();
    let is_tree = folder.join("Kconfig").is_file() && folder.join("Makefile").is_file();
    if !is_tree {
        return Err(Error::unusable(
            &shown,
            "not a kernel source tree (no Kconfig and Makefile); pass the folder that the kernel is \
             built in",
        ));
    }
    let mut files = Vec::new();
    sources(folder, 0, &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let Ok(bytes) = fs::read(&file) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let here: Vec<(String, u64)> = initcalls(&text)
            .into_iter()
            .filter(|(name, _)| functions.contains(name))
            .collect();
        for (function, offset) in here {
            let built = built_by(folder, &file);
            let relative = file.strip_prefix(folder).unwrap_or(&file);
            let place = |offset| Place {
                source: relative.display().to_string(),
                offset,
            };
            found.push(DriverSource {
                function,
                place: place(offset),
                is_tristate: built
                    .option
                    .as_ref()
                    .is_some_and(|o| is_tristate(folder, &file, o)),
                option: built.option,
                module: built.module,
                waits: waits(&text, place),
                parameters: parameters(&text),
            });
        }
    }
    Ok(found)
}

/// All files of C below a folder.
fn sources(folder: &Path, depth: usize, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // No link is followed.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let (path, name) = (entry.path(), entry.file_name());
        let left_out = depth == 0 && LEFT_OUT.iter().any(|n| name == *n);
        if kind.is_dir() && depth < DEEPEST && !left_out {
            sources(&path, depth + 1, all);
        } else if kind.is_file() && path.extension().is_some_and(|e| e == "c") {
            let small = entry.metadata().is_ok_and(|m| m.len() <= LARGEST);
            all.extend(small.then_some(path));
        }
    }
}

/// Each line with its offset.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let mut at = 0_u64;
    text.split_inclusive('\n').map(move |line| {
        let offset = at;
        at = at.saturating_add(line.len() as u64);
        (offset, line.trim_end())
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `NAME` of `macro(NAME...` at the beginning of a line.
fn invoked(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once('(')?;
    let rest = rest.trim_start();
    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let argument = rest.get(..end)?;
    let is_name = !name.is_empty() && name.chars().all(is_word);
    (is_name && !argument.is_empty()).then_some((name, argument))
}

/// The initcalls that a file declares, and where.
fn initcalls(text: &str) -> Vec<(String, u64)> {
    let declared = lines(text).filter_map(|(offset, line)| {
        let (name, argument) = invoked(line)?;
        let is_initcall = name == "module_init"
            || name.ends_with("_initcall")
            || name.ends_with("_initcall_sync");
        // `module_platform_driver(x)` makes `x_init` (include/linux/device/driver.h).
        let makes = (name.starts_with("module_") || name.starts_with("builtin_"))
            && name.contains("_driver");
        let function = match (is_initcall, makes) {
            (true, _) => argument.to_owned(),
            (false, true) => format!("{argument}_init"),
            (false, false) => return None,
        };
        Some((function, offset))
    });
    declared.collect()
}

/// What builds a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Built {
    /// The option, without `CONFIG_`.
    option: Option<String>,
    /// The module, if the option can make one.
    module: Option<String>,
}

/// The option behind an object or folder of a Makefile: `obj-y` has none.
fn assigned(makefile: &str, target: &str) -> Option<(String, Option<String>)> {
    let joined = makefile.replace("\\\n", " ");
    for line in joined.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let Some((left, right)) = line.split_once('=') else {
            continue;
        };
        let left = left.trim_end_matches([':', '+', '?', ' ', '\t']).trim();
        let Some((name, how)) = left.rsplit_once('-') else {
            continue;
        };
        if !right.split_whitespace().any(|w| w == target) {
            continue;
        }
        let option = how
            .strip_prefix("$(CONFIG_")
            .and_then(|h| h.strip_suffix(')'));
        if option.is_some() || matches!(how, "y" | "m" | "objs") {
            return Some((name.to_owned(), option.map(str::to_owned)));
        }
    }
    None
}

fn built_by(tree: &Path, file: &Path) -> Built {
    let mut built = Built::default();
    let Some(mut folder) = file.parent() else {
        return built;
    };
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut target = format!("{stem}.o");
    for _ in 0..DEEPEST {
        let makefile = ["Kbuild", "Makefile"]
            .iter()
            .find_map(|name| fs::read_to_string(folder.join(name)).ok());
        let found = makefile.as_deref().and_then(|m| assigned(m, &target));
        match found {
            // A part of another object.
            Some((name, option)) if name != "obj" => {
                built.option = built.option.or(option);
                target = format!("{name}.o");
                // An object cannot be a part of itself.
                if makefile
                    .as_deref()
                    .and_then(|m| assigned(m, &target))
                    .is_none()
                {
                    return built;
                }
                continue;
            }
            Some((_, option)) => {
                if let Some(name) = target.strip_suffix(".o") {
                    built.module = option.as_ref().map(|_| name.replace('-', "_"));
                }
                built.option = built.option.or(option);
            }
            None => {}
        }
        // Without an option of its own, that of its folder.
        if built.option.is_some() || folder == tree {
            return built;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        target = format!("{name}/");
        folder = folder.parent().unwrap_or(tree);
    }
    built
}

/// Whether an option can be a module, by the nearest Kconfig that declares it.
fn is_tristate(tree: &Path, file: &Path, option: &str) -> bool {
    let mut folder = file.parent();
    while let Some(here) = folder {
        for name in ["Kconfig", "Kconfig.debug"] {
            let Ok(text) = fs::read_to_string(here.join(name)) else {
                continue;
            };
            let mut inside = false;
            for line in text.lines() {
                let words: Vec<&str> = line.split_whitespace().take(2).collect();
                match words.as_slice() {
                    ["config" | "menuconfig", name] => inside = *name == option,
                    ["tristate" | "def_tristate", ..] if inside => return true,
                    ["bool" | "def_bool", ..] if inside => return false,
                    _ => {}
                }
            }
        }
        folder = here.parent().filter(|_| here != tree);
    }
    false
}

/// A call that waits, the microseconds of its unit, and whether it keeps the processor busy
/// (Documentation/timers/delay_sleep_functions.rst).
const WAITS: [(&str, u64, bool); 7] = [
    ("mdelay", 1_000, true),
    ("udelay", 1, true),
    ("fsleep", 1, false),
    ("msleep", 1_000, false),
    ("msleep_interruptible", 1_000, false),
    ("ssleep", 1_000_000, false),
    ("usleep_range", 1, false),
];

/// What takes jiffies: a part of a second in `HZ`, or milliseconds in `msecs_to_jiffies`.
const JIFFIES: [&str; 4] = [
    "schedule_timeout",
    "schedule_timeout_interruptible",
    "schedule_timeout_killable",
    "schedule_timeout_uninterruptible",
];

/// The waits of a file that state their time in digits.
fn waits(text: &str, place: impl Fn(u64) -> Place) -> Vec<DriverWait> {
    let mut all = Vec::new();
    for (offset, line) in lines(text) {
        for (at, _) in line.match_indices('(') {
            let before = line.get(..at).unwrap_or_default();
            let start = before.rfind(|c| !is_word(c)).map_or(0, |i| i + 1);
            let name = before.get(start..).unwrap_or_default();
            let rest = line.get(at + 1..).unwrap_or_default();
            let wait = WAITS.iter().find(|(n, ..)| *n == name);
            let (us, is_busy) = match wait {
                Some((_, unit, is_busy)) => {
                    (number(rest).map(|n| n.saturating_mul(*unit)), *is_busy)
                }
                None if JIFFIES.contains(&name) => (of_jiffies(rest), false),
                None => continue,
            };
            if let Some(us) = us.filter(|us| *us >= SHORT_US) {
                all.push(DriverWait {
                    us,
                    is_busy,
                    text: line.trim().chars().take(80).collect(),
                    place: place(offset),
                });
            }
        }
    }
    all.sort_by(|a, b| b.us.cmp(&a.us).then(a.place.offset.cmp(&b.place.offset)));
    all.truncate(MOST);
    all
}

/// The number that `text` begins with.
fn number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.get(..end.unwrap_or(text.len()))?.parse().ok()
}

/// The microseconds of what is in the brackets of a wait in jiffies: `HZ`, `2 * HZ`, `HZ / 10`,
/// `msecs_to_jiffies(250)`.
fn of_jiffies(text: &str) -> Option<u64> {
    if let Some(ms) = text.strip_prefix("msecs_to_jiffies(") {
        return number(ms).map(|ms| ms.saturating_mul(1_000));
    }
    let end = text.find([')', ';', ',']).unwrap_or(text.len());
    let words: String = text.get(..end)?.split_whitespace().collect();
    let second = 1_000_000_u64;
    match words.split_once("HZ")? {
        ("", "") => Some(second),
        ("", part) => second.checked_div(part.strip_prefix('/')?.parse().ok()?),
        (times, "") => Some(second.saturating_mul(times.strip_suffix('*')?.parse().ok()?)),
        _ => None,
    }
}

/// The names of a module's parameters.
fn parameters(text: &str) -> Vec<String> {
    let declared = lines(text).filter_map(|(_, line)| {
        let (name, argument) = invoked(line)?;
        name.starts_with("module_param")
            .then(|| argument.to_owned())
    });
    let mut seen = BTreeMap::new();
    for (number, name) in declared.enumerate() {
        seen.entry(name).or_insert(number);
    }
    let mut names: Vec<(String, usize)> = seen.into_iter().collect();
    names.sort_by_key(|n| n.1);
    names.into_iter().map(|n| n.0).take(2 * MOST).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::read;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn an_initcall_leads_to_its_option_module_and_waits() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("Kconfig", "source drivers/Kconfig\n"),
            ("Makefile", "obj-y += drivers/\n"),
            (
                "drivers/Makefile",
                "obj-$(CONFIG_IDE) += ide/\nobj-y += video/\n",
            ),
            (
                "drivers/ide/Kconfig",
                "menuconfig IDE\n\ttristate \"IDE\"\n",
            ),
            (
                "drivers/ide/Makefile",
                "ide-core-y += ide.o \\\n  ide-probe.o # parts\nide-core-$(CONFIG_IDE_PROC) += ide-proc.o\n\
                 obj-$(CONFIG_IDE)\t+= ide-core.o\n",
            ),
            (
                "drivers/ide/ide.c",
                "module_param(noprobe, int, 0);\nMODULE_PARM(x);\nstatic int ide_init(void) {\n\
                 \tmdelay(50);\n\tmsleep(2000); udelay(5); mdelay(n);\n\
                 \tschedule_timeout(HZ / 10); schedule_timeout(n);\n\
                 \tschedule_timeout_uninterruptible(msecs_to_jiffies(250));\n}\nmodule_init(ide_init);\n",
            ),
            ("drivers/video/Makefile", "obj-$(CONFIG_FB_X) += x-fb.o\n"),
            (
                "drivers/video/Kconfig",
                "config FB_Y\n\ttristate\nconfig FB_X\n\tbool \"X\"\n",
            ),
            ("drivers/video/x-fb.c", "module_platform_driver(x_fb);\n"),
            ("tools/a.c", "module_init(ide_init);\n"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let wanted: BTreeSet<String> = ["ide_init", "x_fb_init", "none"].map(str::to_owned).into();
        let found = read(folder.path(), &wanted).unwrap();
        assert_eq!(found.len(), 2);
        let ide = &found[0];
        assert_eq!(ide.function, "ide_init");
        assert_eq!(ide.place.source, "drivers/ide/ide.c");
        assert_eq!(ide.option.as_deref(), Some("IDE"));
        assert_eq!(ide.module.as_deref(), Some("ide_core"));
        assert!(ide.is_tristate);
        let waits: Vec<_> = ide
            .waits
            .iter()
            .map(|w| (w.us / 1_000, w.is_busy))
            .collect();
        assert_eq!(
            waits,
            [(2_000, false), (250, false), (100, false), (50, true)]
        );
        assert_eq!(ide.parameters, ["noprobe"]);
        let fb = &found[1];
        assert_eq!(fb.option.as_deref(), Some("FB_X"));
        assert_eq!(fb.module.as_deref(), Some("x_fb"));
        assert!(!fb.is_tristate);
        let why = read(&folder.path().join("drivers"), &wanted).unwrap_err();
        assert!(
            why.to_string().contains("not a kernel source tree"),
            "{why}"
        );
    }
}
