//! Boards without boards: files, consoles as bytes, locks.

use super::adapter::Deployment;
use super::cycle::Cycle;
use super::error::BoardError;
use super::file::{Board, DeployPower, Link, Power, Proof};
use super::light::{FirstLight, Probe};
use super::listening::Listening;
use super::lock::{Lock, State};
use super::seen::End;
use super::{doctor, measure, open, prove};
use crate::serial::reader::{Heard, now_ns};
use std::path::Path;
use std::time::Duration;

const PLAIN: &str = "firstlight_board = 1\n[power]\non = \"true\"\noff = \"true\"\noff_s = 0\n\
    [console]\nexec = \"echo SPL; echo cmdline firstlight.nonce=12; echo login:\"\n\
    [boot]\nloader = \"^SPL\"\nfirst_light = \"console:login:\"\nlimit_s = 20\n\
    [proof]\nby = \"nonce\"\n";

fn board_at(folder: &Path, text: &str) -> Board {
    Board::parse(&folder.join("b.toml"), text).unwrap()
}

fn board(text: &str) -> Board {
    board_at(Path::new("boards"), text)
}

fn wrong(text: &str) -> String {
    let error = Board::parse(Path::new("boards/b.toml"), text);
    error.unwrap_err().to_string()
}

struct Nobody;

impl super::Watcher for Nobody {
    fn console(&mut self, _bytes: u64, _last_line: &str) {}

    fn stops(&self) -> bool {
        false
    }
}

#[test]
fn the_example_is_a_board() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../boards/example.toml");
    let board = Board::read(&example).unwrap();
    assert_eq!(board.name, "example");
    assert_eq!(board.off, Duration::from_secs(5));
    assert_eq!(board.deploy.power, DeployPower::Off);
    assert!(matches!(
        board.link,
        Link::Commands {
            power: Power::Switch { .. },
            ..
        }
    ));
}

#[test]
fn what_a_file_does_not_say_has_its_usual_value() {
    let text = PLAIN
        .replace("limit_s = 20\n", "")
        .replace("off_s = 0\n", "");
    let board = board(&text);
    assert_eq!(board.name, "b");
    assert_eq!(board.boot.limit, Duration::from_secs(120));
    assert_eq!(board.boot.panic, ["Kernel panic - not syncing"]);
    assert_eq!((board.boot.resets, board.power_tries), (0, 2));
    assert_eq!(board.off, Duration::from_secs(3));
    assert_eq!(board.proof, Proof::Nonce);
}

