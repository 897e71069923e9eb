//! The machine `arm-virt`: QEMU's board for ARM with one processor of 32 or 64
//! bits, started by QEMU itself or by U-Boot.
//!
//! The board has no persistent memory as `pc` has: that needs ACPI. Memory goes
//! in and out by `ivshmem-plain`, a PCI device whose memory is a file of the host:
//! synchronous, and the guest needs no driver for it.

mod console;
mod flash;
mod image;

use crate::artifacts::{Arch, Cache, agent_program, hash_bytes};
use crate::emulator::gdb::{AARCH64, ARM};
use crate::emulator::stages::{self, KnownStages, Route, Stages};
use crate::emulator::{self, Clock, Limits, Pace, PowerOn, Program, Qemu, Words};
use crate::error::{LabError, io_error};
use crate::experiment::{ArmArch, Base, Experiment, Kernel, Loader, Platform, Root, Variant};
use crate::files::{HashedFile, read};
use crate::initramfs;
use crate::machine::{Boot, Evidence, HostMark, Machine};
use crate::trial::Plan;
use agent::config::AgentConfig;
pub use flash::{Kind, legacy_image};
use image::KernelImage;
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
};
const QEMU_64: Program = Program {
    name: "qemu-system-aarch64",
    package: "qemu-system-arm",
};

/// A machine with all its files, ready to boot any variant of an experiment.
#[derive(Debug)]
pub struct ArmVirt {
    qemu: Qemu,
    arch: ArmArch,
    base: Base,
    pace: Pace,
    description: String,
    image: KernelFile,
    /// The kernel unpacked, if a variant wants it so.
    unpacked: Option<KernelFile>,
    initramfs: HashedFile,
    root: Option<RootFile>,
    loader: Option<UBoot>,
    stages: KnownStages,
    /// Each variant's own boot, without perturbation.
    variants: BTreeMap<String, BootSpec>,
}

