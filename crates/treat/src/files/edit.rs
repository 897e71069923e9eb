//! What a treatment makes of a target.

use super::content::Content;
use super::cut;
use super::error::FileError;
use super::images::{self, ImageError, protected};
use super::late;
use super::parse::FileTreatment;
use super::plan::{Change, Plan};
use super::programs;
use super::scripts;
use super::sysctl::{self, Place};
use super::text::{self, Holder};
use super::tree::{Found, Target};
use crate::treatment::{TreatError, Treatment};

/// Files of a root tree, or of a mounted boot partition, that hold a kernel command line.
const COMMAND_LINES: [&str; 9] = [
    "boot/cmdline.txt",
    "boot/extlinux/extlinux.conf",
    "boot/firmware/cmdline.txt",
    "boot/syslinux/syslinux.cfg",
    "cmdline.txt",
    "etc/default/grub",
    "etc/kernel/cmdline",
    "extlinux/extlinux.conf",
    "syslinux/syslinux.cfg",
];

/// Files of a root tree, or of a mounted boot partition, that hold U-Boot's environment.
const ENVIRONMENTS: [&str; 3] = ["boot/firmware/uboot.env", "boot/uboot.env", "uboot.env"];

/// Folders of unified kernel images.
const UNIFIED: [&str; 3] = ["EFI/Linux", "boot/EFI/Linux", "efi/EFI/Linux"];

/// Folders of boot entries.
const ENTRIES: [&str; 3] = [
    "boot/loader/entries",
    "efi/loader/entries",
    "loader/entries",
];

/// Folders of menus that are read over the network: U-Boot and PXELINUX choose a file by the
/// board's addresses.
const NETWORK: [&str; 2] = ["boot/pxelinux.cfg", "pxelinux.cfg"];

/// Where units are.
const UNITS: [&str; 4] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];

/// The firmware's settings of a Raspberry Pi, in a root tree or on its boot partition.
const FIRMWARE: [&str; 3] = ["boot/config.txt", "boot/firmware/config.txt", "config.txt"];

/// Files that say how long a menu waits.
const MENUS: [&str; 6] = [
    "boot/extlinux/extlinux.conf",
    "boot/loader/loader.conf",
    "boot/syslinux/syslinux.cfg",
    "etc/default/grub",
    "extlinux/extlinux.conf",
    "loader/loader.conf",
];

const JOURNAL: &str = "etc/systemd/journald.conf.d/50-firstlight.conf";
const VOLATILE: &str =
    "# Written by firstlight: messages stay in memory.\n[Journal]\nStorage=volatile\n";
const INITRAMFS: &str = "etc/initramfs-tools/initramfs.conf";

