//! What is said, and left, where a system refuses namespaces.

#![expect(clippy::print_stderr, reason = "what is skipped is said")]

use super::{BY_CHANCE, Form};
use crate::artifacts::tree::Tree;
use std::fs;
use std::process::Command;

/// Run by the test below, on a system that refuses namespaces.
#[test]
#[ignore = "a part of the next test"]
fn forms_fail_in_one_sentence_and_leave_nothing() {
    for name in BY_CHANCE {
        let form = Form::parse(name).unwrap();
        if let Some((tool, package)) = form.missing() {
            eprintln!("skipped: {form}: {tool} is not there ({package})");
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let (source, image) = (folder.path().join("tree"), folder.path().join("image"));
        fs::create_dir(&source).unwrap();
        Tree::default().make(&source, b"", &[]).unwrap();
        let said = form.make(&source, &image, 0, 0).unwrap_err().to_string();
        assert!(
            said.starts_with(&format!(
                "mkfs.{name} failed: a reproducible image needs separate namespaces"
            )) && said.contains("run this once as root")
                && !said.contains('\n'),
            "{said}"
        );
        // Nothing but what the form was made of, and into.
        for entry in fs::read_dir(folder.path()).unwrap() {
            let left = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                ["tree", "image", "image.proto"].contains(&left.as_str()),
                "{left}"
            );
        }
    }
    eprintln!("namespaces were refused");
}

#[test]
fn a_system_that_refuses_namespaces_is_named() {
    let this = std::env::current_exe().unwrap();
    // In a user namespace its limits are the user's to set.
    let refusing = "echo 0 >/proc/sys/user/max_pid_namespaces && exec \"$@\"";
    let part = "artifacts::filesystem::refused::forms_fail_in_one_sentence_and_leave_nothing";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", refusing, "sh"])
        .arg(this)
        .args(["--exact", part, "--ignored", "--nocapture"])
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: refused namespaces, because there is no unshare");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if said.starts_with("unshare: ") {
        eprintln!("skipped: refused namespaces, because this system refuses them all");
        return;
    }
    assert!(output.status.success(), "{said}");
    assert!(said.contains("namespaces were refused"), "{said}");
}
