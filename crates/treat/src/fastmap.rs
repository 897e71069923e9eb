//! What the kernel must be told so that UBI keeps a fastmap.
//!
//! `ubi.fm_autoconvert=1` alone is not enough for what `ubi.mtd=` attaches: newer kernels,
//! 6.1.192 among them, have a fifth field there that says whether a fastmap may be used,
//! and it is off without it (`ubi_mtd_param_parse` of `drivers/mtd/ubi/build.c`).

use crate::cmdline::{CommandLine, key};

/// The text of the treatment.
pub(crate) const TEXT: &str = "ubi-fastmap=on";

const AUTOCONVERT: &str = "ubi.fm_autoconvert=1";

/// Says so on a command line; false if nothing changed.
pub(crate) fn enable(line: &mut CommandLine) -> bool {
    let mut number = 0;
    let mut changed = line.change(|word| {
        let device = (key(word) == "ubi.mtd")
            .then(|| word.split_once('='))
            .flatten()?;
        let new = format!("{}={}", device.0, with_fastmap(device.1, number));
        number += 1;
        Some(new)
    });
    changed |= line.add(AUTOCONVERT).is_some();
    changed
}

/// The value of `ubi.mtd=` with its fifth field set: the device, where its second header
/// lies, its reserve of blocks, its number, and whether it may have a fastmap. 0 is the
/// kernel's own choice for the second and the third. The number has no such value: it is
/// what the kernel would give to device number `number`.
fn with_fastmap(value: &str, number: usize) -> String {
    let mut fields: Vec<String> = value.split(',').map(str::to_owned).collect();
    for field in fields.len()..4 {
        fields.push(match field {
            3 => number.to_string(),
            _ => "0".to_owned(),
        });
    }
    fields.truncate(4);
    fields.push("1".to_owned());
    fields.join(",")
}

/// One sentence: what would change.
pub(crate) fn plan(line: &CommandLine) -> String {
    let mut after = line.clone();
    if !enable(&mut after) {
        return "the kernel is already told to keep a fastmap: nothing changes".to_owned();
    }
    let new = after.words().iter().filter(|w| !line.contains(w));
    let new: Vec<String> = new.map(|w| format!("`{w}`")).collect();
    format!("the kernel command line gets {}", new.join(" and "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    fn enabled(line: &str) -> String {
        let mut line = CommandLine::parse(line).unwrap();
        enable(&mut line);
        line.to_string()
    }

    #[test]
    fn each_device_gets_its_fifth_field() {
        for (line, after) in [
            ("quiet", "quiet ubi.fm_autoconvert=1"),
            (
                "ubi.mtd=4 root=ubi0:rootfs",
                "ubi.mtd=4,0,0,0,1 root=ubi0:rootfs ubi.fm_autoconvert=1",
            ),
            (
                "ubi.mtd=boot ubi.mtd=data,2048",
                "ubi.mtd=boot,0,0,0,1 ubi.mtd=data,2048,0,1,1 ubi.fm_autoconvert=1",
            ),
            (
                "ubi.mtd=0,0,0,3,0 ubi.fm_autoconvert=1 -- ubi.mtd=9",
                "ubi.mtd=0,0,0,3,1 ubi.fm_autoconvert=1 -- ubi.mtd=9",
            ),
        ] {
            assert_eq!(enabled(line), after);
            assert_eq!(enabled(after), after, "twice");
        }
    }
}
