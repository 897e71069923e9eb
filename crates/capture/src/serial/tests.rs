//! Listening to what a test writes: pseudo-terminals, pipes, sockets, files.

use super::engine::{Action, Event, Fit, Rule};
use super::input::Place;
use super::listen::{Console, Ended, ListenError, Listener, Options, Outcome, listen};
use super::log::Log;
use super::port::Settings;
use super::reader::Heard;
use rustix::fd::OwnedFd;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A listener that remembers.
#[derive(Default)]
struct Memory {
    raw: Vec<u8>,
    log: Option<Log<Vec<u8>>>,
    fits: Vec<Fit>,
    lines: usize,
    power: Option<(u64, u64)>,
    line: Option<(u32, u8)>,
    open: Vec<String>,
    /// Told what is told.
    to: Option<Sender<&'static str>>,
    room: Option<usize>,
}

impl Memory {
    fn tell(&self, what: &'static str) {
        if let Some(to) = &self.to {
            to.send(what).ok();
        }
    }
}

/// A listener's memory, and what it is told, as it is.
fn told() -> (Memory, mpsc::Receiver<&'static str>) {
    let (to, told) = mpsc::channel();
    let memory = Memory {
        to: Some(to),
        ..Memory::default()
    };
    (memory, told)
}

impl Listener for Memory {
    fn begin(&mut self, line: Option<(u32, u8)>) -> io::Result<()> {
        self.line = line;
        self.log = Some(Log::begin(Vec::new(), line)?);
        self.tell("begin");
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.raw.extend(bytes);
        self.tell("bytes");
        Ok(())
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.log.as_mut().unwrap().event(event)?;
        match event {
            Event::Line(_) => self.lines += 1,
            Event::Fit(fit) => self.fits.push(fit.clone()),
        }
        Ok(())
    }

    fn power(&mut self, began_ns: u64, ended_ns: u64) -> io::Result<()> {
        self.power = Some((began_ns, ended_ns));
        Ok(())
    }

    fn open(&mut self, _first_ns: u64, raw: &[u8]) -> io::Result<()> {
        self.open.push(String::from_utf8_lossy(raw).into_owned());
        self.tell("open");
        Ok(())
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(self.room.is_none_or(|room| self.raw.len() < room))
    }
}

fn at(path: &Path) -> Console {
    Console::At(Place::Path(path.to_owned()), Settings::default())
}

fn options(console: Console) -> Options {
    Options {
        console,
        wait: Duration::ZERO,
        power: None,
        rules: Vec::new(),
        limit: None,
    }
}

fn end_on(pattern: &str) -> Vec<Rule> {
    vec![Rule::new(Action::End, pattern).unwrap()]
}

type Listening = JoinHandle<(Result<Outcome, ListenError>, Memory)>;

/// Listens in a thread of its own, and returns when listening has begun.
fn start(options: Options) -> (Sender<Heard>, Listening) {
    let (memory, told) = told();
    let started = start_with(options, memory);
    // It fails if nothing can be listened to, and then says why.
    told.recv().ok();
    started
}

fn start_with(options: Options, mut memory: Memory) -> (Sender<Heard>, Listening) {
    let (to, from) = mpsc::channel();
    let wish = to.clone();
    let thread = thread::spawn(move || {
        let done = listen(options, (to, from), &mut memory);
        memory.to = None;
        (done, memory)
    });
    (wish, thread)
}

/// A pseudo-terminal: the board's side, and the path of the port.
fn terminal() -> (File, PathBuf) {
    let board: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&board).unwrap();
    unlockpt(&board).unwrap();
    let name = ptsname(&board, Vec::new()).unwrap();
    (
        File::from(board),
        PathBuf::from(name.into_string().unwrap()),
    )
}

/// Console output that no two places of are alike.
fn output(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 100);
    let mut n = 0_u64;
    while text.len() < bytes {
        writeln!(
            text,
            "[{:12.6}] line {n}: {:x}\r",
            n as f64 / 1e3,
            n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
        .unwrap();
        n += 1;
    }
    text
}

