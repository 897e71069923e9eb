//! Waits that programs and systemd themselves write of.
#![allow(clippy::unwrap_used, reason = "tests")]

mod advised;
mod common;

use advised::{found, ms, one};
use firstlight_analysis::Finding;
use record::Nanos;

/// The waits that the lines of a kernel's log tell of.
fn spoken(lines: &str) -> Vec<Finding> {
    let text = format!("source log kernel-log\nclock printk printk\n{lines}");
    let all = found(&text).into_iter();
    all.filter(|f| f.id == "spoken-wait").collect()
}

#[test]
fn what_programs_say_of_their_waits_is_told() {
    let waits = |lines: &str| {
        let all = spoken(lines).into_iter();
        let all = all.map(|f| (f.title, ms(f.expected), f.names.join(" ")));
        all.collect::<Vec<_>>()
    };
    let one = |lines: &str| {
        let all = waits(lines);
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().unwrap()
    };
    let (title, expected, names) =
        one("say 3s 6 stage-1-init: waiting for device /dev/old to appear.............");
    assert_eq!(title, "The initramfs waits 10.000 s for /dev/old");
    assert_eq!(
        (expected, names.as_str()),
        (9_000, "/dev/old resume initrd")
    );
    // It was there at once.
    assert!(waits("say 3s 6 stage-1-init: waiting for device /dev/new to appear...").is_empty());
    let (title, expected, _) = one("say 3s 6 IP-Config: no response after 2 secs - giving up
        say 6s 6 IP-Config: no response after 3 secs - giving up");
    // It asks again after 1 s and 2 s, and looks at its limit only then.
    assert_eq!(title, "The initramfs waits 6.000 s for an address");
    assert_eq!(expected, 5_400);
    // Where the lines have times, these count, also of the round that was answered.
    let rounds = "say 1s 6 IP-Config: eth0 hardware address 02:00:00:00:00:01 mtu 1500 DHCP
        say 4s 6 IP-Config: no response after 2 secs - giving up
        say 4.1s 6 IP-Config: eth0 hardware address 02:00:00:00:00:01 mtu 1500 DHCP
        say 9s 6 IP-Config: eth0 complete (dhcp from 10.0.0.1):";
    let (title, expected, _) = one(rounds);
    assert_eq!(title, "The initramfs waits 8.000 s for an address");
    assert_eq!(expected, 7_200);
    // All of it may have been written at once.
    let at_once = "say 1s 6 done.\n".to_owned() + &rounds.replace("say 1s", "say 4s");
    assert_eq!(one(&at_once).0, title);
    // Without times the last round is answered at some time of it.
    let all = rounds.lines().map(|l| l.split_once("IP-Config").unwrap().1);
    let all: Vec<String> = all.map(|l| format!("say 9s 6 IP-Config{l}")).collect();
    let (title, expected, _) = one(&all.join("\n"));
    assert_eq!(title, "The initramfs waits 3.000 s for an address");
    assert_eq!(expected, 5_850);
    let waited = "say 3s 6 :: Waiting 10 seconds for device /dev/old ...";
    assert_eq!(one(waited).1, 5_000);
    let vain = format!("{waited}\nsay 13s 6 ERROR: device '/dev/old' not found.");
    assert_eq!(one(&vain).1, 9_000);
    let of_lvm = |device: &str| {
        format!(
            "say 3s 6 lvm[7]: WARNING: Device /dev/{device} not initialized in udev database \
             even after waiting 10000000 microseconds.\n"
        )
    };
    let (title, expected, _) = one(&(of_lvm("sda") + &of_lvm("sdb")));
    assert_eq!(
        (title.as_str(), expected),
        ("LVM waits 20.000 s for udev", 18_000)
    );
    let (title, expected, names) = one(
        "say 3s 6 systemd-udevd[9]: card7: Worker [19] processing SEQNUM=77 is taking a long time",
    );
    assert_eq!(title, "udev is busy with card7 for 60.000 s or more");
    assert_eq!((expected, names.as_str()), (54_000, "card7 udev"));
    let (title, ..) = one(
        "say 3s 6 (udev-worker)[9]: event7: Spawned process '/bin/x' [7] is taking longer than 59s \
         to complete.",
    );
    assert!(title.contains("event7"), "{title}");
    let (title, expected, _) = one("say 3s 6 Waiting for network configuration...
        say 9s 6 Waiting up to 60 more seconds for network configuration...");
    assert_eq!(
        (title.as_str(), expected),
        ("Upstart waits 60.000 s for the network", 54_000)
    );
    assert!(waits("say 3s 6 the task is taking a long time").is_empty());
    let late = "systemd[1]: own.service: start operation timed out. Terminating.";
    let (title, expected, names) = one(&format!("say 3s 6 {late}"));
    assert!(title.contains("90.000 s for own.service"), "{title}");
    assert_eq!((expected, names.as_str()), (81_000, "own.service"));
    let (_, expected, _) = one(&format!(
        "say 3s 6 systemd[1]: Starting own.service - Own...\nsay 33s 6 {late}"
    ));
    assert_eq!(expected, 27_000);
}

#[test]
fn a_start_job_that_runs_is_told_with_its_time_and_limit() {
    let log = |end: &str| {
        format!(
            "source serial.log kernel-log\nclock printk printk\nmark 0s kernel-start kernel\n\
             say 2s 6 systemd[1]: Started a thing.\n\
             say 8s 6 [*     ] A start job is running for dev-x.device (6s / 1min 30s)\n\
             say 43s 6 [ *    ] A start job is running for dev-x.device (41s / 1min 30s)\n\
             say 53s 6 [  *   ] (2 of 2) A start job is running for Raise y (51s / no limit)\n{end}"
        )
    };
    let all = found(&log(""));
    let jobs: Vec<&Finding> = all.iter().filter(|f| f.id == "start-job").collect();
    let ranges: Vec<_> = jobs
        .iter()
        .map(|f| (ms(f.saving.unwrap().0), ms(f.expected)))
        .collect();
    assert_eq!(ranges, [(16_400, 36_900), (0, 30_600)]);
    assert_eq!(
        (jobs[0].names[0].as_str(), jobs[1].names[0].as_str()),
        ("dev-x.device", "Raise y")
    );
    // The input ends with them: the job goes on until its limit.
    assert_eq!(ms(jobs[0].saving.unwrap().1), 90_000);
    assert!(
        jobs[0].evidence[0]
            .text
            .contains("41.000 s of at most 90.000 s")
    );
    let all = found(&log("say 60s 6 [  OK  ] Found device x.\n"));
    let job = all.iter().find(|f| f.id == "start-job").unwrap();
    assert_eq!(ms(job.saving.unwrap().1), 41_000);
    // A device that never came is told by itself.
    let gone = "say 92s 6 [ TIME ] Timed out waiting for device dev-x.device.\n";
    let all = found(&log(gone));
    assert!(all.iter().any(|f| f.id == "device-timeout"));
    assert!(
        !all.iter()
            .any(|f| f.id == "start-job" && f.names[0] == "dev-x.device")
    );
}

#[test]
fn an_address_is_waited_for_where_no_command_line_is_known() {
    let log = |cmdline: &str| {
        format!(
            "source dmesg.txt kernel-log\nclock printk printk\n{cmdline}\
             mark 0s kernel-start kernel\nsay 1s 6 e1000e eth0: up\n\
             say 2s 6 Sending DHCP requests ., OK\n\
             say 5s 6 IP-Config: Got DHCP answer from 192.168.1.1\nsay 5.1s 6 Run /init\n"
        )
    };
    let silent = |cmdline: &str| {
        let all = found(&log(cmdline));
        all.iter()
            .any(|f| f.id == "kernel-silence" && f.title.contains("DHCP answer"))
    };
    assert!(silent(""));
    assert!(!silent("fact kernel.cmdline ip=dhcp quiet\n"));
}

/// A network that nobody answers on costs most, and a link that is not there is waited for
/// before the first line that tells so.
#[test]
fn a_network_that_gives_no_address_is_waited_for() {
    let time = |text: &str| {
        let all = found(&format!(
            "fact kernel.cmdline root=/dev/sda ip=dhcp\n{text}"
        ));
        let one = all.into_iter().find(|f| f.id == "network-autoconfig");
        let one = one.unwrap();
        let (low, high) = one.saving.unwrap();
        [low, one.expected, high].map(ms)
    };
    let unanswered = "mark 0s kernel-start kernel
        say 1980ms 6 sched_clock: Marking stable
        say 2000ms 6 Sending DHCP requests .
        say 2900ms 6 clocksource: Switched to clocksource tsc
        say 88000ms 6 IP-Config: Reopening network devices...
        say 88020ms 6 Sending DHCP requests ...... timed out!
        say 178000ms 6 IP-Config: Auto-configuration of network failed
        say 178010ms 6 Run /init as init process
        mark 178010ms userspace-start userspace\n";
    // 176 s. At most also what lies between these lines and the next ones.
    assert_eq!(time(unanswered), [158_400, 172_480, 176_030]);
    let unplugged = "mark 0s kernel-start kernel
        say 1s 6 sched_clock: Marking stable
        say 21s 6 Waiting up to 100 more seconds for network.
        say 41s 6 Waiting up to 80 more seconds for network.
        say 51s 6 IP-Config: Complete:
        say 51s 6 Run /init as init process
        mark 51s userspace-start userspace\n";
    assert_eq!(time(unplugged), [45_000, 49_000, 50_000]);
}

/// What `systemd-analyze` says of a boot, and what the console showed.
fn with_job(job: &str) -> String {
    format!(
        "source time.txt systemd-analyze
        clock monotonic monotonic
        mark 0s kernel-clock-start kernel
        mark 2s initrd-start initrd
        mark 63s userspace-start userspace
        mark 131s startup-finished -
        source post.txt console
        clock serial wall
        say - 6 {job}"
    )
}

#[test]
fn a_job_that_fills_phases_ran_until_its_limit_in_each() {
    let all = found(&with_job(
        "[**    ] (1 of 2) Job dev-x.device/start running (20s / 1min)",
    ));
    let of = |id: &str| all.iter().filter(|f| f.id == id).collect::<Vec<_>>();
    let jobs = of("start-job");
    assert_eq!((jobs.len(), ms(jobs[0].saving.unwrap().1)), (1, 120_000));
    assert!(jobs[0].why.contains("Two phases"), "{}", jobs[0].why);
    // The phases are not told a second time.
    assert!(of("opaque-phase").is_empty());
    // A job with another limit explains nothing of them.
    let all = found(&with_job(
        "[**    ] (1 of 2) Job dev-x.device/start running (20s / 30s)",
    ));
    let phases = all.iter().filter(|f| f.id == "opaque-phase");
    assert_eq!(phases.count(), 2);
}

#[test]
fn a_device_that_never_comes_is_told_once() {
    let text = "source log kernel-log
        clock printk printk
        mark 0s kernel-start kernel
        mark 3s systemd-started userspace
        say 3s 6 systemd[1]: systemd 252 running in system mode
        say 4s 6 systemd[1]: Mounted a thing.
        say 93s 4 systemd[1]: dev-x.device: Job dev-x.device/start timed out.
        say 93s 4 systemd[1]: Timed out waiting for device dev-x.device.
        mark 94s startup-finished -";
    let all = found(text);
    let ids: Vec<_> = all.iter().map(|f| f.id).collect();
    assert_eq!(ids, ["device-timeout"]);
    // A silence that ends with something else has another cause.
    let other = text.replace(
        "say 93s 4 systemd[1]: dev-x",
        "say 80s 6 systemd[1]: Started b.\nsay 93s 4 systemd[1]: dev-x",
    );
    let all = found(&other);
    assert!(
        all.iter().any(|f| f.title.contains("Started b.")),
        "{all:?}"
    );
}

#[test]
fn drives_and_clouds_that_do_not_answer_are_told_without_stamps() {
    let waits = |lines: &str| {
        let all = spoken(lines).into_iter();
        all.map(|f| (f.title, ms(f.expected), f.treatment))
            .collect::<Vec<_>>()
    };
    let drive = waits(
        "say - 3 kernel: ata7.00: qc timeout after 2000 msecs (cmd 0x47)
        say - 3 kernel: ata7.00: qc timeout after 3000 msecs (cmd 0x47)",
    );
    let (title, expected, treatment) = &drive[0];
    assert_eq!(title, "The drive at ata7.00 does not answer for 5.000 s");
    assert_eq!(*expected, 4_500);
    assert_eq!(
        treatment.as_deref(),
        Some("cmdline+=libata.force=7.00:nodmalog")
    );
    let other = waits("say - 3 ata7.00: qc timeout after 2000 msecs (cmd 0xec)");
    assert_eq!(other[0].2, None);
    let tried = "say - 4 url_helper.py[WARNING]: Calling 'http://a/' failed [0/50s]: no route
        say - 4 url_helper.py[WARNING]: Calling 'http://a/' failed [40/50s]: no route";
    assert_eq!(waits(tried)[0].1, 36_000);
    let vain = format!(
        "{tried}\nsay - 2 a.py[CRITICAL]: Giving up on md from ['http://a/'] after 51 seconds"
    );
    assert_eq!(waits(&vain)[0].1, 45_900);
}

#[test]
fn what_waits_in_vain_for_udev_or_an_address_is_told() {
    let waits = |lines: &str| {
        let all = spoken(lines).into_iter();
        all.map(|f| (f.title, ms(f.expected), f.names[0].clone()))
            .collect::<Vec<_>>()
    };
    let settle =
        "say - 4 udevadm settle - timeout of 20 seconds reached, the event queue contains:";
    let all = waits(settle);
    assert_eq!(
        (all[0].0.as_str(), all[0].1),
        ("`udevadm settle` waits 20.000 s in vain", 18_000)
    );
    let asks = |first: &str, second: &str, end: &str| {
        format!(
            "say {first} 6 dhclient[9]: DHCPDISCOVER on eth7 to 255.255.255.255 port 67 interval 4
            say {second} 6 dhclient[9]: DHCPDISCOVER on eth7 to 255.255.255.255 port 67 interval 6
            say {end} 6 dhclient[9]: No DHCPOFFERS received."
        )
    };
    // By the stamps, or else by what it says of its pauses.
    let all = waits(&asks("5s", "9s", "17s"));
    assert_eq!((all[0].1, all[0].2.as_str()), (10_800, "eth7"));
    assert_eq!(waits(&asks("-", "-", "-"))[0].1, 9_000);
    // An answer came.
    let lines = asks("5s", "9s", "17s").replace("No DHCPOFFERS received", "DHCPOFFER of 10.0.0.2");
    assert!(waits(&lines).is_empty());
}

#[test]
fn a_job_of_a_list_is_told_without_a_time() {
    let f = one(
        "source jobs.txt console
        clock serial wall
        say - 6 85 wait-for-y.service start running",
        "start-job",
    );
    assert_eq!(f.names[0], "wait-for-y.service");
    assert!(f.saving.is_none_or(|s| s.1 == Nanos::ZERO));
}

#[test]
fn an_error_without_a_stamp_counts_if_it_says_that_the_time_is_over() {
    let text = |error: &str| {
        format!(
            "source log kernel-log
            clock printk printk
            say - 3 usb 7-1: device descriptor read/64, error {error}"
        )
    };
    let f = one(&text("-110"), "spoken-wait");
    assert_eq!((f.names[0].as_str(), ms(f.expected)), ("usb 7-1", 4_500));
    assert!(found(&text("-71")).is_empty());
    let drive = "source log kernel-log
        clock printk printk
        say - 4 kernel: ata9: COMRESET failed (errno=-16)
        say - 4 kernel: ata9: COMRESET failed (errno=-16)";
    let f = one(drive, "spoken-wait");
    assert_eq!(f.title, "The device ata9 does not answer for 20.000 s");
}
