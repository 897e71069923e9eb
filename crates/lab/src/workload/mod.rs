//! Workloads: a shell script as the only program of a machine, in exact time.
//!
//! Much of what boot-time engineers measured is one act of a booted kernel: a
//! mount, an attach, the removal of files. A workload is a kernel, an initramfs
//! with busybox, modules and images, and a script that sets marks in the kernel's
//! log. What lies between two marks is its time, to the microsecond.
//!
//! On `arm9` a mark carries the board's own counter too, which runs from reset:
//! so the time before the kernel's clock is seen as well.

mod marks;
mod served;

pub use marks::{Mark, marks};
pub use served::TIMED;

use crate::arm_virt;
use crate::arm9;
use crate::artifacts::{
    Arch, BuiltKernel, Cache, Form, KernelConfig, Programs, Tree, agent_program, hash_bytes,
    linux_missing,
};
use crate::cpio::Archive;
use crate::emulator::{Limits, PowerOn, Program, Qemu, Words};
use crate::error::{LabError, io_error};
use crate::experiment::ArmArch;
use crate::files::{HashedFile, read};
use crate::modules::{Modules, load, name};
use crate::pace::Pace;
use crate::pc;
use crate::profiles::{named, served};
use crate::tools::{Tool, find};
use crate::treated::treat;
use crate::trial::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use treat::FileTreatment;

/// Where the board's kernel lies when it runs, and how large its NOR flash is.
const KERNEL_AT: u64 = 0x8000;
const FLASH_BYTES: usize = arm9::FLASH_BYTES as usize;

/// How large an IDE disk is.
const IDE_MIB: u32 = 8;

/// Where a script begins, in the initramfs. `mark NAME` says where it is; with
/// `-c`, on a machine that has one, with the counter that runs from reset.
const PRELUDE: &str = "#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /mnt /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
export PATH=/bin
mark() { echo \"<1>firstlight-mark $*\" >/dev/kmsg; }
fail() { dmesg | tail -n 12 >/dev/console; echo \"<1>firstlight-fail $*\" >/dev/kmsg; reboot -f; }
";

/// The machine of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Board {
    /// An x86-64 q35 with Debian's kernel.
    Pc,
    /// QEMU's board for ARM, 32 bits, with Debian's kernel.
    ArmVirt,
    /// The same with 64 bits.
    #[serde(rename = "arm-virt-64")]
    ArmVirt64,
    /// The board versatilepb with an ARM926EJ-S, with a kernel of the lab's own.
    Arm9,
}

impl Board {
    /// Its name in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pc => "pc",
            Self::ArmVirt => "arm-virt",
            Self::ArmVirt64 => "arm-virt-64",
            Self::Arm9 => "arm9",
        }
    }

    pub(crate) fn qemu(self) -> Program {
        match self {
            Self::Pc => pc::QEMU,
            Self::ArmVirt => ArmArch::Armhf.qemu(),
            Self::ArmVirt64 => ArmArch::Arm64.qemu(),
            Self::Arm9 => arm9::QEMU,
        }
    }

    /// Debian's name for its architecture.
    pub(crate) const fn architecture(self) -> &'static str {
        match self {
            Self::Pc => "amd64",
            Self::ArmVirt => ArmArch::Armhf.as_str(),
            Self::ArmVirt64 => ArmArch::Arm64.as_str(),
            Self::Arm9 => arm9::ARCHITECTURE,
        }
    }

    /// What the agent has to be built for to run on it; `None`: it is not.
    const fn agent(self) -> Option<Arch> {
        match self {
            Self::Pc => Some(Arch::X86_64),
            Self::ArmVirt => Some(ArmArch::Armhf.agent()),
            Self::ArmVirt64 => Some(ArmArch::Arm64.agent()),
            Self::Arm9 => None,
        }
    }

    /// The device of its console.
    pub(crate) const fn console(self) -> &'static str {
        match self {
            Self::Pc => "ttyS0",
            Self::ArmVirt | Self::ArmVirt64 | Self::Arm9 => "ttyAMA0",
        }
    }

    /// How fast its processor is if nobody says otherwise: an instruction takes 2
    /// to the power of this many nanoseconds.
    const fn cpu_shift(self) -> u8 {
        match self {
            Self::Pc | Self::ArmVirt | Self::ArmVirt64 => 0,
            Self::Arm9 => arm9::board::CPU_SHIFT,
        }
    }
}

