//! What the machines of QEMU have in common: the files that they boot, what a
//! boot depends on, the boot itself, and the stages before the kernel.

use crate::cache::Cache;
use crate::emulator::gdb::Processor;
use crate::emulator::stages::{self, KnownStages, Route, Stages};
use crate::emulator::{self, Clock, Limits, PowerOn, Qemu};
use crate::error::LabError;
use crate::experiment::{Base, Experiment, Platform, Root};
use crate::files::HashedFile;
use crate::loading::Loading;
use crate::machine::{Boot, Machine};
use crate::pace::Pace;
use crate::trial::Plan;
use std::fmt::Write as _;
use std::path::Path;
use storage::Model;
use treat::{BootSpec, KernelForm};

/// What a machine is prepared from.
pub struct Inputs<'a> {
    /// The experiment, whose machine it is.
    pub experiment: &'a Experiment,
    /// Where what was fetched or made is kept.
    pub cache: &'a Cache,
    /// The folder that the initramfs is written into.
    pub out: &'a Path,
    /// Is told what takes time.
    pub say: &'a mut dyn FnMut(String),
}

/// What every such machine has.
#[derive(Debug)]
pub struct Common {
    /// The emulator.
    pub qemu: Qemu,
    /// What all variants share.
    pub base: Base,
    /// How its time passes.
    pub pace: Pace,
    /// The machine in words.
    pub description: String,
    /// The kernel in the forms that the variants want.
    pub kernels: Kernels,
    /// What was measured of the time before the kernel.
    pub stages: KnownStages,
}

/// A kernel in its forms.
#[derive(Debug)]
pub struct Kernels {
    /// As it was given.
    pub image: KernelFile,
    /// The kernel unpacked, if a variant wants it so.
    pub unpacked: Option<KernelFile>,
    /// Those that are booted in its place: what they were built with, and they.
    pub built: Vec<(Vec<String>, Kernels)>,
}

/// A kernel in one of its forms.
#[derive(Debug)]
pub struct KernelFile {
    /// As the machine takes it.
    pub file: HashedFile,
    /// Which form it is.
    pub form: KernelForm,
    /// The first instruction of the image, and, if it unpacks itself and says where
    /// to, that of the kernel.
    pub entries: Vec<u64>,
}

impl Kernels {
    /// The kernel that `spec` boots.
    ///
    /// # Errors
    /// If it was not prepared.
    pub fn of(&self, spec: &BootSpec) -> Result<&KernelFile, LabError> {
        let built = self.built.iter().find(|(build, _)| *build == spec.build);
        built.map_or(self, |(_, own)| own).get(spec.kernel)
    }

    /// The kernel in `form`.
    ///
    /// # Errors
    /// If it was not prepared so.
    fn get(&self, form: KernelForm) -> Result<&KernelFile, LabError> {
        let bug = || LabError::Bug {
            why: "a variant needs a kernel that was not prepared".into(),
        };
        match form {
            KernelForm::Image => Ok(&self.image),
            KernelForm::Uncompressed => self.unpacked.as_ref().ok_or_else(bug),
        }
    }
}

/// The file that takes the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutFile {
    /// Its length.
    pub bytes: u64,
    /// Where the payload begins in it.
    pub payload_at: u64,
}

/// A machine of QEMU. Each machine implements every method, so that the heads of these
/// methods look alike in all machines.
pub trait Hardware: Sync {
    /// What it has in common with the others.
    fn common(&self) -> &Common;

    /// What shows its virtual time while it is silent.
    fn clock(&self) -> Clock;

    /// The file that takes the payload.
    fn out(&self) -> OutFile;

    /// The initramfs and the root of a boot.
    fn files(&self, spec: &BootSpec) -> (&HashedFile, Option<&HashedFile>);

    /// Everything that a boot depends on until the kernel reads the contents of
    /// initramfs and root, as `key = value` lines.
    fn early_inputs(&self, spec: &BootSpec) -> String;

    /// How the machine is switched on for `spec`; files of the boot's own are
    /// written into `folder`.
    ///
    /// # Errors
    /// If one cannot be written.
    fn power_on(
        &self,
        spec: &BootSpec,
        folder: &Path,
        out_file: &Path,
    ) -> Result<PowerOn, LabError>;

    /// Says in `boot` when firmware, loader and decompression began and ended.
    ///
    /// # Errors
    /// Why that is not known, in a sentence.
    fn add_stages(&self, plan: &Plan, boot: &mut Boot) -> Result<(), String>;
}

