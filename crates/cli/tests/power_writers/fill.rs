//! The disk before anything is written to it, and the inputs of the steps.

use crate::power::disk::{run, text};
use rustix::fs::{XattrFlags, setxattr};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// So much of a program is an agent: nothing runs it.
const AGENT: usize = 300_000;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus");

/// What commands read.
pub fn inputs(folder: &Path) {
    let copy = |from: &str, to: &str| {
        fs::copy(format!("{CORPUS}/{from}"), folder.join(to)).unwrap();
    };
    copy("flash/rootfs.jffs2", "rootfs.jffs2");
    copy("captures/v1-debian.tar.zst", "boot.tar.zst");
    let cache = lab::artifacts::Cache::open().unwrap();
    let mut agent = fs::read(cache.busybox("amd64", &mut |_| {}).unwrap()).unwrap();
    agent.truncate(AGENT);
    fs::write(folder.join("agent"), agent).unwrap();
    let source = folder.join("app.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let app = text(&folder.join("app"));
    run("cc", &["-g", "-o", &app, &text(&source)]).unwrap();
    let ext = text(&folder.join("ext"));
    run(
        "mke2fs",
        &["-q", "-F", "-t", "ext4", "-J", "size=1", &ext, "4M"],
    )
    .unwrap();
    root_image(folder);
}

/// An image with a root in it, as a builder makes it.
fn root_image(folder: &Path) {
    let root = folder.join("root");
    for (path, mode, bytes) in [
        ("usr/lib/systemd/system/slow.service", 0o644, UNIT),
        ("etc/fstab", 0o664, FSTAB),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(1000), Some(100)).unwrap();
    }
    let [root, image] = [root, folder.join("root.img")].map(|p| text(&p));
    let words = ["-q", "-F", "-t", "ext4", "-J", "size=1"];
    run(
        "mke2fs",
        &[&words[..], &["-d", &root, &image, "6M"]].concat(),
    )
    .unwrap();
}

const UNIT: &[u8] = b"[Service]\nExecStart=/usr/bin/app\n";
const FSTAB: &[u8] = b"/dev/sda1 / ext4 defaults 0 1\n/dev/sda2 /data ext4 defaults 0 2\n";

/// Puts everything that is treated on the disk.
pub fn fill(disk: &Path, inputs: &Path) {
    let mut number = 0;
    // Each with an owner, rights and an attribute of its own.
    let mut put = |path: &str, mode: u32, bytes: &[u8]| {
        number += 1;
        let path = disk.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        chown(&path, Some(1000 + number), Some(100)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let value = format!("value {number}");
        setxattr(&path, "user.number", value.as_bytes(), XattrFlags::empty()).unwrap();
    };
    let input = |name: &str| fs::read(inputs.join(name)).unwrap();
    put("sys/usr/lib/systemd/system/slow.service", 0o644, UNIT);
    put("sys/etc/fstab", 0o664, FSTAB);
    put(
        "sys/boot/cmdline.txt",
        0o755,
        b"console=ttyS0 root=/dev/sda1 ro\n",
    );
    put(
        "sys/etc/sysctl.d/10-net.conf",
        0o644,
        b"net.ipv4.ip_forward=1\n",
    );
    put("sys/usr/bin/app", 0o4755, &input("app"));
    put("sys/usr/bin/other", 0o755, &input("app"));
    let pipe = b"#!/bin/sh\ncat /proc/cpuinfo | grep -q Revision\n";
    for script in ["S10model", "S20model"] {
        put(&format!("sys/etc/init.d/{script}"), 0o755, pipe);
    }
    let rcs = b"#!/bin/sh\nmount -a\nfor i in /etc/init.d/S??*; do\n  $i start\ndone\n";
    put("box/etc/init.d/rcS", 0o755, rcs);
    for script in ["S10net", "S20app"] {
        put(
            &format!("box/etc/init.d/{script}"),
            0o755,
            b"#!/bin/sh\necho on\n",
        );
    }
    put("jffs2/image", 0o640, &input("rootfs.jffs2"));
    put("ext/image", 0o640, &input("ext"));
    put("img/root.img", 0o640, &input("root.img"));
    put("summarized/image", 0o640, &input("rootfs.jffs2"));
    let environment = fs::read(format!("{CORPUS}/flash/environment.bin")).unwrap();
    put("env/image", 0o600, &environment);
    put("systemd/usr/lib/systemd/systemd", 0o755, b"init\n");
    put(
        "script/etc/init.d/rcS",
        0o755,
        b"#!/bin/sh\nmount -a\n/usr/bin/app &\n",
    );
}