/// One boot of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// What it runs on.
    pub board: Board,
    /// The memory of the machine, in MiB.
    pub memory_mb: u32,
    /// An instruction takes 2 to the power of this many nanoseconds; `None`: as
    /// the board's processor does.
    pub cpu_shift: Option<u8>,
    /// More words of the kernel command line, treated. A `console=` of theirs takes the place
    /// of the board's, which has no rate.
    pub cmdline: Vec<String>,
    /// The kernel of `arm9`.
    pub kernel: KernelConfig,
    /// Whether the script is a part of that kernel, and not an initramfs beside it.
    pub built_in: bool,
    /// Whether the kernel is booted without the part that unpacks it.
    pub unpacked: bool,
    /// Modules that are loaded before the script, each with its parameters.
    pub modules: Vec<String>,
    /// Modules that the script loads itself: `/modules/NAME.ko`. What they need is
    /// loaded before.
    pub carried: Vec<String>,
    /// Files in `/img`: a name, a form, what is in it, the least size in MiB.
    pub images: Vec<Image>,
    /// What is done to the initramfs, as `firstlight treat` does it.
    pub initramfs: Vec<FileTreatment>,
    /// The storage profiles that the script can serve its images with.
    pub storage: Vec<String>,
    /// The disks on the IDE interface of a `pc`, which has none otherwise: `IDE_MIB` each,
    /// with one partition; the second is the slave of the first.
    pub ide_disks: u8,
    /// Where the root comes from, if there is no script.
    pub root: Option<RootOn>,
    /// The script.
    pub script: String,
    /// A boot that takes longer, in seconds of the host, is ended.
    pub limit_wall_s: u32,
}

/// Where a kernel finds its root without an initramfs: the first image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootOn {
    /// In the NOR flash of `arm9`.
    Flash,
    /// On a RAM disk, compressed with gzip.
    RamDisk,
}

/// An image, or another file, that a workload finds in `/img`.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Its name there.
    pub name: String,
    /// Where it comes from.
    pub from: ImageFrom,
    /// What is done to it, in this order, as `firstlight treat` does it.
    pub treatments: Vec<FileTreatment>,
}

/// Where an image comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ImageFrom {
    /// The lab makes it.
    Made {
        /// What it is.
        form: Form,
        /// What is in it.
        tree: Tree,
        /// How large it is at least, in MiB.
        mib: u32,
    },
    /// A file of the user's, which is executable in the guest.
    File(HashedFile),
}

impl Image {
    /// What it is, if the lab makes it.
    #[must_use]
    pub const fn form(&self) -> Option<&Form> {
        match &self.from {
            ImageFrom::Made { form, .. } => Some(form),
            ImageFrom::File(_) => None,
        }
    }

    /// Its file, before it is treated.
    pub(crate) fn file(
        &self,
        cache: &Cache,
        programs: &Programs,
        say: &mut dyn FnMut(String),
    ) -> Result<PathBuf, LabError> {
        Ok(match &self.from {
            ImageFrom::Made { form, tree, mib } => {
                form.image(cache, tree, *mib, programs, say)?.path
            }
            ImageFrom::File(file) => file.path.clone(),
        })
    }

    /// Its bytes, treated.
    fn bytes(
        &self,
        cache: &Cache,
        programs: &Programs,
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<u8>, LabError> {
        let mut bytes = read(&self.file(cache, programs, say)?)?;
        treat(&self.name, &self.treatments, &mut bytes)?;
        Ok(bytes)
    }
}

/// A disk whose table names one partition, behind its first MiB.
fn partitioned() -> Vec<u8> {
    const SECTORS: u32 = 2048;
    let mut disk = vec![0; IDE_MIB as usize * SECTORS as usize * 512];
    let (start, length) = (SECTORS, (IDE_MIB - 1) * SECTORS);
    disk[450] = 0x83;
    disk[454..458].copy_from_slice(&start.to_le_bytes());
    disk[458..462].copy_from_slice(&length.to_le_bytes());
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk
}

/// What a workload left.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// All that it wrote to its console.
    pub console: Vec<u8>,
    /// Its marks, in order.
    pub marks: Vec<Mark>,
    /// Why it came to no end, if it did not.
    pub failure: Option<Failure>,
    /// The machine in words.
    pub description: String,
    /// How large the kernel image is, in bytes.
    pub kernel_bytes: u64,
    /// SHA-256 over the digests of what was booted: kernel, initramfs, flash, device tree.
    pub artifacts: String,
}

