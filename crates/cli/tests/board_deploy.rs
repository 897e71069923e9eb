//! Every way in which a variant gets onto a board, each with a board that boots by it: the
//! baseline is back at the end, to the byte, and so it is after this program was killed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

mod board_bench;
mod common;

use board_bench::{Bench, counted};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const BASE: &str = "warm_up = 0\nscatter_rounds = 0\nensemble = 2\n\
    cmdline = [\"console=ttyS0\", \"root=/dev/mmcblk0p2\", \"rw\"]\n";

const LATER: &str = "[[variant]]\nname = \"later\"\ntreatments = [\"cmdline+=plant=+0.5\"]\n";

const WORDS: &str = "console=ttyS0 root=/dev/mmcblk0p2 rw";

/// A way to deploy.
struct Way<'a> {
    /// What makes the files of the board, in its folder.
    make: &'a str,
    /// What the board reads its command line with.
    boots_from: &'a str,
    /// The table `[deploy]`.
    deploy: &'a str,
    /// What must be as before at the end: folders and files, and the output of this script, if
    /// there is one.
    kept: &'a [&'a str],
    printed: Option<&'a str>,
}

fn script(bench: &Bench, name: &str, text: &str) {
    let path = bench.path(name);
    // Renamed into place: a shell may not be told to run what is still written.
    let new = bench.path("script.new");
    fs::write(&new, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(new, path).unwrap();
}

/// All files below what must be as before, with their content.
fn contents(bench: &Bench, way: &Way<'_>) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(path: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                walk(&entry.unwrap().path(), into);
            }
        } else {
            into.insert(path.to_owned(), fs::read(path).unwrap());
        }
    }
    let mut all = BTreeMap::new();
    for path in way.kept {
        walk(&bench.path(path), &mut all);
    }
    if let Some(script) = way.printed {
        let shell = Command::new("sh")
            .args(["-c", script])
            .current_dir(bench.path(""))
            .output();
        all.insert(script.into(), shell.unwrap().stdout);
    }
    all
}

fn prepare(way: &Way<'_>) -> Option<Bench> {
    let bench = Bench::start(&["--length", "0.3"])?;
    script(&bench, "make", &format!("set -e\n{}", way.make));
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/board");
    let made = Command::new(bench.path("make"))
        .current_dir(bench.path(""))
        .env("WORDS", WORDS)
        .env("TESTS", tests)
        .status();
    assert!(made.unwrap().success(), "{}", way.make);
    script(&bench, "boots-from", way.boots_from);
    bench.write_board(&format!("[deploy]\n{}", way.deploy), "");
    Some(bench)
}

/// Boots the baseline and a variant that is later, and kills such a run while the variant is on
/// the board.
fn try_way(way: &Way<'_>) {
    let Some(bench) = prepare(way) else {
        return;
    };
    check_way(&bench, way);
}

fn check_way(bench: &Bench, way: &Way<'_>) {
    check_variant(bench, way, LATER);
}

/// The same for a variant `later` of one's own.
fn check_variant(bench: &Bench, way: &Way<'_>, later: &str) {
    let before = contents(bench, way);
    assert!(!before.is_empty());
    let board = bench.path("bench.toml");
    let board = board.to_str().unwrap();
    let doctor = common::firstlight(&["lab", "doctor", "--board", board]);
    assert!(
        doctor.status.success(),
        "{}",
        String::from_utf8_lossy(&doctor.stdout)
    );
    assert!(contents(bench, way) == before, "the doctor changed it");
    assert_eq!(bench.boots(), Vec::<String>::new());

    let experiment = bench.write_experiment(BASE, later);
    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    assert!(
        said.contains("deploys later:"),
        "no plan was printed: {said}"
    );
    let (good, void) = counted(&run);
    assert_eq!((good.len(), void), (4, vec![]), "{said}");
    // What was deployed is what booted: each boot's kernel logs its words.
    for trial in good {
        let log = Path::new(trial["capture"].as_str().unwrap()).join("serial.log");
        let log = String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned();
        let is_later = log.contains(" plant=+0.5");
        assert_eq!(is_later, trial["variant"] == "later", "{trial:#}: {log}");
    }
    assert!(contents(bench, way) == before, "after a run");

    // Killed while a variant is on the board.
    fs::remove_dir_all(bench.path("out")).unwrap();
    let boots = bench.boots().len();
    let mut child = bench.spawn(&experiment);
    bench.wait("a boot", || bench.boots().len() > boots);
    child.kill().unwrap();
    child.wait().unwrap();
    let restored = common::firstlight(&["lab", "restore", "--board", board]);
    let said = String::from_utf8_lossy(&restored.stderr);
    assert!(restored.status.success(), "{said}");
    assert!(contents(bench, way) == before, "after a kill");
}

