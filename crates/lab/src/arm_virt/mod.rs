//! The machine `arm-virt`: QEMU's board for ARM with one processor of 32 or 64
//! bits, started by QEMU itself or by U-Boot.
//!
//! The board has no persistent memory as `pc` has: that needs ACPI. Memory goes
//! in and out by `ivshmem-plain`, a PCI device whose memory is a file of the host:
//! synchronous, and the guest needs no driver for it.

pub mod console;
mod flash;
mod image;
mod kernel;

use crate::artifacts::{Arch, Cache, agent_program, hash_bytes};
use crate::emulated::{self, Common, Hardware, Inputs, OutFile};
use crate::emulator::gdb::{AARCH64, ARM};
use crate::emulator::stages::{KnownStages, Stages};
use crate::emulator::{Clock, PowerOn, Program, Qemu, Words};
use crate::error::{LabError, io_error};
use crate::experiment::{ArmArch, Kernel, Loader, Platform, Root};
use crate::files::{HashedFile, read};
use crate::initramfs::{self, Archives, Tree};
use crate::machine::{Boot, HostMark};
use crate::pace::Pace;
use crate::profiles::{for_root, served_profile};
use crate::trial::Plan;
use agent::config::{AgentConfig, Board};
pub use flash::{Kind, legacy_image};
use image::RAM;
pub use kernel::kernels;
use record::{Phase, mark};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use treat::{BootSpec, KernelForm};

/// What every boot has in common. A part of every fingerprint: who changes it
/// changes all digests.
///
/// `highmem=off`: all devices lie below 4 GiB, where every kernel reaches them.
/// `dtb-randomness=off`: no random seeds in the device tree.
pub const MACHINE: &str = "-M virt,dtb-randomness=off,highmem=off -smp 1 -nodefaults \
    -no-user-config -nographic -no-reboot -monitor none -rtc base=2026-01-01,clock=vm";

/// The words of the emulator that every boot of such a processor begins with.
pub(crate) fn words(arch: ArmArch) -> Words {
    let mut words = Words::of(MACHINE);
    words.pair("-cpu", arch.model().cpu);
    words
}

/// The memory for the payload, in bytes; a root that needs as much gets it
/// doubled, since the agent finds memory by size.
const OUT_BYTES: u64 = 64 << 20;

/// The largest root: what the board has of 32-bit addresses for PCI, 750 MiB,
/// holds this and the payload's memory.
const ROOT_LIMIT: u64 = 512 << 20;

/// What the counter of QEMU's ARM processors ticks at.
const COUNTER_HZ: u64 = 62_500_000;

/// The data register of the board's real-time clock, a PL031.
const REAL_TIME_CLOCK: u64 = 0x0901_0000;

/// The data register of the board's serial port, a PL011.
const UART_DATA: u64 = 0x0900_0000;

/// What goes with a kind of processor.
#[derive(Debug, PartialEq, Eq)]
struct Model {
    qemu: Program,
    cpu: &'static str,
    agent: Arch,
    /// A host with such a processor, as [`std::env::consts::ARCH`] names it.
    host: &'static str,
    /// Debian's U-Boot, in the package `u-boot-qemu`.
    u_boot: &'static str,
}

impl ArmArch {
    const fn model(self) -> Model {
        match self {
            Self::Armhf => Model {
                qemu: QEMU_32,
                cpu: "cortex-a15",
                agent: Arch::Armv7,
                host: "arm",
                u_boot: "/usr/lib/u-boot/qemu_arm/u-boot.bin",
            },
            Self::Arm64 => Model {
                qemu: QEMU_64,
                cpu: "cortex-a57",
                agent: Arch::Aarch64,
                host: "aarch64",
                u_boot: "/usr/lib/u-boot/qemu_arm64/u-boot.bin",
            },
        }
    }

    /// The emulator for this kind of processor.
    pub(crate) const fn qemu(self) -> Program {
        self.model().qemu
    }

    /// The agent for this kind of processor.
    pub(crate) const fn agent(self) -> Arch {
        self.model().agent
    }

    /// Debian's U-Boot for it, and the package that brings it.
    pub(crate) const fn u_boot(self) -> (&'static str, &'static str) {
        (self.model().u_boot, "u-boot-qemu")
    }
}

const QEMU_32: Program = Program {
    name: "qemu-system-arm",
    package: "qemu-system-arm",
    roms: &[],
};
const QEMU_64: Program = Program {
    name: "qemu-system-aarch64",
    package: "qemu-system-arm",
    roms: &[],
};

