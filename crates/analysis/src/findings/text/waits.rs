//! The words of `findings::waits`.

use record::{Nanos, Phase};
use std::fmt::Display;

/// What a unit of a chain is, and what to do about it where nothing more is known.
pub(in crate::findings) type Standing = (&'static str, &'static str);

/// Of a unit that a product may do without.
pub(in crate::findings) const UNIT: Standing = (
    "It is on the critical chain.",
    "Mask it if the product does not need it, start it later, or look into what it waits for.",
);

/// Of a unit that the rest of the boot is built on.
pub(in crate::findings) const NEEDED_UNIT: Standing = (
    "It is on the critical chain, and the system needs it.",
    "Look into what it does and what it waits for.",
);

/// Of the unit that the chain leads to.
pub(in crate::findings) const GOAL: Standing = (
    "The critical chain leads to it.",
    "Look into what it does before it reports that it is ready.",
);

pub(in crate::findings) const BLAMED_WHY: &str = "It takes longer than most other units. The input does not show what waits for it: add \
     `systemd-analyze critical-chain`, or better `systemctl show '*'`.";

pub(in crate::findings) fn instances(count: usize) -> String {
    let took = match count {
        1 => "One more instance of this template takes as long.",
        _ => "More instances of this template take as long.",
    };
    format!(" {took} They run at the same time, and most likely wait for the same.")
}

pub(in crate::findings) const STEP_WHY: &str = "It takes longer than most other steps of this init. Look into what it does, start it in \
     the background, or later. What waits for it is not in the input.";

pub(in crate::findings) const BUSY_WHY: &str = "The default target was reached, but jobs were still running. `systemctl list-jobs` during \
     boot, or `systemd-analyze plot`, shows which.";

pub(in crate::findings) const STAGE_WHY: &str = "The loader timed this stage itself. Leave out what it does if the product does not need it \
     to boot, or look for a fixed delay in the driver.";

pub(in crate::findings) const EARLY_WHY: &str = "Before it relocates itself, U-Boot reads its device tree and sets up memory. This usually \
     takes tens of milliseconds. A long time is a sign that the data cache is off: enable it and \
     the MMU early.";

pub(in crate::findings) const BEFORE_LOADER: &str = "what runs before its first mark";

pub(in crate::findings) const QUIET_WHY: &str = "Something between these two lines takes this long: a read, a fixed delay, or a device that \
     is slow to answer.";

pub(in crate::findings) fn took(
    name: impl Display,
    time: impl Display,
    from: impl Display,
    to: impl Display,
) -> String {
    format!("{name} took {time}, from {from} to {to}")
}

pub(in crate::findings) fn span(name: impl Display, time: impl Display) -> String {
    format!("{name} took {time}")
}

pub(in crate::findings) fn between(from: &str, to: &str) -> String {
    format!("`{from}` to `{to}`")
}

pub(in crate::findings) fn command(name: &str) -> String {
    format!("`{name}`")
}

pub(in crate::findings) fn stage(what: impl Display, time: impl Display) -> String {
    format!("The boot loader takes {time} for {what}")
}

pub(in crate::findings) fn before(to: &str) -> String {
    format!("what is before `{to}`")
}

pub(in crate::findings) fn firmware_stage(what: impl Display, time: impl Display) -> String {
    format!("The firmware takes {time} for {what}")
}

pub(in crate::findings) fn firmware_loads(time: impl Display) -> String {
    format!("The firmware takes {time} to load and decompress its stages from flash")
}

pub(in crate::findings) const FIRMWARE_LOADS_WHY: &str = "Where the SPI flash is mapped into memory, decompression includes reading it. Look at the \
     clock of the SPI flash and at how many of its lines are used, at caching of the mapped \
     flash, and at the compression of each stage.";

/// Whether a stage is the run of an option ROM, by coreboot's names of its stamps.
pub(in crate::findings) fn is_option_rom(from: &str, to: &str) -> bool {
    from.contains("Option ROM copy") && to.contains("Option ROM run")
}

