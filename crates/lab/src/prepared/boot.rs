//! Booting a prepared trial.

use super::plan::{EarlyStages, MaybeStages, Prepared};
use crate::arm_virt::console;
use crate::boot::{Boot, HostMark};
use crate::cache::hash_bytes;
use crate::emulator::setup::OUT;
use crate::emulator::stages::{self, KnownStages, Route, Stages};
use crate::emulator::{Limits, Qemu};
use crate::error::LabError;
use crate::pace::Pace;
use record::{Phase, mark};
use std::path::Path;

impl EarlyStages {
    /// The stages, measured now or known from an earlier boot of the same inputs.
    fn measure(&self, qemu: &Qemu, known: &KnownStages) -> Result<Stages, String> {
        let Pace::Counted(shift) = self.boot.pace else {
            return Err(stages::NOT_IN_REAL_TIME.into());
        };
        let json = |e: serde_json::Error| e.to_string();
        let early = serde_json::to_string(&self.boot.early()).map_err(json)?;
        let identity = qemu.identity();
        let points = &self.waypoints;
        // Lines have their ends since; what was measured without them is measured again.
        let lines = if self.console.is_some() { "\nends" } else { "" };
        let key = format!(
            "waypoints\n{identity}{early}\n{points:?} {:?}{lines}",
            self.console
        );
        known.get(&hash_bytes(key.as_bytes()), |folder| {
            let machine = self.boot.place(folder)?;
            let route = Route {
                processor: self.processor.processor(),
                waypoints: self.waypoints.clone(),
                console: self.console,
            };
            let start = |socket: &Path| qemu.start_recording(&machine.words, shift, socket);
            stages::measure(&route, shift, folder, &start)
        })
    }

    /// Says in `boot` when the stages began.
    fn add_to(&self, boot: &mut Boot, stages: &Stages) {
        let first = match self.loader_first {
            true => Phase::Loader,
            false => Phase::Firmware,
        };
        boot.marks = vec![HostMark::begins(mark::POWER_ON, 0, first)];
        if !stages.lines.is_empty() {
            boot.marks.extend(console::marks(&stages.lines));
            boot.evidence.push(console::evidence(&stages.lines));
        }
        boot.marks
            .extend(console::kernel_marks(stages, self.unpacks_itself));
    }
}

impl Prepared {
    /// Boots it to its end. `work` is an empty folder; `seen` is told how the console
    /// grows.
    ///
    /// # Errors
    /// If it cannot be run at all. A boot that fails is a [`Boot`].
    pub fn boot(
        &self,
        qemu: &Qemu,
        known: &KnownStages,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        let machine = self.boot.place(work)?;
        let limits = Limits {
            wall_s: self.limits.wall_s,
            virtual_s: self.limits.virtual_s,
            clock: Some(self.clock),
            until: None,
        };
        let out = work.join(OUT);
        let mut boot = qemu.boot(&machine, (&out, self.payload_at), limits, work, seen)?;
        if boot.payload.is_some() {
            let measured = match &self.stages {
                MaybeStages::Measured(stages) => stages
                    .measure(qemu, known)
                    .map(|measured| stages.add_to(&mut boot, &measured)),
                MaybeStages::Unknown(why) => Err(why.clone()),
            };
            boot.notes.extend(measured.err());
        }
        boot.loading.clone_from(&self.loading);
        boot.notes.extend(self.notes.iter().cloned());
        Ok(boot)
    }
}
