//! The machine `pc`: an x86-64 q35 of QEMU with one processor, whose time is
//! the number of instructions it has executed.

mod bzimage;
mod kernels;

use crate::artifacts::{Arch, Cache, agent_program, hash_bytes};
use crate::emulator::gdb::X86_64;
use crate::emulator::stages::{self, KnownStages, Route, Stages};
use crate::emulator::{self, Clock, Limits, Pace, PowerOn, Program, Qemu, Words};
use crate::error::{LabError, io_error};
use crate::experiment::{Base, Experiment, Mode, Root};
use crate::files::{HashedFile, read};
use crate::initramfs;
use crate::layout;
use crate::machine::{Boot, HostMark, Machine};
use crate::storage::Profile;
use crate::trial::Plan;
use agent::access::encode;
use agent::config::AgentConfig;
use kernels::{KernelFile, KernelForms};
use record::{Phase, mark};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use treat::reading::Reading;
use treat::{BootSpec, KernelForm};

/// The emulator.
pub const QEMU: Program = Program {
    name: "qemu-system-x86_64",
    package: "qemu-system-x86",
};

/// What every boot has in common. A part of every fingerprint: who changes it
/// changes all digests.
///
/// `hpet=off`: with ticks from QEMU's HPET the kernel's clock runs half as fast
/// again as the counter until the kernel changes to the counter, and stays
/// 145 ms ahead. Without it the two agree to 6 ms.
pub const MACHINE: &str = "-M q35,nvdimm=on,hpet=off -smp 1 -nodefaults -no-user-config \
    -nographic -no-reboot -monitor none -rtc base=2026-01-01,clock=vm";

/// The persistent memory for the payload, in bytes.
const OUT_BYTES: u64 = 64 << 20;

/// Linux wants persistent memory in whole pieces of this many bytes.
const PIECE_BYTES: u64 = 2 << 20;

/// What an emulated processor's counter ticks at, whatever its speed. In real time
/// it is the host's, of which only the booted kernel finds out how fast it is: 0.
const fn counter_hz(mode: Mode) -> u64 {
    match mode {
        Mode::Exact => 1_000_000_000,
        Mode::Statistical(_) => 0,
    }
}

/// A machine with all its files, ready to boot any variant of an experiment.
#[derive(Debug)]
pub struct Pc {
    qemu: Qemu,
    base: Base,
    pace: Pace,
    description: String,
    kernels: Vec<KernelForms>,
    /// Of each kernel and each treatment of reading.
    files: Vec<Files>,
    stages: KnownStages,
}

/// The initramfs and the root of some boots.
#[derive(Clone, Debug)]
struct Files {
    /// What their kernel was built with.
    build: Vec<String>,
    /// How their reading is treated.
    reading: Reading,
    initramfs: HashedFile,
    root: Option<HashedFile>,
}

