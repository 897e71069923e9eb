//! Boards for longer: many faults at random moments, runs that are killed, three boards at
//! once, and a board behind labgrid. `./x test board` runs them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

mod board_bench;
mod common;

use board_bench::{Bench, counted};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The variants that the boards boot: half a boot later, and the same as the baseline.
const VARIANTS: &str = "[[variant]]\nname = \"later\"\ntreatments = [\"cmdline+=plant=+0.5\"]\n\
    [[variant]]\nname = \"same\"\ntreatments = [\"cmdline+=plant=+0.0\"]\n";

/// Forty faults and more, of all kinds but death, at random moments; and this program
/// killed now and then. What counts at the end is proven, and of a boot without a fault.
#[test]
#[ignore = "a board test of minutes; `./x test board` runs it"]
fn forty_faults_and_kills_leave_a_table_without_errors() {
    let Some(bench) = Bench::start(&["--length", "0.2", "--fault-rate", "0.3", "--seed", "7"])
    else {
        return;
    };
    bench.write_board("[deploy]\nfiles = \"card\"\n", "silence_s = 3\n");
    let base = "warm_up = 1\nscatter_rounds = 4\nensemble = 32\nseed = 3\nminimum_effect = 0.0\n";
    let experiment = bench.write_experiment(base, VARIANTS);
    let mut kills = 0;
    // Death comes after another number of boots each time.
    for patience in [3, 1, 7, 2, 11] {
        let before = bench.boots().len();
        let mut child = bench.spawn(&experiment);
        bench.wait("some boots", || {
            bench.boots().len() >= before + patience || child.try_wait().unwrap().is_some()
        });
        child.kill().ok();
        child.wait().unwrap();
        kills += 1;
    }
    // A board whose faults come three in a row looks lost, and is not.
    let mut whole = None;
    for _ in 0..20 {
        let (out, run, said) = bench.run(&experiment, &[]);
        bench.is_as_before();
        if out.status.success() {
            whole = Some(run);
            break;
        }
        assert!(
            ["board_lost", "baseline_fails"].contains(&run["ended"].as_str().unwrap()),
            "{said}"
        );
    }
    let run = whole.unwrap();
    let faults = bench.boots().iter().filter(|f| *f != "None").count();
    println!(
        "{kills} kills, {faults} faults in {} boots",
        bench.boots().len()
    );
    assert!(faults >= 40, "{faults}");
    let (good, void) = counted(&run);
    assert!(void.len() >= 20, "{void:?}");
    let mut lights: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for trial in good {
        assert_eq!(trial["proof"]["seen"], true, "{trial}");
        assert_eq!(trial["resets"], 0, "{trial}");
        let light = trial["first_light_ns"]["loader"].as_i64().unwrap();
        lights
            .entry(trial["variant"].as_str().unwrap())
            .or_default()
            .push(light);
    }
    let verdict = |name: &str| {
        let all = run["comparison"].as_array().unwrap();
        let one = all.iter().find(|c| c["variant"] == name).unwrap();
        one["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("later"), "slower", "{run}");
    assert_ne!(verdict("same"), "faster", "{run}");

    // Again: nothing is booted, and the table is the same.
    let boots = bench.boots().len();
    let (out, again, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    assert_eq!(bench.boots().len(), boots);
    assert_eq!(again["comparison"], run["comparison"]);
    assert_eq!(again["variants"], run["variants"]);
}

#[test]
#[ignore = "a board test of minutes; `./x test board` runs it"]
fn three_boards_at_once_do_not_meet() {
    let benches: Vec<Bench> = (1..=3)
        .filter_map(|seed| Bench::start(&["--length", "0.3", "--seed", &seed.to_string()]))
        .collect();
    std::thread::scope(|scope| {
        for bench in &benches {
            scope.spawn(|| {
                let base = "warm_up = 0\nscatter_rounds = 0\nensemble = 10\n";
                let experiment = bench.write_experiment(base, VARIANTS);
                let (out, run, said) = bench.run(&experiment, &[]);
                assert!(out.status.success(), "{said}");
                assert_eq!(counted(&run).1, Vec::<String>::new());
                let later = &run["comparison"][0];
                assert_eq!(
                    (&later["variant"], &later["verdict"]),
                    (&"later".into(), &"slower".into())
                );
                bench.is_as_before();
            });
        }
    });
}

/// Two treatments help, one does nothing, one slows, one breaks the boot. The search is cut by
/// a limit and by a kill, and goes on; the board has its baseline whenever it ends.
#[test]
#[ignore = "a board test of minutes; `./x test board` runs it"]
fn a_search_on_a_board_keeps_what_helps_and_leaves_the_baseline() {
    let Some(bench) = Bench::start(&["--seed", "5", "--length", "0.25"]) else {
        return;
    };
    bench.write_board("[deploy]\nfiles = \"card\"\n", "silence_s = 1\n");
    let base = "warm_up = 1\nensemble = 24\nminimum_effect = 0.02\n";
    let experiment = bench.write_experiment(base, "");
    let dir = bench.path("tuned");
    let tune = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command
            .args(["tune", &experiment, "--json", "--out"])
            .arg(&dir);
        let with = [
            "plant=-0.4",
            "plant=-0.3",
            "plant=+0.0",
            "plant=+0.5",
            "breaks",
        ];
        command.args(with.map(|word| format!("--with=cmdline+={word}")));
        command.args(more);
        command
    };
    let cut = tune(&["--limit-cycles", "12"]).output().unwrap();
    let said = String::from_utf8_lossy(&cut.stderr);
    assert_eq!(cut.status.code(), Some(2), "{said}");
    assert!(said.contains("after 12 power cycles"), "{said}");
    bench.is_as_before();

    let before = bench.boots().len();
    let mut child = tune(&[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    bench.wait("some boots", || bench.boots().len() >= before + 10);
    bench.wait("a deployment", || {
        bench.card().contains("firstlight.nonce=")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    // Whatever was on the board then, the baseline is put back and boots.
    let boots = bench.boots().len();
    let undone = tune(&["--undo"]).output().unwrap();
    let said = String::from_utf8_lossy(&undone.stderr);
    assert!(undone.status.success(), "{said}");
    let undone: Value = serde_json::from_slice(&undone.stdout).unwrap();
    common::valid(&undone, "lab.restore");
    assert_eq!(bench.boots().len(), boots + 1);
    bench.is_as_before();

    let whole = tune(&[]).output().unwrap();
    let said = String::from_utf8_lossy(&whole.stderr);
    assert!(whole.status.success(), "{said}");
    bench.is_as_before();
    let found: Value = serde_json::from_slice(&whole.stdout).unwrap();
    common::valid(&found, "tune");
    assert_eq!(found["clock"], "wall");
    let words = |key: &str| -> Vec<String> {
        let all = found[key].as_array().unwrap().iter();
        let mut all: Vec<String> = all
            .map(|k| k["treatment"].as_str().unwrap().to_owned())
            .collect();
        all.sort();
        all
    };
    assert_eq!(
        words("kept"),
        ["cmdline+=plant=-0.3", "cmdline+=plant=-0.4"],
        "{found:#}"
    );
    assert_eq!(
        words("dropped"),
        [
            "cmdline+=breaks",
            "cmdline+=plant=+0.0",
            "cmdline+=plant=+0.5"
        ],
        "{found:#}"
    );
    let ratio = found["ratio"].as_f64().unwrap();
    assert!(ratio < 0.7, "{found:#}");
    let patch = fs::read_to_string(dir.join("patch.yocto")).unwrap();
    assert!(
        patch.contains("plant=-0.4") && patch.contains("plant=-0.3"),
        "{patch}"
    );
    assert!(dir.join("compare.html").is_file());
    println!("{} boots of {}", found["boots"], bench.boots().len());

    // Again: nothing is booted, and the answer is the same.
    let boots = bench.boots().len();
    let again = tune(&[]).output().unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(bench.boots().len(), boots);
    assert_eq!(again, found);
}

/// A coordinator and an exporter of labgrid, on loopback.
struct Labgrid {
    bin: PathBuf,
    address: String,
    children: Vec<Child>,
}

impl Labgrid {
    fn start(bench: &Bench, python: &Path) -> Self {
        let bin = python.parent().unwrap().to_owned();
        // A port that was free a moment ago.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("127.0.0.1:{}", port.local_addr().unwrap().port());
        drop(port);
        let mut labgrid = Self {
            bin,
            address,
            children: Vec::new(),
        };
        let ports = fs::read_to_string(bench.path("ports")).unwrap();
        let (relay, console) = ports.split_once(' ').unwrap();
        let exports = format!(
            "bench:\n  NetworkPowerPort:\n    model: simplerest\n    \
             host: 'http://127.0.0.1:{relay}/relay/{{value}}'\n    index: 0\n  \
             NetworkSerialPort:\n    host: 127.0.0.1\n    port: {console}\n    protocol: raw\n"
        );
        fs::write(bench.path("exports.yaml"), exports).unwrap();
        let coordinator = ["-l", &labgrid.address.clone()].map(str::to_owned);
        labgrid.spawn("labgrid-coordinator", &coordinator, bench);
        bench.wait("the coordinator", || {
            labgrid.client(&["places"]).status.success()
        });
        let exports = bench.path("exports.yaml").display().to_string();
        let exporter = ["-c", &labgrid.address.clone(), "-n", "here", &exports].map(str::to_owned);
        labgrid.spawn("labgrid-exporter", &exporter, bench);
        bench.wait("the exporter", || {
            let out = labgrid.client(&["resources"]);
            String::from_utf8_lossy(&out.stdout).contains("here/bench")
        });
        assert!(labgrid.client(&["-p", "bench", "create"]).status.success());
        assert!(
            labgrid
                .client(&["-p", "bench", "add-match", "*/bench/*"])
                .status
                .success()
        );
        labgrid
    }

    fn spawn(&mut self, program: &str, args: &[String], bench: &Bench) {
        let child = Command::new(self.bin.join(program))
            .args(args)
            .current_dir(bench.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.children.push(child);
    }

    fn client(&self, args: &[&str]) -> Output {
        Command::new(self.bin.join("labgrid-client"))
            .args(["-x", &self.address])
            .args(args)
            .output()
            .unwrap()
    }

    fn is_acquired(&self) -> bool {
        let out = self.client(&["-p", "bench", "show"]);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(text.contains("acquired:"), "{text}");
        !text.contains("acquired: None")
    }
}

impl Drop for Labgrid {
    fn drop(&mut self) {
        for child in &mut self.children {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

#[test]
#[ignore = "needs labgrid; `./x test board` installs it and runs this"]
fn a_place_of_labgrid_is_held_once_and_released_on_every_end() {
    let Some(python) = std::env::var_os("FIRSTLIGHT_LABGRID_PYTHON").map(PathBuf::from) else {
        println!("skipped: FIRSTLIGHT_LABGRID_PYTHON is not set (`./x test board` sets it)");
        return;
    };
    let Some(bench) = Bench::start(&["--network", "--length", "0.2"]) else {
        return;
    };
    let labgrid = Labgrid::start(&bench, &python);
    let board = format!(
        "firstlight_board = 1\nname = \"bench\"\nlock = \"bench.lock\"\nadapter = \"labgrid\"\n\
         [labgrid]\nplace = \"bench\"\ncoordinator = \"{}\"\npython = \"{}\"\n\
         [power]\noff_s = 0.05\n\
         [boot]\nloader = \"^U-Boot SPL\"\nfirst_light = \"console:login: $\"\nlimit_s = 20\n\
         [proof]\nby = \"nonce\"\n[deploy]\nfiles = \"card\"\n",
        labgrid.address,
        python.display()
    );
    fs::write(bench.path("bench.toml"), board).unwrap();
    let base = "warm_up = 0\nscatter_rounds = 0\nensemble = 3\n";
    let experiment = bench.write_experiment(base, VARIANTS);

    let doctor = common::json(&[
        "lab",
        "doctor",
        "--json",
        "--board",
        bench.path("bench.toml").to_str().unwrap(),
    ]);
    assert_eq!(doctor["ok"], true, "{doctor}");
    assert!(!labgrid.is_acquired());
    assert_eq!(bench.boots(), Vec::<String>::new());

    // Killed in the middle: the place is released, since the pipe is closed.
    let mut child = bench.spawn(&experiment);
    bench.wait("a boot", || !bench.boots().is_empty());
    assert!(labgrid.is_acquired());
    child.kill().unwrap();
    child.wait().unwrap();
    bench.wait("the release", || !labgrid.is_acquired());

    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    let (good, void) = counted(&run);
    assert_eq!((good.len(), void), (9, vec![]));
    // Through the API in one process, a switch takes milliseconds, not seconds.
    let slow: Vec<&Value> = good
        .into_iter()
        .filter(|t| t["power_error_ns"].as_u64().unwrap() > 2_000_000_000)
        .collect();
    assert!(slow.len() < 5, "{slow:?}");
    assert!(!labgrid.is_acquired());
    bench.is_as_before();

    // A command of the file has the place, too: labgrid's own client refuses one that somebody
    // else has.
    let client = labgrid.bin.join("labgrid-client");
    let run = format!(
        "run = \"{} env >place.yaml\"\nrestore = \"true\"\n",
        client.display()
    );
    let with_client = fs::read_to_string(bench.path("bench.toml")).unwrap() + &run;
    fs::write(bench.path("bench.toml"), with_client).unwrap();
    fs::remove_dir_all(bench.path("out")).unwrap();
    let once = bench.write_experiment("warm_up = 0\nscatter_rounds = 0\nensemble = 1\n", "");
    let (out, _, said) = bench.run(&once, &[]);
    assert!(out.status.success(), "{said}");
    let place = fs::read_to_string(bench.path("place.yaml")).unwrap();
    assert!(
        place.contains("NetworkPowerPort") || place.contains("RemotePlace"),
        "{place}"
    );
    bench.write_experiment(base, VARIANTS);

    // Without the exporter there is one sentence.
    drop(labgrid);
    std::thread::sleep(Duration::from_millis(100));
    fs::remove_dir_all(bench.path("out")).unwrap();
    let (out, _, said) = bench.run(&experiment, &[]);
    assert_eq!(out.status.code(), Some(2));
    assert!(said.contains("labgrid, place `bench`"), "{said}");
}