/// Why a stage of coreboot may take long, and what else it is about.
pub(in crate::findings) fn firmware_why(
    from: &str,
    to: &str,
) -> (&'static str, &'static [&'static str]) {
    let is = |from_is: &str, to_is: &str| from.contains(from_is) && to.contains(to_is);
    if is("bootblock", "bootblock") {
        return (
            "A bootblock does little. It takes long if it writes its log to a slow console, or \
             runs before the MMU and the caches are on: enable these first.",
            &["MMU", "cache", "console"],
        );
    }
    if is("before RAM", "after RAM") {
        return (
            "This is the training of the memory. Store its result in flash \
             (CONFIG_CACHE_MRC_SETTINGS), so that only the first boot takes this long.",
            &["memory training"],
        );
    }
    if is("device initialization", "device setup") {
        return (
            "Drivers initialize processors, display, option ROMs and buses one after another. \
             coreboot's log with time stamps names the slow one. Start processors in parallel \
             (CONFIG_PARALLEL_MP), and leave out what the payload does not need.",
            &["processors", "display"],
        );
    }
    if is_option_rom(from, to) {
        return (
            "coreboot runs the option ROM of a card, such as the display. Leave it out \
             (CONFIG_VGA_ROM_RUN) if the payload or the kernel has a driver for the card. Running \
             it natively (CONFIG_PCI_OPTION_ROM_RUN_REALMODE) is faster than in coreboot's emulator \
             (CONFIG_PCI_OPTION_ROM_RUN_YABEL).",
            &["option ROM", "display"],
        );
    }
    if is("EOP", "EOP") {
        return (
            "The Management Engine (ME) answers late or not at all. Do not send End of Post to a \
             disabled ME, and do not wait for the answer of another one \
             (CONFIG_SOC_INTEL_CSE_SEND_EOP_ASYNC).",
            &["ME"],
        );
    }
    (
        "coreboot timed this stage itself. Leave out what it does if the product does not need it \
         to boot, or look for a fixed delay in the driver.",
        &[],
    )
}

pub(in crate::findings) fn read(bytes: &str, what: Option<&str>) -> String {
    match what {
        Some(what) => format!("`{what}`, which reads {bytes} bytes"),
        None => format!("reading {bytes} bytes"),
    }
}

/// The bytes of a stage that is a read, and what they are of: `reading 100 bytes`, and
/// `Kernel Image Load, 100 bytes`.
pub(in crate::findings) fn read_of(stage: &str) -> Option<(&str, Option<&str>)> {
    let stage = stage.strip_suffix(" bytes")?;
    match stage.strip_prefix("reading ") {
        Some(bytes) => Some((bytes, None)),
        None => stage
            .rsplit_once(", ")
            .map(|(what, bytes)| (bytes, Some(what))),
    }
}

/// `rate`: in megabytes a second.
pub(in crate::findings) fn read_why(rate: Option<f64>) -> String {
    let rate = rate.map_or(String::new(), |mb| format!("It reads {mb:.1} MB/s. "));
    format!(
        "{rate}Read less: a packed kernel, an initramfs without what the product does not need, the \
         exact size instead of a partition. Read faster: look at the clock, the width of the bus \
         and DMA of the storage in the loader's device tree and configuration, at its caches, and \
         at the size of its requests."
    )
}

pub(in crate::findings) fn quiet(time: impl Display, line: impl Display) -> String {
    format!("The boot loader writes nothing for {time} after `{line}`")
}

pub(in crate::findings) fn unit(unit: impl Display, time: impl Display) -> String {
    format!("{unit} delays the boot for {time}")
}

pub(in crate::findings) fn blamed(unit: impl Display, time: impl Display) -> String {
    format!("{unit} takes {time} to start")
}

pub(in crate::findings) fn without_passphrase(asked: impl Display) -> String {
    format!(" Another {asked} in it pass until a disk is unlocked.")
}

pub(in crate::findings) fn wait(
    later: impl Display,
    time: impl Display,
    earlier: impl Display,
) -> String {
    format!("{later} starts {time} after {earlier}")
}

pub(in crate::findings) fn first_wait(later: impl Display, time: impl Display) -> String {
    format!("{later} starts {time} after systemd")
}

pub(in crate::findings) fn first_wait_why(
    later: &str,
    suspects: &str,
    never: Option<&str>,
    behind: &str,
    helps: Option<&str>,
) -> String {
    let more = by_duration(suspects);
    if let Some(helps) = helps {
        return format!("The critical chain names nothing before {later}. {helps}{more}");
    }
    if !behind.is_empty() {
        return format!(
            "The critical chain goes on with units that became active after {later}: {behind}. \
             {later} cannot have waited for them, but a device that appears late, or what sets it \
             up, may hold all of them up. Find out what this device waits for, and whether the \
             product needs it.{more} `systemctl show '*'` has the full order."
        );
    }
    if let Some(never) = never {
        return format!(
            "{later} is ordered after {never}, which never became active: systemd waits for it \
             until the job times out. If it does not exist, remove what names it. Else find out \
             why it does not appear.{more}"
        );
    }
    format!(
        "The critical chain names nothing before {later}. It waits for something that is no unit \
         of the chain: a slow disk or a device that appears late, a mount, a swap, or a unit that \
         the chain does not show.{more} `systemctl show '*'` has the full order."
    )
}

/// The sentence about units that are as long as a wait.
fn by_duration(suspects: &str) -> String {
    match suspects {
        "" => String::new(),
        names => format!(" By their duration these units could be the cause: {names}."),
    }
}

/// Of a device that a wait of the chain ends with.
pub(in crate::findings) const LATE_DEVICE: &str = "The device appears late. The kernel log shows what its driver waits for: a disk that spins up, \
     a bus that is searched, firmware. With `nofail` in its line of /etc/fstab or /etc/crypttab, or \
     without that line, the boot does not wait for it.";

pub(in crate::findings) fn wait_why(
    earlier: &str,
    later: &str,
    suspects: &str,
    helps: Option<&str>,
) -> String {
    let more = by_duration(suspects);
    if let Some(helps) = helps {
        return format!("The critical chain names nothing between the two. {helps}{more}");
    }
    format!(
        "The critical chain names nothing between the two. {later} also waits for something else: \
         a device, a job that `{earlier}` does not stand for, or a unit that the chain does not \
         show.{more} `systemctl show '*'` has the full order."
    )
}

pub(in crate::findings) fn idle_why(later: &str) -> String {
    format!(
        "No unit was starting in between. {later} waited for something that is no unit: an \
         address from the network, a device, or a program in the background. `journalctl -b` shows \
         what was logged then."
    )
}

pub(in crate::findings) fn timeout(unit: impl Display, time: impl Display) -> String {
    format!("{unit} waits {time} for a job that times out")
}

pub(in crate::findings) fn timeout_why(earlier: &str, later: &str) -> String {
    const NETWORK: [&str; 4] = ["network", "netctl", "ifup", "dhcpcd"];
    let is_network = NETWORK.iter().any(|n| later.contains(n));
    let what = match is_network {
        true => {
            "Before the network this is often the device of an interface that has another name or \
             is not there (sys-subsystem-net-devices-NAME.device): correct what names it."
        }
        false => {
            "A line of /etc/fstab, a swap or a unit names a device that does not exist: correct it, \
             or add `nofail`."
        }
    };
    format!(
        "{later} starts 90 s after the first unit, which is how long systemd waits for a device. \
         {earlier} was active long before. {what}"
    )
}

/// Of a first unit, and of an initrd.
pub(in crate::findings) const TIMED_OUT: &str =
    " systemd waits 90 s for a device that never appears: this is as long.";

pub(in crate::findings) const INITRD_TIMED_OUT: &str = " systemd waits 90 s for a device that never appears: this is hardly longer. Look for what the \
     command line, /etc/crypttab and /etc/fstab of the initrd name (`root=`, `resume=`), and for a \
     TPM whose driver fails.";

pub(in crate::findings) const USERSPACE_TIMED_OUT: &str = " systemd waits 90 s for a device that never appears: this is hardly longer. Look for a line of \
     /etc/fstab or /etc/crypttab, a swap, or a TPM (`tpm2.target`: boot with \
     `systemd.tpm2_wait=0`) that this machine does not have, and for a service that times out.";

pub(in crate::findings) const UNEXPLAINED_WHY: &str = "No unit that the input names takes long. A device that never appears is no unit of \
     `systemd-analyze blame`: the journal names it (`journalctl -b -g 'Timed out waiting'`).";

pub(in crate::findings) const USERSPACE_WITHOUT_NETWORK: &str = " systemd-networkd-wait-online.service waits 120 s for every network interface that it manages: \
     this is hardly longer. Give those without a cable `RequiredForOnline=no` (netplan: \
     `optional: true`), or mask the unit.";

pub(in crate::findings) const USERSPACE_WITH_SCRIPTS: &str = " The scripts of the network (networking.service, network.service) wait 5 min for an address: \
     this is hardly longer. Use `allow-hotplug` in /etc/network/interfaces, or remove interfaces \
     that are not there.";

pub(in crate::findings) fn again(time: impl Display) -> String {
    format!(" A second timeout follows and keeps systemd busy for another {time}.")
}

pub(in crate::findings) fn initramfs_waits(time: impl Display, what: impl Display) -> String {
    format!("The initramfs waits {time} for {what}")
}

pub(in crate::findings) const ADDRESS: &str = "an address";

pub(in crate::findings) fn lvm_waits(time: impl Display) -> String {
    format!("LVM waits {time} for udev")
}

pub(in crate::findings) fn upstart_waits(time: impl Display) -> String {
    format!("Upstart waits {time} for the network")
}

pub(in crate::findings) fn udev_busy(device: impl Display, time: impl Display) -> String {
    format!("udev is busy with {device} for {time} or more")
}

pub(in crate::findings) fn android(from: &str, to: &str, time: impl Display) -> String {
    format!("Android takes {time} from `{from}` to `{to}`")
}

/// What Android does before one of its events.
pub(in crate::findings) fn android_why(to: &str) -> &'static str {
    match to {
        "start" => {
            "The kernel and init run before it: their log (`dmesg`) shows what takes long there, \
             such as a mount or a check of a file system."
        }
        "preload_end" => {
            "The Zygote loads classes and resources. Preload fewer (`preloaded-classes`), and \
             compile them ahead of time."
        }
        "pms_system_scan_start" | "pms_data_scan_start" | "pms_scan_end" | "pms_ready" => {
            "PackageManager reads every package, and compiles those that it does not know yet. \
             Remove packages that nobody uses, and compile ahead of time (dexpreopt). It takes \
             longest at the first boot after an update."
        }
        _ => {
            "Services of the system start here, one after another. `logcat -b all` with \
             `SystemServerTiming` shows which takes long."
        }
    }
}

