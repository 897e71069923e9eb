//! Boots that LAVA runs. The log was written by `lava_common.log`, the job is validated by
//! `lava_common.schemas` (Debian's `lava-common` 2023.01).

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

use firstlight_capture::board::{
    Board, BoardError, Cycle, Deployment, Watcher, doctor, measure, open, prove,
};
use std::fs;
use std::path::Path;

const BOARD: &str = "firstlight_board = 1\nname = \"bbb\"\nadapter = \"lava\"\n\
    [lava]\njob = \"job.yaml\"\nrun = \"sh run\"\nlimit_s = 20\n\
    [boot]\nloader = \"^U-Boot SPL\"\nfirst_light = \"console:login:\"\nlimit_s = 20\n\
    [proof]\nby = \"nonce\"\n";

/// What `lavacli` would do: the job's own command line comes back in its log.
const RUN: &str = "n=$(grep -o 'firstlight.nonce=[0-9a-f]*' \"$FIRSTLIGHT_JOB\" | head -n 1) && \
    sed \"s/NONCE/$n/\" log.yaml >\"$FIRSTLIGHT_LOG\"\n";

struct Nobody;

impl Watcher for Nobody {
    fn console(&mut self, _bytes: u64, _last_line: &str) {}

    fn stops(&self) -> bool {
        false
    }
}

/// The folder of a board, with this text in place of another in its log.
fn folder(from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let given = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lava");
    let log = fs::read_to_string(given.join("log.yaml")).unwrap();
    assert!(log.contains(from));
    fs::write(folder.path().join("log.yaml"), log.replace(from, to)).unwrap();
    fs::copy(given.join("job.yaml"), folder.path().join("job.yaml")).unwrap();
    fs::write(folder.path().join("run"), RUN).unwrap();
    folder
}

fn boot(folder: &Path) -> Result<(Cycle, bool), BoardError> {
    let board = Board::parse(&folder.join("b.toml"), BOARD)?;
    let mut adapter = open(&board)?;
    let what = Deployment {
        variant: "quiet".to_owned(),
        cmdline: "console=ttyS0 quiet x=\"a b\" firstlight.nonce=12ab34cd".to_owned(),
        nonce: "firstlight.nonce=12ab34cd".to_owned(),
        ..Deployment::default()
    };
    adapter.deploy(&what)?;
    let cycle = measure(adapter.as_mut(), &board, None, &mut Nobody)?;
    let proven = prove(&board.proof, &what, &cycle.raw, adapter.as_mut())?;
    Ok((cycle, proven.seen))
}

#[test]
fn a_job_is_a_boot_with_the_stamps_of_its_log() {
    let folder = folder("NONCE", "NONCE");
    let (cycle, proven) = boot(folder.path()).unwrap();
    assert!(proven);
    assert_eq!(cycle.void(0), None);
    let light = cycle.light.unwrap();
    assert_eq!((light.at_ns, light.error_ns), (5_500_000_000, 500_000_000));
    assert_eq!(cycle.light_from_loader_ns, Some(5_000_000_000));
    // The switch and the actions around it: the innermost one counts.
    assert_eq!(cycle.power_error_ns, 990_000_000);
    let members = cycle.members("test", "bbb", "quiet", &[]).unwrap();
    let names: Vec<&str> = members.iter().map(|m| m.0.as_str()).collect();
    assert!(
        names.ends_with(&["lava-job.yaml", "lava-log.yaml"]),
        "{names:?}"
    );
    let job = String::from_utf8_lossy(&members[3].1).into_owned();
    assert!(job.contains("extra_kernel_args: \"console=ttyS0 quiet x=\\\"a b\\\" firstlight"));
    assert!(job.contains("job_name: \"firstlight quiet\""));
}

#[test]
fn a_job_that_fails_is_void_or_an_error_with_its_reason() {
    let fails = "\"result\": \"fail\", \"error_msg\": \"no route to host\"";
    let log = folder("board login:", "board");
    let path = log.path().join("log.yaml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        boot(log.path())
            .unwrap()
            .0
            .void(0)
            .unwrap()
            .starts_with("hang")
    );
    fs::write(&path, text.replace("\"result\": \"pass\"", fails)).unwrap();
    let said = boot(log.path()).unwrap().0.void(0).unwrap();
    assert!(said.contains("the job failed: no route to host"), "{said}");
    let never = text
        .replace("pdu-reboot", "nothing")
        .replace("reset-device", "nothing");
    fs::write(&path, never).unwrap();
    let said = boot(log.path()).unwrap_err().to_string();
    assert!(said.contains("does not say when power came on"), "{said}");
    fs::write(&path, "ERROR: no such job\n").unwrap();
    let said = boot(log.path()).unwrap_err().to_string();
    assert!(said.contains("jobs logs --raw"), "{said}");
}

#[test]
fn the_schema_of_lava_judges_the_job() {
    let folder = folder("NONCE", "NONCE");
    let board = |folder: &Path| Board::parse(&folder.join("b.toml"), BOARD).unwrap();
    let job = |folder: &Path| {
        let mut checks = doctor(&board(folder)).into_iter();
        checks.find(|c| c.what == "lava.job").unwrap()
    };
    let check = job(folder.path());
    if check.found.contains("not validated") {
        println!("skipped: LAVA's schema, because there is no lava-common");
        return;
    }
    assert!(check.ok, "{check:?}");
    let path = folder.path().join("job.yaml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("priority: medium", "priority: soon")).unwrap();
    let check = job(folder.path());
    assert!(!check.ok && check.found.contains("priority"), "{check:?}");
    let said = boot(folder.path()).unwrap_err().to_string();
    assert!(said.contains("LAVA's schema refuses the job"), "{said}");
}

#[test]
fn a_file_that_lava_cannot_follow_is_refused() {
    let folder = folder("NONCE", "NONCE");
    let wrong = |from: &str, to: &str| {
        let text = BOARD.replace(from, to);
        let board = Board::parse(&folder.path().join("b.toml"), &text);
        board.unwrap_err().to_string()
    };
    for (from, to, said) in [
        ("\"nonce\"", "\"command\"", "no command reaches the board"),
        ("console:login:", "tcp:board:22", "only `console:REGEX`"),
        (
            "[boot]",
            "[power]\ncycle = \"x\"\n[boot]",
            "LAVA switches the power",
        ),
        (
            "[proof]",
            "[deploy]\nfiles = \"x\"\n[proof]",
            "LAVA deploys by its job",
        ),
        ("job.yaml", "none.yaml", "cannot be read"),
        ("\"job.yaml\"", "\"run\"", "has no `{cmdline}`"),
    ] {
        let found = wrong(from, to);
        assert!(found.contains(said), "{found}");
    }
}