#[test]
fn no_byte_of_a_fast_line_is_lost() {
    // What 3 Mbaud bring in ten seconds, as fast as the terminal takes it.
    let sent = output(3_000_000);
    let (mut board, port) = terminal();
    let settings = Settings {
        baud: 3_000_000,
        ..Settings::default()
    };
    let (_wish, listening) = start(Options {
        rules: end_on("^the end$"),
        ..options(Console::At(Place::Path(port), settings))
    });
    board.write_all(&sent).unwrap();
    board.write_all(b"the end\r\n").unwrap();
    let (outcome, memory) = listening.join().unwrap();
    let outcome = outcome.unwrap();
    assert!(matches!(outcome.ended, Ended::Pattern), "{outcome:?}");
    assert_eq!(memory.line, Some((3_000_000, 10)));
    assert_eq!(outcome.bytes, memory.raw.len() as u64);
    assert!(
        memory.raw == [&sent[..], b"the end\r\n"].concat(),
        "not what was sent"
    );
    // The log holds the same bytes, behind its stamps.
    let log = memory.log.unwrap().into_inner();
    let mut again: Vec<u8> = Vec::new();
    for line in log
        .split_inclusive(|b| *b == b'\n')
        .filter(|l| !l.starts_with(b"#"))
    {
        let text = line.splitn(3, |b| *b == b' ').nth(2).unwrap();
        again.extend(text);
    }
    assert!(again == memory.raw, "the log is not what was heard");
}

#[test]
fn a_prompt_ends_the_capture_and_marks_have_their_times() {
    let (mut board, port) = terminal();
    let mut rules = end_on("login: $");
    rules.push(Rule::new(Action::Reset, "U-Boot SPL").unwrap());
    rules.push(Rule::new(Action::Mark("ok".into()), r"\[  OK  \]").unwrap());
    let (_wish, listening) = start(Options {
        rules,
        ..options(at(&port))
    });
    board
        .write_all(
            b"old login:\r\nU-Boot SPL 2026\r\n[\x1b[32m  OK  \x1b[0m] a\r\n[  OK  ] b\r\nbo",
        )
        .unwrap();
    board.write_all(b"ard login: ").unwrap();
    let (outcome, memory) = listening.join().unwrap();
    assert!(matches!(outcome.unwrap().ended, Ended::Pattern));
    let names: Vec<&Action> = memory.fits.iter().map(|f| &f.action).collect();
    let ok = Action::Mark("ok".into());
    assert_eq!(names, [&Action::Reset, &ok, &ok, &Action::End]);
    assert!(memory.fits.is_sorted_by_key(|f| f.at_ns));
    assert_eq!(memory.lines, 5);
    assert!(memory.raw.ends_with(b"login: "));
}

#[test]
fn an_open_line_is_shown() {
    let (mut board, port) = terminal();
    let (memory, told) = told();
    let (wish, listening) = start_with(options(at(&port)), memory);
    assert_eq!(told.recv(), Ok("begin"));
    board.write_all(b"Hit any key: 1").unwrap();
    while told.recv().unwrap() != "open" {}
    wish.send(Heard::Interrupt).unwrap();
    let (outcome, memory) = listening.join().unwrap();
    assert!(matches!(outcome.unwrap().ended, Ended::Interrupt));
    assert!("Hit any key: 1".starts_with(&memory.open[0]));
    assert_eq!(memory.lines, 1);
}

#[test]
fn the_time_is_over() {
    let (_board, port) = terminal();
    let (_wish, listening) = start(Options {
        limit: Some(Duration::from_millis(1)),
        rules: end_on("never"),
        ..options(at(&port))
    });
    let (outcome, _) = listening.join().unwrap();
    assert!(matches!(outcome.unwrap().ended, Ended::Limit));
}

