//! What a line of a log is about.

/// The longest subject, in bytes: what is longer is a sentence.
const LONGEST: usize = 48;

/// The driver, device, unit or file system that a line names before its first colon
/// (`ata7: SATA link up`, `EXT4-fs (sda1): mounted`, `usb 1-1: new device`), with the device
/// that it is found at, or the words of a line without one.
pub(super) fn subject(line: &str) -> Vec<String> {
    let line = line.trim();
    let Some((head, rest)) = line.split_once(": ") else {
        let words = line.trim_end_matches(['.', '?', '!', ' ']);
        return short(words);
    };
    let mut names = short(head.trim());
    // A driver stands before the address of its device.
    if let Some((driver, _)) = head.split_once(' ') {
        names.extend(short(driver));
    }
    // `input: AT Raw Set 2 keyboard as /devices/platform/i8042/serio0/input/input0`
    if let Some((_, path)) = rest.split_once(" as /devices/") {
        let mut parts = path
            .split('/')
            .filter(|p| *p != "platform" && *p != "virtual");
        names.extend(parts.next().map(str::to_owned));
    }
    names
}

fn short(name: &str) -> Vec<String> {
    let is_short = !name.is_empty() && name.len() <= LONGEST;
    is_short.then(|| name.to_owned()).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::subject;

    #[test]
    fn a_line_names_what_it_is_about() {
        for (line, names) in [
            ("ata3: SATA link up 3.0 Gbps", &["ata3"][..]),
            (
                "xhci_hcd 0000:01:00.0: ready",
                &["xhci_hcd 0000:01:00.0", "xhci_hcd"],
            ),
            ("EXT4-fs (vda2): recovered", &["EXT4-fs (vda2)", "EXT4-fs"]),
            (
                "input: Keys as /devices/platform/gpio-keys/input/input3",
                &["input", "gpio-keys"],
            ),
            ("Waiting for it.", &["Waiting for it"]),
            ("", &[]),
            (
                "a sentence that is far too long to be the name of anything at all",
                &[],
            ),
        ] {
            assert_eq!(subject(line), names, "{line}");
        }
    }
}
