//! The machine `arm9`: QEMU's versatilepb with an ARM926EJ-S at 125 MIPS, whose
//! kernel the lab builds itself.
//!
//! A small board of twenty years ago: no PCI that a stock kernel of it drives, no
//! counter in the processor, no disk. Its root is in NOR flash or in the
//! initramfs. The machine's memory is a file of the host; the top of it is kept
//! from the kernel (`mem=`) and takes the payload. The board's counter of 24 MHz
//! runs from reset, and the agent reads it at its address. With `loader = "nand"` kernel
//! and RAM disk come out of NAND flash first ([`loader`]).

pub mod board;
mod loader;

use crate::arm_virt::kernels;
use crate::artifacts::{Arch, KernelConfig, agent_program};
use crate::emulated::{Common, Hardware, Inputs};
use crate::emulator::setup::{FLASH, INITRAMFS, KERNEL, Known, Made, OUT, Setup, Source, Template};
use crate::emulator::stages::{CpuKind, KnownStages};
use crate::emulator::{Clock, Program, Qemu};
use crate::error::LabError;
use crate::experiment::{ArmArch, Kernel, Platform, Root};
use crate::files::{HashedFile, read};
use crate::initramfs::{self, Archives, Tree};
use crate::pace::Pace;
use crate::prepared::EarlyStages;
use crate::trial::Plan;
use agent::config::{AgentConfig, Board};
use loader::Loading;
use std::collections::BTreeMap;
use std::path::Path;
use treat::{BootSpec, KernelForm};

/// What every boot has in common. A part of every fingerprint: who changes it
/// changes all digests.
pub const MACHINE: &str = "-M versatilepb -cpu arm926 -smp 1 -nodefaults -no-user-config \
    -nographic -no-reboot -monitor none -net none -rtc base=2026-01-01,clock=vm";

/// The emulator.
pub const QEMU: Program = ArmArch::Armhf.qemu();

/// Debian's name of its architecture, for programs of its root.
pub const ARCHITECTURE: &str = "armel";

/// The board's NOR flash: what it holds, and one of its erase blocks, in bytes
/// (`hw/arm/versatilepb.c`).
pub const FLASH_BYTES: u64 = 64 << 20;

/// The memory for the payload above that of the kernel, in bytes.
const OUT_BYTES: u64 = 32 << 20;

/// The names of files that only this board has.
const DEVICE_TREE: &str = "device-tree";
const LOADER: &str = "loader";
const NAND: &str = "nand";

/// Where the board's memory begins.
const RAM: u64 = 0;

/// `SYS_24MHZ` of the board's system registers: a counter of 32 bits.
const COUNTER_AT: u64 = 0x1000_005c;
const COUNTER_HZ: u64 = 24_000_000;

/// The data register of the board's real-time clock, a PL031.
const REAL_TIME_CLOCK: u64 = 0x101e_8000;

/// A board with all its files, ready to boot any variant of an experiment.
#[derive(Debug)]
pub struct Arm9 {
    common: Common,
    device_tree: HashedFile,
    initramfs: Archives,
    /// The contents of the flash.
    flash: Option<HashedFile>,
    /// The environment of the loader, if one starts the kernel.
    nand: Option<BTreeMap<String, String>>,
}