impl Pc {
    /// Gets everything that `experiment` needs, from the cache or by making it;
    /// `say` is told what takes time. The initramfs is written into `out`.
    ///
    /// # Errors
    /// If a tool or file is missing or wrong, in one sentence.
    pub fn prepare(
        experiment: &Experiment,
        cache: &Cache,
        out: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, LabError> {
        let base = experiment.base.clone();
        let qemu = Qemu::find(QEMU)?;
        let agent = agent_program(Arch::X86_64, say)?;
        let profile = base.storage.clone();
        let kernels = KernelForms::all(experiment, cache, say)?;
        let root = match &base.root {
            Root::None => None,
            Root::DebianMinimal => Some(cache.debian_minimal_root(say)?),
            Root::Image(path) => Some(path.clone()),
            Root::Tree { folder, form } => Some(form.image_of(cache, folder, say)?),
        };
        let root = match root {
            None => None,
            Some(path) => Some(root_file(path, cache)?),
        };
        let pace = Pace::of(&base, "x86_64");
        let description = describe(&qemu, pace, &base, &profile);
        let config = agent_config(&base, &profile, &description, root.as_ref());
        let mut wanted = vec!["nfit", "nd_pmem"];
        wanted.extend(initramfs::root_modules(&config, false));
        let make = |kernel: &KernelForms, list: Option<&[u8]>| {
            initramfs::make(&agent, &config, kernel.modules.as_deref(), &wanted, list)
        };
        let all = Making {
            kernels: &kernels,
            root: root.as_ref(),
            make: &make,
        };
        let files = all.files(experiment, (out, cache), say)?;
        Ok(Self {
            files,
            qemu,
            base,
            pace,
            description,
            kernels,
            stages: KnownStages::new(cache),
        })
    }

    fn kernel(&self, spec: &BootSpec) -> Result<&KernelFile, LabError> {
        KernelForms::of(&self.kernels, spec)
    }

    /// The initramfs and the root of a boot.
    fn files(&self, spec: &BootSpec) -> Result<&Files, LabError> {
        let mine = |f: &&Files| f.build == spec.build && f.reading == spec.reading;
        self.files.iter().find(mine).ok_or_else(|| LabError::Bug {
            why: "a variant wants an initramfs that was not prepared".into(),
        })
    }

    fn power_on(&self, spec: &BootSpec, out_file: &Path) -> Result<PowerOn, LabError> {
        let own = self.files(spec)?;
        let files = Started {
            kernel: &self.kernel(spec)?.file.path,
            initramfs: &own.initramfs.path,
            root: own.root.as_ref().map(|r| (r.path.as_path(), r.bytes)),
            out: (out_file, OUT_BYTES),
        };
        Ok(PowerOn {
            words: words(self.base.memory_mb, &spec.cmdline.to_string(), &files),
            pace: self.pace,
        })
    }

    /// When firmware and decompression end: known from an earlier boot of the
    /// same inputs, or measured now. The baseline's command line stands for all:
    /// another one moves them by a few microseconds (seen: 2), and a measurement
    /// takes 10 s of the host.
    fn stages(&self, spec: &BootSpec) -> Result<Stages, String> {
        let Pace::Counted(shift) = self.pace else {
            return Err(stages::NOT_IN_REAL_TIME.into());
        };
        let measured = BootSpec {
            kernel: spec.kernel,
            cmdline: self.base.cmdline.clone(),
            build: spec.build.clone(),
            ..BootSpec::default()
        };
        for cmdline in [&spec.cmdline, &measured.cmdline] {
            if !cmdline.contains("nokaslr") && spec.kernel == KernelForm::Image {
                return Err(
                    "without `nokaslr` on the command line the kernel's entry is not \
                            known, so firmware and decompression are not told apart"
                        .into(),
                );
            }
        }
        self.stages.get(&self.stages_key(&measured), |folder| {
            let out_file = folder.join("out");
            emulator::make_out_file(&out_file, OUT_BYTES)?;
            let machine = self.power_on(&measured, &out_file)?;
            let route = Route {
                processor: &X86_64,
                waypoints: self.kernel(&measured)?.entries.clone(),
                console: None,
            };
            let start = |socket: &Path| self.qemu.start_recording(&machine.words, shift, socket);
            stages::measure(&route, shift, folder, &start)
        })
    }

    /// What the stages depend on: all but the contents of initramfs and root,
    /// which nobody reads so early.
    fn stages_key(&self, spec: &BootSpec) -> String {
        let root = self.files(spec).ok().and_then(|f| f.root.as_ref());
        let root = root.map_or(0, |r| r.bytes);
        let inputs = self.early_inputs(spec);
        hash_bytes(format!("waypoints\n{inputs}root_bytes = {root}\n").as_bytes())
    }

    fn early_inputs(&self, spec: &BootSpec) -> String {
        let form = spec.kernel;
        let initramfs = self.files(spec).map_or(0, |f| f.initramfs.bytes);
        let kernel = self.kernel(spec).map_or("", |k| &k.file.sha256);
        let mut text = String::new();
        for (key, value) in [
            ("qemu", self.qemu.version().to_owned()),
            ("machine", MACHINE.to_owned()),
            ("memory_mb", self.base.memory_mb.to_string()),
            ("pace", format!("{:?}", self.pace)),
            ("kernel_form", form.as_str().to_owned()),
            ("kernel", kernel.to_owned()),
            ("initramfs_bytes", initramfs.to_string()),
            ("out_bytes", OUT_BYTES.to_string()),
            ("cmdline", spec.cmdline.to_string()),
        ] {
            // Writing into a string does not fail.
            let _ = writeln!(text, "{key} = {value}");
        }
        text
    }
}

impl Machine for Pc {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn is_exact(&self) -> bool {
        self.base.mode.is_exact()
    }