/// A machine with all its files, ready to boot any variant of an experiment.
#[derive(Debug)]
pub struct ArmVirt {
    common: Common,
    arch: ArmArch,
    initramfs: Archives,
    root: Option<RootFile>,
    loader: Option<UBoot>,
    /// Each variant's own boot, without perturbation.
    variants: BTreeMap<String, BootSpec>,
}

/// U-Boot, as the experiment wants it.
#[derive(Debug)]
struct UBoot {
    program: HashedFile,
    environment: BTreeMap<String, String>,
}

/// The root's image.
#[derive(Debug)]
struct RootFile {
    /// As it was given.
    image: HashedFile,
    /// The same with zeros behind it: the memory of a PCI device has a power of
    /// two of bytes.
    padded: PathBuf,
    padded_bytes: u64,
}

impl ArmVirt {
    /// Gets everything that the experiment needs, from the cache or by making it.
    ///
    /// # Errors
    /// If a tool or file is missing or wrong, in one sentence.
    pub fn prepare(inputs: Inputs<'_>) -> Result<Self, LabError> {
        let Inputs {
            experiment,
            cache,
            out,
            say,
        } = inputs;
        let mut base = experiment.base.clone();
        let Platform::ArmVirt { arch, loader } = &experiment.base.platform else {
            let why = "machine arm-virt for another platform".to_owned();
            return Err(LabError::Bug { why });
        };
        let arch = *arch;
        let pace = Pace::of(&base, arch.model().host);
        base.storage = served_profile(base.storage, arch.agent(), pace);
        let qemu = Qemu::find(arch.qemu(), cache)?;
        let loader = match loader {
            Loader::None => None,
            Loader::UBoot {
                program,
                environment,
            } => Some(UBoot {
                program: u_boot(arch, program.as_deref())?,
                environment: environment.clone(),
            }),
        };
        let agent = agent_program(arch.agent(), say)?;
        let profile = base.storage.clone();
        let (path, modules) = match &base.kernel {
            Kernel::Debian => {
                let kernel = cache.debian_kernel(arch.agent(), say)?;
                (kernel.image, Some(kernel.modules))
            }
            Kernel::File { image, modules, .. } => (image.clone(), modules.clone()),
            Kernel::Built { .. } => return Err(Kernel::not_built()),
        };
        let bytes = read(&path)?;
        let entered = loader.as_ref().map(|_| flash::KERNEL_LOAD);
        let given = (path.as_path(), &bytes[..]);
        let kernels = kernels(experiment, (arch, RAM), given, entered, cache)?;
        let busybox = match base.root.busybox() {
            true => Some(cache.busybox(arch.as_str(), say)?),
            false => None,
        };
        let busybox = busybox.as_deref();
        let mut tree = None;
        let root = match &base.root {
            Root::None | Root::DebianMinimal => None,
            Root::Image(path) => Some(RootFile::of(path, cache)?),
            Root::Tree { folder, form, .. } => {
                let image = form.image_of(cache, folder, busybox, say)?;
                Some(RootFile::of(&image, cache)?)
            }
            Root::Initramfs { folder, .. } => {
                tree = Some(Tree::read(folder, busybox)?);
                None
            }
        };
        let starter = match loader {
            Some(_) => "U-Boot",
            None => "no loader",
        };
        let description = format!(
            "arm-virt {}, 1 vCPU {} {}, {} MiB, {starter}, storage {}, {}",
            arch.as_str(),
            arch.model().cpu,
            pace.describe(qemu.version()),
            base.memory_mb,
            profile.name,
            emulated::loading_word(&base)
        );
        let config = AgentConfig {
            machine: description.clone(),
            out_size: out_bytes(root.as_ref()),
            root: match (&root, &tree) {
                (Some(r), _) => Some(initramfs::root(r.image.bytes, base.root.fstype())),
                (None, Some(tree)) => Some(tree.root()),
                (None, None) => None,
            },
            first_light: base.first_light.clone(),
            counter_hz: COUNTER_HZ,
            storage: for_root(&profile, root.is_some()),
            board: Board::default(),
        };
        let wanted = initramfs::root_modules(&config, true);
        let make = |unsigned| {
            initramfs::make(&initramfs::Parts {
                agent: &agent,
                config: &config,
                tree: modules.as_deref(),
                wanted: &wanted,
                unsigned,
                list: None,
                root: tree.as_ref(),
            })
        };
        let variants = experiment.variants.iter();
        Ok(Self {
            initramfs: Archives::make(experiment, out, &make)?,
            common: Common {
                qemu,
                base,
                pace,
                description,
                kernels,
                stages: KnownStages::new(cache),
            },
            arch,
            root,
            loader,
            variants: variants.map(|v| (v.name.clone(), v.spec.clone())).collect(),
        })
    }