/// A kernel in one of its forms.
#[derive(Debug)]
struct KernelFile {
    /// As QEMU takes it. Unpacked, it is a legacy image.
    file: HashedFile,
    form: KernelForm,
    /// Where it is entered if QEMU starts it, and if U-Boot does.
    entered: [u64; 2],
    /// Where the kernel is entered that it unpacks; `None`: it unpacks none, or
    /// does not say.
    unpacks_to: Option<u64>,
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
        let Platform::ArmVirt { arch, loader } = &base.platform else {
            let why = "the machine arm-virt was asked for another one".to_owned();
            return Err(LabError::Bug { why });
        };
        let arch = *arch;
        let qemu = Qemu::find(arch.qemu())?;
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
            Kernel::File { image, modules } => (image.clone(), modules.clone()),
        };
        let bytes = read(&path)?;
        let header = KernelImage::parse(arch, &path, &bytes)?;
        let wanted = |v: &Variant| v.spec.kernel == KernelForm::Uncompressed;
        let unpacked = match experiment.variants.iter().any(wanted) {
            true => Some(unpack(arch, &header, &path, &bytes, cache)?),
            false => None,
        };
        let image = KernelFile {
            file: HashedFile::of(path, &bytes),
            form: KernelForm::Image,
            entered: [header.loaded_by_qemu, flash::KERNEL_LOAD],
            unpacks_to: header.unpacked,
        };
        let root = match &base.root {
            Root::None | Root::DebianMinimal => None,
            Root::Image(path) => Some(RootFile::of(path, cache)?),
            Root::Tree { folder, form } => {
                Some(RootFile::of(&form.image_of(cache, folder, say)?, cache)?)
            }
        };
        let starter = match loader {
            Some(_) => "U-Boot",
            None => "no loader",
        };
        let pace = Pace::of(&base, arch.model().host);
        let description = format!(
            "arm-virt {}, 1 vCPU {} {}, {} MiB, {starter}, storage {}",
            arch.as_str(),
            arch.model().cpu,
            pace.describe(qemu.version()),
            base.memory_mb,
            profile.name
        );
        let config = AgentConfig {
            machine: description.clone(),
            out_size: out_bytes(root.as_ref()),
            root: root
                .as_ref()
                .map(|r| initramfs::root(r.image.bytes, base.root.fstype())),
            first_light: base.first_light.clone(),
            counter_hz: COUNTER_HZ,
            storage: profile.storage.clone(),
        };
        let wanted = initramfs::root_modules(&config, true);
        let archive = initramfs::make(&agent, &config, modules.as_deref(), &wanted, None)?;
        let variants = experiment.variants.iter();
        Ok(Self {
            initramfs: HashedFile::write(out, "initramfs.cpio", &archive)?,
            qemu,
            arch,
            base,
            pace,
            description,
            image,
            unpacked,
            root,
            loader,
            stages: KnownStages::new(cache),
            variants: variants.map(|v| (v.name.clone(), v.spec.clone())).collect(),
        })
    }

    fn kernel(&self, form: KernelForm) -> Result<&KernelFile, LabError> {
        let bug = || LabError::Bug {
            why: "a variant wants a kernel that was not prepared".into(),
        };
        match form {
            KernelForm::Image => Ok(&self.image),
            KernelForm::Uncompressed => self.unpacked.as_ref().ok_or_else(bug),
        }
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

    /// How the machine is switched on for `spec`. U-Boot's flash is written into
    /// `folder`.
    fn power_on(
        &self,
        spec: &BootSpec,
        folder: &Path,
        out_file: &Path,
    ) -> Result<PowerOn, LabError> {
        let kernel = self.kernel(spec.kernel)?;
        let mut words = Words::of(MACHINE);
        words.pair("-cpu", self.arch.model().cpu);
        words.pair("-m", self.base.memory_mb.to_string());
        let cmdline = spec.cmdline.to_string();
        if let Some(u_boot) = &self.loader {
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
                memory_mb: self.base.memory_mb,
                cmdline: &cmdline,
                variables: &self.variables(spec),
                kernel: &legacy,
                initramfs: &read(&self.initramfs.path)?,
            };
            let bytes = contents.image(&kernel.file.path)?;
            fs::write(&file, bytes).map_err(io_error(&file, "cannot be written"))?;
            words.pair("-bios", &u_boot.program.path);
            words.flash(&file);
        } else {
            words.pair("-kernel", &kernel.file.path);
            words.pair("-initrd", &self.initramfs.path);
            words.pair("-append", cmdline);
        }
        if let Some(root) = &self.root {
            // Not shared: what the guest writes is the trial's own.
            let (path, bytes) = (&root.padded, root.padded_bytes);
            words.memory("root", false, path, bytes, "ivshmem-plain");
        }
        let bytes = out_bytes(self.root.as_ref());
        words.memory("out", true, out_file, bytes, "ivshmem-plain");
        Ok(PowerOn {
            words,
            pace: self.pace,
        })
    }

    /// When loader and decompression end, for the variant that `plan` is a boot
    /// of: known from an earlier boot of the same inputs, or measured now. An
    /// innocent word more on the command line moves them by microseconds.
    fn stages(&self, plan: &Plan) -> Result<Stages, String> {
        let Pace::Counted(shift) = self.pace else {
            return Err(stages::NOT_IN_REAL_TIME.into());
        };
        let spec = self.variants.get(&plan.id.variant).unwrap_or(&plan.spec);
        let (root, inputs) = (self.root.is_some(), self.early_inputs(spec));
        let key = hash_bytes(format!("waypoints\n{inputs}root = {root}\n").as_bytes());
        self.stages.get(&key, |folder| {
            let out_file = folder.join("out");
            emulator::make_out_file(&out_file, out_bytes(self.root.as_ref()))?;
            let machine = self.power_on(spec, folder, &out_file)?;
            let kernel = self.kernel(spec.kernel)?;
            let [by_qemu, by_u_boot] = kernel.entered;
            let entry = match self.loader {
                Some(_) => by_u_boot,
                None => by_qemu,
            };
            let route = Route {
                processor: match self.arch {
                    ArmArch::Armhf => &ARM,
                    ArmArch::Arm64 => &AARCH64,
                },
                waypoints: [Some(entry), kernel.unpacks_to]
                    .into_iter()
                    .flatten()
                    .collect(),
                console: self.loader.as_ref().map(|_| UART_DATA),
            };
            let start = |socket: &Path| self.qemu.start_recording(&machine.words, shift, socket);
            stages::measure(&route, shift, folder, &start)
        })
    }

    fn marks(&self, form: KernelForm, stages: &Stages) -> Vec<HostMark> {
        let first = match self.loader {
            // Nothing runs before U-Boot on this board.
            Some(_) => Phase::Loader,
            None => Phase::Firmware,
        };
        let mut marks = vec![HostMark::begins(mark::POWER_ON, 0, first)];
        marks.extend(console::marks(&stages.lines));
        let entered = |at_ns| HostMark::begins(mark::KERNEL_ENTRY, at_ns, Phase::Kernel);
        let unpacks_itself = self.arch == ArmArch::Armhf && form == KernelForm::Image;
        match &stages.passed_ns[..] {
            [] => {}
            [image, ..] if !unpacks_itself => marks.push(entered(*image)),
            [image, kernel @ ..] => {
                let (name, phase) = (mark::DECOMPRESSION_START, Phase::Decompression);
                marks.push(HostMark::begins(name, *image, phase));
                // Without one, the image does not say where it unpacks itself to:
                // the kernel begins somewhere in this phase.
                marks.extend(kernel.first().map(|at_ns| entered(*at_ns)));
            }
        }
        marks
    }

    fn early_inputs(&self, spec: &BootSpec) -> String {
        let form = spec.kernel;
        let kernel = self.kernel(form).map_or("", |k| &k.file.sha256);
        let mut text = String::new();
        for (key, value) in [
            ("qemu", self.qemu.version().to_owned()),
            ("machine", MACHINE.to_owned()),
            ("cpu", self.arch.model().cpu.to_owned()),
            ("memory_mb", self.base.memory_mb.to_string()),
            ("pace", format!("{:?}", self.pace)),
            ("kernel_form", form.as_str().to_owned()),
            ("kernel", kernel.to_owned()),
            ("initramfs_bytes", self.initramfs.bytes.to_string()),
            ("out_bytes", out_bytes(self.root.as_ref()).to_string()),
            ("cmdline", spec.cmdline.to_string()),
        ] {
            // Writing into a string does not fail.
            let _ = writeln!(text, "{key} = {value}");
        }
        if let Some(u_boot) = &self.loader {
            let _ = writeln!(text, "u_boot = {}", u_boot.program.sha256);
            for (name, value) in self.variables(spec) {
                let _ = writeln!(text, "env {name} = {value:?}");
            }
        }
        text
    }
}