    fn inputs(&self, plan: &Plan) -> String {
        let files = self.files(&plan.spec);
        let initramfs = files.as_ref().map_or("", |f| &f.initramfs.sha256);
        let root = files.as_ref().ok().and_then(|f| f.root.as_ref());
        let root = root.map_or("none", |r| &r.sha256);
        format!(
            "{}initramfs = {initramfs}\nroot = {root}\nlimit_virtual_s = {:?}\n",
            self.early_inputs(&plan.spec),
            self.base.limit_virtual_s
        )
    }

    fn boot(
        &self,
        plan: &Plan,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        let out_file = work.join("out");
        emulator::make_out_file(&out_file, OUT_BYTES)?;
        let machine = self.power_on(&plan.spec, &out_file)?;
        let limits = Limits {
            wall_s: self.base.limit_wall_s,
            virtual_s: self.base.limit_virtual_s,
            clock: Some(Clock::Pc),
            until: None,
        };
        let mut boot = self.qemu.boot(&machine, &out_file, limits, work, seen)?;
        if boot.payload.is_some() {
            match self.stages(&plan.spec) {
                Ok(stages) => boot.marks = marks(&stages),
                Err(why) => boot.notes.push(why),
            }
        }
        Ok(boot)
    }
}

fn marks(stages: &Stages) -> Vec<HostMark> {
    let mut marks = vec![HostMark::begins(mark::POWER_ON, 0, Phase::Firmware)];
    if let [unpacking, _] = stages.passed_ns[..] {
        let (name, phase) = (mark::DECOMPRESSION_START, Phase::Decompression);
        marks.push(HostMark::begins(name, unpacking, phase));
    }
    if let Some(kernel) = stages.passed_ns.last() {
        marks.push(HostMark::begins(mark::KERNEL_ENTRY, *kernel, Phase::Kernel));
    }
    marks
}

fn describe(qemu: &Qemu, pace: Pace, base: &Base, profile: &Profile) -> String {
    format!(
        "pc, 1 vCPU {}, {} MiB, storage {}",
        pace.describe(qemu.version()),
        base.memory_mb,
        profile.name
    )
}

fn agent_config(
    base: &Base,
    profile: &Profile,
    machine: &str,
    root: Option<&HashedFile>,
) -> AgentConfig {
    AgentConfig {
        machine: machine.to_owned(),
        out_size: OUT_BYTES,
        root: root.map(|root| initramfs::root(root.bytes, base.root.fstype())),
        first_light: base.first_light.clone(),
        counter_hz: counter_hz(base.mode),
        storage: profile.storage.clone(),
    }
}

/// Makes the initramfs for a kernel, with an access list or without one.
type MakeInitramfs<'a> = dyn Fn(&KernelForms, Option<&[u8]>) -> Result<Vec<u8>, LabError> + 'a;

/// What initramfs and root of every variant are made of.
struct Making<'a> {
    kernels: &'a [KernelForms],
    root: Option<&'a HashedFile>,
    make: &'a MakeInitramfs<'a>,
}

impl Making<'_> {
    /// The initramfs and the root of every variant: those of each kernel with nothing
    /// treated first. What is new is written into `out`.
    fn files(
        &self,
        experiment: &Experiment,
        (out, cache): (&Path, &Cache),
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<Files>, LabError> {
        let mut all: Vec<Files> = Vec::new();
        for (i, kernel) in self.kernels.iter().enumerate() {
            let name = match i {
                0 => "initramfs.cpio".to_owned(),
                i => format!("initramfs-of-{i}.cpio"),
            };
            all.push(Files {
                build: kernel.build.clone(),
                reading: Reading::default(),
                initramfs: HashedFile::write(out, &name, &(self.make)(kernel, None)?)?,
                root: self.root.cloned(),
            });
        }
        let mut number = 0;
        for spec in experiment.variants.iter().map(|v| &v.spec) {
            let reading = &spec.reading;
            let of = self.kernels.iter().find(|k| k.build == spec.build);
            let known = all
                .iter()
                .any(|f| f.build == spec.build && f.reading == *reading);
            let (false, Some(kernel)) = (known, of) else {
                continue;
            };
            let mut list = reading.prefetch.as_ref().map(PathBuf::from);
            let mut root = self.root.cloned();
            let mut ordered = None;
            if let (Some(order), Some(plain)) = (&reading.order, &root) {
                say(format!("laying out the root in the order of {order}"));
                let by = layout::read_list(Path::new(order))?;
                let path = out.join(format!("root-{number}.img"));
                fs::create_dir_all(out).map_err(io_error(out, "cannot be made"))?;
                let file = fs::File::create(&path).map_err(io_error(&path, "cannot be made"))?;
                let done = layout::order(&plain.path, &by, (&file, &path))?;
                // The same list is read ahead where its metadata lies now.
                if list.as_deref() == Some(Path::new(order)) {
                    list = None;
                    ordered = Some(encode(&done.list));
                }
                root = Some(root_file(path, cache)?);
            }
            let bytes = match list {
                Some(path) => Some(read(&path)?),
                None => ordered,
            };
            let name = format!("initramfs-{number}.cpio");
            let made = (self.make)(kernel, bytes.as_deref())?;
            all.push(Files {
                build: spec.build.clone(),
                reading: reading.clone(),
                initramfs: HashedFile::write(out, &name, &made)?,
                root,
            });
            number += 1;
        }
        Ok(all)
    }
}