#[test]
fn by_text_files_of_a_boot_partition() {
    let read_append = "sed -n 's/^ *append //p'";
    for (make, boots_from, deploy) in [
        // A Raspberry Pi.
        (
            "mkdir fw; echo $WORDS >fw/cmdline.txt; echo arm_64bit=1 >fw/config.txt".to_owned(),
            "cat fw/cmdline.txt".to_owned(),
            "files = \"fw\"\n",
        ),
        // extlinux, and U-Boot's menu over TFTP with a root by NFS.
        (
            "mkdir -p fw/extlinux\n\
             printf 'default l\\nlabel l\\n  kernel /k\\n  append %s\\n' \"$WORDS\" >fw/extlinux/extlinux.conf"
                .to_owned(),
            format!("{read_append} fw/extlinux/extlinux.conf"),
            "files = \"fw\"\n",
        ),
        (
            "mkdir -p fw/pxelinux.cfg\n\
             printf 'default l\\nlabel l\\n  kernel /k\\n  append %s\\n' \"$WORDS\" >fw/pxelinux.cfg/default"
                .to_owned(),
            format!("{read_append} fw/pxelinux.cfg/default"),
            "files = \"fw\"\n",
        ),
        // systemd-boot.
        (
            "mkdir -p fw/loader/entries\n\
             printf 'title T\\nlinux /k\\noptions %s\\n' \"$WORDS\" >fw/loader/entries/a.conf".to_owned(),
            "sed -n 's/^options //p' fw/loader/entries/a.conf".to_owned(),
            "files = \"fw\"\n",
        ),
        // GRUB, whose menu a program makes.
        (
            "mkdir -p fw/etc/default fw/boot/grub\n\
             echo \"GRUB_CMDLINE_LINUX_DEFAULT=\\\"$WORDS\\\"\" >fw/etc/default/grub\n\
             printf '. fw/etc/default/grub\\necho linux /k $GRUB_CMDLINE_LINUX_DEFAULT >fw/boot/grub/grub.cfg\\n' >mkconfig\n\
             sh mkconfig".to_owned(),
            "sed -n 's/^linux .k //p' fw/boot/grub/grub.cfg".to_owned(),
            "files = \"fw\"\nrun = \"sh mkconfig\"\nrestore = \"sh mkconfig\"\n",
        ),
    ] {
        try_way(&Way {
            make: &make,
            boots_from: &boots_from,
            deploy,
            kept: &["fw"],
            printed: None,
        });
    }
}

