//! The QEMU process: its command line, its console, its end.

use crate::console::{self, Who};
use crate::error::{LabError, io_error};
use crate::machine::Boot;
use crate::tools::{Tool, find, last_words};
use crate::trial::{Failure, Reason};
use agent::payload::{PayloadError, read_payload};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The program.
pub const PROGRAM: &str = "qemu-system-x86_64";
/// The Debian package that has it.
pub const PACKAGE: &str = "qemu-system-x86";

/// What every boot has in common. A part of every fingerprint: who changes it
/// changes all digests.
///
/// `hpet=off`: with ticks from QEMU's HPET the kernel's clock runs half as fast
/// again as the counter until the kernel changes to the counter, and stays
/// 145 ms ahead. Without it the two agree to 6 ms.
pub const MACHINE: &str = "-accel tcg -M q35,nvdimm=on,hpet=off -smp 1 -nodefaults -no-user-config \
    -nographic -no-reboot -monitor none -rtc base=2026-01-01,clock=vm";

/// How often the console is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The largest payload that is read, in bytes.
const PAYLOAD_LIMIT: u64 = 1 << 30;

/// A QEMU that is installed.
#[derive(Debug)]
pub struct Qemu {
    program: PathBuf,
    version: String,
}

/// What differs between boots.
#[derive(Debug)]
pub struct Arguments {
    /// Memory in MiB.
    pub memory_mb: u32,
    /// An instruction takes 2 to the power of this many nanoseconds.
    pub cpu_shift: u8,
    /// The kernel, image or ELF.
    pub kernel: PathBuf,
    /// The initramfs.
    pub initramfs: PathBuf,
    /// The kernel command line.
    pub cmdline: String,
    /// The root's image and its size in bytes: read, never written.
    pub root: Option<(PathBuf, u64)>,
    /// The file that takes the payload, and its size in bytes.
    pub out: (PathBuf, u64),
}

/// When a boot is ended by force.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Seconds of the host.
    pub wall_s: u32,
    /// Seconds of the kernel's clock, as far as its console shows them.
    pub virtual_s: Option<u32>,
}

impl Qemu {
    /// Finds the program and asks for its version.
    ///
    /// # Errors
    /// If it is not installed, or does not answer.
    pub fn find() -> Result<Self, LabError> {
        let said = Tool::new(PROGRAM, PACKAGE, "boots run in it")
            .args(["--version"])
            .run()?;
        let said = String::from_utf8_lossy(&said);
        // "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"
        let version = said
            .lines()
            .next()
            .and_then(|l| l.split_once("version "))
            .and_then(|(_, rest)| rest.split_whitespace().next());
        match (version, find(PROGRAM)) {
            (Some(version), Some(program)) => Ok(Self {
                program,
                version: version.to_owned(),
            }),
            _ => Err(LabError::ToolFailed {
                what: format!("{PROGRAM} --version"),
                detail: format!("it said: {}", last_words(said.as_bytes())),
            }),
        }
    }

    /// Its version: `7.2.22`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Boots to the end, or to a limit.
    ///
    /// # Errors
    /// If QEMU cannot be started or its files cannot be read.
    pub fn boot(
        &self,
        arguments: &Arguments,
        limits: Limits,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        let console = work.join("console");
        // A file takes every byte at once. A pipe that its reader is slow to
        // empty would make the machine wait, and the boot would not be exact.
        let mut words = Words::of(arguments, "");
        words.pair(
            "-chardev",
            format!("file,id=console,path={}", option(&console)),
        );
        words.pair("-serial", "chardev:console");
        let errors = work.join("qemu.err");
        let mut child = self.start(words, &errors)?;
        let watched = watch(&mut child, &console, limits, seen);
        // It has ended, unless looking at it failed.
        let _ = child.kill();
        let _ = child.wait();
        let (stop, mut bytes) = watched?;
        if let (Stop::VirtualLimit, Some(limit)) = (&stop, limits.virtual_s) {
            // How far it came beyond the limit is the host's accident.
            bytes.truncate(within(&bytes, u64::from(limit)));
        }
        let errors = fs::read(&errors).unwrap_or_default();
        let (path, _) = &arguments.out;
        let file = File::open(path).map_err(io_error(path, "cannot be read"))?;
        let payload = read_payload(file, PAYLOAD_LIMIT);
        let failure = failure(&stop, &bytes, payload.as_ref().err(), &errors, limits);
        Ok(Boot {
            console: bytes,
            payload: payload.ok(),
            stages: None,
            failure,
            notes: Vec::new(),
        })
    }

