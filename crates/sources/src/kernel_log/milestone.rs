//! The lines by which a boot's milestones are known.

use super::at::At;
use super::counter;
use super::units;
use super::units::of_systemd;
use crate::text::{lossy, number};
use memchr::memmem;
use record::{ClockKind, Origin, Phase, Recorder, mark};

/// A kernel's first words, before its version; on ARM another line is before it.
pub(super) const VERSION: &[u8] = b"Linux version ";
pub(super) const BOOTING: &[u8] = b"Booting Linux on ";

/// Whether a kernel begins to speak with `text`.
pub(super) fn is_kernels_first(text: &[u8]) -> bool {
    text.starts_with(VERSION) || text.starts_with(BOOTING)
}

/// Which programs have run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Kernel,
    Initrd,
    Userspace,
}

/// Recognises milestones; remembers which have passed.
#[derive(Debug, Default)]
pub(super) struct Milestones {
    stage: Stage,
    kernel_start: bool,
    version: bool,
    command_line: Option<Vec<u8>>,
    clock_switched: bool,
    root_mounted: bool,
    /// When the kernel had freed the memory of its own start, or ran the first program.
    first_program: Option<At>,
    memory_freed: bool,
    /// Whether Android's init has said that it is in its first stage, in the initramfs.
    android_first_stage: bool,
    userspace_line: bool,
    /// systemd's first line, while it is open whether it ran in an initramfs.
    systemd: Option<At>,
    initrd_systemd: bool,
    /// Whether a line was a milestone: all of them are lines that only inform.
    informs: bool,
}

impl Milestones {
    /// Whether the kernel's first lines were seen.
    pub(super) const fn kernel_started(&self) -> bool {
        self.kernel_start
    }

    /// Whether the kernel had changed to its final clock source.
    pub(super) const fn clock_switched(&self) -> bool {
        self.clock_switched
    }

    /// Whether `text` is the first line of a kernel, when one has begun already.
    pub(super) fn begins_again(&self, text: &[u8]) -> bool {
        (self.version && text.starts_with(VERSION))
            || (self.kernel_start && text.starts_with(BOOTING))
    }

    /// Whether `text` can be a kernel's although it has no stamp: one has
    /// begun, or begins here.
    pub(super) fn may_be_kernel(&self, text: &[u8]) -> bool {
        self.kernel_start || is_kernels_first(text)
    }

    /// Records what `text` marks. Whether it is a milestone.
    #[inline]
    pub(super) fn line(
        &mut self,
        recorder: &mut Recorder,
        at: At,
        text: &[u8],
        by_program: bool,
    ) -> bool {
        let first = !self.userspace_line
            && (by_program || looks_like_program(text))
            && self.userspace(recorder, at, by_program);
        let milestone = match text.first() {
            Some(b'L' | b'B' | b'C' | b'K') => self.start(recorder, at, text),
            Some(b'c' | b'p' | b'S') => self.clock_or_console(recorder, at, text),
            Some(b'V' | b'E' | b'X' | b'U' | b'F') if self.file_system(recorder, at, text) => true,
            Some(b'e') => {
                entering_level(recorder, at, text) || self.file_system(recorder, at, text)
            }
            Some(b'F') => self.freed(recorder, at, text),
            Some(b'R') => self.run(recorder, at, text),
            Some(b's') => self.systemd_line(recorder, at, text),
            Some(b'i') => self.android(recorder, at, text),
            Some(b'f') => Self::firstlight(recorder, at, text),
            _ => false,
        };
        self.informs |= milestone;
        first || milestone
    }

    /// Whether the log has lines that only inform, as far as milestones tell.
    pub(super) const fn informs(&self) -> bool {
        self.informs
    }

    /// Whether the log tells when the kernel was done, or the first program began.
    pub(super) fn tells_programs(&self) -> bool {
        let began = self.first_program.or(self.systemd);
        self.memory_freed || self.stage != Stage::Kernel || began.is_some()
    }

    /// Decides what only the end of the log decides.
    pub(super) fn finish(self, recorder: &mut Recorder) {
        if let Some(at) = self.systemd
            && self.stage != Stage::Userspace
        {
            at.mark(recorder, mark::USERSPACE_START, Some(Phase::Userspace));
        }
    }

    fn start(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
        if is_kernels_first(text) {
            if !self.kernel_start {
                self.kernel_start = true;
                at.mark(recorder, mark::KERNEL_START, Some(Phase::Kernel));
            }
            self.facts(recorder, text, at.origin);
            return true;
        }
        self.facts(recorder, text, at.origin) || self.file_system(recorder, at, text)
    }

    /// Records what the kernel says of itself. Whether the line is of those that
    /// do.
    fn facts(&mut self, recorder: &mut Recorder, text: &[u8], origin: Origin) -> bool {
        if let Some(version) = text.strip_prefix(VERSION) {
            if !self.version {
                self.version = true;
                recorder.fact("kernel.version", lossy(version).trim_end(), origin);
            }
            return true;
        }
        let line = text.strip_prefix(b"Kernel command line: ");
        let Some(line) = line.or(text.strip_prefix(b"Command line: ")) else {
            return false;
        };
        if self.command_line.is_none() {
            recorder.fact("kernel.cmdline", lossy(line).trim_end(), origin);
            self.command_line = Some(line.to_vec());
        }
        true
    }