    /// The variables beyond the lab's own: the experiment's, then the variant's.
    fn variables(&self, spec: &BootSpec) -> BTreeMap<String, Option<String>> {
        let mut all = BTreeMap::new();
        for (name, value) in self.loader.iter().flat_map(|l| &l.environment) {
            all.insert(name.clone(), Some(value.clone()));
        }
        all.extend(spec.environment.clone());
        all
    }

    /// When loader and decompression end, for the variant that `plan` is a boot
    /// of. A neutral perturbation of the command line moves them by microseconds.
    fn stages(&self, plan: &Plan) -> Result<Stages, String> {
        let spec = self.variants.get(&plan.id.variant).unwrap_or(&plan.spec);
        let (root, inputs) = (self.root.is_some(), self.early_inputs(spec));
        let key = hash_bytes(format!("waypoints\n{inputs}root = {root}\n").as_bytes());
        let processor = match self.arch {
            ArmArch::Armhf => &ARM,
            ArmArch::Arm64 => &AARCH64,
        };
        let console = self.loader.as_ref().map(|_| UART_DATA);
        emulated::stages(self, &key, spec, processor, console)
    }

    /// The words that start the kernel: U-Boot with its flash, which is written into
    /// `folder`, or the kernel itself.
    fn start(&self, words: &mut Words, spec: &BootSpec, folder: &Path) -> Result<(), LabError> {
        let kernel = self.common.kernels.of(spec)?;
        let cmdline = spec.cmdline.to_string();
        let Some(u_boot) = &self.loader else {
            words.pair("-kernel", &kernel.file.path);
            words.pair("-initrd", &self.initramfs.of(spec).path);
            words.pair("-append", cmdline);
            return Ok(());
        };
        let file = folder.join("flash");
        let bytes = read(&kernel.file.path)?;
        let legacy = match kernel.form {
            KernelForm::Uncompressed => bytes,
            KernelForm::Image => {
                let kind = flash::Kind::Kernel(flash::KERNEL_LOAD);
                flash::legacy_image(self.arch, kind, &bytes)
            }
        };
        let contents = flash::Contents {
            arch: self.arch,
            memory_mb: self.common.base.memory_mb,
            cmdline: &cmdline,
            variables: &self.variables(spec),
            kernel: &legacy,
            initramfs: &read(&self.initramfs.of(spec).path)?,
        };
        let bytes = contents.image(&kernel.file.path)?;
        fs::write(&file, bytes).map_err(io_error(&file, "cannot be written"))?;
        words.pair("-bios", &u_boot.program.path);
        words.flash(&file);
        Ok(())
    }

    fn marks(&self, form: KernelForm, stages: &Stages) -> Vec<HostMark> {
        let first = match self.loader {
            // Nothing runs before U-Boot on this board.
            Some(_) => Phase::Loader,
            None => Phase::Firmware,
        };
        let mut marks = vec![HostMark::begins(mark::POWER_ON, 0, first)];
        marks.extend(console::marks(&stages.lines));
        let unpacks_itself = self.arch == ArmArch::Armhf && form == KernelForm::Image;
        marks.extend(kernel_marks(stages, unpacks_itself));
        marks
    }
}

/// When a kernel image is entered, and the kernel in it.
pub fn kernel_marks(stages: &Stages, unpacks_itself: bool) -> Vec<HostMark> {
    let entered = |at_ns| HostMark::begins(mark::KERNEL_ENTRY, at_ns, Phase::Kernel);
    match &stages.passed_ns[..] {
        [] => Vec::new(),
        [image, ..] if !unpacks_itself => vec![entered(*image)],
        [image, kernel @ ..] => {
            let (name, phase) = (mark::DECOMPRESSION_START, Phase::Decompression);
            let mut marks = vec![HostMark::begins(name, *image, phase)];
            // Without one, the image does not say where it unpacks itself to:
            // the kernel begins somewhere in this phase.
            marks.extend(kernel.first().map(|at_ns| entered(*at_ns)));
            marks
        }
    }
}

impl Hardware for ArmVirt {
    fn common(&self) -> &Common {
        &self.common
    }

    fn clock(&self) -> Clock {
        Clock::Pl031(REAL_TIME_CLOCK)
    }

    fn out(&self) -> OutFile {
        OutFile {
            bytes: out_bytes(self.root.as_ref()),
            payload_at: 0,
        }
    }

