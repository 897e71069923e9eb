//! The QEMU process: its program, its command line, a boot to its end.

mod clock;
pub mod gdb;
mod identity;
mod program;
pub mod setup;
pub mod stages;
mod watch;
mod words;

pub use clock::Clock;
pub use identity::{PC_ROMS, in_words};
pub use program::Program;
pub use watch::Limits;
pub use words::Words;

use crate::boot::{Boot, Evidence};
use crate::cache::Cache;
use crate::error::{LabError, io_error};
use crate::experiment::{Base, Mode};
use crate::pace::{Accelerator, Pace};
use crate::tools::{Tool, find, last_words};
use agent::payload::{PayloadError, read_payload};
use std::fs::{self, File};
use std::io::{Cursor, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use words::option;

/// The largest payload that is read, in bytes.
const PAYLOAD_LIMIT: u64 = 1 << 30;

/// A QEMU that is installed.
#[derive(Clone, Debug)]
pub struct Qemu {
    program: Program,
    file: PathBuf,
    version: String,
    identity: String,
}

/// A machine that ran.
#[derive(Debug)]
struct Ran {
    /// Why it ended.
    stop: watch::Stop,
    console: Vec<u8>,
    /// What QEMU complained of.
    errors: Vec<u8>,
    /// How QEMU was called.
    command: Evidence,
}

/// How the version of a QEMU ends whose serial ports take their time.
const LINE_RATE: &str = "-line-rate";

/// How a machine is switched on.
#[derive(Clone, Debug)]
pub struct PowerOn {
    /// The command line of QEMU, all but clock, console and debugger.
    pub words: Words,
    /// How its time passes.
    pub pace: Pace,
}

impl Pace {
    /// The pace of `base`'s boots on a machine of the architecture `arch`.
    #[must_use]
    pub fn of(base: &Base, arch: &str) -> Self {
        match base.mode {
            Mode::Exact => Self::Counted(base.cpu_shift),
            Mode::Statistical(_) => Self::Real(Accelerator::best(arch)),
        }
    }

    /// Adds the words that make it so.
    fn add_to(self, words: &mut Words) {
        match self {
            Self::Counted(shift) => {
                words.pair("-accel", "tcg");
                words.pair("-icount", format!("shift={shift},sleep=off"));
            }
            Self::Real(Accelerator::Tcg) => words.pair("-accel", "tcg"),
            Self::Real(Accelerator::Kvm) => {
                words.pair("-accel", "kvm");
                words.pair("-cpu", "host");
            }
        }
    }

    /// In words, for captures.
    #[must_use]
    pub fn describe(self, version: &str) -> String {
        match self {
            Self::Counted(shift) => {
                let speed = speed(shift);
                format!("at {speed} (QEMU {version} TCG, icount shift={shift})")
            }
            Self::Real(Accelerator::Tcg) => format!("in real time (QEMU {version} TCG)"),
            Self::Real(Accelerator::Kvm) => format!("in real time (QEMU {version} KVM)"),
        }
    }
}

impl Qemu {
    /// Finds the program, asks for its version and hashes it. `cache` remembers the
    /// hashes.
    ///
    /// # Errors
    /// If it is not installed, does not answer, or cannot be read.
    pub fn find(program: Program, cache: &Cache) -> Result<Self, LabError> {
        let said = Tool::new(program.name, program.package, "run boots")
            .args(["--version"])
            .run()?;
        let said = String::from_utf8_lossy(&said);
        // "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"
        let rest = said.lines().next().and_then(|l| l.split_once("version "));
        let mut words = rest.map(|(_, rest)| rest.split_whitespace());
        let version = words.as_mut().and_then(Iterator::next);
        let package = words.as_mut().and_then(Iterator::next);
        match (version, find(program.name)) {
            (Some(version), Some(file)) => Ok(Self {
                program,
                identity: identity::identity(program, &file, cache)?,
                file,
                version: match package {
                    Some("(line-rate)") => format!("{version}{LINE_RATE}"),
                    _ => version.to_owned(),
                },
            }),
            _ => Err(LabError::ToolFailed {
                what: format!("{} --version", program.name),
                detail: format!("it said: {}", last_words(said.as_bytes())),
            }),
        }
    }

    /// It in words, as results name it.
    #[must_use]
    pub fn in_words(&self) -> String {
        in_words(self.program.name, &self.version, &self.identity)
    }

    /// Which of QEMU's programs it is.
    #[must_use]
    pub const fn program(&self) -> Program {
        self.program
    }

    /// Whether a byte on a serial port of it takes the time of the line's rate, in virtual
    /// time. QEMU itself sends bytes in no time; `experiments/line-rate/build` makes one that
    /// does, and names its version so.
    #[must_use]
    pub fn has_line_rate(&self) -> bool {
        self.version.ends_with(LINE_RATE)
    }

    /// Its version: `7.2.22`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The hashes of its program and parts, as `key = value` lines: a part of every
    /// fingerprint.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Boots to the end, or to a limit. The payload is looked for in the file
    /// `out`, from a byte of it on.
    ///
    /// # Errors
    /// If QEMU cannot be started or its files cannot be read.
    pub fn boot(
        &self,
        machine: &PowerOn,
        (out, payload_at): (&Path, u64),
        limits: Limits,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        let Ran {
            stop,
            console: bytes,
            errors,
            command,
        } = self.run(machine, limits, work, seen)?;
        let mut file = File::open(out).map_err(io_error(out, "cannot be read"))?;
        let payload = match payload_at {
            0 => read_payload(file, PAYLOAD_LIMIT),
            // What lies before it is the machine's memory.
            at => {
                let mut rest = Vec::new();
                file.seek(SeekFrom::Start(at))
                    .and_then(|_| file.take(PAYLOAD_LIMIT).read_to_end(&mut rest))
                    .map_err(io_error(out, "cannot be read"))?;
                read_payload(Cursor::new(rest), PAYLOAD_LIMIT)
            }
        };
        let failure = watch::failure(&stop, &bytes, payload.as_ref().err(), &errors, limits);
        Ok(Boot {
            console: bytes,
            payload: payload.ok(),
            failure,
            evidence: vec![command],
            ..Boot::default()
        })
    }

    /// Boots to the end, or to a limit, a machine that hands out no payload: its
    /// console is all there is. Why it ended is its failure.
    ///
    /// # Errors
    /// If QEMU cannot be started or its files cannot be read.
    pub fn boot_to_end(
        &self,
        machine: &PowerOn,
        limits: Limits,
        work: &Path,
    ) -> Result<Boot, LabError> {
        let Ran {
            stop,
            console,
            errors,
            ..
        } = self.run(machine, limits, work, &mut |_, _| {})?;
        let absent = PayloadError::Absent;
        Ok(Boot {
            failure: watch::failure(&stop, &console, Some(&absent), &errors, limits),
            console,
            ..Boot::default()
        })
    }

    /// Runs a machine to its end or a limit.
    fn run(
        &self,
        machine: &PowerOn,
        limits: Limits,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Ran, LabError> {
        let console = work.join("console");
        // A file takes every byte at once. A pipe that its reader is slow to
        // empty would make the machine wait, and the boot would not be exact.
        let mut words = machine.words.clone();
        machine.pace.add_to(&mut words);
        words.console_file(&console);
        let command = self.command(words.clone(), work);
        // The path of a socket has at most 107 bytes, so not among the results.
        let short = tempfile::tempdir().map_err(io_error(work, "has no place for a socket"))?;
        let monitor = short.path().join("monitor");
        let asked = limits.virtual_s.is_some() && limits.clock.is_some();
        if asked {
            words.monitor(&monitor);
        }
        let errors = work.join("qemu.err");
        let mut child = self.start(words, &errors)?;
        let watched = watch::watch(
            &mut child,
            &console,
            asked.then_some(&*monitor),
            limits,
            seen,
        );
        // It has ended, unless looking at it failed.
        let _ = child.kill();
        let _ = child.wait();
        let (stop, console) = watched?;
        Ok(Ran {
            stop,
            console,
            errors: fs::read(&errors).unwrap_or_default(),
            command,
        })
    }

    /// The command, a word a line, with the machine's own folder as `.`: who likes
    /// can type it.
    fn command(&self, words: Words, work: &Path) -> Evidence {
        let mut lines = vec![self.file.to_string_lossy().into_owned()];
        let own = option(work);
        for word in words.finish() {
            lines.push(word.to_string_lossy().replace(&own, "."));
        }
        Evidence {
            name: "command line of the emulator, one argument per line".into(),
            file: "qemu.txt".into(),
            format: "none",
            bytes: (lines.join("\n") + "\n").into_bytes(),
        }
    }

    /// Starts a boot that records its instruction count, each of 2 to the power of
    /// `shift` nanoseconds, and waits for a debugger on `socket`. Its console goes
    /// into the file [`console_of`] it.
    ///
    /// # Errors
    /// If QEMU cannot be started.
    pub fn start_recording(
        &self,
        words: &Words,
        shift: u8,
        socket: &Path,
    ) -> Result<Child, LabError> {
        let mut words = words.clone();
        let record = option(&socket.with_extension("rr"));
        words.pair("-accel", "tcg");
        words.pair(
            "-icount",
            format!("shift={shift},sleep=off,rr=record,rrfile={record}"),
        );
        words.console_file(&console_of(socket));
        let gdb = format!("socket,id=gdb,path={},server=on,wait=off", option(socket));
        words.pair("-chardev", gdb);
        words.pair("-gdb", "chardev:gdb");
        words.word("-S");
        self.start(words, &socket.with_extension("err"))
    }

    fn start(&self, words: Words, errors: &Path) -> Result<Child, LabError> {
        // `setpriv` would say it in other words.
        if !self.file.is_file() {
            return Err(LabError::MissingTool {
                tool: self.program.name,
                package: self.program.package,
                why: "run boots (it was there when this run began)",
            });
        }
        let errors = File::create(errors).map_err(io_error(errors, "cannot be written"))?;
        // A machine whose lab was killed must not run on.
        let mut command = match find("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", "KILL", "--"]).arg(&self.file);
                command
            }
            None => Command::new(&self.file),
        };
        command
            .args(words.finish())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .map_err(io_error(&self.file, "cannot be started"))
    }
}

/// The speed of a processor that needs 2 to the power of `cpu_shift` nanoseconds
/// for an instruction, in words.
fn speed(cpu_shift: u8) -> String {
    match cpu_shift {
        0 => "1 GIPS".to_owned(),
        shift => format!("{} MIPS", 1000.0 / f64::from(1u32 << shift.min(31))),
    }
}

/// The file that takes the console of the boot whose debugger is on `socket`.
#[must_use]
pub fn console_of(socket: &Path) -> PathBuf {
    socket.with_extension("console")
}

/// Makes the empty file that takes the payload. It holds nothing, so it takes no
/// room on the disk.
///
/// # Errors
/// If that cannot be done.
pub fn make_out_file(path: &Path, bytes: u64) -> Result<(), LabError> {
    File::create(path)
        .and_then(|f| f.set_len(bytes))
        .map_err(io_error(path, "cannot be written"))
}