impl FileTreatment {
    /// What this would change on a target. Nothing is changed.
    ///
    /// # Errors
    /// If the target is none for it, or a change would break a signature.
    pub fn plan(&self, target: &Target) -> Result<Plan, FileError> {
        if let Some(expected) = self.image_kind() {
            let (change, sentences) = whole_image(self, expected, target)?;
            let changes: Vec<Change> = Some(change)
                .filter(|c| c.before != c.after)
                .into_iter()
                .collect();
            return Ok(Plan {
                treatment: self.to_string(),
                changes,
                sentences,
                then: self.kind().then.to_owned(),
            });
        }
        let mut left = None;
        let changes = match self {
            Self::Strip(path) => {
                let changes;
                (changes, left) = programs::stripped(target, path, programs::Loss::Symbols)?;
                changes
            }
            Self::StripHeaders(path) => {
                let changes;
                (changes, left) = programs::stripped(target, path, programs::Loss::Sections)?;
                changes
            }
            Self::RemoveLibrary(path) => {
                let changes;
                (changes, left) = programs::without_library(target, path)?;
                changes
            }
            Self::CutLibrary { path, archive } => {
                let changes;
                (changes, left) = cut::library_cut(target, path, archive.as_deref())?;
                changes
            }
            Self::Boot(
                t @ (Treatment::AddWord(_) | Treatment::RemoveWord(_) | Treatment::UbiFastmap),
            ) => command_lines(t, target)?,
            Self::Boot(Treatment::Mask(unit)) => mask(unit, target)?,
            Self::Boot(Treatment::Kernel(_)) => {
                return Err(target.wrong(
                    "`kernel=` works only in the lab; for a board, build the kernel with \
                     CONFIG_KERNEL_UNCOMPRESSED or boot Image instead of zImage",
                ));
            }
            Self::Boot(Treatment::Order(_)) => {
                return Err(target.wrong(
                    "`order=` works only in the lab; use `firstlight image order --for ext4` to \
                     lay out an image",
                ));
            }
            Self::Boot(Treatment::Build(_)) => {
                return Err(target.wrong(
                    "`build=` works only in the lab; use `config=CONFIG_NAME=VALUE` to change a \
                     kernel configuration, then rebuild the kernel",
                ));
            }
            Self::Boot(Treatment::UnsignedModules) => {
                return Err(target.wrong(
                    "`modules=unsigned` works only in the lab; on Debian, strip the modules in an \
                     initramfs-tools hook",
                ));
            }
            // They are parsed as what they are.
            Self::Boot(Treatment::OfFiles(text)) => {
                return Err(target.wrong(format!("`{text}` is not a treatment of its own")));
            }
            Self::Boot(Treatment::Prefetch(_)) => {
                return Err(target.wrong(
                    "`prefetch=` works only in the lab; use `firstlight prefetch install` to \
                     install an access list",
                ));
            }
            Self::Config { name, value } => {
                one_file(target, "a kernel configuration", |_, text| {
                    text::is_config(text).then(|| text::config(text, name, value))
                })?
            }
            Self::Fstab { folder, change } => settings(
                target,
                &["etc/fstab"],
                &format!("an fstab line that mounts {folder}"),
                |_, text| text::fstab(text, folder, change),
            )?,
            Self::Firmware { name, value } => settings(
                target,
                &FIRMWARE,
                "a config.txt of a Raspberry Pi",
                |path, text| text::firmware(path, text, name, value),
            )?,
            Self::IoScheduler { device, scheduler } => {
                udev(target)?;
                let (path, rule) = late::queue_rule(device, "scheduler", ("scheduler", scheduler));
                vec![whole(target, &path, Content::File(rule.into()))?]
            }
            Self::ReadAhead { device, kib } => {
                udev(target)?;
                let kib = kib.to_string();
                let window = ("read_ahead_kb", kib.as_str());
                let (path, rule) = late::queue_rule(device, "read-ahead", window);
                vec![whole(target, &path, Content::File(rule.into()))?]
            }
            Self::Sysctl { name, value } => match sysctl::place(target, name, value)? {
                Place::Own(path, text) => vec![whole(target, &path, text)?],
                Place::In(found, text) => vec![changed(found, text.into_bytes())],
            },
            Self::LateModules(names) => {
                systemd(target)?;
                late::known(target, names)?;
                let files = late::modules(names).into_iter();
                files
                    .map(|(path, content)| whole(target, &path, content))
                    .collect::<Result<_, _>>()?
            }
            Self::CatPipes(path) => scripts::without_cats(target, path)?,
            Self::OneStartScript => {
                let (found, after) = scripts::one_script(target)?;
                vec![changed(found, after.into_bytes())]
            }
            Self::JournalInMemory => {
                systemd(target)?;
                vec![whole(target, JOURNAL, Content::File(VOLATILE.into()))?]
            }
            Self::MenuTimeout(seconds) => settings(
                target,
                &MENUS,
                "a boot menu configuration with a timeout",
                |name, text| text::menu_timeout(name, text, *seconds),
            )?,
            Self::InitramfsModules(kind) => settings(
                target,
                &[INITRAMFS],
                "an initramfs.conf with a MODULES= line",
                |_, text| text::setting(text, "MODULES", kind),
            )?,
            // Those of images are made above.
            _ => {
                return Err(target.wrong(
                    "this treatment cannot be applied to it; `firstlight \
                treat list` shows the targets of each treatment",
                ));
            }
        };
        let changes: Vec<Change> = changes
            .into_iter()
            .filter(|c| c.before != c.after)
            .collect();
        unprotected(target, &changes)?;
        let sentences = changes.iter().map(|c| match (&c.before, &c.after) {
            (Content::Absent, Content::Link(to)) => format!("{} becomes a link to {to}", c.path),
            (Content::Absent, _) => format!("{} is created", c.path),
            (_, Content::Link(to)) => format!("{} is replaced by a link to {to}", c.path),
            (_, Content::Absent) => format!("{} is removed", c.path),
            _ => format!("{} is changed", c.path),
        });
        Ok(Plan {
            treatment: self.to_string(),
            sentences: sentences.chain(left).collect(),
            changes,
            then: self.kind().then.to_owned(),
        })
    }
}