impl Machine for ArmVirt {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn is_exact(&self) -> bool {
        self.base.mode.is_exact()
    }

    fn inputs(&self, plan: &Plan) -> String {
        let root = self.root.as_ref().map_or("none", |r| &r.image.sha256);
        format!(
            "{}initramfs = {}\nroot = {root}\nlimit_virtual_s = {:?}\n",
            self.early_inputs(&plan.spec),
            self.initramfs.sha256,
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
        emulator::make_out_file(&out_file, out_bytes(self.root.as_ref()))?;
        let machine = self.power_on(&plan.spec, work, &out_file)?;
        let limits = Limits {
            wall_s: self.base.limit_wall_s,
            virtual_s: self.base.limit_virtual_s,
            clock: Some(Clock::Pl031(REAL_TIME_CLOCK)),
            until: None,
        };
        let mut boot = self.qemu.boot(&machine, &out_file, limits, work, seen)?;
        if boot.payload.is_some() {
            match self.stages(plan) {
                Ok(stages) => {
                    boot.marks = self.marks(plan.spec.kernel, &stages);
                    if !stages.lines.is_empty() {
                        boot.evidence.push(Evidence {
                            name: "console of the loader, in virtual time since reset".into(),
                            file: "loader.txt".into(),
                            format: "loader-console",
                            bytes: console::evidence(&stages.lines),
                        });
                    }
                }
                Err(why) => boot.notes.push(why),
            }
        }
        Ok(boot)
    }
}

/// The payload's memory, which is not as large as the root's.
fn out_bytes(root: Option<&RootFile>) -> u64 {
    match root {
        Some(root) if root.padded_bytes == OUT_BYTES => 2 * OUT_BYTES,
        _ => OUT_BYTES,
    }
}

/// The kernel proper as a legacy image, unpacked into the cache.
fn unpack(
    arch: ArmArch,
    header: &KernelImage,
    path: &Path,
    bytes: &[u8],
    cache: &Cache,
) -> Result<KernelFile, LabError> {
    let unfit = || LabError::Kernel {
        path: path.to_owned(),
        why: "it does not say where the unpacked kernel has to lie (Linux 4.15 and later do), so \
              it cannot be booted uncompressed"
            .into(),
    };
    let address = header.unpacked.ok_or_else(unfit)?;
    let name = format!("vmlinux/{}-legacy", hash_bytes(bytes));
    let file = cache.path(&name);
    let image = match fs::read(&file) {
        Ok(image) => image,
        Err(_) => {
            let kernel = image::unpack(path, bytes)?;
            let image = flash::legacy_image(arch, flash::Kind::Kernel(address), &kernel);
            cache.write(&file, &image)?;
            image
        }
    };
    Ok(KernelFile {
        file: HashedFile::of(file, &image),
        form: KernelForm::Uncompressed,
        entered: [address; 2],
        unpacks_to: None,
    })
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
            "it has more than the 64 MiB that the board's flash holds",
        );
        return Err(io_error(path, "cannot be the loader")(wrong));
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
            io_error(path, "cannot be a root")(wrong)
        };
        if bytes == 0 || !bytes.is_multiple_of(4096) {
            return Err(unfit(
                "its size must be a multiple of 4 KiB; `truncate -s %4K FILE` makes it so",
            ));
        }
        if bytes > ROOT_LIMIT {
            return Err(unfit(
                "the machine arm-virt has room for a root of 512 MiB; make it smaller",
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
            pad().map_err(io_error(&padded, "cannot be made"))?;
        }
        Ok(Self {
            image,
            padded,
            padded_bytes,
        })
    }
}
