//! What to change in an environment so that a boot is faster.

use super::data::{Change, Data};
use super::script::{Reached, expanded, flattened, preset, reached};
use crate::kernel::zimage;
use crate::{fdt, fit, uimage};
use rawimage::bytes::Part;
use std::io;

/// A change that is proposed. None is made by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The change.
    pub change: Change,
    /// What it brings, one sentence.
    pub why: String,
    /// What it costs, or when it is wrong, one sentence.
    pub cost: String,
    /// The time that it saves, nanoseconds, where the environment shows it.
    pub saves_ns: Option<u64>,
    /// The bytes that are read in vain, where the change reads less.
    pub surplus_bytes: Option<u64>,
    /// Changes without which this one is wrong: all are made at once.
    pub with: Vec<Change>,
}

/// What is proposed, and what else is worth a look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposals {
    /// Changes, the surest first.
    pub proposals: Vec<Proposal>,
    /// What was seen and is not changed by a variable, a sentence each.
    pub notes: Vec<String>,
}

/// U-Boot's own delay where none is set: `CONFIG_BOOTDELAY` is 2 by default.
const DEFAULT_DELAY: u64 = 2;
/// So many entries without a value are named.
const MOST_EMPTIED: usize = 20;
/// The block size of the commands for disks, bytes.
const DISK_BLOCK: u64 = 512;
/// NAND flash is read in pages; no usual page is larger.
const PAGE: u64 = 4096;

/// Looks for what could be faster. `image` is where the environment was found,
/// if what it loads may be in there too; `signed` says whether a FIT image with
/// signatures is booted, `None` if no FIT image is known.
///
/// # Errors
/// What reading says.
pub fn proposals(
    data: &Data,
    image: Option<&Part<'_>>,
    signed: Option<bool>,
) -> io::Result<Proposals> {
    let mut found = Proposals::default();
    delay(data, &mut found);
    silent(data, &mut found);
    verify(data, signed, &mut found);
    targets(data, &mut found);
    script(data, &mut found);
    beforehand(data, &mut found);
    emptied(data, &mut found);
    let statements = reached(data, "bootcmd");
    for statement in &statements {
        waits(statement, &mut found);
        if let Some(image) = image {
            exact_size(data, statement, image, &mut found)?;
        }
    }
    Ok(found)
}

fn set(name: &str, value: &str) -> Change {
    Change::Set(name.into(), value.into())
}

fn delay(data: &Data, found: &mut Proposals) {
    let text = data.text("bootdelay");
    let seconds = match &text {
        Some(text) => text.trim().parse::<i64>().ok(),
        None => i64::try_from(DEFAULT_DELAY).ok(),
    };
    let notes = &mut found.notes;
    match seconds {
        Some(n @ 1..) => {
            let unset = text.is_none();
            let why = match unset {
                true => format!(
                    "bootdelay is not set, so U-Boot waits for its built-in time, {n} s by default"
                ),
                false => format!("U-Boot waits {n} s for a key on every boot"),
            };
            found.proposals.push(Proposal {
                change: set("bootdelay", "0"),
                why,
                cost: "only a key already pressed reaches the prompt; with -2, no key does"
                    .to_owned(),
                saves_ns: (!unset).then(|| n.unsigned_abs().saturating_mul(1_000_000_000)),
                surplus_bytes: None,
                with: Vec::new(),
            });
        }
        Some(-1) => notes.push("bootdelay is -1, so U-Boot stops at its prompt".to_owned()),
        Some(_) => {}
        None => notes.push(format!(
            "bootdelay is `{}`, which is not a number",
            text.unwrap_or_default()
        )),
    }
    if data.get(b"bootcmd").is_none() {
        notes.push("bootcmd is not set, so U-Boot runs its built-in command".to_owned());
    }
}

/// Entries without a value are no variables, and yet a reader of the bytes sees them.
fn emptied(data: &Data, found: &mut Proposals) {
    for name in data.emptied().into_iter().take(MOST_EMPTIED) {
        let name = String::from_utf8_lossy(&name).into_owned();
        found.notes.push(format!(
            "`{name}=` has no value: U-Boot drops the variable when it loads the environment"
        ));
    }
}