impl Arm9 {
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
        let base = experiment.base.clone();
        let qemu = Qemu::find(QEMU, cache)?;
        let agent = agent_program(Arch::Armv5, say)?;
        let (path, modules, device_tree) = match &base.kernel {
            Kernel::Built { lines } => {
                let config = KernelConfig {
                    lines: lines.clone(),
                    initramfs: None,
                };
                let built = cache.arm9_kernel(&config, say)?;
                (built.image, Some(built.modules), built.device_tree)
            }
            Kernel::File {
                image,
                modules,
                device_tree: Some(device_tree),
            } => (image.clone(), modules.clone(), device_tree.clone()),
            Kernel::File { .. } | Kernel::Debian => {
                let why = "machine arm9 has no kernel or no device tree".to_owned();
                return Err(LabError::Bug { why });
            }
        };
        let device_tree = base.device_tree.clone().unwrap_or(device_tree);
        let bytes = read(&path)?;
        let arch = (ArmArch::Armhf, RAM);
        let kernels = kernels(experiment, arch, (&path, &bytes), None, cache)?;
        let tree_bytes = read(&device_tree)?;
        let busybox = match base.root.busybox() {
            true => Some(cache.busybox(ARCHITECTURE, say)?),
            false => None,
        };
        let (mut flash, mut tree) = (None, None);
        match &base.root {
            Root::Tree { folder, form, .. } => {
                let image = form.image_of(cache, folder, busybox.as_deref(), say)?;
                flash = Some(flash_of(&image, out)?);
            }
            Root::Initramfs { folder, .. } => tree = Some(Tree::read(folder, busybox.as_deref())?),
            Root::None | Root::DebianMinimal | Root::Image(_) => {}
        }
        let pace = Pace::of(&base, "arm");
        let nand = match &base.platform {
            Platform::Arm9 { nand } => nand.clone(),
            _ => None,
        };
        let description = format!(
            "arm9, 1 vCPU arm926 {}, {} MiB{}, {}",
            pace.describe(qemu.version()),
            base.memory_mb,
            if nand.is_some() {
                ", loaded from NAND"
            } else {
                ""
            },
            match &base.root {
                Root::None => "no root".to_owned(),
                Root::Initramfs { .. } => "root in the initramfs".to_owned(),
                other => format!("{} root in NOR flash", other.fstype()),
            }
        );
        let root = match &base.root {
            Root::None => None,
            Root::Initramfs { .. } => tree.as_ref().map(Tree::root),
            other => Some(initramfs::flash_root(other.fstype())),
        };
        let config = AgentConfig {
            machine: description.clone(),
            out_size: OUT_BYTES,
            root,
            first_light: base.first_light.clone(),
            counter_hz: COUNTER_HZ,
            storage: base.storage.storage.clone(),
            board: Board {
                counter_at: COUNTER_AT,
                out_at: RAM + (u64::from(base.memory_mb) << 20),
            },
        };
        let make = |unsigned| {
            initramfs::make(&initramfs::Parts {
                agent: &agent,
                config: &config,
                tree: modules.as_deref(),
                // All that its flash and filesystems need is built in.
                wanted: &[],
                unsigned,
                list: None,
                root: tree.as_ref(),
            })
        };
        let board = Self {
            initramfs: Archives::make(experiment, out, &make)?,
            nand,
            device_tree: HashedFile::of(device_tree, &tree_bytes),
            flash,
            common: Common {
                qemu,
                base,
                pace,
                description,
                kernels,
                stages: KnownStages::new(cache),
            },
        };
        for variant in &experiment.variants {
            let initramfs = board.initramfs.of(&variant.spec);
            ramdisk_fits(board.common.base.memory_mb, initramfs)?;
            board.loader(&variant.spec)?;
        }
        Ok(board)
    }

    /// The program that loads the kernel of `spec`, and the flash that it loads it from; if a
    /// loader starts it.
    fn loader(&self, spec: &BootSpec) -> Result<Option<[Made; 2]>, LabError> {
        let (Some(nand), Pace::Counted(shift)) = (&self.nand, self.common.pace) else {
            return Ok(None);
        };
        let mut variables = BTreeMap::new();
        for (name, value) in nand {
            variables.insert(name.clone(), Some(value.clone()));
        }
        variables.extend(spec.environment.clone());
        let kernel = self.common.kernels.of(spec)?;
        let bytes = read(&kernel.file.path)?;
        let skip = match kernel.form {
            KernelForm::Image => 0,
            // It is kept as a legacy image.
            KernelForm::Uncompressed | KernelForm::Direct => loader::HEADER_BYTES,
        };
        let content = bytes.get(skip as usize..);
        let to = kernel
            .entries
            .first()
            .and_then(|at| u32::try_from(*at).ok());
        let (Some(content), Some(to)) = (content, to) else {
            let why = "a kernel without a load address".to_owned();
            return Err(LabError::Bug { why });
        };
        let [_, all] = self.memory();
        let archive = self.initramfs.of(spec);
        let initramfs = read(&archive.path)?;
        let loading = Loading {
            variables: &variables,
            kernel: (content, to),
            initramfs: (&initramfs, loader::ramdisk_at(all)),
            memory_mb: self.common.base.memory_mb,
            instruction_ns: 1 << shift,
        };
        // What does not fit into the flash is said first.
        let flash = loading.flash(FLASH_BYTES)?;
        let [kernel_at, initramfs_at] = loader::content_at();
        let known = |input, part, skip| Known { input, part, skip };
        let parts = [
            (kernel_at, known(&kernel.file, content, u64::from(skip))),
            (initramfs_at, known(archive, &initramfs, 0)),
        ];
        Ok(Some([
            Made::of(&loading.program()?, 0, &[]),
            Made::of(&flash, loader::ERASED, &parts),
        ]))
    }

    /// The memory that the kernel is given, and all of the board's, in bytes.
    fn memory(&self) -> [u64; 2] {
        let own = u64::from(self.common.base.memory_mb) << 20;
        [own, own + OUT_BYTES]
    }
}