    /// Starts a boot that records its instruction count and waits for a
    /// debugger on `socket`.
    ///
    /// # Errors
    /// If QEMU cannot be started.
    pub fn start_recording(&self, arguments: &Arguments, socket: &Path) -> Result<Child, LabError> {
        let record = format!(",rr=record,rrfile={}", option(&socket.with_extension("rr")));
        let mut words = Words::of(arguments, &record);
        words.pair("-chardev", "null,id=console");
        words.pair("-serial", "chardev:console");
        let gdb = format!("socket,id=gdb,path={},server=on,wait=off", option(socket));
        words.pair("-chardev", gdb);
        words.pair("-gdb", "chardev:gdb");
        words.0.push("-S".into());
        self.start(words, &socket.with_extension("err"))
    }

    fn start(&self, words: Words, errors: &Path) -> Result<Child, LabError> {
        let errors = File::create(errors).map_err(io_error(errors, "cannot be written"))?;
        // A machine whose lab was killed must not run on.
        let mut command = match find("setpriv") {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command
                    .args(["--pdeathsig", "KILL", "--"])
                    .arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        command
            .args(words.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .map_err(io_error(&self.program, "cannot be started"))
    }
}

/// The words of a command line.
struct Words(Vec<OsString>);

impl Words {
    fn of(a: &Arguments, record: &str) -> Self {
        let mut words = Self(MACHINE.split_whitespace().map(Into::into).collect());
        let memories = [a.root.as_ref().map(|r| r.1), Some(a.out.1)];
        let persistent: u64 = memories.iter().flatten().sum();
        let all = (u64::from(a.memory_mb) << 20).saturating_add(persistent);
        // Room for the persistent memory, in whole GiB, and not less than 4.
        let room = all.div_ceil(1 << 30).max(3) + 1;
        words.pair("-m", format!("{},slots=2,maxmem={room}G", a.memory_mb));
        let shift = a.cpu_shift;
        words.pair("-icount", format!("shift={shift},sleep=off{record}"));
        words.pair("-kernel", &a.kernel);
        words.pair("-initrd", &a.initramfs);
        words.pair("-append", &a.cmdline);
        if let Some((path, bytes)) = &a.root {
            // Not shared: what the guest writes is the trial's own.
            words.memory("root", "share=off,readonly=off", path, *bytes);
        }
        let (path, bytes) = &a.out;
        words.memory("out", "share=on", path, *bytes);
        words
    }

    fn memory(&mut self, id: &str, share: &str, path: &Path, bytes: u64) {
        let path = option(path);
        let object = format!("memory-backend-file,id={id},{share},mem-path={path},size={bytes}");
        self.pair("-object", object);
        self.pair("-device", format!("nvdimm,memdev={id},id=nv-{id}"));
    }

    fn pair(&mut self, key: &str, value: impl Into<OsString>) {
        self.0.extend([key.into(), value.into()]);
    }
}

/// A path as a value among QEMU's options, where a comma is written twice.
fn option(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
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

/// Why the watching ended.
#[derive(Debug)]
enum Stop {
    Ended(ExitStatus),
    WallLimit,
    VirtualLimit,
}

fn watch(
    child: &mut Child,
    console: &Path,
    limits: Limits,
    seen: &mut dyn FnMut(u64, &str),
) -> Result<(Stop, Vec<u8>), LabError> {
    let begin = Instant::now();
    let mut bytes = Vec::new();
    loop {
        let ended = child
            .try_wait()
            .map_err(io_error(console, "its QEMU cannot be waited for"))?;
        let before = bytes.len();
        // QEMU makes the file before it runs.
        if let Ok(mut file) = File::open(console) {
            file.seek(SeekFrom::Start(before as u64))
                .and_then(|_| file.read_to_end(&mut bytes))
                .map_err(io_error(console, "cannot be read"))?;
        }
        let new = bytes.get(before..).unwrap_or_default();
        let last = new.split(|b| *b == b'\n').rev().nth(1).map(console::plain);
        if let Some(line) = last {
            seen(bytes.len() as u64, &line);
        }
        if let Some(status) = ended {
            return Ok((Stop::Ended(status), bytes));
        }
        if let Some(limit) = limits.virtual_s
            && within(&bytes, u64::from(limit)) < bytes.len()
        {
            return Ok((Stop::VirtualLimit, bytes));
        }
        if begin.elapsed() > Duration::from_secs(u64::from(limits.wall_s)) {
            return Ok((Stop::WallLimit, bytes));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// How many bytes there are before the first line that is stamped later than
/// `limit` seconds.
fn within(console: &[u8], limit: u64) -> usize {
    let mut length = 0;
    for line in console.split_inclusive(|b| *b == b'\n') {
        if console::stamp_seconds(line).is_some_and(|s| s >= limit) {
            break;
        }
        length += line.len();
    }
    length
}

fn failure(
    stop: &Stop,
    console: &[u8],
    payload: Option<&PayloadError>,
    errors: &[u8],
    limits: Limits,
) -> Option<Failure> {
    // A trial that handed out its payload has done all there is to do.
    let payload = payload?;
    let (reason, detail) = match (stop, console::complaint(console)) {
        (Stop::WallLimit, _) => {
            let limit = limits.wall_s;
            let detail = format!("it was ended after {limit} s of the host (limit_wall_s)");
            (Reason::WallLimit, detail)
        }
        (Stop::VirtualLimit, _) => {
            let limit = limits.virtual_s.unwrap_or_default();
            let detail = format!("its clock passed {limit} s (limit_virtual_s)");
            (Reason::VirtualLimit, detail)
        }
        (Stop::Ended(_), Some((Who::Kernel, words))) => (Reason::Panic, words),
        (Stop::Ended(_), Some((Who::Agent, words))) => (Reason::Agent, words),
        (Stop::Ended(status), None) if !status.success() => {
            let detail = format!("QEMU ended with {status}, and said: {}", last_words(errors));
            (Reason::Ended, detail)
        }
        (Stop::Ended(_), None) => {
            let reason = match payload {
                PayloadError::Absent => Reason::Ended,
                _ => Reason::Payload,
            };
            (reason, payload.to_string())
        }
    };
    Some(Failure {
        reason,
        detail,
        last_lines: console::last_lines(console),
    })
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Words, within};

    fn arguments() -> Arguments {
        Arguments {
            memory_mb: 1024,
            cpu_shift: 3,
            kernel: "k".into(),
            initramfs: "i".into(),
            cmdline: "console=ttyS0 a=\"b c\"".into(),
            root: Some(("odd,name".into(), 420 << 20)),
            out: ("o".into(), 64 << 20),
        }
    }

    fn line(arguments: &Arguments) -> String {
        let words = Words::of(arguments, "").0;
        let words: Vec<_> = words.iter().map(|w| w.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn the_command_line_is_that_of_an_exact_machine() {
        let line = line(&arguments());
        for part in [
            "-accel tcg -M q35,nvdimm=on,hpet=off -smp 1 ",
            "-rtc base=2026-01-01,clock=vm",
            "-m 1024,slots=2,maxmem=4G",
            "-icount shift=3,sleep=off ",
            "-append console=ttyS0 a=\"b c\" ",
            "id=root,share=off,readonly=off,mem-path=odd,,name,size=440401920",
            "id=out,share=on,mem-path=o,size=67108864 -device nvdimm,memdev=out",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }

    #[test]
    fn memory_has_room_for_the_root() {
        let mut a = arguments();
        a.root = Some(("r".into(), 8 << 30));
        assert!(line(&a).contains("maxmem=11G"), "{}", line(&a));
        a.root = None;
        assert!(line(&a).contains("maxmem=4G") && !line(&a).contains("id=root"));
    }

    #[test]
    fn the_console_is_cut_at_the_limit() {
        let console = b"BIOS\n[    1.500000] a\n[   10.000000] b\n[    2.000000] c\n";
        assert_eq!(within(console, 10), 22);
        assert_eq!(within(console, 11), console.len());
    }
}