/// What `board` and `images` need and this host does not have: programs and
/// Debian's packages of them.
#[must_use]
pub fn missing<'a>(
    board: Board,
    images: impl IntoIterator<Item = &'a Form>,
) -> Vec<(&'static str, &'static str)> {
    let Program { name, package, .. } = board.qemu();
    let mut all = Vec::new();
    if find(name).is_none() {
        all.push((name, package));
    }
    if board == Board::Arm9 {
        all.extend(linux_missing());
    }
    all.extend(images.into_iter().filter_map(Form::missing));
    all
}

impl Workload {
    /// Everything that decides how it runs, but the tools that make its images: the
    /// same text, the same console.
    #[must_use]
    pub fn inputs(&self) -> String {
        format!(
            "{self:?}\n{}\n{PRELUDE}\n{}\n{}\n{}",
            arm9::MACHINE,
            served::SERVE,
            pc::MACHINE,
            arm_virt::MACHINE
        )
    }

    /// What its images are served with: the server's program and the profiles, or
    /// nothing. `say` is told what takes time.
    ///
    /// # Errors
    /// If there is no such program or profile.
    pub(crate) fn serving(&self, say: &mut dyn FnMut(String)) -> Result<String, LabError> {
        let Some(arch) = self.board.agent().filter(|_| !self.storage.is_empty()) else {
            return Ok(String::new());
        };
        let agent = hash_bytes(&agent_program(arch, say)?);
        let profiles = self.storage.iter().map(|name| named(name));
        let profiles = profiles.map(|p| p.map(|p| served(p.storage, arch, self.pace())));
        let profiles = profiles.collect::<Result<Vec<_>, _>>()?;
        Ok(format!("\n{agent}\n{profiles:?}"))
    }

