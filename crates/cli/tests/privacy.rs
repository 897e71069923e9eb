//! What can be sent to others names files, not the folders that a user keeps them in.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

const SECRET: &str = "a-secret-project";

/// A small log, under a name, in a folder that nobody should read about.
fn kept(folder: &Path, name: &str, init_ms: u64) -> PathBuf {
    let text = format!(
        "[    0.000000] Linux version 6.1.0 (builder@host) #1 SMP\n\
         [    0.100000] calling  slow_init+0x0/0x10 @ 1\n\
         [    0.{init_ms}000] initcall slow_init+0x0/0x10 returned 0 after 1000 usecs\n\
         [    0.900000] Run /sbin/init as init process\n"
    );
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn run(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    let output = command.args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code().is_some_and(|c| c < 2),
        "{arguments:?}: {error}"
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn no_folder_of_an_input_is_in_json_or_in_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join(SECRET);
    let old = kept(&secret.join("old"), "boot.log", 200);
    let new = kept(&secret.join("new"), "boot.log", 500);
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    let page = folder.path().join("boot.html");
    let page = page.to_str().unwrap();
    for (arguments, name) in [
        (vec!["show", "--json", old], Some("\"boot.log\"")),
        (vec!["show", old], Some("boot.log")),
        (vec!["blame", "--json", old], Some("\"boot.log\"")),
        (vec!["advise", "--json", old], None),
        (vec!["diff", "--json", old, "--against", new], None),
        (vec!["boots", "--json", old], None),
        (vec!["io", "--json", old], None),
        (vec!["export", "--to", "svg", old], Some("boot.log")),
    ] {
        let text = run(&arguments);
        assert!(!text.contains(SECRET), "{arguments:?}: {text}");
        assert!(
            name.is_none_or(|n| text.contains(n)),
            "{arguments:?}: {text}"
        );
    }
    for (inputs, names) in [
        (vec![old], vec!["boot.log"]),
        (
            vec![old, "--against", new],
            vec!["old/boot.log", "new/boot.log"],
        ),
    ] {
        let mut arguments = vec!["report"];
        arguments.extend(inputs);
        arguments.extend(["-o", page]);
        run(&arguments);
        let text = std::fs::read_to_string(page).unwrap();
        assert!(!text.contains(SECRET), "{arguments:?}");
        for name in names {
            assert!(text.contains(name), "{arguments:?}: {name}");
        }
    }
}
