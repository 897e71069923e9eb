//! What is printed to be copied runs as it is pasted, whatever names hold.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use firstlight_treat::FileTreatment;
use firstlight_treat::files::{Form, export};
use firstlight_treat::shell::{quoted, undo_command};
use std::path::Path;
use std::process::Command;

/// Texts at which a careless quotation breaks.
const ODD: [&str; 12] = [
    "",
    "plain",
    "two words",
    "it's",
    "\"double\"",
    "$HOME `id` $(id) \\n",
    "a;b|c&d>e<f",
    "*?[x]{y}~!#",
    "ends with \\",
    "=first",
    "-.mount",
    "x\\x2dy",
];

fn shell(script: &str) -> String {
    let out = Command::new("sh")
        .args(["-eu", "-c", script])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{script}\n{error}");
    String::from_utf8(out.stdout).unwrap()
}

/// `script`, in which `command` only prints its arguments, a line each.
fn arguments(command: &str, script: &str) -> Vec<String> {
    let printed = shell(&format!(
        "{command}() {{ printf '%s\\n' \"$@\"; }}\n{script}"
    ));
    printed.lines().map(str::to_owned).collect()
}

fn exported(treatment: &str, form: Form) -> String {
    let treatment = FileTreatment::parse(treatment).unwrap();
    export(&treatment, form).unwrap_or_else(|| panic!("{treatment}"))
}

#[test]
fn a_shell_reads_a_quoted_word_as_it_was() {
    for word in ODD {
        let read = shell(&format!("printf '%s' {}", quoted(word)));
        assert_eq!(read, word);
    }
}

#[test]
fn the_command_that_undoes_has_three_words_behind_the_program() {
    for (treatment, target) in [
        ("cmdline+=key=\"a b\"", "/tmp/a root"),
        ("env=bootcmd=run a; run 'b'", "it's.bin"),
        ("mask=dev-disk-by\\x2dlabel-x.mount", "root"),
        ("cmdline-=quiet", "$HOME/*"),
    ] {
        let treatment = FileTreatment::parse(treatment).unwrap();
        let script = undo_command(&treatment, Path::new(target));
        let seen = arguments("firstlight", &script);
        assert_eq!(seen, ["treat", "undo", &treatment.to_string(), target]);
    }
}

#[test]
fn commands_for_debian_get_the_names_whole() {
    let unit = "dev-disk-by\\x2dlabel-x.mount";
    let script = exported(&format!("mask={unit}"), Form::Debian);
    assert_eq!(arguments("systemctl", &script), ["mask", unit]);
    let value = "run a; setenv b '$c' \"d\"";
    let script = exported(&format!("env=boot$cmd={value}"), Form::Debian);
    assert_eq!(arguments("fw_setenv", &script), ["boot$cmd", value]);
    let script = exported("env-=it's", Form::Debian);
    assert_eq!(arguments("fw_setenv", &script), ["it's"]);
}

#[test]
fn grub_gets_the_kernel_parameter_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    for word in [
        "quiet",
        "key=\"a b\"",
        "a=$HOME`id`\\n",
        "b='x'",
        "c=\\\"d\\\"",
    ] {
        let script = exported(&format!("cmdline+={word}"), Form::Debian);
        let script = script
            .replace("/etc/", &format!("{root}/etc/"))
            .replace("update-grub", "update_grub");
        let read = shell(&format!(
            "update_grub() {{ for f in {root}/etc/default/grub.d/*; do . \"$f\"; done; \
             printf '%s' \"$GRUB_CMDLINE_LINUX_DEFAULT\"; }}\n\
             GRUB_CMDLINE_LINUX_DEFAULT=before\nrm -rf {root}/etc\n{script}"
        ));
        assert_eq!(read, format!("before {word}"));
    }
}

#[test]
fn sed_changes_the_line_of_that_mount_point_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fstab");
    let shown = path.to_str().unwrap();
    let old =
        "/dev/a / ext4 rw 0 1\n/dev/b /it's.a ext4 rw,x=/&.y 0 2\n/dev/c /itXs.a ext4 rw 0 2\n";
    for (change, line) in [
        ("+x=/&z'", "/dev/b /it's.a ext4 rw,x=/&.y,x=/&z' 0 2"),
        ("-x=/&.y", "/dev/b /it's.a ext4 rw,defaults 0 2"),
        ("pass=0", "/dev/b /it's.a ext4 rw,x=/&.y 0 0"),
    ] {
        for (form, file) in [
            (Form::Debian, "/etc/fstab"),
            (Form::Buildroot, "$TARGET_DIR/etc/fstab"),
        ] {
            std::fs::write(&path, old).unwrap();
            let script = exported(&format!("fstab=/it's.a:{change}"), form);
            shell(&script.replace(file, shown));
            let new = std::fs::read_to_string(&path).unwrap();
            let expected: Vec<_> = old
                .lines()
                .map(|l| if l.contains("it's") { line } else { l })
                .collect();
            assert_eq!(new.lines().collect::<Vec<_>>(), expected, "{script}");
        }
    }
}
