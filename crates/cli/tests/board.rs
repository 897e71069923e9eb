//! `firstlight lab run` on a board, as a user runs it: a small daemon is the board.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod board_bench;
mod common;

use board_bench::{Bench, counted};
use serde_json::Value;
use std::fs;

const SHORT: &str = "warm_up = 0\nscatter_rounds = 0\nensemble = 2\n\
    cmdline = [\"console=ttyS0\", \"root=/dev/mmcblk0p2\", \"rw\"]\n";

const LATER: &str = "[[variant]]\nname = \"later\"\ntreatments = [\"cmdline+=plant=+0.5\"]\n";

#[test]
fn every_boot_is_measured_and_proven_and_the_card_is_as_before() {
    let Some(bench) = Bench::start(&["--length", "0.3"]) else {
        return;
    };
    let base = "warm_up = 1\nscatter_rounds = 1\nensemble = 3\nseed = 4\n";
    let experiment = bench.write_experiment(base, LATER);
    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    assert_eq!(run["clock"], "wall");
    assert_eq!(run["ended"], "all_rounds");
    assert_eq!(run["left"], "baseline_proven");
    assert!(
        said.contains("cmdline+=plant=+0.5"),
        "the plan is printed: {said}"
    );
    let (good, void) = counted(&run);
    assert_eq!((good.len(), void), (2 + 2 + 6, vec![]));
    let mut nonces = std::collections::BTreeSet::new();
    for trial in good {
        let light = &trial["first_light_ns"];
        let (power, loader) = (light["power_on"].as_i64(), light["loader"].as_i64());
        // A busy host may let the power command end late.
        assert!(loader.unwrap() > 0 && power != Some(0), "{trial}");
        assert_eq!(trial["resets"], 0);
        assert!(trial["off_ns"].as_i64().unwrap() >= 10_000_000, "{trial}");
        assert_eq!(trial["proof"]["seen"], true);
        assert!(
            nonces.insert(trial["proof"]["expected"].to_string()),
            "{trial}"
        );
        // The capture is one that every other command reads.
        let capture = trial["capture"].as_str().unwrap();
        let show = common::json(&["show", "--json", capture]);
        assert!(show["first_light"]["at_ns"].as_i64().unwrap() > 0, "{show}");
    }
    // So few boots decide nothing, and do not pretend to.
    let comparison = &run["comparison"][0];
    assert_eq!(comparison["boots"], 3);
    assert_eq!(comparison["verdict"], "undecided");
    assert!(run["scatter"]["needed"][2]["effect"].as_f64().unwrap() < 0.006);
    // Ten trials, and one boot that proves the baseline.
    assert_eq!(run["cycles"], 11);
    assert_eq!(bench.boots().len(), 11);
    bench.is_as_before();

    // All of it is there: nothing is booted again, and the table is the same.
    let (out, again, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    assert_eq!(bench.boots().len(), 11);
    assert_eq!(again["trials"], run["trials"]);
    assert_eq!(again["comparison"], run["comparison"]);
    assert_eq!(again["left"], "untouched");
}

#[test]
fn a_boot_that_fails_is_void_with_its_reason_and_the_run_goes_on() {
    let Some(bench) = Bench::start(&["--length", "0.2"]) else {
        return;
    };
    bench.write_board("[deploy]\nfiles = \"card\"\n", "silence_s = 3\n");
    let experiment = bench.write_experiment(SHORT, LATER);
    let cases = [
        ("hang", "hang: the console was silent", 0),
        (
            "panic",
            "panic: the console showed `Kernel panic - not syncing`",
            0,
        ),
        ("loop", "boot loop: ", 3),
        ("wrong", "proof: `firstlight.nonce=", 0),
        (
            "silent",
            "hang: the console was silent; the console was empty",
            0,
        ),
        ("broken", "power: `power.on` of", 0),
    ];
    for (fault, reason, resets) in cases {
        fs::remove_dir_all(bench.path("out")).ok();
        bench.tell(&format!("fault {fault} 1"));
        let (out, run, said) = bench.run(&experiment, &[]);
        assert!(out.status.success(), "{fault}: {said}");
        let (good, void) = counted(&run);
        assert_eq!(good.len(), 4, "{fault}: {run}");
        assert_eq!(void.len(), 1, "{fault}: {void:?}");
        assert!(void[0].starts_with(reason), "{fault}: {void:?}");
        let trials = run["trials"].as_array().unwrap();
        let first = trials.iter().find(|t| !t["void"].is_null()).unwrap();
        assert!(first["resets"].as_u64().unwrap() >= resets, "{first}");
        let nothing = serde_json::json!({ "power_on": null, "loader": null });
        assert_eq!(first["first_light_ns"], nothing, "{fault}");
        bench.is_as_before();
    }
    // Noise and a slow switch are no reason.
    for fault in ["garbage", "slow"] {
        fs::remove_dir_all(bench.path("out")).ok();
        bench.tell(&format!("fault {fault} 1"));
        let (out, run, said) = bench.run(&experiment, &[]);
        assert!(out.status.success(), "{fault}: {said}");
        assert_eq!(counted(&run).1, Vec::<String>::new(), "{fault}");
    }
}

/// A panic that is not recognized, so that the fallback's prompt looks like first light.
#[test]
fn the_first_light_of_a_fallback_does_not_count() {
    let Some(bench) = Bench::start(&["--length", "0.2"]) else {
        return;
    };
    bench.write_board("[deploy]\nfiles = \"card\"\n", "panic = []\n");
    let experiment = bench.write_experiment(SHORT, "");
    bench.tell("fault panic 1");
    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    let (good, void) = counted(&run);
    assert_eq!(good.len(), 2);
    assert_eq!(void.len(), 1);
    assert!(
        void[0].starts_with("reset: the board was reset 1 times"),
        "{void:?}"
    );
}

#[test]
fn a_variant_that_never_boots_is_given_up_and_a_lost_board_ends_the_run() {
    let Some(bench) = Bench::start(&["--length", "0.2"]) else {
        return;
    };
    // What runs on the card decides: `bad` makes this board boot something else.
    bench.write_board(
        "[deploy]\nrun = \"\"\"case $FIRSTLIGHT_VARIANT in bad) ./tell fault hang 1;; esac\n\
         echo \"$FIRSTLIGHT_CMDLINE\" >card/boot/cmdline.txt\"\"\"\n\
         restore = \"echo 'console=ttyS0 root=/dev/mmcblk0p2 rw' >card/boot/cmdline.txt\"\n",
        "silence_s = 3\n",
    );
    let bad = "[[variant]]\nname = \"bad\"\ntreatments = [\"cmdline+=bad\"]\n";
    let experiment = bench.write_experiment(SHORT, &format!("{LATER}{bad}"));
    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    let variants = run["variants"].as_array().unwrap();
    let bad = variants.iter().find(|v| v["variant"] == "bad").unwrap();
    assert_eq!(
        (bad["boots"].as_u64(), bad["void"].as_u64()),
        (Some(0), Some(3))
    );
    assert!(
        bad["given_up"].as_str().unwrap().starts_with("hang"),
        "{bad}"
    );
    let compared = run["comparison"].as_array().unwrap();
    assert!(compared.iter().all(|c| c["variant"] != "bad"), "{run}");
    bench.is_as_before();

    // The board dies with its next boot.
    fs::remove_dir_all(bench.path("out")).unwrap();
    bench.write_board("[deploy]\nfiles = \"card\"\n", "silence_s = 3\n");
    let experiment = bench.write_experiment(SHORT, LATER);
    let (_, partial, said) = bench.run(&experiment, &["--limit-cycles", "2"]);
    assert_eq!(partial["ended"], "limit_cycles", "{said}");
    assert_eq!(partial["cycles"], 2);
    bench.is_as_before();
    bench.tell("fault dead 1");
    let (out, lost, said) = bench.run(&experiment, &[]);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert_eq!(lost["ended"], "board_lost");
    assert!(said.contains("did not come back"), "{said}");
    bench.is_as_before();
    let kept = counted(&lost).0.len();
    assert_eq!(kept, 2);

    // Repaired, it goes on where it was.
    bench.tell("repair");
    let before = bench.boots().len();
    let (out, whole, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    let (good, void) = counted(&whole);
    assert_eq!((good.len(), void.len()), (4, 1));
    assert_eq!(bench.boots().len() - before, 2 + 1);
    bench.is_as_before();
}

/// What does not boot even its baseline is brought back by the board's own command, and the run
/// goes on.
#[test]
fn a_board_is_recovered_by_its_command() {
    let Some(bench) = Bench::start(&["--length", "0.2"]) else {
        return;
    };
    bench.write_board(
        "[deploy]\nfiles = \"card\"\n\
         recover = \"./tell repair && echo $FIRSTLIGHT_VARIANT >>recoveries\"\n",
        "silence_s = 3\n",
    );
    let experiment = bench.write_experiment(SHORT, LATER);
    bench.tell("fault dead 1");
    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    let (good, void) = counted(&run);
    assert_eq!((good.len(), void.len()), (4, 1), "{said}");
    assert!(
        said.contains("the baseline did not boot (attempt 1 of 3)"),
        "{said}"
    );
    let recoveries = fs::read_to_string(bench.path("recoveries")).unwrap();
    assert_eq!(recoveries, "baseline\n");
    assert_eq!(run["left"], "baseline_proven");
    bench.is_as_before();
}

/// Each write to the card is counted by the card itself: deployments, and the baseline put back.
#[test]
fn the_cap_on_writes_holds_with_the_baseline_put_back() {
    let Some(bench) = Bench::start(&["--length", "0.2"]) else {
        return;
    };
    let deploy = |most: u32| {
        format!(
            "[deploy]\nmost = {most}\n\
             run = \"echo run >>writes; echo $FIRSTLIGHT_CMDLINE >card/boot/cmdline.txt\"\n\
             restore = \"echo restore >>writes; echo 'console=ttyS0 root=/dev/mmcblk0p2 rw' \
             >card/boot/cmdline.txt\"\n"
        )
    };
    let writes = || {
        let text = fs::read_to_string(bench.path("writes")).unwrap_or_default();
        fs::remove_file(bench.path("writes")).ok();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // Two boots of each variant without a fault: four writes, and one for the baseline.
    let experiment = bench.write_experiment(SHORT, LATER);
    bench.write_board(&deploy(4), "silence_s = 3\n");
    let (out, cut, said) = bench.run(&experiment, &[]);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert_eq!(cut["ended"], "limit_deployments");
    assert!(said.contains("`deploy.most`"), "{said}");
    assert_eq!(writes(), ["run", "run", "run", "restore"]);
    bench.is_as_before();
    // The rest of it, where a boot hangs: then the baseline is put back twice.
    bench.tell("fault hang 1");
    let (out, whole, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    assert_eq!(counted(&whole).0.len(), 4);
    assert_eq!(writes(), ["run", "restore", "run", "restore"]);
    bench.is_as_before();
    // Too few for a variant and the way back: nothing is written.
    fs::remove_dir_all(bench.path("out")).unwrap();
    bench.write_board(&deploy(1), "");
    let (out, none, said) = bench.run(&experiment, &[]);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert_eq!(
        (&none["ended"], &none["left"]),
        (&"limit_deployments".into(), &"untouched".into())
    );
    assert_eq!(writes(), [""; 0]);
}

#[test]
fn a_run_that_is_killed_leaves_what_restores_the_board() {
    let Some(bench) = Bench::start(&["--length", "0.5"]) else {
        return;
    };
    let experiment = bench.write_experiment(SHORT, LATER);
    let mut child = bench.spawn(&experiment);
    bench.wait("a deployment", || {
        bench.card().contains("firstlight.nonce=")
    });
    // Somebody else must wait.
    let other = bench.path("other");
    let refused =
        common::firstlight(&["lab", "run", &experiment, "--out", other.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said.contains("in use by"), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        bench.card().contains("firstlight.nonce="),
        "{}",
        bench.card()
    );

    let board = bench.path("bench.toml");
    let doctor = |ok: bool| {
        let out = common::firstlight(&[
            "lab",
            "doctor",
            "--json",
            "--board",
            board.to_str().unwrap(),
        ]);
        let value: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(value["ok"], ok, "{value}");
        assert_eq!(out.status.success(), ok);
        value
    };
    let text = doctor(false).to_string();
    assert!(text.contains("firstlight lab restore --board"), "{text}");
    let restored = common::json(&[
        "lab",
        "restore",
        "--json",
        "--board",
        board.to_str().unwrap(),
    ]);
    assert!(
        restored["steps"].to_string().contains("treatments undone"),
        "{restored}"
    );
    bench.is_as_before();
    let boots = bench.boots().len();
    doctor(true);
    assert_eq!(bench.boots().len(), boots, "the doctor switched the power");

    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    assert_eq!(counted(&run).0.len(), 4);
    bench.is_as_before();
}

#[test]
fn what_a_board_cannot_do_is_said_in_one_sentence() {
    let Some(bench) = Bench::start(&[]) else {
        return;
    };
    let refused = |base: &str, rest: &str, expected: &str| {
        let experiment = bench.write_experiment(base, rest);
        let (out, _, said) = bench.run(&experiment, &[]);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    refused("mode = \"exact\"\n", "", "e.toml:5: a board is not exact");
    refused(
        "kernel = \"debian\"\n",
        "",
        "`kernel` does not apply to a board",
    );
    refused(
        "record = [\"block\"]\n",
        "",
        "a board records only its `console`",
    );
    refused("minimum_effect = 2.0\n", "", "write 0 to 0.5");
    refused("first_light = \"unit:x\"\n", "", "expected `console:REGEX`");
    let plain = fs::read_to_string(bench.path("bench.toml")).unwrap();
    for (from, to, expected) in [
        (
            "off = \"./tell off\"\n",
            "",
            "bench.toml:4: `[power]` needs `on` and `off`",
        ),
        (
            "login: $",
            "log(in",
            "bench.toml:14: `log(in` is not a valid regular expression",
        ),
        (
            "\"nonce\"",
            "\"faith\"",
            "expected `nonce`, `console` or `command`, found `faith`",
        ),
        (
            "files = \"card\"\n",
            "run = \"true\"\n",
            "`run` needs `restore`",
        ),
        ("off_s = 0.01", "of_s = 0.01", "unknown field `of_s`"),
    ] {
        assert!(plain.contains(from), "{from}");
        fs::write(bench.path("bench.toml"), plain.replace(from, to)).unwrap();
        refused("", "", expected);
    }
    assert_eq!(bench.boots(), Vec::<String>::new());
}

/// What listens to a board and what watches it hold devices: they end with this program, also
/// when it is killed.
#[test]
fn programs_that_hold_devices_end_with_a_killed_run() {
    let Some(bench) = Bench::start(&["--length", "30"]) else {
        return;
    };
    let text = fs::read_to_string(bench.path("bench.toml")).unwrap();
    let text = text
        .replace(
            "port = \"unix:console\"",
            "exec = \"echo $$ >listener; exec sleep 600\"",
        )
        .replace(
            "first_light = \"console:login: $\"",
            "first_light = \"watch:echo $$ >watcher; exec sleep 600\"",
        );
    fs::write(bench.path("bench.toml"), text).unwrap();
    let experiment = bench.write_experiment(SHORT, "");
    let mut child = bench.spawn(&experiment);
    let process = |name: &str| -> Option<String> {
        let number = fs::read_to_string(bench.path(name)).ok()?;
        Some(format!("/proc/{}", number.trim())).filter(|p| p != "/proc/")
    };
    bench.wait("both programs", || {
        process("listener").is_some() && process("watcher").is_some()
    });
    let both = ["listener", "watcher"].map(|name| process(name).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    for path in both {
        // A zombie has no program.
        bench.wait("the end of a program", || {
            fs::read(format!("{path}/cmdline")).map_or(true, |c| c.is_empty())
        });
    }
}

/// One boot of a board by its file, with what is on it.
#[test]
fn a_boot_is_captured_with_its_power_and_a_failed_one_is_kept() {
    let Some(bench) = Bench::start(&["--length", "0.3"]) else {
        return;
    };
    bench.write_board("[deploy]\nfiles = \"card\"\n", "silence_s = 3\n");
    let board = bench.path("bench.toml");
    let capture = |name: &str, more: &[&str]| {
        let out = bench.path(name);
        let mut words = vec!["capture", "board", board.to_str().unwrap(), "-o"];
        words.push(out.to_str().unwrap());
        words.extend(more);
        common::firstlight(&words)
    };
    let out = capture("good.tar", &["--json"]);
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let taken: Value = serde_json::from_slice(&out.stdout).unwrap();
    common::valid(&taken, "capture");
    assert!(taken["board"]["first_light_ns"]["loader"].as_i64().unwrap() > 0);
    let good = bench.path("good.tar");
    let show = common::json(&["show", "--json", good.to_str().unwrap()]);
    assert_eq!(
        show["first_light"]["at_ns"], taken["board"]["first_light_ns"]["power_on"],
        "{show}"
    );
    // Nothing was deployed.
    assert_eq!(bench.card(), board_bench::CMDLINE);
    assert_eq!(bench.boots().len(), 1);

    bench.tell("fault panic 1");
    let out = capture("bad.tar", &[]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("Kernel panic") && said.contains("bad.tar"),
        "{said}"
    );
    assert!(bench.path("bad.tar").is_file());
    // A name that is taken is refused before the board is switched.
    let boots = bench.boots().len();
    let out = capture("good.tar", &[]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(bench.boots().len(), boots);
}