/// A setting of the firmware, which no command line has; and what the files cannot take.
#[test]
fn by_settings_of_the_firmware() {
    let way = Way {
        make: "mkdir fw; echo $WORDS >fw/cmdline.txt; printf '[pi4]\\narm_boost=1\\n' >fw/config.txt",
        boots_from: "grep -qx boot_delay=0 fw/config.txt && more=plant=+0.5; echo $(cat fw/cmdline.txt) $more",
        deploy: "files = \"fw\"\n",
        kept: &["fw"],
        printed: None,
    };
    let Some(bench) = prepare(&way) else {
        return;
    };
    let variant = |treatment: &str| {
        format!("[[variant]]\nname = \"later\"\ntreatments = [\"{treatment}\"]\n")
    };
    check_variant(&bench, &way, &variant("firmware=boot_delay=0"));
    let boots = bench.boots().len();
    for (treatment, expected) in [
        ("kernel=uncompressed", "`kernel=` works only in the lab"),
        ("menu-timeout=0", "could not find a boot menu configuration"),
        ("firmware=arm_boost=1", "changes nothing"),
        ("fstab=x", "invalid treatment"),
    ] {
        // The last one holds for some boards alone, so this one changes something.
        if treatment == "firmware=arm_boost=1" {
            fs::write(bench.path("fw/config.txt"), "arm_boost=1\n").unwrap();
        }
        let experiment = bench.write_experiment(BASE, &variant(treatment));
        let (out, _, said) = bench.run(&experiment, &[]);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(bench.boots().len(), boots, "a boot before the refusal");
}

/// Whether these programs are there; a visible line if not.
fn there(programs: &[&str]) -> bool {
    programs.iter().all(|program| {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        let found = found.is_ok_and(|out| out.status.success());
        if !found {
            println!("skipped: {program} is not there");
        }
        found
    })
}

#[test]
fn by_a_unified_kernel_image() {
    if !there(&["objcopy"]) {
        return;
    }
    try_way(&Way {
        make: "mkdir -p fw/EFI/Linux; python3 $TESTS/make_uki.py fw/EFI/Linux/a.efi \"$WORDS\"",
        boots_from: "objcopy -O binary -j .cmdline fw/EFI/Linux/a.efi line.$$ && tr -d '\\0' <line.$$; rm -f line.$$",
        deploy: "files = \"fw\"\n",
        kept: &["fw"],
        printed: None,
    });
}

/// What makes U-Boot's environment, by U-Boot's own tool, and the settings of its other tools.
const MAKE_ENVIRONMENT: &str = "printf 'bootdelay=2\\nbootargs=%s\\n' \"$WORDS\" >env.txt\n\
    mkenvimage -s 0x2000 -o uboot.env env.txt\n\
    echo \"$PWD/uboot.env 0x0 0x2000\" >fw_env.config\n";

#[test]
fn by_the_environment_of_u_boot() {
    if !there(&["mkenvimage", "fw_printenv", "fw_setenv"]) {
        return;
    }
    let print = "fw_printenv -c fw_env.config -n bootargs";
    // The environment's own file, and that file on a boot partition.
    try_way(&Way {
        make: MAKE_ENVIRONMENT,
        boots_from: print,
        deploy: "files = \"uboot.env\"\n",
        kept: &["uboot.env"],
        printed: None,
    });
    try_way(&Way {
        make: &format!(
            "{MAKE_ENVIRONMENT}mkdir fw; mv uboot.env fw; sed -i s,/uboot,/fw/uboot, fw_env.config"
        ),
        boots_from: print,
        deploy: "files = \"fw\"\n",
        kept: &["fw"],
        printed: None,
    });
    // A partition, which a copy of it is written to.
    let dd = "dd if=uboot.env of=partition conv=notrunc status=none";
    try_way(&Way {
        make: &format!(
            "{MAKE_ENVIRONMENT}cp uboot.env partition; echo \"$PWD/partition 0x0 0x2000\" >fw_env.config"
        ),
        boots_from: print,
        deploy: &format!("files = \"uboot.env\"\nrun = \"{dd}\"\nrestore = \"{dd}\"\n"),
        kept: &["uboot.env", "partition"],
        printed: None,
    });
}

#[test]
fn by_a_card_in_a_multiplexer_and_by_slots() {
    // The card is at the host or in the board. In the wrong place there is nothing to boot.
    try_way(&Way {
        make: "mkdir card-in-board; echo $WORDS >card-in-board/cmdline.txt",
        boots_from: "cat card-in-board/cmdline.txt",
        deploy: "files = \"card-at-host\"\nmount = \"mv card-in-board card-at-host\"\n\
                 unmount = \"mv card-at-host card-in-board\"\n",
        kept: &["card-in-board"],
        printed: None,
    });
    // Slot B gets the variant and is booted once it is marked; the baseline is slot A.
    try_way(&Way {
        make: "mkdir slot-a slot-b; echo $WORDS >slot-a/cmdline; echo a >marked",
        boots_from: "cat slot-$(cat marked)/cmdline",
        deploy: "run = \"echo $FIRSTLIGHT_CMDLINE >slot-b/cmdline && echo b >marked\"\n\
                 restore = \"echo a >marked\"\n",
        kept: &["slot-a", "marked"],
        printed: None,
    });
}

/// What RAUC knows of a board with two slots, whose boot loader is a file, and a key of our own.
const MAKE_RAUC: &str = r#"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=bench 2>/dev/null
printf %s "$WORDS" >slot-a; truncate -s 4096 slot-a; head -c 4096 /dev/zero >slot-b
echo A >primary; mkdir mnt
cat >backend <<END
#!/bin/sh
cd $PWD
case \$1 in
get-primary) cat primary ;;
set-primary) echo \$2 >primary ;;
get-state) echo good ;;
esac
END
chmod 755 backend
cat >system.conf <<END
[system]
compatible=bench
bootloader=custom
mountprefix=$PWD/mnt
statusfile=$PWD/status
[handlers]
bootloader-custom-backend=$PWD/backend
[keyring]
path=$PWD/cert.pem
[slot.rootfs.0]
device=$PWD/slot-a
type=raw
bootname=A
[slot.rootfs.1]
device=$PWD/slot-b
type=raw
bootname=B
END
echo "export DBUS_STARTER_BUS_TYPE=session DBUS_SESSION_BUS_ADDRESS=unix:path=$PWD/bus" >bus-is
cat >install <<'END'
. ./bus-is
rm -rf new new.raucb; mkdir new
printf %s "$FIRSTLIGHT_CMDLINE" >new/rootfs.img; truncate -s 4096 new/rootfs.img
printf '[update]\ncompatible=bench\nversion=1\n[image.rootfs]\nfilename=rootfs.img\n' >new/manifest.raucm
rauc --cert cert.pem --key key.pem bundle new new.raucb && rauc install new.raucb
END
"#;

