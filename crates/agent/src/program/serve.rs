//! The storage server: the root, as slow as the modelled device.
//!
//! A process of its own that serves the root's memory to the kernel's network
//! block device over a socket pair, and answers each request when the model says
//! that the device would. Everything it needs is in memory before the first
//! request, and it runs before all ordinary programs, so that its answers come
//! on time.

use crate::trial::{self, Memory};
use firstlight_agent::config::{Place, SECTOR_BYTES, Storage};
use firstlight_agent::sys::{Mapped, Nbd, nbd, run_in_real_time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::net::{RecvFlags, recv};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, IoSlice, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use storage::{Device, Kind, Request};

/// The server's name. systemd spares processes whose name begins with `@`.
pub const ARGV0: &str = "@firstlight-storage";

/// The device that the kernel makes of it.
const DEVICE: &str = "/dev/nbd0";
const QUEUE: &str = "/sys/block/nbd0/queue";

/// Below the kernel's own threads at 50, above everything ordinary.
const PRIORITY: i32 = 40;

const NS_PER_S: u64 = 1_000_000_000;

// The protocol, as in linux/nbd.h: all numbers big-endian.
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
const REQUEST_BYTES: usize = 28;
const READ: u32 = 0;
const WRITE: u32 = 1;
const DISCONNECT: u32 = 2;
const FLUSH: u32 = 3;
/// `NBD_FLAG_HAS_FLAGS | NBD_FLAG_SEND_FLUSH`.
const FLAGS: u64 = 0b101;
const EIO: u32 = 5;

/// What memory has to be aligned to, to go past the page cache.
const PAGE: usize = 4096;

/// The most that one request moves; the kernel is told so.
const MAX_REQUEST: usize = 512 << 10;

/// Starts the server of `memory`; gives its device and process id.
pub fn start(memory: &Memory, figures: &Storage) -> Result<(PathBuf, u32), Box<dyn Error>> {
    let server = Command::new("/proc/self/exe")
        .arg0(ARGV0)
        .arg(memory.path())
        .stdin(Stdio::null())
        .spawn()?
        .id();
    // The file appears when the kernel begins to serve requests.
    let up = || Path::new("/sys/block/nbd0/pid").exists().then_some(());
    trial::wait(Duration::from_secs(10), up)
        .ok_or("the storage server did not start within 10 s")?;
    let turns = u8::from(figures.turns());
    for (setting, value) in [
        ("scheduler", figures.scheduler.clone()),
        ("nr_requests", figures.nr_requests.to_string()),
        ("read_ahead_kb", figures.read_ahead_kb.to_string()),
        ("max_sectors_kb", (MAX_REQUEST >> 10).to_string()),
        ("rotational", turns.to_string()),
    ] {
        fs::write(format!("{QUEUE}/{setting}"), &value)
            .map_err(|e| format!("{QUEUE}/{setting}: cannot write `{value}`: {e}"))?;
    }
    Ok((DEVICE.into(), server))
}

/// The server's life: until the kernel hangs up.
pub fn run() -> Result<(), Box<dyn Error>> {
    let memory = std::env::args_os()
        .nth(1)
        .ok_or("the storage server has no memory to serve")?;
    let config = trial::config(firstlight_agent::config::PATH)?;
    let size = match config.root.as_ref().map(|root| &root.place) {
        Some(Place::Memory(size)) => *size,
        _ => 0,
    };
    rustix::process::setsid()?;
    run_in_real_time(PRIORITY)?;
    let image = Image::open(&Memory::at(memory.into()), size)?;
    let (socket, kernels) = UnixStream::pair()?;
    let device = File::options().read(true).write(true).open(DEVICE)?;
    nbd(&device, Nbd::SetBlockSize, SECTOR_BYTES)?;
    nbd(&device, Nbd::SetSizeBlocks, size / SECTOR_BYTES)?;
    nbd(&device, Nbd::SetFlags, FLAGS)?;
    nbd(&device, Nbd::SetSocket, u64::try_from(kernels.as_raw_fd())?)?;
    let serving = std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(move || nbd(&device, Nbd::DoIt, 0))?;
    let depth = usize::try_from(config.storage.queue_depth.get())?;
    let device = Device::new(config.storage, size);
    let mut server = Server::new(socket, image, device, depth);
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;
    server.serve()?;
    serving.join().map_err(|_| "the server thread panicked")??;
    Ok(())
}

/// The root's bytes.
enum Image {
    /// A block device, past the page cache: another copy of the root there would
    /// cost time.
    Block(File),
    /// Memory that is mapped here, as long as the root is.
    Mapped(Mapped),
}

impl Image {
    fn open(memory: &Memory, size: u64) -> Result<Self, Box<dyn Error>> {
        let mut options = File::options();
        options.read(true).write(true);
        Ok(match memory {
            Memory::Block(path) => {
                let direct = OFlags::DIRECT.bits().cast_signed();
                Self::Block(options.custom_flags(direct).open(path)?)
            }
            Memory::Mapped(_) | Memory::Physical(_) => {
                let file = options.open(memory.path())?;
                Self::Mapped(Mapped::new(&file, usize::try_from(size)?)?)
            }
        })
    }

    /// Fills `to` with the bytes from `at` on; whether all of them are there.
    fn read(&mut self, to: &mut [u8], at: u64) -> bool {
        match self {
            Self::Block(file) => file.read_exact_at(to, at).is_ok(),
            Self::Mapped(mapped) => part(mapped.bytes(), at, to.len())
                .map(|from| to.copy_from_slice(from))
                .is_some(),
        }
    }

    /// Writes `from` to `at`; whether all of it went there.
    fn write(&mut self, from: &[u8], at: u64) -> bool {
        match self {
            Self::Block(file) => file.write_all_at(from, at).is_ok(),
            Self::Mapped(mapped) => part(mapped.bytes(), at, from.len())
                .map(|to| to.copy_from_slice(from))
                .is_some(),
        }
    }
}

/// `length` bytes of `all` from `at` on, if it has as many.
fn part(all: &mut [u8], at: u64, length: usize) -> Option<&mut [u8]> {
    let begin = usize::try_from(at).ok()?;
    all.get_mut(begin..)?.get_mut(..length)
}

/// A request in the device.
struct Pending {
    /// When the device is done with it.
    end: u64,
    /// When it is answered: so much earlier as the answer is under way.
    due: u64,
    handle: [u8; 8],
    request: Request,
    /// 0, or the error to answer with.
    error: u32,
}

struct Server {
    socket: UnixStream,
    image: Image,
    device: Device,
    depth: usize,
    /// When the device last took a request; its clock does not run backwards.
    last: u64,
    /// Whether `block` holds the bytes of the first of `pending`.
    prepared: bool,
    /// Sorted by when they are due; of equals, the earlier first.
    pending: Vec<Pending>,
    /// What came over the socket and is not yet a whole request.
    input: Vec<u8>,
    received: Vec<u8>,
    /// Room for the bytes of one request and their alignment.
    block: Vec<u8>,
    /// Whether more requests can come.
    open: bool,
}

impl Server {
    fn new(socket: UnixStream, image: Image, device: Device, depth: usize) -> Self {
        Self {
            socket,
            image,
            device,
            depth,
            last: 0,
            prepared: false,
            pending: Vec::with_capacity(256),
            input: Vec::with_capacity(4 * MAX_REQUEST),
            received: vec![0; MAX_REQUEST],
            block: vec![0; MAX_REQUEST + PAGE],
            open: true,
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        while self.open || !self.pending.is_empty() {
            let Some((end, due)) = self.pending.first().map(|p| (p.end, p.due)) else {
                self.receive(RecvFlags::empty())?;
                self.submit(now())?;
                continue;
            };
            if self.pending.len() < self.depth && self.open {
                // What comes meanwhile may be done sooner.
                self.prepare();
                let left = due.saturating_sub(now());
                let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
                if left > 0 && poll(&mut ready, Some(&timespec(left)))? > 0 {
                    self.receive(RecvFlags::DONTWAIT)?;
                    self.submit(now())?;
                    continue;
                }
            }
            let was_full = self.pending.len() >= self.depth;
            self.answer_first()?;
            self.receive(RecvFlags::DONTWAIT)?;
            // What came while the device was full has waited for that moment, which may
            // not have come yet.
            self.submit(if was_full { end } else { now() })?;
        }
        Ok(())
    }

    /// Takes what is in the socket.
    fn receive(&mut self, flags: RecvFlags) -> io::Result<()> {
        match recv(&self.socket, self.received.as_mut_slice(), flags) {
            Ok((0, _)) => self.open = false,
            Ok((n, _)) => self.input.extend(self.received.iter().take(n)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    /// Gives the whole requests of the input to the device.
    fn submit(&mut self, now: u64) -> io::Result<()> {
        let now = now.max(self.last);
        let input = std::mem::take(&mut self.input);
        let mut rest = input.as_slice();
        while let Some((header, behind)) = rest.split_first_chunk::<REQUEST_BYTES>() {
            let (kind, handle, request) = understand(header)?;
            if kind == DISCONNECT {
                self.open = false;
                break;
            }
            let mut error = 0;
            rest = if request.kind == Kind::Write {
                let length = length(request);
                let Some((bytes, behind)) = behind.split_at_checked(length) else {
                    break;
                };
                // Written at once, so that no later read sees the old bytes.
                self.prepared = false;
                let written = aligned(&mut self.block, length).map(|room| {
                    room.copy_from_slice(bytes);
                    self.image.write(room, request.at)
                });
                if written != Some(true) {
                    error = EIO;
                }
                behind
            } else {
                behind
            };
            self.last = now;
            let end = self.device.submit(now, request);
            let due = self.device.answered(end, request);
            let place = self.pending.partition_point(|p| p.due <= due);
            if place == 0 {
                self.prepared = false;
            }
            let pending = Pending {
                end,
                due,
                handle,
                request,
                error,
            };
            self.pending.insert(place, pending);
        }
        let done = input.len() - rest.len();
        self.input = input;
        self.input.drain(..done);
        Ok(())
    }

    /// Brings the bytes of the first request into `block`, while there is time.
    fn prepare(&mut self) {
        let Some(first) = self.pending.first_mut().filter(|_| !self.prepared) else {
            return;
        };
        if first.request.kind == Kind::Read {
            let room = aligned(&mut self.block, length(first.request));
            if room.is_none_or(|room| !self.image.read(room, first.request.at)) {
                first.error = EIO;
            }
        }
        self.prepared = true;
    }

    /// Answers the request that is due first, when it is.
    fn answer_first(&mut self) -> io::Result<()> {
        self.prepare();
        self.prepared = false;
        let pending = self.pending.remove(0);
        let bytes = match (pending.request.kind, pending.error) {
            (Kind::Read, 0) => aligned(&mut self.block, length(pending.request)),
            _ => None,
        };
        let bytes = bytes.as_deref().unwrap_or_default();
        let mut header = [0; 16];
        header[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
        header[4..8].copy_from_slice(&pending.error.to_be_bytes());
        header[8..].copy_from_slice(&pending.handle);
        if now() < pending.due {
            clock_nanosleep_absolute(ClockId::Monotonic, &timespec(pending.due))?;
        }
        let whole = header.len() + bytes.len();
        let sent = self
            .socket
            .write_vectored(&[IoSlice::new(&header), IoSlice::new(bytes)])?;
        if sent < whole {
            let (header, bytes) = (header.get(sent..), bytes.get(sent.saturating_sub(16)..));
            self.socket.write_all(header.unwrap_or_default())?;
            self.socket.write_all(bytes.unwrap_or_default())?;
        }
        Ok(())
    }
}

/// How many bytes a request moves.
fn length(request: Request) -> usize {
    usize::try_from(request.bytes).unwrap_or(usize::MAX)
}

/// `length` bytes of `block` that begin at a page, if it has as many.
fn aligned(block: &mut [u8], length: usize) -> Option<&mut [u8]> {
    let begin = block.as_ptr().align_offset(PAGE);
    block.get_mut(begin..)?.get_mut(..length)
}

/// The parts of a request's header: type, handle, and what it means.
fn understand(header: &[u8; REQUEST_BYTES]) -> io::Result<(u32, [u8; 8], Request)> {
    let [
        m0,
        m1,
        m2,
        m3,
        t0,
        t1,
        t2,
        t3,
        h0,
        h1,
        h2,
        h3,
        h4,
        h5,
        h6,
        h7,
        a0,
        a1,
        a2,
        a3,
        a4,
        a5,
        a6,
        a7,
        l0,
        l1,
        l2,
        l3,
    ] = *header;
    let magic = u32::from_be_bytes([m0, m1, m2, m3]);
    // The upper half holds flags; none was agreed on that matters here.
    let kind = u32::from_be_bytes([t0, t1, t2, t3]) & 0xffff;
    let request = Request {
        kind: match (magic, kind) {
            (REQUEST_MAGIC, READ) => Kind::Read,
            (REQUEST_MAGIC, WRITE) => Kind::Write,
            (REQUEST_MAGIC, FLUSH | DISCONNECT) => Kind::Flush,
            _ => {
                let what = format!(
                    "the kernel sent the unknown request {magic:#x}/{kind} to the \
                    storage server"
                );
                return Err(io::Error::other(what));
            }
        },
        at: u64::from_be_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
        bytes: u64::from(u32::from_be_bytes([l0, l1, l2, l3])),
    };
    Ok((kind, [h0, h1, h2, h3, h4, h5, h6, h7], request))
}

fn now() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    let [s, ns] = [t.tv_sec, t.tv_nsec].map(|n| u64::try_from(n).unwrap_or(0));
    s * NS_PER_S + ns
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / NS_PER_S).cast_signed(),
        tv_nsec: (ns % NS_PER_S).cast_signed(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test that cannot go on should stop
mod tests {
    use super::*;
    use firstlight_agent::config::Model;
    use std::io::Read;
    use std::num::NonZeroU32;
    use std::thread::{JoinHandle, spawn};

    const SIZE: usize = 64 << 10;

    /// A server of bytes that count up, and the kernel's end of its socket.
    fn server(
        name: &str,
        figures: Storage,
        mapped: bool,
    ) -> (UnixStream, JoinHandle<io::Result<()>>, PathBuf) {
        let own = format!("firstlight-agent-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(own);
        let bytes: Vec<u8> = (0..SIZE).map(|i| (i % 251) as u8).collect();
        fs::write(&path, bytes).unwrap();
        let image = File::options().read(true).write(true).open(&path).unwrap();
        let image = match mapped {
            false => Image::Block(image),
            true => Image::Mapped(Mapped::new(&image, SIZE).unwrap()),
        };
        let (socket, kernels) = UnixStream::pair().unwrap();
        let depth = figures.queue_depth.get() as usize;
        let device = Device::new(figures, SIZE as u64);
        let mut server = Server::new(socket, image, device, depth);
        (kernels, spawn(move || server.serve()), path)
    }

    fn request(kind: u32, handle: u8, at: u64, bytes: u32) -> Vec<u8> {
        let mut header = REQUEST_MAGIC.to_be_bytes().to_vec();
        header.extend(kind.to_be_bytes());
        header.extend([handle; 8]);
        header.extend(at.to_be_bytes());
        header.extend(bytes.to_be_bytes());
        header
    }

    /// The handle, the error, and `bytes` bytes.
    fn reply(from: &mut UnixStream, bytes: usize) -> (u8, u32, Vec<u8>) {
        let mut header = [0; 16];
        from.read_exact(&mut header).unwrap();
        assert_eq!(header[..4], REPLY_MAGIC.to_be_bytes());
        let mut body = vec![0; bytes];
        from.read_exact(&mut body).unwrap();
        let error = u32::from_be_bytes(header[4..8].try_into().unwrap());
        (header[8], error, body)
    }

    #[test]
    fn requests_that_come_glued_and_torn_are_served() {
        glued_and_torn("torn", false);
        glued_and_torn("torn-mapped", true);
    }

    fn glued_and_torn(name: &str, mapped: bool) {
        let flash = Storage {
            model: Model::Flash,
            ..Storage::default()
        };
        let (mut kernel, server, path) = server(name, flash, mapped);
        let mut bytes = request(READ, 1, 512, 3);
        bytes.extend(request(WRITE, 2, 513, 1024));
        bytes.extend([7; 1024]);
        bytes.extend(request(FLUSH, 3, 0, 0));
        bytes.extend(request(READ, 4, 512, 3));
        // Past the end, and over what the kernel was told.
        bytes.extend(request(READ, 5, SIZE as u64, 512));
        bytes.extend(request(READ, 6, 0, u32::MAX));
        let (head, tail) = bytes.split_at(200);
        kernel.write_all(head).unwrap();
        assert_eq!(reply(&mut kernel, 3), (1, 0, vec![10, 11, 12]));
        kernel.write_all(tail).unwrap();
        assert_eq!(reply(&mut kernel, 0), (2, 0, vec![]));
        assert_eq!(reply(&mut kernel, 0), (3, 0, vec![]));
        assert_eq!(reply(&mut kernel, 3), (4, 0, vec![10, 7, 7]));
        assert_eq!(reply(&mut kernel, 0), (5, EIO, vec![]));
        assert_eq!(reply(&mut kernel, 0), (6, EIO, vec![]));
        kernel.write_all(&request(DISCONNECT, 7, 0, 0)).unwrap();
        server.join().unwrap().unwrap();
        fs::remove_file(path).unwrap();
    }

    /// Writes a 9 to byte 0 and reads at `at` behind it. The read is answered first, no
    /// earlier than after `read_ns`, with `read`; the write is answered after 40 ms.
    fn a_read_passes_a_write(name: &str, storage: Storage, at: u64, read: &[u8], read_ns: u64) {
        let (mut kernel, server, path) = server(name, storage, false);
        let begin = now();
        let length = u32::try_from(read.len()).unwrap();
        let mut both = request(WRITE, 1, 0, 1);
        both.push(9);
        both.extend(request(READ, 2, at, length));
        kernel.write_all(&both).unwrap();
        assert_eq!(reply(&mut kernel, read.len()), (2, 0, read.to_vec()));
        assert!(now() - begin >= read_ns);
        assert_eq!(reply(&mut kernel, 0), (1, 0, vec![]));
        assert!(now() - begin >= 40_000_000);
        // The kernel may also just hang up.
        drop(kernel);
        server.join().unwrap().unwrap();
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn answers_come_when_the_model_says_and_in_its_order() {
        let deep = Storage {
            model: Model::Flash,
            queue_depth: NonZeroU32::new(2).unwrap(),
            command_ns: 1_000_000,
            write_command_ns: 40_000_000,
            ..Storage::default()
        };
        a_read_passes_a_write("order", deep, 4, &[4], 1_000_000);
    }

    #[test]
    fn reads_are_answered_as_much_earlier_as_they_cost_here_and_writes_are_not() {
        let flash = Storage {
            model: Model::Flash,
            queue_depth: NonZeroU32::new(2).unwrap(),
            command_ns: 40_000_000,
            write_command_ns: 40_000_000,
            own_request_ns: 30_000_000,
            ..Storage::default()
        };
        // The write enters first, and the read sees it.
        a_read_passes_a_write("early", flash, 0, &[9, 1], 10_000_000);
    }

    #[test]
    fn what_is_not_the_protocol_ends_the_server() {
        let (mut kernel, server, path) = server("foreign", Storage::default(), false);
        kernel.write_all(&[0xff; REQUEST_BYTES]).unwrap();
        let error = server.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("0xffffffff"), "{error}");
        fs::remove_file(path).unwrap();
    }
}