fn changed(found: Found, after: Vec<u8>) -> Change {
    Change {
        path: found.path,
        before: found.content,
        metadata: Some(found.metadata),
        after: Content::File(after),
    }
}

/// A path that gets this content as a whole.
fn whole(target: &Target, path: &str, after: Content) -> Result<Change, FileError> {
    let (path, found) = target.look(path)?;
    Ok(match found {
        Some(found) => Change {
            path,
            before: found.content,
            metadata: Some(found.metadata),
            after,
        },
        None => Change {
            path,
            before: Content::Absent,
            metadata: None,
            after,
        },
    })
}

fn text_of(found: &Found) -> Option<String> {
    match &found.content {
        Content::File(bytes) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    }
}

/// The files of a tree that `change` fits, or the one that was named.
fn settings(
    target: &Target,
    files: &[&str],
    expected: &str,
    change: impl Fn(&str, &str) -> Option<String>,
) -> Result<Vec<Change>, FileError> {
    if target.file().is_some() {
        return one_file(target, expected, change);
    }
    let mut changes: Vec<Change> = Vec::new();
    for file in files {
        let Some(found) = target.read(file)? else {
            continue;
        };
        let new = text_of(&found).and_then(|t| change(&found.path, &t));
        if let Some(new) = new.filter(|_| !changes.iter().any(|c| c.path == found.path)) {
            changes.push(changed(found, new.into_bytes()));
        }
    }
    match changes.is_empty() {
        false => Ok(changes),
        true => Err(target.wrong(format!(
            "could not find {expected} in this tree (looked in {})",
            files.join(", ")
        ))),
    }
}

fn one_file(
    target: &Target,
    expected: &str,
    change: impl Fn(&str, &str) -> Option<String>,
) -> Result<Vec<Change>, FileError> {
    let found = named(target, expected)?;
    let new = text_of(&found).and_then(|t| change(&found.path, &t));
    match new {
        Some(new) => Ok(vec![changed(found, new.into_bytes())]),
        None => Err(target.wrong(format!("not {expected}"))),
    }
}

/// The file that the user named.
fn named(target: &Target, expected: &str) -> Result<Found, FileError> {
    let Some(name) = target.file() else {
        return Err(target.wrong(format!("this is a folder; pass the file: {expected}")));
    };
    let found = target.read(name)?;
    found.ok_or_else(|| target.wrong(format!("no such file; pass {expected}")))
}

fn command_lines(treatment: &Treatment, target: &Target) -> Result<Vec<Change>, FileError> {
    let mut files: Vec<String> = match target.file() {
        Some(name) => vec![name.to_owned()],
        None => COMMAND_LINES.map(str::to_owned).to_vec(),
    };
    if target.file().is_none() {
        for folder in ENTRIES {
            let names = target.names(folder);
            let entries = names.iter().filter(|n| n.ends_with(".conf"));
            files.extend(entries.map(|n| format!("{folder}/{n}")));
        }
        for folder in NETWORK {
            let names = target.names(folder);
            files.extend(names.iter().map(|n| format!("{folder}/{n}")));
        }
    }
    let mut changes: Vec<Change> = Vec::new();
    for file in &files {
        let Some(found) = target.read(file)? else {
            continue;
        };
        let text = text_of(&found);
        let holder = text.as_ref().and_then(|t| text::holder(&found.path, t));
        let (Some(text), Some(holder)) = (text, holder) else {
            continue;
        };
        let new = text::command_line(treatment, holder, &text).map_err(|why| {
            FileError::Treatment(TreatError::Word {
                treatment: treatment.to_string(),
                why,
            })
        })?;
        conflicts(treatment, holder, &text)?;
        if let Some(new) = new.filter(|_| !changes.iter().any(|c| c.path == found.path)) {
            changes.push(changed(found, new.into_bytes()));
        }
    }
    let whole = match target.file() {
        Some(_) if !changes.is_empty() => Vec::new(),
        Some(name) => vec![name.to_owned()],
        None => images_with_command_line(target, changes.is_empty()),
    };
    for file in &whole {
        let Some(found) = target.read(file)? else {
            continue;
        };
        let Content::File(bytes) = &found.content else {
            continue;
        };
        let change = |line: &str| text::words(treatment, line);
        let new = images::command_line(bytes, change).map_err(|e| of_image(target, e))?;
        if let Some(new) = new.filter(|_| !changes.iter().any(|c| c.path == found.path)) {
            changes.push(changed(found, new.bytes));
        }
    }
    if !changes.is_empty() {
        return Ok(changes);
    }
    if target.file().is_some() {
        signed_image(target)?;
        return Err(target.wrong(
            "not a kernel command line; pass cmdline.txt, /etc/kernel/cmdline, /etc/default/grub, \
             extlinux.conf, a boot entry, a unified kernel image or a U-Boot environment with \
             `bootargs`",
        ));
    }
    Err(target.wrong(format!(
        "could not find a kernel command line in this tree (looked in {} and boot entries)",
        COMMAND_LINES.join(", ")
    )))
}

