//! Changes of settings files, line by line. Pure functions: the text before,
//! the text after; `None` if the text has no place for the change.

use super::parse::FstabChange;
use crate::cmdline::{CommandLine, WordError};
use crate::fastmap;
use crate::treatment::Treatment;

/// A change of words on a command line.
pub(super) fn words(treatment: &Treatment, line: &str) -> Result<String, WordError> {
    let blanks_before = line.len() - line.trim_start().len();
    let blanks_after = line.trim_end().len();
    let mut words = CommandLine::parse(line)?;
    let changed = match treatment {
        Treatment::AddWord(word) => words.add(word).is_some(),
        Treatment::RemoveWord(word) => !words.remove(word).is_empty(),
        Treatment::UbiFastmap => fastmap::enable(&mut words),
        _ => false,
    };
    // What is not changed keeps its blanks.
    Ok(match changed {
        false => line.to_owned(),
        true => format!(
            "{}{words}{}",
            line.get(..blanks_before).unwrap_or_default(),
            line.get(blanks_after..).unwrap_or_default()
        ),
    })
}

/// Every line, with its line end.
fn map_lines(text: &str, mut change: impl FnMut(&str) -> Option<String>) -> (String, usize) {
    let mut fits = 0;
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        let end = line.get(bare.len()..).unwrap_or_default();
        match change(bare) {
            Some(new) => {
                fits += 1;
                out.push_str(&new);
            }
            None => out.push_str(bare),
        }
        out.push_str(end);
    }
    (out, fits)
}

/// How a file holds a kernel command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The file is the line.
    Plain,
    /// `GRUB_CMDLINE_LINUX="..."`.
    Grub,
    /// `APPEND ...` below a `LABEL`.
    Extlinux,
    /// `options ...` of a boot entry.
    Entry,
}

/// How a text holds a kernel command line; `None` if it does not.
pub(super) fn holder(name: &str, text: &str) -> Option<Holder> {
    let begins = |word: &str| {
        text.lines().any(|l| {
            let l = l.trim_start();
            l.get(..word.len())
                .is_some_and(|s| s.eq_ignore_ascii_case(word))
        })
    };
    if text.contains('\0') || text.len() > 1 << 20 {
        return None;
    }
    if begins("GRUB_CMDLINE_LINUX") {
        return Some(Holder::Grub);
    }
    if begins("append ") && (begins("label ") || begins("linux ") || begins("kernel ")) {
        return Some(Holder::Extlinux);
    }
    if begins("options ") && (begins("linux ") || begins("title ") || begins("uki ")) {
        return Some(Holder::Entry);
    }
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let file = name.rsplit('/').next().unwrap_or(name);
    let named = file.contains("cmdline");
    match lines.as_slice() {
        [line] if named || line.contains("root=") || line.contains("console=") => {
            Some(Holder::Plain)
        }
        [] if named => Some(Holder::Plain),
        _ => None,
    }
}

/// A change of words in a file that holds a command line.
pub(super) fn command_line(
    treatment: &Treatment,
    holder: Holder,
    text: &str,
) -> Result<Option<String>, WordError> {
    let mut wrong = None;
    let mut try_words = |line: &str| match words(treatment, line) {
        Ok(new) => Some(new),
        Err(e) => {
            wrong.get_or_insert(e);
            None
        }
    };
    let (new, fits) = match holder {
        Holder::Plain if text.trim().is_empty() => {
            let new = try_words("").unwrap_or_default();
            match new.is_empty() {
                true => (text.to_owned(), 1),
                false => (format!("{new}\n"), 1),
            }
        }
        Holder::Plain => map_lines(text, |line| {
            if line.trim().is_empty() {
                return None;
            }
            try_words(line)
        }),
        Holder::Extlinux | Holder::Entry => {
            let key = if holder == Holder::Entry {
                "options"
            } else {
                "append"
            };
            map_lines(text, |line| {
                let start = line.len() - line.trim_start().len();
                let word = line.get(start..start + key.len())?;
                let rest = line.get(start + key.len()..)?;
                let fits = word.eq_ignore_ascii_case(key) && rest.starts_with([' ', '\t']);
                let head = line.get(..start + key.len())?;
                fits.then(|| try_words(rest).map(|new| format!("{head}{new}")))?
            })
        }
        Holder::Grub => grub(treatment, text, &mut try_words),
    };
    match wrong {
        Some(e) => Err(e),
        None => Ok((fits > 0).then_some(new)),
    }
}