    /// What a line without any time says of the kernel. A loader may speak of a
    /// kernel's command line too, so only what stands after the kernel's first
    /// words counts.
    pub(super) fn untimed(&mut self, recorder: &mut Recorder, text: &[u8], origin: Origin) {
        if self.version || text.starts_with(VERSION) {
            self.facts(recorder, text, origin);
        } else if let Some(readings) = text.strip_prefix(counter::LINE) {
            counter::clocks_line(recorder, None, origin, readings);
        }
    }

    fn clock_or_console(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
        // Before 3.16 without the first word; before 3.11 "Switching".
        let clock = text.strip_prefix(b"clocksource: ").unwrap_or(text);
        if clock.starts_with(b"Switched to clocksource ")
            || clock.starts_with(b"Switching to clocksource ")
        {
            self.clock_switched = true;
            at.mark(recorder, mark::CLOCKSOURCE_SWITCH, None);
            return true;
        }
        let console = text.strip_prefix(b"printk: ").unwrap_or(text);
        let console = console.strip_prefix(b"legacy ").unwrap_or(console);
        if console.starts_with(b"console [") && memmem::find(console, b"] enabled").is_some() {
            at.mark(recorder, mark::CONSOLE_ENABLED, None);
            return true;
        }
        false
    }

    /// The kernel's own word on the root, and what file systems say when the
    /// first of them is mounted, which is the root's.
    fn file_system(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
        const SAY: [(&[u8], &[u8]); 7] = [
            (b"EXT", b": mounted filesystem "),
            (b"XFS (", b": Ending clean mount"),
            (b"BTRFS info (device ", b": first mount of filesystem "),
            (b"F2FS-fs (", b": Mounted with checkpoint"),
            (b"UBIFS (", b": UBIFS: mounted UBI device "),
            (b"EROFS", b": mounted with root inode "),
            (b"erofs", b": mounted with root inode "),
        ];
        let by_kernel = text.starts_with(b"VFS: Mounted root ");
        let by_file_system = || {
            SAY.iter().any(|(start, words)| {
                text.starts_with(start) && memmem::find(text, words).is_some()
            })
        };
        if by_kernel || (!self.root_mounted && by_file_system()) {
            self.root_mounted = true;
            at.mark(recorder, mark::ROOT_MOUNTED, None);
            return true;
        }
        false
    }

    fn freed(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
        const SAY: [&[u8]; 4] = [
            b"Freeing unused kernel memory",
            b"Freeing unused kernel image (initmem) memory",
            b"Freeing unused kernel image memory",
            b"Freeing init memory",
        ];
        if self.memory_freed || !SAY.iter().any(|s| text.starts_with(s)) {
            return false;
        }
        self.memory_freed = true;
        self.first_program = self.first_program.or(Some(at));
        at.mark(recorder, mark::MEMORY_FREED, None);
        true
    }

    /// `Run /init as init process`
    fn run(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
        let Some(rest) = text.strip_prefix(b"Run ") else {
            return false;
        };
        let Some(end) = memmem::find(rest, b" as init process") else {
            return false;
        };
        let program = rest.get(..end).unwrap_or_default();
        self.first_program = Some(at);
        at.mark(recorder, mark::INIT_STARTED, None);
        // A kernel that cannot run the first program says "Run" again.
        if self.is_of_initrd(program) {
            self.stage = Stage::Initrd;
            at.mark(recorder, mark::INITRD_START, Some(Phase::Initrd));
        } else {
            self.stage = Stage::Userspace;
            at.mark(recorder, mark::USERSPACE_START, Some(Phase::Userspace));
        }
        true
    }

    /// The kernel runs `/init`, or what `rdinit=` says, of an initramfs only.
    fn is_of_initrd(&self, program: &[u8]) -> bool {
        let line = self.command_line.as_deref().unwrap_or_default();
        let words = || line.split(|b| *b == b' ');
        if words().any(|w| w.strip_prefix(b"rdinit=") == Some(program)) {
            return true;
        }
        program == b"/init" && !words().any(|w| w.strip_prefix(b"init=") == Some(program))
    }