/// The images of a tree that hold a command line. Where a text file has one, U-Boot's
/// `bootargs` is not what is booted.
fn images_with_command_line(target: &Target, with_environment: bool) -> Vec<String> {
    let unified = UNIFIED.iter().flat_map(|folder| {
        let names = target.names(folder).into_iter();
        let images = names.filter(|n| n.ends_with(".efi"));
        images.map(move |n| format!("{folder}/{n}"))
    });
    let environments = ENVIRONMENTS.iter().filter(|_| with_environment);
    unified
        .chain(environments.map(|e| (*e).to_owned()))
        .collect()
}

/// Words that say the opposite of each other.
const OPPOSITES: [(&str, &[&str]); 5] = [
    ("quiet", &["debug", "ignore_loglevel"]),
    ("fsck.mode=skip", &["fsck.mode=force"]),
    ("ro", &["rw"]),
    ("rw", &["ro"]),
    ("tsc=reliable", &["tsc=unstable"]),
];

fn conflicts(treatment: &Treatment, holder: Holder, text: &str) -> Result<(), FileError> {
    let Treatment::AddWord(word) = treatment else {
        return Ok(());
    };
    let opposite = OPPOSITES.iter().find(|(w, _)| w == word);
    // What stands in comments of other files is no word of a command line.
    let lines = text.lines().filter(|l| {
        let l = l.trim_start();
        holder == Holder::Plain || !l.starts_with('#')
    });
    let mut words = lines.flat_map(|l| l.split([' ', '\t', '"', '\'']));
    let found = opposite.and_then(|(_, others)| words.find(|w| others.contains(w)));
    match found {
        Some(other) => Err(FileError::Conflict {
            treatment: treatment.to_string(),
            other: format!(
                "`{other}` on the kernel command line; remove that first: `cmdline-={other}`"
            ),
        }),
        None => Ok(()),
    }
}

fn systemd(target: &Target) -> Result<(), FileError> {
    if target.file().is_some() {
        return Err(target.wrong("this is a file; pass the folder of a root tree with systemd"));
    }
    let there = UNITS.iter().any(|folder| target.has(folder));
    match there {
        true => Ok(()),
        false => Err(target.wrong(
            "could not find systemd in this tree; pass a root tree with usr/lib/systemd/system or \
             etc/systemd/system",
        )),
    }
}

fn udev(target: &Target) -> Result<(), FileError> {
    let folders = ["usr/lib/udev", "lib/udev", "etc/udev"];
    match target.file().is_none() && folders.iter().any(|f| target.has(f)) {
        true => Ok(()),
        false => Err(target.wrong(
            "could not find udev in this tree; pass a root tree with usr/lib/udev, or set the \
             scheduler in the start script",
        )),
    }
}

