//! What the machines of QEMU have in common: the files that they boot, and how a trial on
//! them is prepared and booted.

use crate::boot::Boot;
use crate::cache::Cache;
use crate::emulator::setup::{ROOT, Setup};
use crate::emulator::stages::{self, KnownStages};
use crate::emulator::{Clock, Qemu};
use crate::error::LabError;
use crate::experiment::{Base, Experiment, Platform, Root};
use crate::files::HashedFile;
use crate::loading::Loading;
use crate::machine::Machine;
use crate::pace::Pace;
use crate::prepared::{EarlyStages, MaybeStages, PLAN_VERSION, PlanLimits, Prepared};
use crate::trial::Plan;
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

impl Common {
    /// Puts the experiment's devices behind the machine's own, whose places on the bus stay as
    /// they are.
    pub fn attach_devices(&self, setup: &mut Setup) {
        for device in &self.base.devices {
            setup.words.pair("-device", device.name());
        }
    }
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
            KernelForm::Uncompressed | KernelForm::Direct => self.unpacked.as_ref().ok_or_else(bug),
        }
    }
}

/// A machine of QEMU. Each machine implements every method, so that the heads of these
/// methods look alike in all machines.
pub trait Hardware: Sync {
    /// What it has in common with the others.
    fn common(&self) -> &Common;

    /// What shows its virtual time while it is silent.
    fn clock(&self) -> Clock;

    /// Where the payload of `spec` begins in the file [`crate::emulator::setup::OUT`].
    fn payload_at(&self, spec: &BootSpec) -> u64;

    /// How the machine is switched on for `spec`.
    ///
    /// # Errors
    /// If a file is not there, or does not fit.
    fn setup(&self, spec: &BootSpec) -> Result<Setup, LabError>;

    /// The initramfs that `spec` boots.
    fn initramfs(&self, spec: &BootSpec) -> &HashedFile;

    /// How it is found out when firmware, loader and decompression end.
    ///
    /// # Errors
    /// Why that is not known, in a sentence.
    fn early(&self, plan: &Plan) -> Result<EarlyStages, String>;
}

/// The trial `plan` on the machine `hardware`.
///
/// # Errors
/// If a file of it is not there, or does not fit.
fn prepare(hardware: &impl Hardware, plan: &Plan) -> Result<Prepared, LabError> {
    let common = hardware.common();
    let base = &common.base;
    let boot = hardware.setup(&plan.spec)?;
    let stages = match common.pace {
        Pace::Counted(_) => hardware.early(plan),
        Pace::Real(_) => Err(stages::NOT_IN_REAL_TIME.to_owned()),
    };
    let profile = &base.storage;
    let kernel = common.kernels.of(&plan.spec)?.file.bytes;
    let initramfs = hardware.initramfs(&plan.spec).bytes;
    let loading = charged(base, kernel, initramfs);
    let notes = loading.iter().map(Loading::sentence);
    // Only a root on the modeled storage can lack what the model leaves out.
    let served = boot.files.contains_key(ROOT);
    let not_given_back = storage::not_given_back(&profile.name, &profile.storage);
    let notes = notes.chain(not_given_back.filter(|_| served));
    let mut prepared = Prepared {
        firstlight_plan: PLAN_VERSION,
        id: plan.id.clone(),
        fingerprint: String::new(),
        round: (!base.mode.is_exact()).then_some(plan.id.perturbation),
        emulator: common.qemu.program().name.to_owned(),
        emulator_version: common.qemu.version().to_owned(),
        emulator_parts: common.qemu.identity().to_owned(),
        machine: common.description.clone(),
        exact: base.mode.is_exact(),
        memory_mb: u64::from(base.memory_mb),
        kernel: plan.spec.kernel.as_str().to_owned(),
        cmdline: plan.spec.cmdline.to_string(),
        recording: plan.recording.clone(),
        limits: PlanLimits {
            wall_s: base.limit_wall_s,
            virtual_s: base.limit_virtual_s,
        },
        payload_at: hardware.payload_at(&plan.spec),
        clock: hardware.clock(),
        boot,
        stages: match stages {
            Ok(stages) => MaybeStages::Measured(stages),
            Err(why) => MaybeStages::Unknown(why),
        },
        notes: notes.collect(),
        loading,
    };
    prepared.finish();
    Ok(prepared)
}

impl<H: Hardware> Machine for H {
    fn description(&self) -> String {
        self.common().description.clone()
    }

    fn is_exact(&self) -> bool {
        self.common().base.mode.is_exact()
    }

    fn emulator(&self) -> String {
        self.common().qemu.in_words()
    }

    fn inputs(&self, plan: &Plan) -> Result<String, LabError> {
        Ok(prepare(self, plan)?.inputs(self.common().qemu.identity()))
    }

    fn boot(
        &self,
        plan: &Plan,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        let Common { qemu, stages, .. } = self.common();
        prepare(self, plan)?.boot(qemu, stages, work, seen)
    }

    fn prepared(&self, plan: &Plan) -> Result<Prepared, LabError> {
        prepare(self, plan)
    }
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