    /// Boots it to its end, with its files in the empty folder `work`; `say` is
    /// told what takes time.
    ///
    /// # Errors
    /// If it cannot be run at all. A workload that fails is a [`Seen`].
    pub fn run(
        &self,
        cache: &Cache,
        work: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<Seen, LabError> {
        let qemu = Qemu::find(self.board.qemu(), cache)?;
        let pace = self.pace();
        let mut kernel = self.kernel(cache, None, say)?;
        let archive = match self.root {
            None => Some(self.archive(cache, say)?),
            Some(on) => self.root(cache, on, work, say)?,
        };
        let initramfs = work.join("initrd");
        if let Some(archive) = &archive {
            fs::write(&initramfs, archive).map_err(io_error(&initramfs, "cannot be written"))?;
        }
        if self.built_in {
            kernel = self.kernel(cache, archive.clone(), say)?;
        }
        if self.unpacked {
            let image = read(&kernel.image)?;
            let kind = arm_virt::Kind::Kernel(KERNEL_AT);
            kernel.image = work.join("kernel");
            let legacy = arm_virt::legacy_image(ArmArch::Armhf, kind, &image);
            fs::write(&kernel.image, legacy)
                .map_err(io_error(&kernel.image, "cannot be written"))?;
        }
        let mut words = match self.board {
            Board::Pc => Words::of(pc::MACHINE),
            Board::ArmVirt => Words::of(&arm_virt::words(ArmArch::Armhf)),
            Board::ArmVirt64 => Words::of(&arm_virt::words(ArmArch::Arm64)),
            Board::Arm9 => Words::of(arm9::MACHINE),
        };
        words.pair("-m", self.memory_mb.to_string());
        words.pair("-kernel", &kernel.image);
        if !self.built_in && archive.is_some() {
            words.pair("-initrd", &initramfs);
        }
        let flash = work.join("flash");
        if flash.is_file() {
            words.nor(&flash);
        }
        if let Some(device_tree) = &kernel.device_tree {
            words.pair("-dtb", device_tree);
        }
        if self.ide_disks > 0 {
            let disks = (0..self.ide_disks).map(|n| work.join(format!("disk{n}")));
            let disks: Vec<PathBuf> = disks.collect();
            for disk in &disks {
                fs::write(disk, partitioned()).map_err(io_error(disk, "cannot be written"))?;
            }
            words.ide_disks(&disks);
        }
        let mut cmdline = "panic=-1 printk.devkmsg=on".to_owned();
        if !self.cmdline.iter().any(|w| w.starts_with("console=")) {
            cmdline.insert_str(0, &format!("console={} ", self.board.console()));
        }
        cmdline.push_str(match self.root {
            None => " rdinit=/init",
            Some(RootOn::Flash) => " devtmpfs.mount=1 ro root=/dev/mtdblock0",
            Some(RootOn::RamDisk) => " devtmpfs.mount=1 ro root=/dev/ram0",
        });
        if let (Some(_), Some(image)) = (self.root, self.images.first()) {
            let kind = image.form().map_or("auto", Form::fstype);
            cmdline.push_str(&format!(" rootfstype={kind}"));
        }
        if self.board == Board::Pc {
            cmdline.push_str(" nokaslr");
        }
        for word in &self.cmdline {
            cmdline.push(' ');
            cmdline.push_str(word);
        }
        words.pair("-append", cmdline);
        let machine = PowerOn { words, pace };
        let limits = Limits {
            wall_s: self.limit_wall_s,
            virtual_s: None,
            clock: None,
            // A board need not know how to switch itself off.
            until: Some("firstlight-mark end"),
        };
        let bytes = fs::metadata(&kernel.image).map_or(0, |m| m.len());
        // The flash is hashed before the boot writes to it.
        let files = [
            Some(&kernel.image),
            (!self.built_in && archive.is_some()).then_some(&initramfs),
            Some(&flash).filter(|f| f.is_file()),
            kernel.device_tree.as_ref(),
        ];
        let digests = files
            .into_iter()
            .flatten()
            .map(|file| Ok(hash_bytes(&read(file)?)));
        let digests: Vec<String> = digests.collect::<Result<_, LabError>>()?;
        let artifacts = hash_bytes(digests.join("\n").as_bytes());
        // No payload comes out of a workload: its console says all.
        let boot = qemu.boot_to_end(&machine, limits, work)?;
        let marks = marks(&boot.console);
        let ended = marks.iter().any(|m| m.name == "end");
        Ok(Seen {
            failure: match ended {
                true => None,
                false => boot.failure,
            },
            marks,
            console: boot.console,
            description: format!(
                "{} {}, {} MiB",
                self.board.as_str(),
                pace.describe(qemu.version()),
                self.memory_mb
            ),
            kernel_bytes: bytes,
            artifacts,
        })
    }

    /// The file of its kernel.
    pub(crate) fn kernel_image(
        &self,
        cache: &Cache,
        say: &mut dyn FnMut(String),
    ) -> Result<PathBuf, LabError> {
        let inside = match self.built_in {
            true => Some(self.archive(cache, say)?),
            false => None,
        };
        Ok(self.kernel(cache, inside, say)?.image)
    }

    /// Its initramfs, treated.
    pub(crate) fn archive(
        &self,
        cache: &Cache,
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<u8>, LabError> {
        let modules = self.kernel(cache, None, say)?.modules;
        let mut archive = self.initramfs(cache, modules.as_deref(), say)?;
        treat("initramfs", &self.initramfs, &mut archive)?;
        Ok(archive)
    }

    /// Its image of that name, treated.
    pub(crate) fn image(
        &self,
        name: &str,
        cache: &Cache,
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<u8>, LabError> {
        let Some(image) = self.images.iter().find(|i| i.name == name) else {
            let why = format!("no image `{name}`");
            return Err(LabError::Bug { why });
        };
        let programs = cache.programs(self.board.architecture(), say)?;
        image.bytes(cache, &programs, say)
    }

    fn pace(&self) -> Pace {
        Pace::Counted(self.cpu_shift.unwrap_or(self.board.cpu_shift()))
    }

    fn kernel(
        &self,
        cache: &Cache,
        initramfs: Option<Vec<u8>>,
        say: &mut dyn FnMut(String),
    ) -> Result<KernelFiles, LabError> {
        let debian = |arch, say: &mut dyn FnMut(String)| {
            let kernel = cache.debian_kernel(arch, say)?;
            Ok(KernelFiles {
                image: kernel.image,
                device_tree: None,
                modules: Some(kernel.modules),
            })
        };
        match self.board {
            Board::Pc => debian(Arch::X86_64, say),
            Board::ArmVirt => debian(ArmArch::Armhf.agent(), say),
            Board::ArmVirt64 => debian(ArmArch::Arm64.agent(), say),
            Board::Arm9 => {
                // How an initramfs inside is compressed is no question without one.
                let lines = self.kernel.lines.iter();
                let lines = lines
                    .filter(|l| initramfs.is_some() || !l.contains("CONFIG_INITRAMFS_COMPRESSION"));
                let config = KernelConfig {
                    lines: lines.cloned().collect(),
                    initramfs,
                };
                let BuiltKernel {
                    image,
                    unpacked,
                    device_tree,
                    modules,
                } = cache.arm9_kernel(&config, say)?;
                Ok(KernelFiles {
                    image: if self.unpacked { unpacked } else { image },
                    device_tree: Some(device_tree),
                    modules: Some(modules),
                })
            }
        }
    }

    /// The first image as the kernel's root: in the flash, or given back as a RAM
    /// disk.
    fn root(
        &self,
        cache: &Cache,
        on: RootOn,
        work: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<Option<Vec<u8>>, LabError> {
        let Some(image) = self.images.first() else {
            let why = "a workload with a root but without an image".to_owned();
            return Err(LabError::Bug { why });
        };
        let programs = cache.programs(self.board.architecture(), say)?;
        let mut bytes = image.bytes(cache, &programs, say)?;
        match on {
            RootOn::RamDisk => {
                let why = "compress the RAM disk";
                let tool = Tool::new("gzip", "gzip", why).args(["-9", "-n"]);
                tool.feed(&bytes).map(Some)
            }
            RootOn::Flash if bytes.len() > FLASH_BYTES => Err(LabError::Kernel {
                path: PathBuf::from(&image.name),
                why: "the image exceeds the 64 MiB of flash of the board".into(),
            }),
            RootOn::Flash => {
                bytes.resize(FLASH_BYTES, 0xff);
                let flash = work.join("flash");
                fs::write(&flash, bytes).map_err(io_error(&flash, "cannot be written"))?;
                Ok(None)
            }
        }
    }

    /// busybox, modules, images and the script as `/init`.
    fn initramfs(
        &self,
        cache: &Cache,
        tree: Option<&Path>,
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<u8>, LabError> {
        let programs = cache.programs(self.board.architecture(), say)?;
        let mut archive = Archive::default();
        for folder in ["dev", "bin", "modules", "img"] {
            archive.folder(folder);
        }
        archive.device("dev/console", 5, 1);
        archive.file("bin/busybox", 0o755, &read(&programs.busybox)?);
        let mut script = PRELUDE.to_owned();
        let serving = (!self.storage.is_empty()).then_some(served::MODULE);
        let modules = serving
            .into_iter()
            .chain(self.modules.iter().map(String::as_str));
        let wanted: Vec<(&str, &str)> = modules.map(name_and_rest).collect();
        let carried: Vec<&str> = self.carried.iter().map(String::as_str).collect();
        if let Some(tree) = tree
            && !(wanted.is_empty() && carried.is_empty())
        {
            let names: Vec<&str> = wanted.iter().map(|w| w.0).chain(carried.clone()).collect();
            for path in Modules::read(tree)?.order(&names)? {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                let name = name(&file);
                archive.file(&format!("modules/{name}.ko"), 0o644, &load(&path)?);
                if carried.iter().any(|c| c.replace('-', "_") == name) {
                    continue;
                }
                let own = wanted.iter().find(|w| w.0.replace('-', "_") == name);
                let parameters = own.map_or("", |w| w.1);
                script.push_str(&format!(
                    "insmod /modules/{name}.ko {parameters} || fail module {name}\n"
                ));
            }
        }
        let mut sizes = Vec::new();
        for image in &self.images {
            let bytes = image.bytes(cache, &programs, say)?;
            let size = bytes.len() as u64;
            let mode = match image.from {
                ImageFrom::Made { .. } => 0o644,
                ImageFrom::File(_) => 0o755,
            };
            archive.file(&format!("img/{}", image.name), mode, &bytes);
            sizes.push((image.name.clone(), size));
        }
        if let (false, Some(arch)) = (self.storage.is_empty(), self.board.agent()) {
            served::add(
                &mut archive,
                (arch, self.pace()),
                &self.storage,
                &sizes,
                say,
            )?;
            script.push_str(served::SERVE);
        }
        script.push_str(&self.script);
        script.push_str("\nmark end\nreboot -f\n");
        archive.file("init", 0o755, script.as_bytes());
        Ok(archive.finish())
    }
}

/// A kernel with what goes with it.
struct KernelFiles {
    image: PathBuf,
    device_tree: Option<PathBuf>,
    modules: Option<PathBuf>,
}

/// The name of a module, and its parameters.
fn name_and_rest(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}