#[test]
fn the_user_ends_it_and_a_board_that_goes_away_does() {
    let (mut board, port) = terminal();
    let (wish, listening) = start(options(at(&port)));
    board.write_all(b"one\n").unwrap();
    wish.send(Heard::Interrupt).unwrap();
    let (outcome, _) = listening.join().unwrap();
    assert!(matches!(outcome.unwrap().ended, Ended::Interrupt));

    let (memory, told) = told();
    let (_wish, listening) = start_with(options(at(&port)), memory);
    assert_eq!(told.recv(), Ok("begin"));
    board.write_all(b"two").unwrap();
    // A terminal may drop what it holds when the other side goes.
    while told.recv().unwrap() != "bytes" {}
    drop(board);
    let (outcome, memory) = listening.join().unwrap();
    let ended = outcome.unwrap().ended;
    assert!(
        matches!(ended, Ended::Closed | Ended::Device(_)),
        "{ended:?}"
    );
    assert_eq!(memory.raw, b"two");
}

#[test]
fn pipes_sockets_and_files_are_listened_to() {
    let folder = tempfile::tempdir().unwrap();
    let sent = output(300_000);
    let whole = |outcome: Result<Outcome, ListenError>, memory: Memory| {
        assert!(matches!(outcome.unwrap().ended, Ended::Closed));
        assert!(
            memory.raw == sent,
            "{} bytes of {}",
            memory.raw.len(),
            sent.len()
        );
        assert_eq!(memory.line, None);
    };

    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let (_wish, listening) = start(options(at(&pipe)));
    let mut writer = File::options().write(true).open(&pipe).unwrap();
    writer.write_all(&sent).unwrap();
    drop(writer);
    let (outcome, memory) = listening.join().unwrap();
    whole(outcome, memory);

    let socket = folder.path().join("socket");
    let server = UnixListener::bind(&socket).unwrap();
    // By its path and by its name.
    for place in [Place::Unix(socket.clone()), Place::Path(socket.clone())] {
        let (_wish, listening) = start(options(Console::At(place, Settings::default())));
        server.accept().unwrap().0.write_all(&sent).unwrap();
        let (outcome, memory) = listening.join().unwrap();
        whole(outcome, memory);
    }

    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::parse(format!("tcp:{}", server.local_addr().unwrap()).as_ref());
    let (_wish, listening) = start(options(Console::At(place, Settings::default())));
    server.accept().unwrap().0.write_all(&sent).unwrap();
    let (outcome, memory) = listening.join().unwrap();
    whole(outcome, memory);

    // A server of serial ports says more than the console does.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::parse(format!("rfc2217://{}", server.local_addr().unwrap()).as_ref());
    let (_wish, listening) = start(options(Console::At(place, Settings::default())));
    let mut client = server.accept().unwrap().0;
    // It wants the option for ports, and doubles 255.
    client.write_all(&[255, 253, 44]).unwrap();
    let doubled: Vec<u8> = sent
        .iter()
        .flat_map(|b| std::iter::repeat_n(*b, 1 + usize::from(*b == 255)))
        .collect();
    client.write_all(&doubled).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let (outcome, mut memory) = listening.join().unwrap();
    assert_eq!(memory.line.take(), Some((115_200, 10)));
    whole(outcome, memory);
    // What was said to it: the options, and the settings of the port.
    let mut said = Vec::new();
    client.read_to_end(&mut said).unwrap();
    assert!(said.windows(4).any(|w| w == [255, 250, 44, 1]), "{said:?}");

    // A file that has something already, and grows.
    let file = folder.path().join("file");
    let (first, second) = sent.split_at(100_000);
    std::fs::write(&file, first).unwrap();
    let (_wish, listening) = start(Options {
        rules: end_on("the end"),
        ..options(at(&file))
    });
    let mut writer = File::options().append(true).open(&file).unwrap();
    writer.write_all(second).unwrap();
    writer.write_all(b"the end\n").unwrap();
    let (outcome, memory) = listening.join().unwrap();
    assert!(matches!(outcome.unwrap().ended, Ended::Pattern));
    assert!(memory.raw.strip_suffix(b"the end\n").unwrap() == sent);
}