#[test]
fn a_wrong_file_says_where_and_what() {
    let cases = [
        (
            "firstlight_board = 1",
            "firstlight_board = 2",
            ":1: the board has version 2",
        ),
        (
            "on = \"true\"\n",
            "",
            ":2: `[power]` needs `on` and `off`, or only `cycle`",
        ),
        ("off_s = 0", "off_s = -1", ":5: write 0 to 86400 seconds"),
        (
            "console:login:",
            "console:(",
            ":10: `(` is not a valid regular expression",
        ),
        (
            "console:login:",
            "unit:x",
            "expected `console:REGEX`, `tcp:HOST:PORT`",
        ),
        (
            "by = \"nonce\"",
            "by = \"console\"\npattern = \"x\"",
            "must contain `{variant}`",
        ),
        (
            "by = \"nonce\"",
            "by = \"command\"",
            "`by = \"command\"` needs `command`",
        ),
        (
            "by = \"nonce\"",
            "by = \"nonce\"\ncommand = \"x\"",
            "`command` works only with",
        ),
        (
            "by = \"nonce\"",
            "by = \"nonce\"\npattern = \"{nonce}\"",
            "`pattern` works only with",
        ),
        (
            "off_s = 0",
            "off_s = 0\nseen = \" \"",
            ":6: the command is empty",
        ),
        (
            "[proof]",
            "[deploy]\nmount = \"true\"\n[proof]",
            "`mount` and `unmount` need each other",
        ),
        (
            "[proof]",
            "[deploy]\nmount = \"true\"\nunmount = \"true\"\n[proof]",
            "`mount` needs `files`",
        ),
        (
            "[proof]",
            "[deploy]\nfiles = \"x\"\npower = \"on\"\nmount = \"true\"\nunmount = \"true\"\n[proof]",
            "it must be off",
        ),
        ("exec = ", "port = \"-\"\nexc = ", "unknown field `exc`"),
        (
            "exec = ",
            "port = \"x\"\nexec = ",
            ":6: `[console]` needs either `port` or `exec`",
        ),
    ];
    for (from, to, expected) in cases {
        assert!(PLAIN.contains(from), "{from}");
        let said = wrong(&PLAIN.replacen(from, to, 1));
        assert!(said.starts_with("boards/b.toml:"), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let labgrid = "firstlight_board = 1\nadapter = \"labgrid\"\n";
    assert!(
        wrong(&format!(
            "{labgrid}[boot]\nfirst_light = \"console:x\"\n[proof]\nby = \"nonce\"\n"
        ))
        .contains("needs the table `[labgrid]`")
    );
}

#[test]
fn first_lights_have_one_text_each() {
    for text in [
        "console:login: $",
        "tcp:board:22",
        "http://board:80/",
        "http://board:8080/ready?x=1",
        "command:ssh board true",
        "watch:sigrok-cli --wait-trigger",
    ] {
        assert_eq!(FirstLight::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(
        FirstLight::parse("http://board").unwrap().to_string(),
        "http://board:80/"
    );
    for text in [
        "",
        "console:",
        "tcp:board",
        "tcp::22",
        "tcp:board:99999",
        "command: ",
        "watch:",
        "init",
    ] {
        assert!(FirstLight::parse(text).is_err(), "{text}");
    }
}

/// A program that watches the board ends the boot by its first line, and is ended itself.
#[test]
fn a_watching_program_ends_the_boot() {
    let folder = std::env::temp_dir();
    let (to, from) = std::sync::mpsc::channel();
    let began = now_ns();
    let command = "watch:sleep 0.2; echo edge; echo more; exec sleep 600".to_owned();
    let light = FirstLight::parse(&command).unwrap();
    let probe = Probe::start(&light, folder.clone(), to);
    let Ok(Heard::Light { at_ns, .. }) = from.recv_timeout(Duration::from_secs(60)) else {
        unreachable!("no light");
    };
    assert!(at_ns - began >= 200_000_000);
    drop(probe);
    // One that never writes is ended with the boot.
    let (to, from) = std::sync::mpsc::channel();
    let light = FirstLight::parse("watch:exec sleep 600").unwrap();
    let began = now_ns();
    drop(Probe::start(&light, folder, to));
    assert!(now_ns() - began < 300_000_000_000);
    assert!(from.recv().is_err());
}

fn listened(board: &Board, pieces: &[(u64, &str)]) -> Listening {
    let mut listening = Listening::begin(&board.boot, &board.boot.first_light, None).unwrap();
    listening.power(0, 10).unwrap();
    for (at, text) in pieces {
        listening.bytes(*at, text.as_bytes()).unwrap();
    }
    listening
}

#[test]
fn a_console_tells_loader_resets_panic_and_light() {
    let board = board(PLAIN);
    let good = listened(
        &board,
        &[(20, "\0noise\nSPL 1\n"), (30, "kernel\n"), (40, "login: ")],
    );
    assert_eq!(good.ended(), Some(End::Light));
    assert_eq!((good.loader_ns(), good.resets()), (Some(20), 0));
    assert_eq!(good.light().unwrap().at_ns, 40);
    let again = listened(&board, &[(20, "SPL\n"), (30, "x\nSPL\n"), (40, "login: ")]);
    assert_eq!((again.ended(), again.resets()), (Some(End::Light), 1));
    let (log, _) = again.finish(&[]).unwrap();
    let log = String::from_utf8(log).unwrap();
    assert!(log.contains("# mark 0.000000030 reset-1\n"), "{log}");
    assert!(log.contains("# end 0.000000040\n"), "{log}");
    let looping = listened(&board, &[(1, "SPL\nSPL\n"), (2, "SPL\nSPL\n")]);
    assert_eq!(looping.ended(), Some(End::Loop));
    // A console whose beginning was lost.
    let headless = listened(&board, &[(20, "kernel\n"), (40, "login: ")]);
    assert!(headless.misses_loader() && headless.ended() == Some(End::Light));
    // A panic ends the boot, whatever follows.
    let panic = listened(
        &board,
        &[(1, "SPL\nKernel panic - not syncing: x\nSPL\nlogin: ")],
    );
    assert!(
        matches!(panic.ended(), Some(End::Panic(_))),
        "{:?}",
        panic.ended()
    );
    // Without a loader's line, kernels are counted, and the first byte begins.
    let text = PLAIN.replace("loader = \"^SPL\"\n", "");
    let board = self::board(&text);
    let kernels = [
        (5, "x"),
        (6, "\nLinux version 6\n"),
        (7, "Linux version 6\n"),
        (8, "login:"),
    ];
    let kernels = listened(&board, &kernels);
    assert_eq!((kernels.loader_ns(), kernels.resets()), (Some(5), 1));
}

#[test]
fn why_a_boot_is_void() {
    let cycle = |end: End, resets: u32, fallback: Option<&str>| Cycle {
        off_ns: None,
        power_error_ns: 0,
        light: None,
        light_from_loader_ns: None,
        loader_missed: false,
        resets,
        fallback: fallback.map(str::to_owned),
        end,
        last_line: "last".to_owned(),
        log: Vec::new(),
        raw: Vec::new(),
        files: Vec::new(),
    };
    let good = |resets: u32| Cycle {
        light: Some(super::Seen {
            at_ns: 9,
            error_ns: 0,
        }),
        ..cycle(End::Light, resets, None)
    };
    assert_eq!(good(0).void(0), None);
    assert_eq!(good(1).void(1), None);
    let headless = Cycle {
        loader_missed: true,
        ..good(0)
    };
    let early = Cycle {
        light: Some(super::Seen {
            at_ns: 0,
            error_ns: 0,
        }),
        ..cycle(End::Light, 0, None)
    };
    for (cycle, word) in [
        (
            early,
            "power: first light came before the power command ended",
        ),
        (headless, "console: first light came without a line"),
        (good(1), "reset: the board was reset 1 times"),
        (
            cycle(End::Light, 0, Some("slot B")),
            "fallback: the console showed `slot B`",
        ),
        (
            cycle(End::Hang, 0, None),
            "hang: no first light within the limit; the last line was `last`",
        ),
        (cycle(End::Loop, 3, None), "boot loop: 3 resets"),
        (cycle(End::Closed("gone".into()), 0, None), "console: gone"),
    ] {
        let void = cycle.void(0).unwrap();
        assert!(void.starts_with(word), "{void}");
    }
}

#[test]
fn a_boot_by_commands_is_measured_and_proven() {
    let folder = tempfile::tempdir().unwrap();
    let text = PLAIN.replace("on = \"true\"", "on = \"touch on\"").replace(
        "exec = \"echo",
        "exec = \"while ! test -e on; do sleep 0.01; done; echo",
    );
    let board = board_at(folder.path(), &text);
    let mut adapter = open(&board).unwrap();
    let cycle = measure(adapter.as_mut(), &board, None, &mut Nobody).unwrap();
    assert_eq!(
        cycle.end,
        End::Light,
        "{}",
        String::from_utf8_lossy(&cycle.raw)
    );
    let what = |nonce: &str| Deployment {
        nonce: nonce.to_owned(),
        variant: "a.b".to_owned(),
        ..Deployment::default()
    };
    let mut seen = |proof: &Proof, nonce: &str| {
        let proven = prove(proof, &what(nonce), &cycle.raw, adapter.as_mut());
        proven.unwrap().seen
    };
    assert!(seen(&Proof::Nonce, "firstlight.nonce=12"));
    assert!(!seen(&Proof::Nonce, "firstlight.nonce=13"));
    let console = |p: &str| Proof::Console(p.to_owned());
    assert!(seen(&console("^cmdline {nonce}$"), "firstlight.nonce=12"));
    assert!(!seen(
        &console("^cmdline {variant}$"),
        "firstlight.nonce=12"
    ));
    let command = Proof::Command {
        run: "echo firstlight.nonce=77 $FIRSTLIGHT_VARIANT".to_owned(),
        pattern: None,
        limit: Duration::from_secs(20),
    };
    assert!(seen(&command, "firstlight.nonce=77"));
    // A root or a kernel that carries the variant's name has no nonce.
    let by_name = |run: &str| Proof::Command {
        run: run.to_owned(),
        pattern: Some("^variant {variant}$".to_owned()),
        limit: Duration::from_secs(20),
    };
    assert!(seen(&by_name("echo variant a.b"), "firstlight.nonce=77"));
    assert!(!seen(&by_name("echo variant axb"), "firstlight.nonce=77"));
    let members = cycle.members("a test", "a board", "quiet", &[]).unwrap();
    let names: Vec<&str> = members.iter().map(|m| m.0.as_str()).collect();
    assert_eq!(names, ["manifest.json", "serial.log", "serial.raw"]);
}

#[test]
fn a_command_that_fails_says_which_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let text = PLAIN.replace("on = \"true\"", "on = \"echo no relay >&2; exit 3\"");
    let board = board_at(folder.path(), &text);
    let mut adapter = open(&board).unwrap();
    let error = adapter.power_on().unwrap_err();
    assert!(matches!(error, BoardError::Command { .. }));
    let said = error.to_string();
    assert!(
        said.contains("`power.on`") && said.contains("exit code 3: no relay"),
        "{said}"
    );
    let text = PLAIN.replace("on = \"true\"", "on = \"sleep 60\"");
    let text = text.replace("off_s = 0", "off_s = 0\nlimit_s = 0.1");
    let slow = board_at(folder.path(), &text);
    let said = open(&slow).unwrap().power_on().unwrap_err().to_string();
    assert!(said.ends_with("took longer than 0.1 s"), "{said}");
}

#[test]
fn one_run_at_a_time_and_what_it_left() {
    let folder = tempfile::tempdir().unwrap();
    let text = PLAIN.replace("[power]", "lock = \"b.lock\"\n[power]");
    let board = board_at(folder.path(), &text);
    let (mut lock, before) = Lock::take(&board).unwrap();
    assert_eq!(before, State::default());
    lock.say("quiet").unwrap();
    let busy = Lock::take(&board).unwrap_err().to_string();
    assert!(busy.contains("in use by"), "{busy}");
    let (state, held) = Lock::look(&board).unwrap();
    assert_eq!((state.deployed.as_str(), held), ("quiet", true));
    drop(lock);
    let advice = doctor(&board)
        .into_iter()
        .find(|c| c.what == "lock")
        .unwrap();
    assert!(!advice.ok && advice.found.contains("`quiet`"), "{advice:?}");
    let (_lock, left) = Lock::take(&board).unwrap();
    assert_eq!(left.deployed, "quiet");
}

#[test]
fn the_doctor_names_what_is_missing_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = PLAIN
        .replace("[power]", "lock = \"b.lock\"\n[power]")
        .replace("on = \"true\"", "on = \"true && no-such-program on\"")
        .replace("off = \"true\"", "off = \"touch ran\"");
    let board = board_at(folder.path(), &text);
    let checks = doctor(&board);
    let bad: Vec<&str> = checks
        .iter()
        .filter(|c| !c.ok)
        .map(|c| c.what.as_str())
        .collect();
    assert_eq!(bad, ["power.on", "deploy"], "{checks:?}");
    assert!(!folder.path().join("ran").exists());
}

/// First light that only a question shows; the console says nothing of it.
#[test]
fn a_board_is_asked_until_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        use std::io::{BufRead, BufReader, Write};
        for stream in server.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = String::new();
            BufReader::new(&stream).read_line(&mut request).ok();
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").ok();
        }
    });
    let lights = [
        format!("tcp:{address}"),
        format!("http://{address}/ready"),
        "command:test -e on".to_owned(),
    ];
    for light in lights {
        let text = PLAIN
            .replace("console:login:", &light)
            .replace("on = \"true\"", "on = \"touch on\"")
            .replace(
                "exec = \"echo",
                "exec = \"cat /dev/zero | head -c 3; sleep 60; echo",
            );
        let board = board_at(folder.path(), &text);
        let mut adapter = open(&board).unwrap();
        let cycle = measure(adapter.as_mut(), &board, None, &mut Nobody).unwrap();
        assert_eq!(cycle.end, End::Light, "{light}");
        let log = String::from_utf8(cycle.log).unwrap();
        assert!(log.contains("# end "), "{light}: {log}");
    }
    // What never answers hangs.
    let text = PLAIN
        .replace("console:login:", "command:false")
        .replace("limit_s = 20", "limit_s = 0.2")
        .replace("exec = \"echo", "exec = \"sleep 60; echo");
    let board = board_at(folder.path(), &text);
    let mut adapter = open(&board).unwrap();
    let cycle = measure(adapter.as_mut(), &board, None, &mut Nobody).unwrap();
    assert_eq!((cycle.end, cycle.light), (End::Hang, None));
}