/// Refuses an initramfs that the emulator puts into memory that the kernel is not given:
/// the kernel would not see it, and say nothing of it.
fn ramdisk_fits(memory_mb: u32, initramfs: &HashedFile) -> Result<(), LabError> {
    let own = u64::from(memory_mb) << 20;
    let at = u64::from(loader::ramdisk_at(own + OUT_BYTES));
    if at.saturating_add(initramfs.bytes) <= own {
        return Ok(());
    }
    // It lies in the middle of the kernel's memory and the payload's.
    let needs = (OUT_BYTES + 2 * initramfs.bytes).div_ceil(1 << 20);
    Err(LabError::Kernel {
        path: initramfs.path.clone(),
        why: format!(
            "`memory_mb = {memory_mb}` is too small: the initramfs of {} bytes at {at:#x} extends \
             past the end of kernel memory at {own:#x}; write at least `memory_mb = {needs}`",
            initramfs.bytes
        ),
    })
}

/// The contents of the flash: the image, and erased blocks behind it. Written into
/// `out`; every boot gets a copy.
fn flash_of(image: &Path, out: &Path) -> Result<HashedFile, LabError> {
    const ERASED: u8 = 0xff;
    let mut bytes = read(image)?;
    if bytes.len() as u64 > FLASH_BYTES {
        return Err(LabError::Kernel {
            path: image.to_owned(),
            why: format!(
                "the root has {} MiB, but the flash of arm9 has 64 MiB; make the tree smaller or \
                 choose a compressed filesystem",
                (bytes.len() as u64).div_ceil(1 << 20)
            ),
        });
    }
    bytes.resize(usize::try_from(FLASH_BYTES).unwrap_or(bytes.len()), ERASED);
    HashedFile::write(out, "flash.img", &bytes)
}

impl Hardware for Arm9 {
    fn common(&self) -> &Common {
        &self.common
    }

    fn clock(&self) -> Clock {
        Clock::Pl031(REAL_TIME_CLOCK)
    }

    fn payload_at(&self, _: &BootSpec) -> u64 {
        let [kernel, _] = self.memory();
        kernel
    }

    fn setup(&self, spec: &BootSpec) -> Result<Setup, LabError> {
        let [kernel, all] = self.memory();
        let mut words = Template::of(MACHINE);
        words.pair("-m", format!("{}M", all >> 20));
        words.machine_memory(OUT, all);
        words.file("-kernel", KERNEL);
        words.file("-dtb", DEVICE_TREE);
        words.file("-initrd", INITRAMFS);
        words.pair("-append", format!("{} mem={}M", spec.cmdline, kernel >> 20));
        let mut setup = Setup::new(words, self.common.pace);
        setup.put(OUT, Source::Empty(all));
        setup.put(
            KERNEL,
            Source::Input(self.common.kernels.of(spec)?.file.clone()),
        );
        setup.put(DEVICE_TREE, Source::Input(self.device_tree.clone()));
        setup.put(INITRAMFS, Source::Input(self.initramfs.of(spec).clone()));
        if let Some([program, nand]) = self.loader(spec)? {
            setup.words.begin_with(LOADER, loader::AT);
            setup.words.flash(NAND, None, false);
            setup.put(LOADER, Source::Made(program));
            setup.put(NAND, Source::Made(nand));
        }
        if let Some(flash) = &self.flash {
            setup.words.flash(FLASH, None, true);
            setup.put(FLASH, Source::Copy(flash.clone()));
        }
        Ok(setup)
    }

    fn initramfs(&self, spec: &BootSpec) -> &HashedFile {
        self.initramfs.of(spec)
    }

    /// The baseline's command line stands for all, as on a `pc`.
    fn early(&self, plan: &Plan) -> Result<EarlyStages, String> {
        let measured = BootSpec {
            kernel: plan.spec.kernel,
            cmdline: self.common.base.cmdline.clone(),
            environment: plan.spec.environment.clone(),
            initramfs: plan.spec.initramfs,
            ..BootSpec::default()
        };
        let kernel = self
            .common
            .kernels
            .of(&measured)
            .map_err(|e| e.to_string())?;
        Ok(EarlyStages {
            boot: self.setup(&measured).map_err(|e| e.to_string())?,
            processor: CpuKind::Arm9,
            waypoints: kernel.entries.clone(),
            console: self.nand.as_ref().map(|_| loader::UART_DATA),
            loader_first: self.nand.is_some(),
            unpacks_itself: plan.spec.kernel == KernelForm::Image,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ramdisk_fits;
    use crate::files::HashedFile;

    #[test]
    fn an_initramfs_behind_the_kernels_memory_is_refused() {
        let of = |mib: u64| HashedFile {
            path: "initramfs".into(),
            bytes: mib << 20,
            sha256: String::new(),
        };
        let said = ramdisk_fits(32, &of(1)).unwrap_err().to_string();
        for part in ["at 0x2000000", "at least `memory_mb = 34`"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(ramdisk_fits(34, &of(1)).is_ok());
        assert!(ramdisk_fits(39, &of(4)).is_err());
        assert!(ramdisk_fits(40, &of(4)).is_ok());
        assert!(ramdisk_fits(128, &of(8)).is_ok());
    }
}