pub(in crate::findings) fn not_ready(unit: impl Display, time: impl Display) -> String {
    format!("systemd waits {time} for {unit}, which does not become ready")
}

pub(in crate::findings) const NOT_READY: &str = "What is ordered after it waits until it has started or its time is over. Find out why it does not \
     start (`journalctl -b -u`), mask it if nobody needs it, or let systemd not wait for it: \
     `Type=simple` in place of `notify` or `forking`, or a shorter `TimeoutStartSec=`.";

pub(in crate::findings) const SPOKEN_STAGE_1: &str = "The first stage of the boot (initrd) waits for this device. A swap file is not there before \
     its file system is mounted, and a device of another machine never is: correct `swapDevices`, \
     `boot.resumeDevice` (`resume=`) and `fileSystems`, or add the module of the disk to \
     `boot.initrd.availableKernelModules`.";

pub(in crate::findings) const SPOKEN_IPCONFIG: &str = "The initramfs asks for an address (DHCP), and nobody answers. Set the address with `ip=` on \
     the kernel command line, name the interface that has a cable, or leave the network to the \
     root file system. A switch port that learns its neighbors first (spanning tree) answers late.";

pub(in crate::findings) fn drive_silent(drive: &str, time: impl Display) -> String {
    format!("The drive at {drive} does not answer for {time}")
}