/// Power-on is what a program sees of the supply, not the end of the power command.
#[test]
fn the_supply_tells_when_power_came() {
    let folder = tempfile::tempdir().unwrap();
    let supply = "seen = \"while ! test -e supply; do sleep 0.01; done; echo up\"\n";
    let text = PLAIN
        .replace(
            "on = \"true\"",
            "on = \"{ sleep 0.3; touch supply; } >/dev/null 2>&1 &\"",
        )
        .replace("off_s = 0\n", &format!("off_s = 0\n{supply}"))
        .replace("exec = \"echo", "exec = \"sleep 0.6; echo");
    let board = board_at(folder.path(), &text);
    let mut adapter = open(&board).unwrap();
    let cycle = measure(adapter.as_mut(), &board, None, &mut Nobody).unwrap();
    assert_eq!(cycle.power_error_ns, 1_000_000);
    assert!(cycle.off_ns.unwrap() >= 250_000_000, "{:?}", cycle.off_ns);
    assert_eq!(cycle.end, End::Light);
    // A supply that is up before the switch is told is none.
    let text = text.replace("on = \"{ sleep 0.3;", "on = \"{ sleep 0.2;");
    let board = board_at(
        folder.path(),
        &text.replace("off_s = 0\n", "off_s = 0.3\ntries = 1\n"),
    );
    let mut adapter = open(&board).unwrap();
    let said = measure(adapter.as_mut(), &board, None, &mut Nobody).unwrap_err();
    let said = said.to_string();
    assert!(
        said.contains("`power.seen`") && said.contains("before the power"),
        "{said}"
    );
}