/// RAUC itself: it installs a signed bundle into the other slot and marks it, and the first one
/// is marked again.
#[test]
fn by_slots_of_rauc() {
    if !there(&["rauc", "dbus-daemon", "openssl", "mksquashfs", "unsquashfs"]) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can mount RAUC's bundles");
        return;
    }
    let way = Way {
        make: MAKE_RAUC,
        boots_from: "tr -d '\\0' <slot-$(tr AB ab <primary)",
        deploy: "run = \"sh install\"\nrestore = \". ./bus-is; rauc status mark-active booted\"\n",
        kept: &["slot-a", "primary"],
        printed: None,
    };
    let Some(bench) = prepare(&way) else {
        return;
    };
    let start = |script: &str| {
        let child = Command::new("sh")
            .args(["-c", script])
            .current_dir(bench.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Service(child.unwrap())
    };
    let _bus = start(
        ". ./bus-is; exec dbus-daemon --session --nofork --address=$DBUS_SESSION_BUS_ADDRESS",
    );
    bench.wait("the bus", || bench.path("bus").exists());
    let _rauc = start(". ./bus-is; exec rauc -c system.conf --override-boot-slot=A service");
    bench.wait("rauc", || {
        let status = Command::new("sh")
            .args(["-c", ". ./bus-is; rauc status"])
            .current_dir(bench.path(""))
            .output();
        status.unwrap().status.success()
    });
    check_way(&bench, &way);
}

/// A program that serves, until the test ends.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// swupdate itself: it installs a signed image into the other slot and its mark.
#[test]
fn by_slots_of_swupdate() {
    if !there(&["swupdate", "openssl", "cpio"]) {
        return;
    }
    try_way(&Way {
        make: r#"
printf %s "$WORDS" >slot-a; truncate -s 4096 slot-a; head -c 4096 /dev/zero >slot-b; echo a >marked
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=bench \
    -addext keyUsage=digitalSignature -addext extendedKeyUsage=emailProtection 2>/dev/null
cat >install <<'END'
here=$PWD; rm -rf new tmp; mkdir new tmp; cd new
printf %s "$FIRSTLIGHT_CMDLINE" >root; truncate -s 4096 root; echo b >mark
image() {
    echo "{ filename = \"$1\"; device = \"$here/$2\"; type = \"raw\"; sha256 = \"$(sha256sum $1 | cut -d ' ' -f 1)\"; }"
}
echo "software = { version = \"1.0\"; hardware-compatibility: [ \"1.0\" ];
    images: ( $(image root slot-b), $(image mark marked) ); }" >sw-description
openssl cms -sign -in sw-description -out sw-description.sig -signer ../cert.pem -inkey ../key.pem \
    -outform DER -nosmimecap -binary
printf '%s\n' sw-description sw-description.sig root mark | cpio -o -H crc --quiet >x.swu
# swupdate 2022.12 ends with 1 now and then for an image that it installs when it is asked again.
for attempt in 1 2 3 4 5; do
    TMPDIR=$here/tmp swupdate -k ../cert.pem -H bench:1.0 -i x.swu && exit 0
done
exit 1
END
"#,
        boots_from: "tr -d '\\0' <slot-$(cat marked)",
        deploy: "run = \"sh install\"\nrestore = \"echo a >marked\"\n",
        kept: &["slot-a", "marked"],
        printed: None,
    });
}

