//! Booting a plan on the host that was given it.

use super::inputs::InputFolders;
use super::plan::Prepared;
use crate::boot::Boot;
use crate::emulator::stages::KnownStages;
use crate::emulator::{Qemu, in_words};
use crate::entry;
use crate::error::{LabError, io_error};
use crate::event::Event;
use crate::machine::Machine;
use crate::run::boot_one;
use crate::trial::{Plan, Trial};
use crate::{arm_virt, pc};
use std::path::Path;
use treat::{BootSpec, CommandLine, KernelForm};

/// A prepared trial and the emulator of this host.
struct Host {
    prepared: Prepared,
    qemu: Qemu,
    stages: KnownStages,
}

impl Machine for Host {
    fn description(&self) -> String {
        self.prepared.machine.clone()
    }

    fn is_exact(&self) -> bool {
        self.prepared.exact
    }

    fn inputs(&self, _plan: &Plan) -> Result<String, LabError> {
        Ok(self.prepared.inputs(self.qemu.identity()))
    }

    fn emulator(&self) -> String {
        self.qemu.in_words()
    }

    fn boot(
        &self,
        _plan: &Plan,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        self.prepared.boot(&self.qemu, &self.stages, work, seen)
    }
}

/// Boots the plan `text`, which is called `name`, and gives the trial and the file of its
/// result. A boot that fails is a result too.
///
/// # Errors
/// If the plan is damaged, an input is missing or another one, or this host's emulator
/// would compute another boot.
pub fn run_plan(
    name: &str,
    text: &[u8],
    folders: &InputFolders,
    on: &mut dyn FnMut(Event),
) -> Result<(Trial, Vec<u8>), LabError> {
    let mut prepared = Prepared::parse(name, text)?;
    let wrong = |why: String| LabError::Plan {
        name: name.to_owned(),
        why,
    };
    let programs = [pc::QEMU].into_iter().chain(arm_virt::PROGRAMS);
    let known = programs.into_iter().find(|p| p.name == prepared.emulator);
    let Some(program) = known else {
        return Err(wrong(format!(
            "the plan wants the emulator `{}`, which this program does not know; use the \
             program that made the plan",
            prepared.emulator
        )));
    };
    let qemu = Qemu::find(program, folders.cache())?;
    if qemu.identity() != prepared.emulator_parts {
        let wanted = in_words(
            &prepared.emulator,
            &prepared.emulator_version,
            &prepared.emulator_parts,
        );
        return Err(wrong(format!(
            "the trial needs the emulator {wanted}, but this host has {}, which may compute \
             another boot; install the same build",
            qemu.in_words()
        )));
    }
    folders.find_all(name, &mut prepared)?;
    let cmdline = CommandLine::parse(&prepared.cmdline).map_err(|e| wrong(e.to_string()))?;
    let plan = Plan {
        id: prepared.id.clone(),
        spec: BootSpec {
            cmdline,
            kernel: KernelForm::parse(&prepared.kernel).unwrap_or_default(),
            ..BootSpec::default()
        },
        recording: prepared.recording.clone(),
    };
    let machine = Host {
        prepared,
        qemu,
        stages: KnownStages::new(folders.cache()),
    };
    let place = std::env::temp_dir();
    let folder = tempfile::Builder::new()
        .prefix("firstlight-trial-")
        .tempdir();
    let folder = folder.map_err(io_error(&place, "cannot create a temporary folder in it"))?;
    let trial = boot_one(&machine, &plan, folder.path(), on)?;
    let result = entry::pack(&trial, folder.path(), &machine)?;
    Ok((trial, result))
}