fn root_file(path: PathBuf, cache: &Cache) -> Result<HashedFile, LabError> {
    let root = HashedFile::large(path, cache)?;
    let unfit = |why: &'static str| {
        let wrong = std::io::Error::new(std::io::ErrorKind::InvalidInput, why);
        io_error(&root.path, "cannot be a root")(wrong)
    };
    if root.bytes == 0 || !root.bytes.is_multiple_of(PIECE_BYTES) {
        return Err(unfit(
            "its size must be a multiple of 2 MiB; `truncate -s %2M FILE` makes it so",
        ));
    }
    if root.bytes == OUT_BYTES {
        return Err(unfit(
            "it has the size of the payload's memory, 64 MiB, and the agent finds memory by size; \
             make it larger",
        ));
    }
    Ok(root)
}

/// What the machine is started with.
struct Started<'a> {
    /// The kernel, image or ELF.
    kernel: &'a Path,
    initramfs: &'a Path,
    /// The root's image and its size in bytes: read, never written.
    root: Option<(&'a Path, u64)>,
    /// The file that takes the payload, and its size in bytes.
    out: (&'a Path, u64),
}

/// The command line of QEMU.
fn words(memory_mb: u32, cmdline: &str, files: &Started<'_>) -> Words {
    let mut words = Words::of(MACHINE);
    let memories = [files.root.map(|r| r.1), Some(files.out.1)];
    let persistent: u64 = memories.iter().flatten().sum();
    let all = (u64::from(memory_mb) << 20).saturating_add(persistent);
    // Room for the persistent memory, in whole GiB, and not less than 4.
    let room = all.div_ceil(1 << 30).max(3) + 1;
    words.pair("-m", format!("{memory_mb},slots=2,maxmem={room}G"));
    words.pair("-kernel", files.kernel);
    words.pair("-initrd", files.initramfs);
    words.pair("-append", cmdline);
    if let Some((path, bytes)) = files.root {
        // Not shared: what the guest writes is the trial's own.
        words.memory("root", false, path, bytes, "nvdimm");
    }
    let (path, bytes) = files.out;
    words.memory("out", true, path, bytes, "nvdimm");
    words
}

#[cfg(test)]
mod tests {
    use super::{Started, words};
    use std::path::Path;

    fn line(root_bytes: Option<u64>) -> String {
        let files = Started {
            kernel: Path::new("k"),
            initramfs: Path::new("i"),
            root: root_bytes.map(|bytes| (Path::new("odd,name"), bytes)),
            out: (Path::new("o"), 64 << 20),
        };
        let words = words(1024, "console=ttyS0 a=\"b c\"", &files).finish();
        let words: Vec<_> = words.iter().map(|w| w.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn the_command_line_is_that_of_an_exact_machine() {
        let line = line(Some(420 << 20));
        for part in [
            "-M q35,nvdimm=on,hpet=off -smp 1 ",
            "-rtc base=2026-01-01,clock=vm",
            "-m 1024,slots=2,maxmem=4G",
            "-append console=ttyS0 a=\"b c\" ",
            "id=root,share=off,readonly=off,mem-path=odd,,name,size=440401920",
            "id=out,share=on,mem-path=o,size=67108864 -device nvdimm,memdev=out",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }

    #[test]
    fn memory_has_room_for_the_root() {
        assert!(line(Some(8 << 30)).contains("maxmem=11G"));
        let line = line(None);
        assert!(line.contains("maxmem=4G") && !line.contains("id=root"));
    }
}