/// A word is added to the one variable that only the usual entries get, if it
/// is there; it is taken from both.
fn grub(
    treatment: &Treatment,
    text: &str,
    try_words: &mut impl FnMut(&str) -> Option<String>,
) -> (String, usize) {
    let usual = "GRUB_CMDLINE_LINUX_DEFAULT=";
    let has_usual = text.lines().any(|l| l.trim_start().starts_with(usual));
    let wanted: &[&str] = match treatment {
        Treatment::AddWord(_) if has_usual => &["GRUB_CMDLINE_LINUX_DEFAULT="],
        Treatment::AddWord(_) => &["GRUB_CMDLINE_LINUX="],
        _ => &["GRUB_CMDLINE_LINUX_DEFAULT=", "GRUB_CMDLINE_LINUX="],
    };
    // A word that all entries have needs not be added.
    if let Treatment::AddWord(word) = treatment {
        let there = text.lines().any(|l| {
            let value = l.trim_start().strip_prefix("GRUB_CMDLINE_LINUX=");
            let value = value.map(|v| v.trim().trim_matches(['"', '\'']));
            value.is_some_and(|v| v.split_whitespace().any(|w| w == word))
        });
        if there {
            return (text.to_owned(), 1);
        }
    }
    map_lines(text, |line| {
        let key = wanted.iter().find(|k| line.starts_with(**k))?;
        let value = line.get(key.len()..)?;
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (open, rest) = match quote {
            Some(q) => {
                let inner = value.get(1..)?;
                let end = inner.rfind(q)?;
                (inner.get(..end)?, inner.get(end..)?)
            }
            None => {
                let end = value.find(char::is_whitespace).unwrap_or(value.len());
                (value.get(..end)?, value.get(end..)?)
            }
        };
        let quote = quote.unwrap_or('"');
        let new = try_words(open)?;
        if new == open {
            return Some(line.to_owned());
        }
        let rest = rest.strip_prefix(quote).unwrap_or(rest);
        Some(format!("{key}{quote}{new}{quote}{rest}"))
    })
}

/// Options of which at most one is set.
const CHOICES: [&[&str]; 3] = [
    &[
        "KERNEL_GZIP",
        "KERNEL_BZIP2",
        "KERNEL_LZMA",
        "KERNEL_XZ",
        "KERNEL_LZO",
        "KERNEL_LZ4",
        "KERNEL_ZSTD",
        "KERNEL_UNCOMPRESSED",
    ],
    &[
        "INITRAMFS_COMPRESSION_NONE",
        "INITRAMFS_COMPRESSION_GZIP",
        "INITRAMFS_COMPRESSION_BZIP2",
        "INITRAMFS_COMPRESSION_LZMA",
        "INITRAMFS_COMPRESSION_XZ",
        "INITRAMFS_COMPRESSION_LZO",
        "INITRAMFS_COMPRESSION_LZ4",
        "INITRAMFS_COMPRESSION_ZSTD",
    ],
    &["CC_OPTIMIZE_FOR_PERFORMANCE", "CC_OPTIMIZE_FOR_SIZE"],
];

fn option(name: &str, value: &str) -> String {
    match value {
        "n" => format!("# CONFIG_{name} is not set"),
        value => format!("CONFIG_{name}={value}"),
    }
}

/// Sets an option; of a choice the others go.
pub(super) fn config(text: &str, name: &str, value: &str) -> String {
    let names = |line: &str| {
        let set = line.strip_prefix("CONFIG_").and_then(|l| l.split_once('='));
        let unset = line.strip_prefix("# CONFIG_");
        let unset = unset.and_then(|l| l.strip_suffix(" is not set"));
        set.map(|(n, _)| n).or(unset).map(str::to_owned)
    };
    let choice = CHOICES.iter().find(|c| value == "y" && c.contains(&name));
    let mut there = false;
    let (mut new, _) = map_lines(text, |line| {
        let own = names(line)?;
        if own == name {
            there = true;
            return Some(option(name, value));
        }
        let other = choice.is_some_and(|c| c.contains(&own.as_str()));
        other.then(|| option(&own, "n"))
    });
    // An option that is not there is not set.
    if !there {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        new.push_str(&option(name, value));
        new.push('\n');
    }
    new
}