fn silent(data: &Data, found: &mut Proposals) {
    if data.get(b"silent").is_some() {
        return;
    }
    let rate = data
        .text("baudrate")
        .and_then(|b| b.trim().parse::<u64>().ok());
    let rate = rate.filter(|r| *r > 0);
    found.proposals.push(Proposal {
        change: set("silent", "1"),
        why: match rate {
            Some(rate) => format!(
                "U-Boot prints at {rate} baud, {} us per character",
                10_000_000 / rate
            ),
            None => "U-Boot waits for every character that it prints".to_owned(),
        },
        cost: "U-Boot prints nothing; it must be built with CONFIG_SILENT_CONSOLE".to_owned(),
        saves_ns: None,
        surplus_bytes: None,
        with: Vec::new(),
    });
}

/// Whether U-Boot would check what it boots: `env_get_yesno`.
#[must_use]
pub fn verifies(value: Option<&[u8]>) -> bool {
    value.is_none_or(|v| matches!(v.first(), Some(b'1' | b'y' | b'Y' | b't' | b'T')))
}

fn verify(data: &Data, signed: Option<bool>, found: &mut Proposals) {
    let now = verifies(data.get(b"verify").as_deref());
    match (now, signed) {
        (true, Some(true)) => {}
        (true, signed) => found.proposals.push(Proposal {
            change: set("verify", "no"),
            why: "U-Boot skips the checksums of the images that it boots: 4 to 109 instructions \
                per byte"
                .to_owned(),
            cost: match signed {
                Some(_) => "U-Boot starts a damaged image".to_owned(),
                None => "U-Boot starts a damaged image; never use it with a signed FIT image \
                    (name it with --fit), because its signatures are not checked either"
                    .to_owned(),
            },
            saves_ns: None,
            surplus_bytes: None,
            with: Vec::new(),
        }),
        (false, Some(true)) => found.notes.push(
            "verify is off, so U-Boot does not check the signatures of the FIT image that it \
             boots; unset verify"
                .to_owned(),
        ),
        (false, _) => {}
    }
}

/// The standard scripts of distributions try one place after another.
fn targets(data: &Data, found: &mut Proposals) {
    let Some(targets) = data.text("boot_targets") else {
        return;
    };
    let mut names = targets.split_whitespace();
    let (Some(first), Some(_)) = (names.next(), names.next()) else {
        return;
    };
    found.proposals.push(Proposal {
        change: set("boot_targets", first),
        why: format!("U-Boot tries `{}` in turn", targets.trim()),
        cost: format!("U-Boot boots only from {first}; name the device that you use"),
        saves_ns: None,
        surplus_bytes: None,
        with: Vec::new(),
    });
}

fn script(data: &Data, found: &mut Proposals) {
    let Some((flat, runs)) = flattened(data, "bootcmd") else {
        return;
    };
    found.proposals.push(Proposal {
        change: set("bootcmd", &flat),
        why: match runs {
            1 => "bootcmd runs another script; one script can run the same commands".to_owned(),
            n => format!("bootcmd runs {n} other scripts; one script can run the same commands"),
        },
        cost: "changes to those scripts no longer affect the boot".to_owned(),
        saves_ns: None,
        surplus_bytes: None,
        with: Vec::new(),
    });
}

/// What bootcmd sets to what is known before it runs.
fn beforehand(data: &Data, found: &mut Proposals) {
    let Some(preset) = preset(data, "bootcmd") else {
        return;
    };
    let names: Vec<&str> = preset.variables.iter().map(|(n, _)| n.as_str()).collect();
    let names = names.join(" and ");
    found.proposals.push(Proposal {
        change: set("bootcmd", &preset.script),
        why: format!("bootcmd sets {names} on every boot, to what is known beforehand"),
        cost: format!("changes to what {names} is made of no longer affect the boot"),
        saves_ns: None,
        surplus_bytes: None,
        with: preset.variables.iter().map(|(n, v)| set(n, v)).collect(),
    });
}

/// Commands that wait, or that bring up what a boot may not need.
fn waits(reached: &Reached, found: &mut Proposals) {
    let words = reached.statement.words();
    let mut words = words.iter().map(String::as_str);
    let first = words.find(|w| !matches!(*w, "then" | "do" | "else" | "if" | "elif"));
    let text = &reached.statement.text;
    let variable = &reached.variable;
    let says = |what: &str| format!("{variable} contains `{text}`: {what}");
    let note = match (first, words.next()) {
        (Some("sleep"), Some(n)) => says(&format!("U-Boot waits {n} s")),
        (Some("usb"), Some("start" | "reset")) => {
            says("USB enumeration takes seconds; remove it if you do not boot from USB")
        }
        (Some("dhcp" | "bootp" | "pxe" | "tftpboot" | "tftp" | "nfs"), _) => {
            says("network setup takes seconds; remove it if you do not boot from the network")
        }
        (
            Some("scsi" | "sata" | "ide" | "nvme" | "pci"),
            Some("scan" | "init" | "reset" | "enum"),
        ) => says("device enumeration takes time; remove it if you do not boot from such a device"),
        _ => return,
    };
    if !found.notes.contains(&note) {
        found.notes.push(note);
    }
}