/// A board that was switched off for a deployment is off from then on.
#[test]
fn the_off_time_counts_from_when_the_board_was_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    let board = board_at(
        folder.path(),
        &PLAIN.replace("off_s = 0\n", "off_s = 0.2\n"),
    );
    let mut adapter = open(&board).unwrap();
    let since = now_ns() - 5_000_000_000;
    let begun = now_ns();
    let cycle = measure(adapter.as_mut(), &board, Some(since), &mut Nobody).unwrap();
    assert!(cycle.off_ns.unwrap() >= 5_000_000_000, "{:?}", cycle.off_ns);
    // It was off for long enough already.
    assert!(now_ns() - begun < 60_000_000_000);
    let cycle = measure(adapter.as_mut(), &board, None, &mut Nobody).unwrap();
    assert!(cycle.off_ns.unwrap() >= 200_000_000);
}

#[test]
fn what_the_user_knows_of_first_light_is_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let text = PLAIN.replace("limit_s = 20\n", "limit_s = 20\nlight_error_s = 0.04\n");
    let board = board_at(folder.path(), &text);
    let mut adapter = open(&board).unwrap();
    let cycle = measure(adapter.as_mut(), &board, None, &mut Nobody).unwrap();
    assert_eq!(cycle.light.map(|l| l.error_ns), Some(40_000_000));
}