pub(in crate::findings) const SPOKEN_ATA: &str = "The kernel sends a command to the drive and waits until its time is over. A drive that answers \
     all but the command that reads its logs (`cmd 0x47`) works without it. Otherwise check the \
     cable, the power and the drive.";

pub(in crate::findings) fn device_silent(device: &str, time: impl Display) -> String {
    format!("The device {device} does not answer for {time}")
}

pub(in crate::findings) const SPOKEN_ERRORS: &str = "The driver waits until its time is over, and tries again. Repair, unplug or disable what does not \
     answer, and check its cable and power.";

pub(in crate::findings) fn settle_waits(time: impl Display) -> String {
    format!("`udevadm settle` waits {time} in vain")
}

pub(in crate::findings) const SPOKEN_SETTLE: &str = "udev was still busy with the events that the next lines name: a driver that does not answer, or a \
     program that a rule starts. Remove what asks for `udevadm settle`, or blacklist the driver.";

pub(in crate::findings) fn nobody_offers(time: impl Display) -> String {
    format!("The DHCP client asks {time} for an address, and nobody answers")
}

pub(in crate::findings) const SPOKEN_DHCP: &str = "No server answers on this interface. Set a fixed address, a shorter `timeout` in dhclient.conf, or \
     in /etc/network/interfaces `allow-hotplug` for an interface that may have no cable. A switch \
     port that learns its neighbors first (spanning tree) answers late.";

