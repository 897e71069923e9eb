//! Installing files on a host for good, and removing them.
//!
//! What a root has is mirrored into a folder here, so that the same plan is made for a host
//! as for a root tree.

use super::host::{Host, HostError};
use super::plan::Facts;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Says of each path what it is: a kind and the path a line. A link to a folder is one, as
/// `/lib` is where `/usr` is merged.
const LOOK: &str = r#"
for path in "$@"; do
    if [ -d "/$path" ]; then echo "folder $path"
    elif [ -h "/$path" ]; then echo "link $path"
    elif [ -e "/$path" ]; then echo "file $path"
    fi
done
"#;

const READ: &str = r#"cat "/$1""#;

/// Unpacks beside and moves into place. The list of files goes first, so that a
/// connection that ends in between leaves what can be removed. Each file is on the disk
/// before it takes the place of another one.
const APPLY: &str = r#"
set -e
umask 022
fresh=$(mktemp -d /var/tmp/firstlight.XXXXXX)
trap 'rm -rf "$fresh"' EXIT
tar -C "$fresh" -xf -
for path in "$@"; do
    mkdir -p "/${path%/*}"
    if [ -h "$fresh/$path" ]; then
        cp -P "$fresh/$path" "/$path"
    else
        cp -p "$fresh/$path" "/$path.new"
        chown 0:0 "/$path.new"
        sync
        mv -f "/$path.new" "/$path"
    fi
done
sync
"#;

/// Removes what the list names: files, then folders that are empty.
const UNDO: &str = r#"
set -e
list=/$1
[ -f "$list" ] || { echo "nothing is installed" >&2; exit 3; }
read -r first <"$list"
[ "$first" = "firstlight-installed 1" ] || { echo "another version installed it" >&2; exit 3; }
folders=
while read -r kind first rest; do
    case $kind in
    file) path=$rest ;;
    link | folder) path=$first ;;
    *) continue ;;
    esac
    case /$path/ in
    */../*) echo "$path leads out of the root" >&2; exit 3 ;;
    esac
    case $kind in
    folder) folders="$path $folders" ;;
    *) if [ -n "$2" ]; then rm -f "/$path"; fi; echo "remove /$path" ;;
    esac
done <"$list"
[ -n "$2" ] || exit 0
sync
rm -f "$list"
for path in $folders; do rmdir "/$path" 2>/dev/null || :; done
sync
"#;

/// Why something could not be installed on a host.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The mirror could not be made.
    #[error("cannot write the mirror of the host's files: {0}")]
    Mirror(#[from] io::Error),
}

/// Makes of each of these paths in the folder `to` what the host has there: a folder, a link
/// that leads nowhere, or a file. Only those in `read` have the host's content.
///
/// # Errors
/// If the host does not answer, or the folder cannot be written.
pub fn mirror(
    host: &Host,
    facts: &Facts,
    paths: &[&str],
    read: &[&str],
    to: &Path,
) -> Result<(), InstallError> {
    let answer = host.run(
        facts.script("looking at the host's files", LOOK, paths),
        Vec::new(),
    )?;
    for line in String::from_utf8_lossy(&answer).lines() {
        let Some((kind, path)) = line.split_once(' ') else {
            continue;
        };
        // The host answers with what it was asked for, or it is not believed.
        if !paths.contains(&path) {
            continue;
        }
        let here = to.join(path);
        if let Some(folder) = here.parent() {
            fs::create_dir_all(folder)?;
        }
        match kind {
            "folder" => fs::create_dir_all(&here)?,
            "link" => symlink("nowhere", &here)?,
            _ if read.contains(&path) => {
                let arguments = [path];
                let script = facts.script("reading the host's scripts", READ, &arguments);
                fs::write(&here, host.run(script, Vec::new())?)?;
            }
            _ => fs::write(&here, "")?,
        }
    }
    Ok(())
}

/// Unpacks a tar of these paths into the host's root.
///
/// # Errors
/// If the host does not do it.
pub fn apply(host: &Host, facts: &Facts, paths: &[&str], tar: Vec<u8>) -> Result<(), InstallError> {
    let script = facts.script("installing the files", APPLY, paths);
    host.run(script, tar)?;
    Ok(())
}

/// Removes what the list at `installed` names; with `dry_run` it only says so. The changes, a
/// sentence each.
///
/// # Errors
/// If nothing is installed, or the host does not do it.
pub fn undo(
    host: &Host,
    facts: &Facts,
    installed: &str,
    dry_run: bool,
) -> Result<Vec<String>, InstallError> {
    let arguments = [installed, if dry_run { "" } else { "yes" }];
    let answer = host.run(
        facts.script("removing the files", UNDO, &arguments),
        Vec::new(),
    )?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(answer.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::LOOK;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn a_link_to_a_folder_is_a_folder_and_any_other_is_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("usr/lib")).unwrap();
        fs::write(at("usr/lib/file"), "").unwrap();
        symlink("usr/lib", at("lib")).unwrap();
        symlink("nothing", at("gone")).unwrap();
        let names = ["lib", "lib/file", "gone", "none"].map(|name| at(name).display().to_string());
        let asked = names.iter().map(|name| name.trim_start_matches('/'));
        let said = Command::new("sh")
            .args(["-c", LOOK, "sh"])
            .args(asked)
            .output();
        let said = String::from_utf8(said.unwrap().stdout).unwrap();
        let kinds = said.lines().filter_map(|line| line.split(' ').next());
        assert_eq!(kinds.collect::<Vec<_>>(), ["folder", "file", "link"]);
    }
}