    fn files(&self, spec: &BootSpec) -> (&HashedFile, Option<&HashedFile>) {
        (
            self.initramfs.of(spec),
            self.root.as_ref().map(|r| &r.image),
        )
    }

    fn early_inputs(&self, spec: &BootSpec) -> String {
        let cpu = Some(self.arch.model().cpu);
        let sizes = [self.initramfs.of(spec).bytes, self.out().bytes];
        let mut text = self.common.early_inputs(MACHINE, cpu, spec, sizes);
        if let Some(u_boot) = &self.loader {
            // Writing into a string does not fail.
            let _ = writeln!(text, "u_boot = {}", u_boot.program.sha256);
            for (name, value) in self.variables(spec) {
                let _ = writeln!(text, "env {name} = {value:?}");
            }
        }
        text
    }

    fn power_on(
        &self,
        spec: &BootSpec,
        folder: &Path,
        out_file: &Path,
    ) -> Result<PowerOn, LabError> {
        let mut words = words(self.arch);
        words.pair("-m", self.common.base.memory_mb.to_string());
        self.start(&mut words, spec, folder)?;
        if let Some(root) = &self.root {
            // Not shared: what the guest writes is the trial's own.
            let (path, bytes) = (&root.padded, root.padded_bytes);
            words.memory("root", false, path, bytes, "ivshmem-plain");
        }
        words.memory("out", true, out_file, self.out().bytes, "ivshmem-plain");
        Ok(PowerOn {
            words,
            pace: self.common.pace,
        })
    }

    fn add_stages(&self, plan: &Plan, boot: &mut Boot) -> Result<(), String> {
        let stages = self.stages(plan)?;
        boot.marks = self.marks(plan.spec.kernel, &stages);
        if !stages.lines.is_empty() {
            boot.evidence.push(console::evidence(&stages.lines));
        }
        Ok(())
    }
}

/// The payload's memory, which is not as large as the root's.
fn out_bytes(root: Option<&RootFile>) -> u64 {
    match root {
        Some(root) if root.padded_bytes == OUT_BYTES => 2 * OUT_BYTES,
        _ => OUT_BYTES,
    }
}

fn u_boot(arch: ArmArch, named: Option<&Path>) -> Result<HashedFile, LabError> {
    let (debian, package) = arch.u_boot();
    let path = named.unwrap_or(Path::new(debian));
    if named.is_none() && !path.is_file() {
        return Err(LabError::MissingTool {
            tool: debian,
            package,
            why: "the loader `u-boot` is that file",
        });
    }
    let bytes = read(path)?;
    // The first bank of flash holds it.
    if bytes.len() > flash::BYTES {
        let wrong = std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "it exceeds the 64 MiB of flash of the board",
        );
        return Err(io_error(path, "cannot be used as the loader")(wrong));
    }
    Ok(HashedFile::of(path.to_owned(), &bytes))
}

impl RootFile {
    fn of(path: &Path, cache: &Cache) -> Result<Self, LabError> {
        let bytes = fs::metadata(path)
            .map_err(io_error(path, "cannot be read"))?
            .len();
        let unfit = |why: &'static str| {
            let wrong = std::io::Error::new(std::io::ErrorKind::InvalidInput, why);
            io_error(path, "cannot be used as a root")(wrong)
        };
        if bytes == 0 || !bytes.is_multiple_of(4096) {
            return Err(unfit(
                "its size is not a multiple of 4 KiB; run `truncate -s %4K FILE`",
            ));
        }
        if bytes > ROOT_LIMIT {
            return Err(unfit(
                "the machine arm-virt supports roots up to 512 MiB; make it smaller",
            ));
        }
        let image = HashedFile::large(path.to_owned(), cache)?;
        let padded_bytes = bytes.next_power_of_two();
        if padded_bytes == bytes {
            return Ok(Self {
                padded: path.to_owned(),
                padded_bytes,
                image,
            });
        }
        let padded = cache.path(&format!("padded/{}", image.sha256));
        if !padded.is_file() {
            let making = cache.make("padded")?;
            let new = making.folder.path().join("image");
            let pad = || {
                fs::copy(path, &new)?;
                File::options()
                    .write(true)
                    .open(&new)?
                    .set_len(padded_bytes)?;
                fs::create_dir_all(padded.parent().unwrap_or(Path::new("/")))?;
                fs::rename(&new, &padded)
            };
            pad().map_err(io_error(&padded, "cannot be created"))?;
        }
        Ok(Self {
            image,
            padded,
            padded_bytes,
        })
    }
}