pub(in crate::findings) fn cloud_init_asks(time: impl Display) -> String {
    format!("cloud-init asks {time} for the data of a cloud, and nobody answers")
}

pub(in crate::findings) const SPOKEN_CLOUD_INIT: &str = "cloud-init tries one data source after the other, and each waits for an address to answer. Name \
     those that this machine has in `datasource_list` (/etc/cloud/cloud.cfg.d), `[ None ]` for \
     none, or disable cloud-init with /etc/cloud/cloud-init.disabled.";

pub(in crate::findings) const SPOKEN_ROOT: &str = "The initramfs waits for the device of the root. Build in the driver of the disk, and \
     correct `root=` and `resume=`.";

pub(in crate::findings) const SPOKEN_LVM: &str = "LVM waits for the entry of each device in udev's database, although udev does not run yet \
     or any more. Set `obtain_device_list_from_udev = 0` in /etc/lvm/lvm.conf where LVM runs \
     without udev, or start udev before it.";

pub(in crate::findings) const SPOKEN_UPSTART: &str = "Upstart waits for every interface that /etc/network/interfaces marks with `auto`. Remove \
     those that are not there, or use `allow-hotplug`.";

pub(in crate::findings) const SPOKEN_UDEV: &str = "One event keeps udev busy: a program that a rule starts, or a driver that does not answer \
     (`modprobe`). `udevadm control --log-level=debug` shows the rule; unplug the device or \
     blacklist its driver to see whether the boot becomes shorter.";

pub(in crate::findings) fn job(unit: impl Display, time: impl Display) -> String {
    format!("systemd waits {time} for the start job of `{unit}`")
}

/// `helps`: what is known to help against a long start of the unit. `phases`: how many phases
/// of the boot are hardly longer than the job may run.
pub(in crate::findings) fn job_why(
    unit: &str,
    is_last: bool,
    limit: Option<Nanos>,
    helps: Option<&str>,
    phases: usize,
) -> String {
    let end = match (is_last, limit) {
        (true, Some(limit)) if phases > 0 => {
            let which = match phases {
                1 => "A phase of this boot is hardly longer",
                _ => "Two phases of this boot, the initrd and userspace, are hardly longer",
            };
            format!("The job may run for {limit}. {which}, so it ran for all of that.")
        }
        (true, Some(limit)) => {
            format!("The input ends while the job is still running. It may run for {limit}.")
        }
        (true, None) => {
            "The input ends while the job is still running. It has no time limit.".to_owned()
        }
        (false, Some(limit)) => format!("The job may run for {limit}."),
        (false, None) => "The job has no time limit.".to_owned(),
    };
    let what = against(unit, helps);
    format!("Nothing else happens meanwhile. {end} {what}")
}

/// What helps against a start job of a unit that does not end.
fn against<'a>(unit: &str, helps: Option<&'a str>) -> &'a str {
    let is_device = unit.starts_with("/dev/") || unit.starts_with("dev-");
    let lower = unit.to_ascii_lowercase();
    if let Some(helps) = helps {
        helps
    } else if is_device {
        "Find out why the device does not appear. If it does not exist, correct the line of \
         /etc/fstab or /etc/crypttab that names it, or give it `nofail`."
    } else if lower.contains("network") && lower.contains("wait") || lower.contains("online") {
        "Wait only for the interface that the product needs, or mask the unit."
    } else {
        "Look into what its program waits for (`systemctl status` and `journalctl -b -u` of the \
         unit)."
    }
}

