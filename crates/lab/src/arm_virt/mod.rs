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

use crate::artifacts::{Arch, Cache, agent_program};
use crate::emulated::{Common, Hardware, Inputs, loading_word};
use crate::emulator::setup::{INITRAMFS, KERNEL, Known, Made, OUT, ROOT, Setup, Source, Template};
use crate::emulator::stages::{CpuKind, KnownStages};
use crate::emulator::{Clock, Program, Qemu};
use crate::error::{LabError, io_error};
use crate::experiment::{ArmArch, Kernel, Loader, Platform, Root};
use crate::files::{HashedFile, read};
use crate::initramfs::{self, Archives, Tree};
use crate::pace::Pace;
use crate::prepared::EarlyStages;
use crate::profiles::{for_root, served_profile};
use crate::trial::Plan;
use agent::config::{AgentConfig, Board};
pub(crate) use flash::environment;
pub use flash::{Kind, legacy_image};
use image::RAM;
pub use kernel::kernels;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use treat::{BootSpec, KernelForm};

/// What every boot has in common. A part of every fingerprint: who changes it
/// changes all digests.
///
/// `highmem=off`: all devices lie below 4 GiB, where every kernel reaches them.
/// `dtb-randomness=off`: no random seeds in the device tree.
pub const MACHINE: &str = "-M virt,dtb-randomness=off,highmem=off -smp 1 -nodefaults \
    -no-user-config -nographic -no-reboot -monitor none -rtc base=2026-01-01,clock=vm";

/// The words of the emulator that every boot of such a processor begins with.
pub(crate) fn words(arch: ArmArch) -> String {
    format!("{MACHINE} -cpu {}", arch.model().cpu)
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

/// The names of U-Boot's program and of the flash that it boots from.
const U_BOOT: &str = "u-boot";
const BOOT_FLASH: &str = "boot-flash";
/// The name of a device tree that the experiment gives.
const DEVICE_TREE: &str = "device-tree";

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

/// The emulators of this board and of `arm9`.
pub const PROGRAMS: [Program; 2] = [QEMU_32, QEMU_64];

/// A machine with all its files, ready to boot any variant of an experiment.
#[derive(Debug)]
pub struct ArmVirt {
    common: Common,
    arch: ArmArch,
    initramfs: Archives,
    root: Option<RootFile>,
    /// In place of the one that the emulator makes.
    device_tree: Option<HashedFile>,
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
    padded: HashedFile,
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
            loading_word(&base)
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
            device_tree: match &experiment.base.device_tree {
                Some(path) => Some(HashedFile::of(path.clone(), &read(path)?)),
                None => None,
            },
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

    /// What starts the kernel: U-Boot with its flash, or the emulator itself.
    fn start(&self, setup: &mut Setup, spec: &BootSpec) -> Result<(), LabError> {
        let kernel = self.common.kernels.of(spec)?;
        let cmdline = spec.cmdline.to_string();
        let archive = self.initramfs.of(spec);
        let Some(u_boot) = &self.loader else {
            setup.words.file("-kernel", KERNEL);
            setup.words.file("-initrd", INITRAMFS);
            setup.words.pair("-append", cmdline);
            setup.put(KERNEL, Source::Input(kernel.file.clone()));
            setup.put(INITRAMFS, Source::Input(archive.clone()));
            if let Some(tree) = &self.device_tree {
                setup.words.file("-dtb", DEVICE_TREE);
                setup.put(DEVICE_TREE, Source::Input(tree.clone()));
            }
            return Ok(());
        };
        let bytes = read(&kernel.file.path)?;
        let legacy = match kernel.form {
            KernelForm::Uncompressed | KernelForm::Direct => None,
            KernelForm::Image => {
                let kind = flash::Kind::Kernel(flash::KERNEL_LOAD);
                Some(flash::legacy_image(self.arch, kind, &bytes))
            }
        };
        let initramfs = read(&archive.path)?;
        let contents = flash::Contents {
            arch: self.arch,
            memory_mb: self.common.base.memory_mb,
            cmdline: &cmdline,
            variables: &self.variables(spec),
            kernel: legacy.as_ref().unwrap_or(&bytes),
            initramfs: &initramfs,
        };
        let image = contents.image(&kernel.file.path)?;
        let [kernel_at, initramfs_at] = contents.content_at(legacy.is_some());
        let known = |input, part| Known {
            input,
            part,
            skip: 0,
        };
        let parts = [
            (kernel_at, known(&kernel.file, &bytes)),
            (initramfs_at, known(archive, &initramfs)),
        ];
        setup.words.file("-bios", U_BOOT);
        setup.words.flash(BOOT_FLASH, Some(1), false);
        setup.put(U_BOOT, Source::Input(u_boot.program.clone()));
        setup.put(
            BOOT_FLASH,
            Source::Made(Made::of(&image, flash::ERASED, &parts)),
        );
        Ok(())
    }
}

impl Hardware for ArmVirt {
    fn common(&self) -> &Common {
        &self.common
    }

    fn clock(&self) -> Clock {
        Clock::Pl031(REAL_TIME_CLOCK)
    }

    fn payload_at(&self, _: &BootSpec) -> u64 {
        0
    }

    fn setup(&self, spec: &BootSpec) -> Result<Setup, LabError> {
        let mut words = Template::of(&words(self.arch));
        words.pair("-m", self.common.base.memory_mb.to_string());
        let mut setup = Setup::new(words, self.common.pace);
        self.start(&mut setup, spec)?;
        if let Some(root) = &self.root {
            // Not shared: what the guest writes is the trial's own.
            let bytes = root.padded.bytes;
            setup.words.memory(ROOT, false, bytes, "ivshmem-plain");
            setup.put(ROOT, Source::Input(root.padded.clone()));
        }
        let bytes = out_bytes(self.root.as_ref());
        setup.words.memory(OUT, true, bytes, "ivshmem-plain");
        setup.put(OUT, Source::Empty(bytes));
        self.common.attach_devices(&mut setup);
        Ok(setup)
    }

    fn initramfs(&self, spec: &BootSpec) -> &HashedFile {
        self.initramfs.of(spec)
    }

    /// A neutral perturbation of the command line moves the stages by microseconds, so
    /// they are measured without it.
    fn early(&self, plan: &Plan) -> Result<EarlyStages, String> {
        let spec = self.variants.get(&plan.id.variant).unwrap_or(&plan.spec);
        let kernel = self.common.kernels.of(spec).map_err(|e| e.to_string())?;
        Ok(EarlyStages {
            boot: self.setup(spec).map_err(|e| e.to_string())?,
            processor: match self.arch {
                ArmArch::Armhf => CpuKind::Arm,
                ArmArch::Arm64 => CpuKind::Aarch64,
            },
            waypoints: kernel.entries.clone(),
            console: self.loader.as_ref().map(|_| UART_DATA),
            // Nothing runs before U-Boot on this board.
            loader_first: self.loader.is_some(),
            unpacks_itself: self.arch == ArmArch::Armhf && spec.kernel == KernelForm::Image,
        })
    }
}

/// The payload's memory, which is not as large as the root's.
fn out_bytes(root: Option<&RootFile>) -> u64 {
    match root {
        Some(root) if root.padded.bytes == OUT_BYTES => 2 * OUT_BYTES,
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
                padded: image.clone(),
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
            padded: HashedFile::large(padded, cache)?,
        })
    }
}
