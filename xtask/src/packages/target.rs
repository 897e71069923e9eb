//! The agent on a target: what starts it in real systems, and a boot that it saved.

use super::bench::{Bench, expect_words};
use super::chroot::{Mounted, inside};
use crate::release::quietly;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// What makes an initramfs and starts services in Debian, without a kernel.
const TOOLS: &str = "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
     --no-install-recommends initramfs-tools-core dracut-core busybox-static openrc cpio";

/// A folder of modules, which both makers of an initramfs ask for. The depmod of Debian 13
/// takes no version without a dot.
const MODULES: &str = "mkdir -p /lib/modules/0.0-test && depmod 0.0-test";

/// What is tried inside: `--start`, the lines that use it, and words that they print.
const TRIED: [(&str, &str, &str); 3] = [
    (
        "initramfs-tools",
        "mkinitramfs -o /tmp/i.img 0.0-test && lsinitramfs /tmp/i.img",
        "usr/sbin/firstlight-agent",
    ),
    (
        "dracut",
        "dracut --force --no-hostonly --kver 0.0-test -m 'base firstlight-agent' /tmp/d.img \
         && lsinitrd /tmp/d.img",
        "usr/sbin/firstlight-agent",
    ),
    // OpenRC believes that it has booted. The agent goes on beside the service.
    (
        "openrc",
        "mkdir -p /run/openrc && touch /run/openrc/softlevel && /etc/init.d/firstlight-agent start \
         && for second in $(seq 60); do test -e /var/lib/firstlight-agent/boot.tar && break; \
         sleep 1; done; firstlight show /var/lib/firstlight-agent/boot.tar; rc-status default",
        "firstlight-agent",
    ),
];

/// Plans, applies, uses and undoes each way to start the agent in the root `top`.
pub(super) fn hooks(bench: &Bench, top: &Path) -> Result<()> {
    inside(top, TOOLS).context("makers of initramfs and OpenRC")?;
    inside(top, MODULES)?;
    for (start, lines, words) in TRIED {
        let said = with_agent(bench, top, start, || inside(top, lines))
            .with_context(|| format!("install-agent --start {start}"))?;
        expect_words(&said, words)?;
    }
    // mkinitcpio is not in Debian: bash runs the hook, with a function of its name.
    let said = with_agent(bench, top, "mkinitcpio", || {
        quietly(
            Command::new("bash")
                .args([
                    "-ec",
                    "add_binary() { echo \"$1 to $2\"; }; . \"$0\"; build",
                ])
                .arg(top.join("usr/lib/initcpio/install/firstlight-agent")),
        )
    })?;
    expect_words(&said, "firstlight-agent to /usr/bin/firstlight-agent")
}

/// Does something while the agent is installed; nothing of it is left.
fn with_agent<T>(
    bench: &Bench,
    root: &Path,
    start: &str,
    act: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let agent = bench.file("firstlight-agent-x86_64");
    let install = |words: &[&str]| {
        quietly(
            Command::new(&bench.programs.program)
                .arg("install-agent")
                .arg(root)
                .args(words),
        )
    };
    let named = ["--start", start, "--agent", &agent.display().to_string()].map(str::to_owned);
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let installed = root.join("usr/lib/firstlight-agent");
    install(&[&named[..], &["--dry-run"]].concat())?;
    if installed.exists() {
        bail!("a plan of install-agent changed the root");
    }
    install(&named)?;
    let done = act();
    install(&["--undo"])?;
    match installed.exists() {
        true => bail!("install-agent --undo left {}", installed.display()),
        false => done,
    }
}

/// What BusyBox runs first.
const RCS: &str = "#!/bin/sh\nmount -t proc proc /proc\nmount -t sysfs sysfs /sys\n\
     mount -t devtmpfs dev /dev\nfor script in /etc/init.d/S??*; do $script start; done\n";

/// Sends the capture over the console, as there is no network. The firmware does not end its last
/// line there.
const SEND: &str = "#!/bin/sh\n( while [ ! -e /var/lib/firstlight-agent/boot.tar ]; do sleep 1; done\n\
     echo; echo BEGIN; base64 /var/lib/firstlight-agent/boot.tar; echo END; poweroff -f ) &\n";

/// The programs that both scripts run.
const APPLETS: [&str; 10] = [
    "sh", "mount", "sleep", "base64", "poweroff", "mkdir", "chmod", "rm", "mv", "init",
];

/// Boots BusyBox in QEMU with the agent; the capture of that boot is one file that the
/// program reads. `top` has QEMU, BusyBox, and the lab's kernel in its cache.
pub(super) fn busybox(bench: &Bench, top: &Path) -> Result<()> {
    let root = top.join("tmp/busybox");
    for folder in ["bin", "etc/init.d", "proc", "sys", "dev", "tmp", "var/lib"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::copy(top.join("bin/busybox"), root.join("bin/busybox")).context("BusyBox")?;
    for applet in APPLETS {
        symlink("busybox", root.join("bin").join(applet))?;
    }
    symlink("bin/busybox", root.join("init"))?;
    fs::write(root.join("etc/inittab"), "::sysinit:/etc/init.d/rcS\n")?;
    for (name, text) in [("rcS", RCS), ("S98send", SEND)] {
        let script = root.join("etc/init.d").join(name);
        fs::write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    }
    let _mounted = Mounted::proc(top)?;
    let said = with_agent(bench, &root, "busybox", || {
        inside(
            top,
            "cd /tmp/busybox && find . | cpio --quiet -o -H newc | gzip > /tmp/busybox.img && \
             timeout 900 qemu-system-x86_64 -M q35 -m 512 -nodefaults -nographic -no-reboot \
             -serial stdio -kernel /root/cache/firstlight/kernel/*/boot/vmlinuz-* \
             -initrd /tmp/busybox.img \
             -append 'console=ttyS0 quiet panic=-1' < /dev/null > /tmp/console",
        )
    });
    said.context("a boot of BusyBox")?;
    inside(
        top,
        "grep -q '^BEGIN' /tmp/console || { tail -n 20 /tmp/console >&2; exit 1; }; \
         tr -d '\\r' < /tmp/console | sed -n '/^BEGIN$/,/^END$/p' | sed '1d;$d' | base64 -d \
         > /tmp/boot.tar",
    )?;
    let said = inside(top, "firstlight show /tmp/boot.tar")?;
    expect_words(&said, "init-started")
}