pub(in crate::findings) fn listed_job(unit: &str) -> String {
    format!("systemd still waits for the start job of `{unit}`")
}

pub(in crate::findings) fn listed_job_why(unit: &str, helps: Option<&str>) -> String {
    format!(
        "`systemctl list-jobs` shows that it runs, and what is ordered after it waits. {}",
        against(unit, helps)
    )
}

pub(in crate::findings) fn job_line(unit: &str, ran: impl Display, limit: Option<Nanos>) -> String {
    match limit {
        Some(limit) => format!("start job of {unit}: {ran} of at most {limit}"),
        None => format!("start job of {unit}: {ran}, no limit"),
    }
}

pub(in crate::findings) fn late(unit: impl Display, time: impl Display) -> String {
    format!("{unit} runs for {time} after the default target")
}

pub(in crate::findings) fn late_why(unit: &str, tail: impl Display) -> String {
    format!(
        "systemd reports the end of startup only {tail} after the default target. {unit} is the \
         longest unit that is not on the critical chain. It does not delay the target."
    )
}

pub(in crate::findings) fn target(target: impl Display, end: impl Display) -> String {
    format!("default target at {target}, startup finished at {end}")
}

pub(in crate::findings) fn busy(time: impl Display) -> String {
    format!("systemd is busy for {time} after the default target")
}

pub(in crate::findings) const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::BeforeKernelClock => "stretch before the kernel clock",
        Phase::Firmware => "firmware",
        Phase::Loader => "boot loader",
        Phase::Decompression => "kernel decompression",
        Phase::Kernel => "kernel",
        Phase::Initrd => "initrd",
        Phase::Userspace => "userspace",
        Phase::App => "application",
    }
}

pub(in crate::findings) fn phase(phase: Phase, time: impl Display) -> String {
    match phase {
        Phase::Userspace => format!("Userspace takes {time}"),
        other => format!("The {} takes {time}", phase_name(other)),
    }
}

pub(in crate::findings) const IMPOSSIBLE_FIRMWARE: &str = "No firmware takes that long. On this machine the counter behind this figure also counts the \
     time before a restart. Power the machine off, and measure again.";

pub(in crate::findings) fn with_serial_console(getty: &str) -> String {
    format!(
        " {getty} shows that the kernel prints on a serial line, and it waits for each byte of that: \
         try `quiet` on its command line first."
    )
}

pub(in crate::findings) const WITH_ANY_CONSOLE: &str = " If it prints on a serial line, it waits for each byte of that: boot once with `quiet` on its \
     command line.";

pub(in crate::findings) const WITH_INITRAMFS: &str = " systemd counts an initramfs that runs without systemd as the kernel's time. If there is one, \
     build it for this machine only, or boot without it.";

pub(in crate::findings) const UNPACKS_INITRAMFS: &str = " systemd counts the initrd by itself, but the kernel unpacks the initramfs before: one that is \
     large, or that xz or bzip2 compressed, takes seconds. Build it for this machine only, and \
     compress it with zstd or lz4.";

pub(in crate::findings) const fn phase_why(phase: Phase) -> &'static str {
    match phase {
        Phase::Firmware => {
            "The input shows only its length. Turn off what the firmware tests and searches: fast \
             boot, network boot, unused controllers."
        }
        Phase::Loader => {
            "The input shows only its length. Check the menu timeout and the size of what the \
             loader reads. A serial capture shows its stages."
        }
        Phase::Initrd => {
            "The input shows only its length. The initrd (initramfs) loads modules and waits for \
             the root device. Build it for this machine only. A kernel log and the journal of the \
             initrd show what it waits for."
        }
        Phase::Userspace => {
            "The input shows only its length. Add `systemd-analyze blame` and `systemd-analyze \
             critical-chain`, or the journal (`journalctl -b -o short-monotonic`): they name the \
             units that take long, and those that wait."
        }
        _ => {
            "The input shows only its length. Add `dmesg` to the input; with `initcall_debug` on \
             the kernel command line it names what takes long."
        }
    }
}
