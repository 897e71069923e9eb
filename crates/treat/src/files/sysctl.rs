//! Settings of the kernel that the start of a root sets: `sysctl.conf(5)`, `sysctl.d(5)`.

use super::content::Content;
use super::error::FileError;
use super::tree::{Found, Target};

/// What says that a root reads `etc/sysctl.d`: the folders, and systemd, which always does.
const FOLDERS: [&str; 4] = [
    "etc/sysctl.d",
    "usr/lib/sysctl.d",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];

/// The one file of roots without such folders; where both are, it is read last.
const CONF: &str = "etc/sysctl.conf";

/// Where a setting goes.
pub(super) enum Place {
    /// Into a file of its own, with this path and text.
    Own(String, Content),
    /// Into a file that is there, with this text.
    In(Found, String),
}

/// Where `name` is set in a tree, and how.
pub(super) fn place(target: &Target, name: &str, value: &str) -> Result<Place, FileError> {
    if target.file().is_some() {
        return Err(target.wrong("this is a file; pass the folder of a root tree"));
    }
    let folders = FOLDERS.iter().any(|f| target.has(f));
    if let Some(found) = target.read(CONF)? {
        let Content::File(bytes) = &found.content else {
            return Err(target.wrong(format!("{CONF} is not a file")));
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(target.wrong(format!("{CONF} is not text")));
        };
        if !folders || text.lines().any(|l| key(l).is_some_and(|k| k == name)) {
            let text = set(text, name, value);
            return Ok(Place::In(found, text));
        }
    }
    if !folders {
        return Err(target.wrong(format!(
            "could not find {CONF} or a folder sysctl.d in this tree, so nothing would read the \
             setting; write it to /proc/sys in a start script"
        )));
    }
    let path = format!("etc/sysctl.d/99-zz-firstlight-{name}.conf");
    let text = format!("# Written by firstlight.\n{name} = {value}\n");
    Ok(Place::Own(path, Content::File(text.into())))
}

/// What a line sets. Slashes and dots mean the same between its parts, as long as all are
/// slashes.
fn key(line: &str) -> Option<String> {
    let line = line.trim_start();
    if line.starts_with(['#', ';']) {
        return None;
    }
    let (name, _) = line.split_once('=')?;
    let name = name.trim().trim_start_matches('-');
    Some(match name.contains('.') {
        true => name.to_owned(),
        false => name.replace('/', "."),
    })
}

/// The text with this setting: the last line that has it, or a new one.
fn set(text: &str, name: &str, value: &str) -> String {
    let new = format!("{name} = {value}");
    let mut lines: Vec<&str> = text.lines().collect();
    match lines
        .iter()
        .rposition(|l| key(l).is_some_and(|k| k == name))
    {
        Some(at) => {
            if let Some(line) = lines.get_mut(at) {
                *line = &new;
            }
        }
        None => lines.push(&new),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::{Place, place, set};
    use crate::files::Target;
    use std::fs;

    #[test]
    fn the_last_line_that_sets_it_changes() {
        let text = "# vm.a = 1\nvm/a=2\nvm.b = 3\n- vm.c=4\n";
        assert_eq!(
            set(text, "vm.a", "9"),
            "# vm.a = 1\nvm.a = 9\nvm.b = 3\n- vm.c=4\n"
        );
        assert_eq!(set("", "vm.a", "9"), "vm.a = 9\n");
        assert_eq!(set("vm.a=1", "vm.b", "9"), "vm.a=1\nvm.b = 9\n");
    }

    #[test]
    fn it_goes_where_it_is_read_last() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let told = |what: &str| {
            let target = Target::open(root).unwrap();
            match place(&target, "vm.a", "9") {
                Ok(Place::Own(path, _)) => assert_eq!(path, what),
                Ok(Place::In(found, _)) => assert_eq!(found.path, what),
                Err(e) => assert!(e.to_string().contains(what), "{e}"),
            }
        };
        fs::create_dir(root.join("etc")).unwrap();
        told("nothing would read");
        fs::write(root.join("etc/sysctl.conf"), "vm.b = 1\n").unwrap();
        told("etc/sysctl.conf");
        fs::create_dir_all(root.join("usr/lib/sysctl.d")).unwrap();
        told("etc/sysctl.d/99-zz-firstlight-vm.a.conf");
        // Debian's 99-sysctl.conf leads to this file.
        fs::write(root.join("etc/sysctl.conf"), "vm.a = 1\n").unwrap();
        told("etc/sysctl.conf");
    }
}
