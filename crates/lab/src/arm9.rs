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

use crate::arm_virt::{console, kernel_marks, kernels};
use crate::artifacts::{Arch, KernelConfig, agent_program, hash_bytes};
use crate::emulated::{self, Common, Hardware, Inputs, OutFile};
use crate::emulator::gdb::ARM9;
use crate::emulator::stages::KnownStages;
use crate::emulator::{Clock, PowerOn, Program, Qemu, Words};
use crate::error::{LabError, io_error};
use crate::experiment::{ArmArch, Kernel, Platform, Root};
use crate::files::{HashedFile, read};
use crate::initramfs::{self, Archives, Tree};
use crate::machine::{Boot, HostMark};
use crate::pace::Pace;
use crate::trial::Plan;
use agent::config::{AgentConfig, Board};
use loader::Loading;
use record::{Phase, mark};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
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

    /// The program that loads the kernel of `spec`, and what the flash holds then; if a
    /// loader starts it.
    fn loader(&self, spec: &BootSpec) -> Result<Option<[Vec<u8>; 2]>, LabError> {
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
        let content = match kernel.form {
            KernelForm::Image => Some(&bytes[..]),
            // It is kept as a legacy image.
            KernelForm::Uncompressed => bytes.get(loader::HEADER_BYTES as usize..),
        };
        let to = kernel
            .entries
            .first()
            .and_then(|at| u32::try_from(*at).ok());
        let (Some(content), Some(to)) = (content, to) else {
            let why = "a kernel without a load address".to_owned();
            return Err(LabError::Bug { why });
        };
        let [_, all] = self.memory();
        let loading = Loading {
            variables: &variables,
            kernel: (content, to),
            initramfs: (
                &read(&self.initramfs.of(spec).path)?,
                loader::ramdisk_at(all),
            ),
            memory_mb: self.common.base.memory_mb,
            instruction_ns: 1 << shift,
        };
        // What does not fit into the flash is said first.
        let flash = loading.flash(FLASH_BYTES)?;
        Ok(Some([loading.program()?, flash]))
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

    fn out(&self) -> OutFile {
        let [kernel, all] = self.memory();
        OutFile {
            bytes: all,
            payload_at: kernel,
        }
    }

    fn files(&self, spec: &BootSpec) -> (&HashedFile, Option<&HashedFile>) {
        (self.initramfs.of(spec), self.flash.as_ref())
    }

    fn early_inputs(&self, spec: &BootSpec) -> String {
        let sizes = [self.initramfs.of(spec).bytes, self.out().bytes];
        let text = self.common.early_inputs(MACHINE, None, spec, sizes);
        let loader = match self.loader(spec) {
            // The program holds the sizes and checksums of what it loads.
            Ok(Some([program, _])) => format!("loader = {}\n", hash_bytes(&program)),
            Ok(None) => String::new(),
            Err(e) => format!("loader = {e}\n"),
        };
        format!("{text}device_tree = {}\n{loader}", self.device_tree.sha256)
    }

    fn power_on(
        &self,
        spec: &BootSpec,
        folder: &Path,
        out_file: &Path,
    ) -> Result<PowerOn, LabError> {
        let [kernel, all] = self.memory();
        let mut words = Words::of(MACHINE);
        words.pair("-m", format!("{}M", all >> 20));
        words.machine_memory(out_file, all);
        words.pair("-kernel", &self.common.kernels.of(spec)?.file.path);
        words.pair("-dtb", &self.device_tree.path);
        words.pair("-initrd", &self.initramfs.of(spec).path);
        words.pair("-append", format!("{} mem={}M", spec.cmdline, kernel >> 20));
        if let Some([program, flash]) = self.loader(spec)? {
            let (own, contents) = (folder.join("loader"), folder.join("flash"));
            fs::write(&own, program).map_err(io_error(&own, "cannot be written"))?;
            fs::write(&contents, flash).map_err(io_error(&contents, "cannot be written"))?;
            words.begin_with(&own, loader::AT);
            words.nor(&contents, false);
        }
        if let Some(flash) = &self.flash {
            // What the guest writes is the trial's own.
            let own: PathBuf = folder.join("flash");
            fs::copy(&flash.path, &own).map_err(io_error(&own, "cannot be written"))?;
            words.nor(&own, true);
        }
        Ok(PowerOn {
            words,
            pace: self.common.pace,
        })
    }

    fn add_stages(&self, plan: &Plan, boot: &mut Boot) -> Result<(), String> {
        // The baseline's command line stands for all, as on a `pc`.
        let measured = BootSpec {
            kernel: plan.spec.kernel,
            cmdline: self.common.base.cmdline.clone(),
            environment: plan.spec.environment.clone(),
            initramfs: plan.spec.initramfs,
            ..BootSpec::default()
        };
        let inputs = self.early_inputs(&measured);
        let key = hash_bytes(format!("waypoints of arm9\n{inputs}").as_bytes());
        let (first, console) = match self.nand {
            Some(_) => (Phase::Loader, Some(loader::UART_DATA)),
            None => (Phase::Firmware, None),
        };
        let stages = emulated::stages(self, &key, &measured, &ARM9, console)?;
        boot.marks = vec![HostMark::begins(mark::POWER_ON, 0, first)];
        if !stages.lines.is_empty() {
            boot.marks.extend(console::marks(&stages.lines));
            boot.evidence.push(console::evidence(&stages.lines));
        }
        let unpacks_itself = plan.spec.kernel == KernelForm::Image;
        boot.marks.extend(kernel_marks(&stages, unpacks_itself));
        Ok(())
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