/// Whether a text is a kernel's configuration, or a fragment of one.
pub(super) fn is_config(text: &str) -> bool {
    let own = |l: &&str| l.starts_with("CONFIG_") || l.starts_with("# CONFIG_");
    let other = |l: &&str| !l.trim().is_empty() && !l.starts_with('#');
    !text.contains('\0')
        && text.lines().any(|l| own(&l))
        && text.lines().filter(other).all(|l| own(&l))
}

/// A field of a line with blanks between fields, by its number: its bytes.
fn field(line: &str, number: usize) -> Option<std::ops::Range<usize>> {
    let mut at = 0;
    let mut seen = 0;
    while at < line.len() {
        let rest = line.get(at..)?;
        let start = at + rest.find(|c: char| !c.is_whitespace())?;
        let rest = line.get(start..)?;
        let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
        if seen == number {
            return Some(start..end);
        }
        seen += 1;
        at = end;
    }
    None
}

/// A change of the line of /etc/fstab that mounts `folder`.
pub(super) fn fstab(text: &str, folder: &str, change: &FstabChange) -> Option<String> {
    let (new, fits) = map_lines(text, |line| {
        if line.trim_start().starts_with('#') || line.get(field(line, 1)?)? != folder {
            return None;
        }
        let put = |range: std::ops::Range<usize>, new: &str| {
            let (before, after) = (line.get(..range.start)?, line.get(range.end..)?);
            Some(format!("{before}{new}{after}"))
        };
        match change {
            FstabChange::Pass(n) => match (field(line, 4), field(line, 5)) {
                (_, Some(pass)) => put(pass, &n.to_string()),
                // Fields that are missing count as 0.
                _ if *n == 0 => Some(line.to_owned()),
                (Some(_), None) => Some(format!("{} {n}", line.trim_end())),
                (None, None) => Some(format!("{} 0 {n}", line.trim_end())),
            },
            FstabChange::Add(option) => {
                let range = field(line, 3)?;
                let options = line.get(range.clone())?;
                if options.split(',').any(|o| o == option) {
                    return Some(line.to_owned());
                }
                put(range, &format!("{options},{option}"))
            }
            FstabChange::Remove(option) => {
                let range = field(line, 3)?;
                let options = line.get(range.clone())?;
                let kept: Vec<&str> = options.split(',').filter(|o| o != option).collect();
                let kept = kept.join(",");
                put(range, if kept.is_empty() { "defaults" } else { &kept })
            }
        }
    });
    (fits > 0).then_some(new)
}

/// The time that a menu waits.
pub(super) fn menu_timeout(name: &str, text: &str, seconds: u32) -> Option<String> {
    let grub = text
        .lines()
        .any(|l| l.starts_with("GRUB_TIMEOUT=") || l.starts_with("GRUB_CMDLINE_LINUX"));
    if grub {
        let value = format!("GRUB_TIMEOUT={seconds}");
        let (mut new, fits) = map_lines(text, |line| {
            line.starts_with("GRUB_TIMEOUT=").then(|| value.clone())
        });
        if fits == 0 {
            if !new.is_empty() && !new.ends_with('\n') {
                new.push('\n');
            }
            new.push_str(&value);
            new.push('\n');
        }
        return Some(new);
    }
    // extlinux and syslinux count tenths of a second, and wait for a key without end at 0. So does
    // U-Boot with a prompt, whose older versions cut off what is no whole second.
    let tenths = !name.ends_with("loader.conf");
    let number = match tenths {
        true => seconds.max(1).saturating_mul(10),
        false => seconds,
    };
    let (new, fits) = map_lines(text, |line| {
        let start = line.len() - line.trim_start().len();
        let word = line.get(start..start + 7)?;
        let rest = line.get(start + 7..)?;
        let fits = word.eq_ignore_ascii_case("timeout") && rest.starts_with([' ', '\t']);
        let blanks = rest.len() - rest.trim_start().len();
        let head = line.get(..start + 7 + blanks)?;
        fits.then(|| format!("{head}{number}"))
    });
    (fits > 0).then_some(new)
}

/// A setting of a shell file: `KEY=value`.
pub(super) fn setting(text: &str, key: &str, value: &str) -> Option<String> {
    let (new, fits) = map_lines(text, |line| {
        let rest = line.strip_prefix(key)?;
        rest.starts_with('=').then(|| format!("{key}={value}"))
    });
    (fits > 0).then_some(new)
}