    fn systemd_line(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
        let Some(words) = of_systemd(text) else {
            return false;
        };
        if words.starts_with(b"Startup finished in ") {
            at.mark(recorder, mark::STARTUP_FINISHED, None);
            return true;
        }
        if words.starts_with(b"Switching root.") {
            self.systemd = None;
            self.enter_userspace(recorder, at);
            return true;
        }
        // "Running in initial RAM disk." before systemd 252.
        if words.starts_with(b"Running in init") {
            self.initrd_systemd = true;
            let began = self.systemd.take();
            if self.stage == Stage::Kernel {
                self.stage = Stage::Initrd;
                let at = began.unwrap_or(at);
                at.mark(recorder, mark::INITRD_START, Some(Phase::Initrd));
            }
            return true;
        }
        if !words.starts_with(b"systemd ")
            || memmem::find(words, b" running in system mode").is_none()
        {
            return false;
        }
        at.mark(recorder, mark::SYSTEMD_STARTED, None);
        if self.initrd_systemd || self.systemd.take().is_some() {
            self.enter_userspace(recorder, at);
        } else if self.stage != Stage::Userspace {
            self.systemd = Some(at);
        }
        true
    }

    /// Android's init, which stays in the initramfs or leaves it after a first stage. Without
    /// such a stage all of it is userspace, from the first program on. If a file system is
    /// mounted before it says anything, another system may have mounted it and runs Android in
    /// a container, as Ubuntu Touch does.
    fn android(&mut self, recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
        let Some(words) = units::of_init(text) else {
            return false;
        };
        if words.starts_with(b"init first stage started") {
            self.android_first_stage = true;
            if self.stage == Stage::Kernel {
                self.stage = Stage::Initrd;
                at.mark(recorder, mark::INITRD_START, Some(Phase::Initrd));
            }
            return true;
        }
        if words.starts_with(b"init second stage started") {
            self.enter_userspace(recorder, at);
            return true;
        }
        let is_decided = self.stage == Stage::Userspace || self.root_mounted;
        if is_decided || self.android_first_stage || !is_androids(words) {
            return false;
        }
        let began = self.first_program.filter(|b| b.clock == at.clock);
        self.enter_userspace(recorder, began.unwrap_or(at));
        true
    }

    fn enter_userspace(&mut self, recorder: &mut Recorder, at: At) {
        if self.stage != Stage::Userspace {
            self.stage = Stage::Userspace;
            at.mark(recorder, mark::USERSPACE_START, Some(Phase::Userspace));
        }
    }

    fn userspace(&mut self, recorder: &mut Recorder, at: At, by_program: bool) -> bool {
        // Without a facility the words decide, and only where programs can
        // have run: drivers number their things in brackets, too.
        let can = self.stage != Stage::Kernel || self.memory_freed || !self.kernel_start;
        if by_program || can {
            self.userspace_line = true;
            at.mark(recorder, mark::FIRST_USERSPACE_LINE, None);
        }
        self.userspace_line
    }

    /// What the agent writes into the kernel log:
    /// `firstlight: clocks ...`, which [`counter::clocks_line`] reads, and
    /// `firstlight: mark NAME`.
    fn firstlight(recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
        let Some(words) = text.strip_prefix(agent::LINES.as_bytes()) else {
            return false;
        };
        if let Some(name) = words.strip_prefix(b"mark ") {
            let name = lossy(name.trim_ascii());
            if name.is_empty() {
                return false;
            }
            at.mark(recorder, &name, None);
            return true;
        }
        let Some(readings) = words.strip_prefix(b"clocks ") else {
            return false;
        };
        // The stamp is read when the line is written, right after the others. A wall or a
        // host that stamped it is too coarse to say so.
        let printk = recorder.clock("printk", ClockKind::Printk, 1_000);
        let stamp = (at.clock == printk).then_some(at);
        counter::clocks_line(recorder, stamp, at.origin, readings);
        true
    }
}

/// Whether only Android's init says so; Upstart calls itself `init`, too.
///
/// <https://android.googlesource.com/platform/system/core/+/refs/heads/main/init/>
fn is_androids(words: &[u8]) -> bool {
    const BEGIN: [&[u8]; 8] = [
        b"starting service '",
        b"Starting service '",
        b"processing action ",
        b"cannot open '/initlogo.rle'",
        b"Unable to open persistent property directory",
        b"Command '",
        b"SVC_EXEC ",
        b"Parsing file ",
    ];
    let in_a_script = memmem::find(words, b".rc: ").is_some() && words.starts_with(b"/");
    in_a_script || BEGIN.iter().any(|b| words.starts_with(b))
}

/// `name[123]: `, as syslog writes the author of a line.
fn looks_like_program(text: &[u8]) -> bool {
    let named =
        |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'(' | b')');
    let name = text.iter().take(64).take_while(named).count();
    match text.get(name..) {
        // The kernel numbers its interrupt controllers in the same way.
        Some([b'[', pid @ ..]) if name > 0 && !text.starts_with(b"IOAPIC[") => {
            matches!(number(pid), Some((1.., [b']', b':', b' ', ..])))
        }
        _ => false,
    }
}

/// `entering initcall level: fs`
fn entering_level(recorder: &mut Recorder, at: At, text: &[u8]) -> bool {
    let Some(level) = text.strip_prefix(b"entering initcall level: ") else {
        return false;
    };
    let name = format!("initcall-level-{}", lossy(level.trim_ascii()));
    at.mark(recorder, &name, None);
    true
}