/// A bench with an ssh server, and the folder that both see.
fn prepare_with_ssh(way: &Way<'_>) -> Option<(Bench, Sshd, String)> {
    let bench = prepare(way)?;
    let sshd = Sshd::start(&bench)?;
    let at = bench.path("");
    let at = at.to_str().unwrap().trim_end_matches('/').to_owned();
    Some((bench, sshd, at))
}

/// An ssh server on loopback: the board's own.
struct Sshd {
    child: Child,
    ssh: String,
}

impl Sshd {
    /// `None`, with a visible line, where something is missing.
    fn start(bench: &Bench) -> Option<Self> {
        if !there(&["ssh", "ssh-keygen"]) || !Path::new("/usr/sbin/sshd").exists() {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can start sshd here");
            return None;
        }
        // Its folder for a process without rights.
        fs::create_dir_all("/run/sshd").ok();
        for key in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(bench.path(key))
                .status();
            assert!(made.unwrap().success());
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let number = port.local_addr().unwrap().port();
        drop(port);
        let shown = bench.path("");
        let shown = shown.to_str().unwrap().trim_end_matches('/');
        fs::write(
            bench.path("sshd_config"),
            format!(
                "Port {number}\nListenAddress 127.0.0.1\nHostKey {shown}/host_key\n\
                 AuthorizedKeysFile {shown}/user_key.pub\nPidFile none\nUsePAM no\n\
                 PasswordAuthentication no\nStrictModes no\nPermitRootLogin yes\n"
            ),
        )
        .unwrap();
        let child = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(bench.path("sshd_config"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        bench.wait("sshd", || {
            std::net::TcpStream::connect(("127.0.0.1", number)).is_ok()
        });
        let ssh = format!(
            "ssh -F none -p {number} -i user_key -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=known_hosts -o LogLevel=ERROR root@127.0.0.1"
        );
        Some(Self { child, ssh })
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// U-Boot's own tool over ssh while the board is up, proof and state over ssh, and first light
/// as a file that appears over ssh.
#[test]
fn over_ssh() {
    if !there(&["mkenvimage", "fw_printenv", "fw_setenv"]) {
        return;
    }
    let way = Way {
        make: MAKE_ENVIRONMENT,
        boots_from: "fw_printenv -c fw_env.config -n bootargs | tee booted",
        deploy: "",
        kept: &[],
        // It leaves bytes behind the end of the list.
        printed: Some("fw_printenv -c fw_env.config | sort"),
    };
    let Some((bench, sshd, at)) = prepare_with_ssh(&way) else {
        return;
    };
    let ssh = &sshd.ssh;
    let set =
        |words: &str| format!("{ssh} fw_setenv -c {at}/fw_env.config bootargs \\\"'{words}'\\\"");
    let deploy = format!(
        "[deploy]\npower = \"on\"\nrun = \"{}\"\nrestore = \"{}\"\n\
         [state]\ncommand = \"{ssh} echo temperature_c 51.5\"\n",
        set("$FIRSTLIGHT_CMDLINE"),
        set(WORDS)
    );
    bench.write_board(&deploy, "");
    let text = fs::read_to_string(bench.path("bench.toml")).unwrap();
    let text = text.replace(
        "by = \"nonce\"",
        &format!("by = \"command\"\ncommand = \"{ssh} cat {at}/booted\""),
    );
    fs::write(bench.path("bench.toml"), &text).unwrap();
    check_way(&bench, &way);

    // A capture of the board has what ssh said.
    let capture = bench.path("boot.tar.zst");
    let taken = common::json(&[
        "capture",
        "board",
        "--json",
        bench.path("bench.toml").to_str().unwrap(),
        "-o",
        capture.to_str().unwrap(),
    ]);
    common::valid(&taken, "capture");
    let files = taken["files"].to_string();
    for name in ["serial.log", "proof.txt", "state.txt", "board.json"] {
        assert!(files.contains(name), "{files}");
    }
    let state = &taken["board"]["state"][0];
    assert_eq!(
        (&state["name"], &state["value"]),
        (&"temperature_c".into(), &51.5.into())
    );
    assert!(taken["board"]["off_ns"].as_i64().unwrap() >= 10_000_000);
    let show = common::json(&["show", "--json", capture.to_str().unwrap()]);
    assert!(show["first_light"]["at_ns"].as_i64().unwrap() > 0);

    // First light is a file over ssh, late by at most one connection.
    let text = text.replace(
        "first_light = \"console:login: $\"",
        &format!("first_light = \"command:{ssh} test -e {at}/lit\""),
    );
    fs::write(bench.path("bench.toml"), &text).unwrap();
    script(
        &bench,
        "boots-from",
        "rm -f lit; { sleep 0.5; touch lit; } >/dev/null 2>&1 &\n\
         fw_printenv -c fw_env.config -n bootargs | tee booted",
    );
    fs::remove_dir_all(bench.path("out")).ok();
    let experiment = bench.write_experiment(BASE, "");
    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    for trial in counted(&run).0 {
        let light = trial["first_light_ns"]["power_on"].as_i64().unwrap();
        let late = trial["light_error_ns"].as_i64().unwrap();
        assert!(late > 0 && light - late < 30_000_000_000, "{trial}");
        assert!(light >= 500_000_000, "{trial}");
    }
}

/// A folder of the board's root, which is copied over ssh while the board is up.
#[test]
fn by_files_over_ssh() {
    if !there(&["tar"]) {
        return;
    }
    let way = Way {
        make: "mkdir -p variants/baseline/etc variants/later/etc\n\
               echo fast >variants/baseline/etc/mode; echo slow >variants/later/etc/mode\n\
               head -c 300000 /dev/urandom >variants/later/etc/more\n\
               cp -r variants/baseline root; echo $WORDS >root/cmdline.txt; cp root/cmdline.txt variants/baseline",
        boots_from: "grep -qx slow root/etc/mode && [ -s root/etc/more ] && more=plant=+0.5\n\
                     echo $(cat root/cmdline.txt) $more",
        deploy: "",
        kept: &["root"],
        printed: None,
    };
    let Some((bench, sshd, at)) = prepare_with_ssh(&way) else {
        return;
    };
    let ssh = &sshd.ssh;
    // The new files are whole before they take the place of the old ones.
    let copy = |from: &str| {
        format!(
            "tar -C variants/{from} -c . | {ssh} 'rm -rf {at}/new && mkdir {at}/new && \
             tar -C {at}/new -x && {{ [ -e {at}/new/cmdline.txt ] || cp {at}/root/cmdline.txt {at}/new; }} && \
             rm -rf {at}/old && mv {at}/root {at}/old && mv {at}/new {at}/root && rm -rf {at}/old'"
        )
    };
    let deploy = format!(
        "[deploy]\npower = \"on\"\nrun = \"\"\"{} && \
         echo $FIRSTLIGHT_CMDLINE | {ssh} 'cat >{at}/root/cmdline.txt'\"\"\"\n\
         restore = \"\"\"{}\"\"\"\n",
        copy("$FIRSTLIGHT_VARIANT"),
        copy("baseline")
    );
    bench.write_board(&deploy, "");
    let later = "[[variant]]\nname = \"later\"\ntreatments = [\"cmdline+=other.files\"]\n";
    check_variant(&bench, &way, later);
}