/// Settings of a Raspberry Pi's config.txt that may be given many times: each adds another.
const REPEATED: [&str; 4] = ["dtoverlay", "dtparam", "gpio", "include"];

/// A setting of the firmware in config.txt. Lines under a filter, such as `[pi4]`, hold for
/// some boards alone and stay as they are; a line under none or `[all]` holds for this one.
/// The firmware takes the last line that holds.
pub(super) fn firmware(path: &str, text: &str, name: &str, value: &str) -> Option<String> {
    if path.rsplit('/').next() != Some("config.txt") || text.contains('\0') {
        return None;
    }
    let wanted = format!("{name}={value}");
    let repeated = REPEATED.contains(&name);
    // Each line that sets it: its number, and whether it holds for every board.
    let mut holds_for_all = true;
    let mut set: Vec<(usize, bool)> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(filter) = line.strip_prefix('[') {
            let filter = filter.split(']').next().unwrap_or_default();
            // `[none]` holds for no board.
            holds_for_all = filter.trim().eq_ignore_ascii_case("all");
        }
        let same = match repeated {
            true => line == wanted,
            false => line.split_once('=').is_some_and(|(n, _)| n.trim() == name),
        };
        if same {
            set.push((n, holds_for_all));
        }
    }
    match set.last() {
        Some((_, true)) if repeated => return Some(text.to_owned()),
        Some((last, true)) => {
            let mut n = 0;
            let (new, _) = map_lines(text, |_| {
                n += 1;
                (n == last + 1).then(|| wanted.clone())
            });
            return Some(new);
        }
        _ => {}
    }
    let mut new = text.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    if !holds_for_all {
        new.push_str("[all]\n");
    }
    new.push_str(&wanted);
    new.push('\n');
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_firmware_goes_where_it_holds_for_every_board() {
        let set = |text: &str, name: &str, value: &str| {
            firmware("boot/config.txt", text, name, value).unwrap()
        };
        assert_eq!(set("", "boot_delay", "0"), "boot_delay=0\n");
        assert_eq!(
            set("boot_delay=1\r\narm_64bit=1\r\n", "boot_delay", "0"),
            "boot_delay=0\r\narm_64bit=1\r\n"
        );
        // A line of another board stays, and the end is made to hold for all.
        assert_eq!(
            set("[pi4]\nboot_delay=2\n", "boot_delay", "0"),
            "[pi4]\nboot_delay=2\n[all]\nboot_delay=0\n"
        );
        assert_eq!(
            set(
                "boot_delay=1\n[pi4]\nboot_delay=2\n[all]",
                "boot_delay",
                "0"
            ),
            "boot_delay=1\n[pi4]\nboot_delay=2\n[all]\nboot_delay=0\n"
        );
        // Overlays are added beside each other, once.
        let with = set("dtoverlay=vc4-kms-v3d\n", "dtoverlay", "disable-bt");
        assert_eq!(with, "dtoverlay=vc4-kms-v3d\ndtoverlay=disable-bt\n");
        assert_eq!(set(&with, "dtoverlay", "disable-bt"), with);
        assert_eq!(firmware("boot/other.txt", "", "a", "b"), None);
    }

    fn add(text: &str, name: &str) -> String {
        let holder = holder(name, text).unwrap();
        let quiet = Treatment::parse("cmdline+=quiet").unwrap();
        command_line(&quiet, holder, text).unwrap().unwrap()
    }

    #[test]
    fn a_word_that_is_not_there_leaves_an_empty_file_as_it_is() {
        let less = Treatment::parse("cmdline-=quiet").unwrap();
        for text in ["", "\n", "\n\n"] {
            let new = command_line(&less, Holder::Plain, text).unwrap();
            assert_eq!(new.as_deref(), Some(text));
        }
    }

    #[test]
    fn a_word_goes_where_each_kind_of_file_has_its_command_line() {
        assert_eq!(
            add("root=/dev/sda1 rw\n", "cmdline.txt"),
            "root=/dev/sda1 rw quiet\n"
        );
        assert_eq!(add("root=/dev/sda1", "cmdline"), "root=/dev/sda1 quiet");
        assert_eq!(add("", "cmdline"), "quiet\n");
        assert_eq!(
            add(
                "A=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"splash\"\nGRUB_CMDLINE_LINUX=\"\"\n",
                "grub"
            ),
            "A=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"splash quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n"
        );
        assert_eq!(
            add("GRUB_CMDLINE_LINUX=''\n", "grub"),
            "GRUB_CMDLINE_LINUX='quiet'\n"
        );
        assert_eq!(
            add(
                "label a\n  kernel /k\n  append root=x\nLABEL b\n\tKERNEL /l\n\tAPPEND y\n",
                "e"
            ),
            "label a\n  kernel /k\n  append root=x quiet\nLABEL b\n\tKERNEL /l\n\tAPPEND y quiet\n"
        );
        assert_eq!(
            add("title A\nlinux /k\noptions root=x\n", "a.conf"),
            "title A\nlinux /k\noptions root=x quiet\n"
        );
        for (name, text) in [
            ("a.txt", "two\nlines\n"),
            ("fstab", "/dev/a / ext4 rw 0 1\n"),
            ("x", ""),
        ] {
            assert_eq!(holder(name, text), None, "{name}");
        }
    }

    #[test]
    fn what_is_there_already_is_not_changed() {
        for (name, text) in [
            ("cmdline", "  a  quiet \n"),
            (
                "grub",
                "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet  splash\" # so\n",
            ),
            (
                "grub",
                "GRUB_CMDLINE_LINUX_DEFAULT=\"\"\nGRUB_CMDLINE_LINUX=\"quiet\"\n",
            ),
        ] {
            assert_eq!(add(text, name), text);
        }
    }

    #[test]
    fn an_option_is_set_once_and_its_choice_is_one() {
        let text = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_KERNEL_XZ=y\n";
        assert_eq!(
            config(text, "B", "m"),
            text.replace("# CONFIG_B is not set", "CONFIG_B=m")
        );
        assert_eq!(
            config(text, "A", "n"),
            text.replace("CONFIG_A=y", "# CONFIG_A is not set")
        );
        assert_eq!(
            config(text, "KERNEL_LZ4", "y"),
            "CONFIG_A=y\n# CONFIG_B is not set\n# CONFIG_KERNEL_XZ is not set\nCONFIG_KERNEL_LZ4=y\n"
        );
        let once = config(text, "C", "\"x\"");
        assert_eq!(config(&once, "C", "\"x\""), once);
        assert!(is_config(&once) && !is_config("A=1\n") && !is_config("CONFIG_A=y\nx\n"));
    }

    #[test]
    fn a_line_of_fstab_keeps_its_blanks() {
        let text = "# /dev/a / ext4\n/dev/a  /\text4  rw,discard  0 1\n/dev/b /x ext4 sync\n";
        let of = |folder, change| fstab(text, folder, &change).unwrap();
        assert_eq!(
            of("/", FstabChange::Add("noatime".into())),
            text.replace("rw,discard", "rw,discard,noatime")
        );
        assert_eq!(
            of("/", FstabChange::Remove("discard".into())),
            text.replace("rw,discard", "rw")
        );
        assert_eq!(
            of("/x", FstabChange::Remove("sync".into())),
            text.replace("sync", "defaults")
        );
        assert_eq!(of("/", FstabChange::Pass(0)), text.replace("0 1", "0 0"));
        assert_eq!(
            of("/x", FstabChange::Pass(2)),
            text.replace("sync", "sync 0 2")
        );
        assert_eq!(of("/x", FstabChange::Pass(0)), text);
        assert_eq!(fstab(text, "/none", &FstabChange::Pass(0)), None);
    }

    #[test]
    fn menus_wait_as_long_as_they_are_told() {
        assert_eq!(
            menu_timeout("grub", "GRUB_TIMEOUT=5\n", 0).unwrap(),
            "GRUB_TIMEOUT=0\n"
        );
        assert_eq!(
            menu_timeout("extlinux.conf", "TIMEOUT 50\nlabel x\n", 1).unwrap(),
            "TIMEOUT 10\nlabel x\n"
        );
        // 0 would wait until somebody presses a key.
        assert_eq!(
            menu_timeout("extlinux.conf", "timeout 50\n", 0).unwrap(),
            "timeout 10\n"
        );
        assert_eq!(
            menu_timeout("loader.conf", "timeout 3\n", 0).unwrap(),
            "timeout 0\n"
        );
        assert_eq!(menu_timeout("x", "nothing\n", 0), None);
    }
}