fn mask(unit: &str, target: &Target) -> Result<Vec<Change>, FileError> {
    systemd(target)?;
    // An instance comes from its template.
    let template = unit.split_once('@').map(|(stem, rest)| {
        let suffix = rest.rsplit('.').next().unwrap_or(rest);
        format!("{stem}@.{suffix}")
    });
    let known = UNITS.iter().any(|folder| {
        target.has(&format!("{folder}/{unit}"))
            || template
                .as_ref()
                .is_some_and(|t| target.has(&format!("{folder}/{t}")))
    });
    let path = format!("etc/systemd/system/{unit}");
    let change = whole(target, &path, Content::Link("/dev/null".to_owned()))?;
    if !known && change.before == Content::Absent {
        return Err(target.wrong(format!(
            "could not find the unit {unit} in this tree (looked in {})",
            UNITS.join(", ")
        )));
    }
    Ok(vec![change])
}

/// The image that the user named, changed as a whole, and what that means.
fn whole_image(
    treatment: &FileTreatment,
    expected: &str,
    target: &Target,
) -> Result<(Change, Vec<String>), FileError> {
    let found = match environment_of(treatment, target)? {
        Some(found) => found,
        None => named(target, expected)?,
    };
    let Content::File(bytes) = &found.content else {
        return Err(target.wrong("not a regular file"));
    };
    let new = match treatment.on_image(bytes) {
        Some(new) => new.map_err(|e| of_image(target, e))?,
        None => {
            return Err(target.wrong(
                "this treatment cannot be applied to it; `firstlight \
            treat list` shows the targets of each treatment",
            ));
        }
    };
    Ok((changed(found, new.bytes), new.description))
}

/// The environment in a tree that a treatment of variables changes: on a boot partition it is
/// the file `uboot.env`.
fn environment_of(treatment: &FileTreatment, target: &Target) -> Result<Option<Found>, FileError> {
    let of_variables = matches!(
        treatment,
        FileTreatment::Boot(Treatment::SetVariable { .. } | Treatment::RemoveVariable(_))
    );
    if !of_variables || target.file().is_some() {
        return Ok(None);
    }
    for file in ENVIRONMENTS {
        if let Some(found) = target.read(file)? {
            return Ok(Some(found));
        }
    }
    Err(target.wrong(format!(
        "could not find a U-Boot environment in this tree (looked for {}); pass the file of the \
         environment",
        ENVIRONMENTS.join(", ")
    )))
}

/// What an image says of a change, about the target.
fn of_image(target: &Target, error: ImageError) -> FileError {
    match error {
        ImageError::Protected(why) => target.protected(why),
        ImageError::Other(why) => target.wrong(why),
        source => FileError::Image {
            target: target.shown().to_owned(),
            source,
        },
    }
}

/// Refuses an image that is signed.
fn signed_image(target: &Target) -> Result<(), FileError> {
    let Some(found) = target.file().map(|f| target.read(f)).transpose()?.flatten() else {
        return Ok(());
    };
    let why = match &found.content {
        Content::File(bytes) => protected(bytes),
        _ => None,
    };
    why.map_or(Ok(()), |why| Err(target.protected(why)))
}

/// Words by which a kernel checks its root, byte by byte.
const VERITY: [&str; 4] = ["roothash=", "systemd.verity", "dm-verity", "veritysetup"];

/// Refuses changes of a root that a hash tree protects. What the loader reads
/// is not of that root.
fn unprotected(target: &Target, changes: &[Change]) -> Result<(), FileError> {
    if target.file().is_some() {
        return Ok(());
    }
    let of_root = |c: &Change| {
        let loader = [
            "EFI/",
            "boot/",
            "cmdline.txt",
            "config.txt",
            "efi/",
            "extlinux/",
            "loader/",
            "pxelinux.cfg/",
            "syslinux/",
            "uboot.env",
        ];
        !loader.iter().any(|l| c.path.starts_with(l))
    };
    let Some(change) = changes.iter().find(|c| of_root(c)) else {
        return Ok(());
    };
    for file in COMMAND_LINES {
        let text = target.read(file)?.as_ref().and_then(text_of);
        let text = text.unwrap_or_default();
        let word = VERITY.iter().find(|w| text.contains(**w));
        let word = word.copied().or_else(|| {
            let mapped = text.contains("dm-mod.create=") && text.contains(" verity ");
            mapped.then_some("dm-mod.create= with verity")
        });
        if let Some(word) = word {
            return Err(target.protected(format!(
                "dm-verity protects this root (`{word}` in {file}), which contains {}",
                change.path
            )));
        }
    }
    Ok(())
}