#[test]
fn what_is_not_there_yet_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let place = Place::Unix(socket.clone());
    let late = thread::spawn(move || {
        // The power command names itself: see below. The board speaks when it has ended.
        loop {
            let pid = std::fs::read_to_string(socket.with_extension("go"));
            let pid = pid.ok().and_then(|p| p.trim().parse::<u32>().ok());
            if pid.is_some_and(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()) {
                let server = UnixListener::bind(&socket).unwrap();
                server.accept().unwrap().0.write_all(b"here\n").unwrap();
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
    let (_wish, listening) = start(Options {
        wait: Duration::from_secs(60),
        power: Some(format!(
            "echo $$ >{}",
            folder.path().join("socket.go").display()
        )),
        rules: end_on("here"),
        ..options(Console::At(place.clone(), Settings::default()))
    });
    let (outcome, memory) = listening.join().unwrap();
    assert!(matches!(outcome.unwrap().ended, Ended::Pattern));
    let (began, ended) = memory.power.unwrap();
    assert!(began < ended && ended <= memory.fits[0].at_ns);
    late.join().unwrap();

    let (_, listening) = start(options(Console::At(
        Place::Unix("/nowhere".into()),
        Settings::default(),
    )));
    let error = listening.join().unwrap().0.unwrap_err().to_string();
    assert!(
        error.contains("unix:/nowhere: cannot open") && error.contains("--wait"),
        "{error}"
    );
}

#[test]
fn a_program_is_started_listened_to_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    // It would go on for ever, and so would what it starts.
    let command = format!(
        "sleep 1000 & echo $! >{}; echo up >&2; echo login:; wait",
        pid.display()
    );
    let (_wish, listening) = start(Options {
        rules: end_on("login:"),
        ..options(Console::Of(command))
    });
    let (outcome, memory) = listening.join().unwrap();
    assert!(matches!(outcome.unwrap().ended, Ended::Pattern));
    assert_eq!(memory.raw, b"up\nlogin:\n");
    assert!(memory.power.is_some(), "its start is when power came on");
    let pid: i32 = std::fs::read_to_string(pid)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    for tries in 0.. {
        if rustix::process::test_kill_process(pid).is_err() || is_zombie(pid) {
            break;
        }
        assert!(tries < 10_000, "it was left behind");
        thread::sleep(Duration::from_millis(1));
    }

    let (_wish, listening) = start(options(Console::Of("echo a; exit 3".into())));
    let (outcome, memory) = listening.join().unwrap();
    let ended = outcome.unwrap().ended;
    assert!(
        matches!(ended, Ended::Program(s) if s.code() == Some(3)),
        "{ended:?}"
    );
    assert_eq!(memory.raw, b"a\n");
}

/// Whether a process is dead and only not fetched, as where process 1 fetches none.
fn is_zombie(pid: rustix::process::Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|s| s.contains(") Z "))
}

#[test]
fn a_power_command_that_fails_is_told() {
    let (_board, port) = terminal();
    let (_wish, listening) = start(Options {
        power: Some("exit 7".into()),
        ..options(at(&port))
    });
    let error = listening.join().unwrap().0.unwrap_err().to_string();
    assert_eq!(
        error,
        "the power command `exit 7` ended with exit code 7; nothing was captured"
    );
}

#[test]
fn there_is_room_for_so_much() {
    let (mut board, port) = terminal();
    let (mut memory, told) = told();
    memory.room = Some(10_000);
    let (_wish, listening) = start_with(options(at(&port)), memory);
    assert_eq!(told.recv(), Ok("begin"));
    let sent = output(100_000);
    // The terminal is full when nobody listens any more.
    let writer = thread::spawn(move || board.write_all(&sent).ok());
    let (outcome, memory) = listening.join().unwrap();
    assert!(matches!(outcome.unwrap().ended, Ended::Full));
    assert!(memory.raw.len() >= 10_000);
    drop(writer);
}