impl Common {
    /// The lines of [`Hardware::early_inputs`] that every machine has.
    pub fn early_inputs(
        &self,
        machine: &str,
        cpu: Option<&str>,
        spec: &BootSpec,
        [initramfs, out]: [u64; 2],
    ) -> String {
        let form = spec.kernel;
        let kernel = self.kernels.of(spec).map_or("", |k| &k.file.sha256);
        let mut text = self.qemu.identity().to_owned();
        for (key, value) in [
            ("qemu", Some(self.qemu.version().to_owned())),
            ("machine", Some(machine.to_owned())),
            ("cpu", cpu.map(str::to_owned)),
            ("memory_mb", Some(self.base.memory_mb.to_string())),
            ("pace", Some(format!("{:?}", self.pace))),
            ("kernel_form", Some(form.as_str().to_owned())),
            ("kernel", Some(kernel.to_owned())),
            ("initramfs_bytes", Some(initramfs.to_string())),
            ("out_bytes", Some(out.to_string())),
            ("cmdline", Some(spec.cmdline.to_string())),
        ] {
            if let Some(value) = value {
                // Writing into a string does not fail.
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        text
    }
}

impl<H: Hardware> Machine for H {
    fn description(&self) -> String {
        self.common().description.clone()
    }

    fn is_exact(&self) -> bool {
        self.common().base.mode.is_exact()
    }

    fn inputs(&self, plan: &Plan) -> String {
        let (initramfs, root) = self.files(&plan.spec);
        let loading = loading(self, &plan.spec);
        format!(
            "{}initramfs = {}\nroot = {}\nlimit_virtual_s = {:?}\n{}",
            self.early_inputs(&plan.spec),
            initramfs.sha256,
            root.map_or("none", |r| &r.sha256),
            self.common().base.limit_virtual_s,
            loading.map_or_else(String::new, |l| l.input())
        )
    }

    fn boot(
        &self,
        plan: &Plan,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        let Common { qemu, base, .. } = self.common();
        let (out, out_file) = (self.out(), work.join("out"));
        emulator::make_out_file(&out_file, out.bytes)?;
        let machine = self.power_on(&plan.spec, work, &out_file)?;
        let limits = Limits {
            wall_s: base.limit_wall_s,
            virtual_s: base.limit_virtual_s,
            clock: Some(self.clock()),
            until: None,
        };
        let payload = (out_file.as_path(), out.payload_at);
        let mut boot = qemu.boot(&machine, payload, limits, work, seen)?;
        if boot.payload.is_some()
            && let Err(why) = self.add_stages(plan, &mut boot)
        {
            boot.notes.push(why);
        }
        boot.loading = loading(self, &plan.spec);
        boot.notes
            .extend(boot.loading.as_ref().map(Loading::sentence));
        if self.files(&plan.spec).1.is_some() {
            let (name, figures) = (&base.storage.name, &base.storage.storage);
            boot.notes.extend(storage::not_given_back(name, figures));
        }
        Ok(boot)
    }
}

/// What loading the kernel and the initramfs of `spec` is charged.
fn loading(hardware: &dyn Hardware, spec: &BootSpec) -> Option<Loading> {
    let common = hardware.common();
    let kernel = common.kernels.of(spec).ok()?.file.bytes;
    let initramfs = hardware.files(spec).0.bytes;
    charged(&common.base, kernel, initramfs)
}

/// What `base` charges for a kernel and an initramfs of these lengths, in bytes. `None`
/// where nothing is charged: the profile has no model, time is real, or the lab's own
/// loader reads the files.
///
/// The initramfs counts if it holds the product's root; else it holds the lab's agent,
/// which no product has.
fn charged(base: &Base, kernel: u64, initramfs: u64) -> Option<Loading> {
    let read_by_loader = matches!(base.platform, Platform::Arm9 { nand: Some(_) });
    if base.storage.storage.model == Model::None || !base.mode.is_exact() || read_by_loader {
        return None;
    }
    let initramfs = matches!(base.root, Root::Initramfs { .. }).then_some(initramfs);
    Some(Loading::from_storage(&base.storage, kernel, initramfs))
}

/// Whether `base` charges loading, for the description of a machine.
#[must_use]
pub fn loading_word(base: &Base) -> &'static str {
    match charged(base, 1, 1) {
        Some(_) => "loading modeled",
        None => "loading not charged",
    }
}

/// The stages of the boot of `spec`, which `key` stands for: known from an earlier
/// boot of the same inputs, or measured now. `console` is the data register of the
/// serial port, if what a loader writes to it is of interest.
///
/// # Errors
/// If they cannot be measured, in a sentence.
pub fn stages(
    hardware: &dyn Hardware,
    key: &str,
    spec: &BootSpec,
    processor: &'static Processor,
    console: Option<u64>,
) -> Result<Stages, String> {
    let common = hardware.common();
    let Pace::Counted(shift) = common.pace else {
        return Err(stages::NOT_IN_REAL_TIME.into());
    };
    common.stages.get(key, |folder| {
        let out_file = folder.join("out");
        emulator::make_out_file(&out_file, hardware.out().bytes)?;
        let machine = hardware.power_on(spec, folder, &out_file)?;
        let route = Route {
            processor,
            waypoints: common.kernels.of(spec)?.entries.clone(),
            console,
        };
        let start = |socket: &Path| common.qemu.start_recording(&machine.words, shift, socket);
        stages::measure(&route, shift, folder, &start)
    })
}