/// How a command reads from flash: the words of place and length, and the bytes
/// that one of each stands for.
fn load(words: &[String]) -> Option<(&str, &str, u64)> {
    let word = |i: usize| words.get(i).map(String::as_str);
    let command = word(0)?.trim_end_matches(".jffs2");
    let what = word(1)?;
    let what = what.split('.').next().unwrap_or(what);
    match (command, what) {
        ("nand" | "sf" | "onenand", "read") => Some((word(3)?, word(4)?, 1)),
        ("mmc" | "usb" | "scsi" | "ide" | "nvme" | "virtio", "read") => {
            Some((word(3)?, word(4)?, DISK_BLOCK))
        }
        _ => None,
    }
}

/// U-Boot reads numbers as hexadecimal.
fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).ok()
}

fn exact_size(
    data: &Data,
    reached: &Reached,
    image: &Part<'_>,
    found: &mut Proposals,
) -> io::Result<()> {
    let words = reached.statement.words();
    let Some((place, length, unit)) = load(&words) else {
        return Ok(());
    };
    let (place, _) = expanded(data, place);
    let (stated, variable) = expanded(data, length);
    let (Some(place), Some(count)) = (number(&place), number(&stated)) else {
        return Ok(());
    };
    let (Some(offset), Some(read)) = (place.checked_mul(unit), count.checked_mul(unit)) else {
        return Ok(());
    };
    let Some(needed) = image_size(&image.from(offset))? else {
        return Ok(());
    };
    let text = &reached.statement.text;
    if needed > read {
        found.notes.push(format!(
            "`{text}` reads {read} bytes, but the image has {needed}"
        ));
        return Ok(());
    }
    let step = if unit == 1 && words.first().is_some_and(|w| w != "sf") {
        PAGE
    } else {
        unit
    };
    let exact = needed.next_multiple_of(step);
    if exact >= read {
        return Ok(());
    }
    let new = format!("{:#x}", exact / unit);
    let change = match variable {
        Some(variable) => set(&variable, &new),
        None => {
            // In its own script, where it stands but once.
            let script = data.text(&reached.variable).unwrap_or_default();
            let changed = text.replace(length, &new);
            if script.matches(text.as_str()).count() != 1 || text.matches(length).count() != 1 {
                return Ok(());
            }
            set(&reached.variable, &script.replace(text, &changed))
        }
    };
    found.proposals.push(Proposal {
        change,
        why: format!("`{text}` reads {read} bytes, but the image has {needed}"),
        cost: "a larger image requires another change".to_owned(),
        saves_ns: None,
        surplus_bytes: Some(read - exact),
        with: Vec::new(),
    });
    Ok(())
}

/// The length of the image that `part` begins with, if its header says it.
fn image_size(part: &Part<'_>) -> io::Result<Option<u64>> {
    let head = part.read(0, 64)?;
    if head.starts_with(&uimage::MAGIC) {
        let image = uimage::read(part)?.filter(|i| i.header_is_right);
        return Ok(image.map(|i| uimage::HEADER + u64::from(i.size)));
    }
    if head.starts_with(&fdt::MAGIC) {
        let Ok(tree) = fdt::Fdt::read(part) else {
            return Ok(None);
        };
        return Ok(Some(fit::from_tree(part, &tree, false)?.end));
    }
    Ok(zimage::stated_size(&head))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn a_variable_without_a_value_is_told() {
        let text = b"bootdelay=0\0ethaddr=\0serial=\0serial=42\0bootcmd=bootm\0\0";
        let data = Data::new(text.to_vec()).unwrap();
        assert_eq!(data.emptied(), [b"ethaddr"]);
        let notes = proposals(&data, None, None).unwrap().notes;
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].starts_with("`ethaddr=` has no value"), "{notes:?}");
    }
}
