//! What the lab uses in place of a board: a storage profile and a speed of the processor, from
//! readings that the agent took on it.

use agent::readings::{Readings, SMALL};
use std::collections::BTreeMap;
use std::fmt::Write;
use storage::{Fitted, Measured, Profile, Storage, fit};

/// The largest `cpu_shift` of an experiment.
const MOST_SHIFT: u32 = 10;

/// A board, as the lab can stand for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The board's name.
    pub name: String,
    /// The architecture of the board's processor.
    pub arch: String,
    /// Its kernel, when the readings were taken.
    pub kernel: String,
    /// How long a cycle of its processor takes, in nanoseconds; `None`: not measured.
    pub cycle_ns: Option<f64>,
    /// The `cpu_shift` that is nearest to it, at one instruction per cycle.
    pub cpu_shift: Option<u8>,
    /// Its storage, with the source of each figure; `None`: not measured.
    pub profile: Option<Profile>,
    /// How well the profile gives the readings again.
    pub fitted: Option<Fitted>,
}

/// Why readings make no calibration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// The model of flash does not fit.
    #[error(
        "{device} has parts that turn, and its seek times cannot be measured from the board; copy \
         the storage profile `hdd-laptop` and set the figures of its data sheet"
    )]
    Turns {
        /// The device.
        device: String,
    },
    /// Large reads took no longer than small ones.
    #[error(
        "the large reads of {device} took no longer than the small ones, so the device was busy; \
         measure again while the board is idle"
    )]
    Busy {
        /// The device.
        device: String,
    },
    /// There are not enough of them.
    #[error(
        "the readings of {device} have no large and small reads to compare; measure a device of \
         at least 1 MiB"
    )]
    Few {
        /// The device.
        device: String,
    },
}

/// What the readings of the board `name` say.
///
/// # Errors
/// If the storage is of a kind that they do not describe.
pub fn calibrate(name: &str, readings: &Readings) -> Result<Calibration, CalibrationError> {
    let mut cycles: Vec<f64> = readings
        .additions
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, ns)| *ns as f64 / *n as f64)
        .collect();
    cycles.sort_by(f64::total_cmp);
    // A reading can only be too long, by what interrupted it.
    let cycle_ns = cycles.first().copied().filter(|ns| *ns > 0.0);
    let shift = cycle_ns.map(|ns| ns.log2().round().clamp(0.0, f64::from(MOST_SHIFT)));
    let mut calibration = Calibration {
        name: name.to_owned(),
        arch: readings.arch.clone(),
        kernel: readings.kernel.clone(),
        cycle_ns,
        cpu_shift: shift.map(|s| s as u8),
        profile: None,
        fitted: None,
    };
    let Some(device) = &readings.device else {
        return Ok(calibration);
    };
    if device.rotational == Some(true) {
        let device = device.path.clone();
        return Err(CalibrationError::Turns { device });
    }
    let small = readings.reads.iter().filter(|r| r.bytes == SMALL);
    let small_ns: Vec<u64> = small.map(|r| r.ns).collect();
    let large = readings.reads.iter().filter(|r| r.bytes != SMALL);
    let large: Vec<(u64, u64)> = large.map(|r| (r.bytes, r.ns)).collect();
    let fitted = fit(&Measured {
        small_bytes: SMALL,
        small_ns: &small_ns,
        large: &large,
        parallel: readings.parallel.first().map(|p| (p.reads, p.ns)),
    });
    let Some(fitted) = fitted else {
        let device = device.path.clone();
        return Err(CalibrationError::Few { device });
    };
    if fitted.storage.read_bytes_per_s == 0 {
        let device = device.path.clone();
        return Err(CalibrationError::Busy { device });
    }
    let usual = Storage::default();
    let storage = Storage {
        read_ahead_kb: device.read_ahead_kb.unwrap_or(usual.read_ahead_kb),
        nr_requests: device.nr_requests.unwrap_or(usual.nr_requests),
        scheduler: device.scheduler.clone().unwrap_or(usual.scheduler),
        // Nothing is written, so nothing is known of writes: twice the read, as in the
        // profiles that come with the program.
        write_command_ns: fitted.storage.command_ns.saturating_mul(2),
        write_bytes_per_s: fitted.storage.read_bytes_per_s / 2,
        ..fitted.storage.clone()
    };
    let of = format!("measured on {} ({})", name, device.path);
    let queue = |known: bool| match known {
        true => format!("/sys of {}", device.path),
        false => "Linux's default; the board does not tell".to_owned(),
    };
    let reads = small_ns.len();
    let sources = [
        (
            "command_ns",
            format!("{of}: median of {reads} reads of 4 KiB at random places"),
        ),
        (
            "read_bytes_per_s",
            format!("{of}: median of {} reads in sequence", large.len()),
        ),
        (
            "command_interval_ns",
            format!("{of}: reads of 4 KiB by several threads at once"),
        ),
        (
            "queue_depth",
            format!("{of}: how many reads of 4 KiB overlap"),
        ),
        (
            "write_command_ns",
            "twice the read: an estimate, because nothing was written".to_owned(),
        ),
        (
            "write_bytes_per_s",
            "half the read: an estimate, because nothing was written".to_owned(),
        ),
        ("read_ahead_kb", queue(device.read_ahead_kb.is_some())),
        ("nr_requests", queue(device.nr_requests.is_some())),
        ("scheduler", queue(device.scheduler.is_some())),
    ];
    let sources = sources.map(|(figure, source)| (figure.to_owned(), source));
    calibration.profile = Some(Profile {
        name: name.to_owned(),
        summary: format!(
            "{} of {name}, measured by firstlight calibrate",
            device.path
        ),
        storage,
        sources: BTreeMap::from(sources),
    });
    calibration.fitted = Some(fitted);
    Ok(calibration)
}

impl Calibration {
    /// The machine of the lab whose processor is of this kind; `None`: the lab has none.
    #[must_use]
    pub fn machine(&self) -> Option<(&'static str, Option<&'static str>)> {
        match self.arch.as_str() {
            "x86_64" => Some(("pc", None)),
            "aarch64" => Some(("arm-virt", Some("arm64"))),
            "arm" => Some(("arm-virt", Some("armhf"))),
            _ => None,
        }
    }

    /// The beginning of an experiment that boots in the lab what this board boots; its storage
    /// profile is in the file `profile` beside it.
    #[must_use]
    pub fn experiment(&self, profile: &str) -> String {
        let mut text = format!(
            "# Made by `firstlight calibrate`: the lab in place of the board {}. Add the kernel,\n\
             # the root, the first light and the variants of the board's experiment.\n\
             firstlight_experiment = 1\n\n[base]\n",
            self.name
        );
        match self.machine() {
            Some((machine, arch)) => {
                let _ = writeln!(text, "machine = \"{machine}\"");
                if let Some(arch) = arch {
                    let _ = writeln!(text, "arch = \"{arch}\"");
                }
            }
            None => {
                let _ = writeln!(
                    text,
                    "# The lab has no machine with an {} processor.",
                    self.arch
                );
            }
        }
        if let (Some(shift), Some(ns)) = (self.cpu_shift, self.cycle_ns) {
            let _ = writeln!(
                text,
                "cpu_shift = {shift}  # {} ns per instruction; a cycle of the board takes {ns:.2} ns",
                1_u32 << shift
            );
        }
        if self.profile.is_some() {
            let _ = writeln!(text, "storage = \"{profile}\"");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use agent::readings::{Device, Parallel, Read};

    fn readings() -> Readings {
        let read = |bytes, ns| Read { bytes, ns };
        let mut reads = vec![read(SMALL, 400_000); 20];
        reads.extend([read(1 << 20, 12_000_000); 4]);
        Readings {
            arch: "aarch64".into(),
            kernel: "6.12.9".into(),
            // 800 MHz, and a reading that was interrupted.
            additions: vec![(1_000_000, 1_250_000), (1_000_000, 9_000_000)],
            device: Some(Device {
                path: "/dev/mmcblk0".into(),
                bytes: 1 << 34,
                rotational: Some(false),
                read_ahead_kb: Some(128),
                nr_requests: Some(64),
                scheduler: Some("mq-deadline".into()),
            }),
            reads,
            parallel: vec![Parallel {
                bytes: SMALL,
                threads: 8,
                reads: 256,
                ns: 256 * 100_000,
            }],
        }
    }

    #[test]
    fn the_lab_reads_what_a_board_was_calibrated_to() {
        let found = calibrate("bench", &readings()).unwrap();
        assert_eq!(found.cpu_shift, Some(0));
        assert!((found.cycle_ns.unwrap() - 1.25).abs() < 1e-9);
        let folder = tempfile::tempdir().unwrap();
        let profile = found.profile.clone().unwrap();
        std::fs::write(folder.path().join("storage.toml"), profile.text()).unwrap();
        let file = folder.path().join("lab.toml");
        let text = found.experiment("storage.toml")
            + "kernel = \"debian\"\nroot = \"none\"\nfirst_light = \"init\"\n";
        std::fs::write(&file, &text).unwrap();
        let experiment = crate::Experiment::read(&file).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(experiment.base.cpu_shift, 0);
        assert_eq!(experiment.base.storage, profile);
        assert_eq!(profile.storage.queue_depth.get(), 4);
        assert_eq!(profile.storage.command_interval_ns, 100_000);
        assert!(profile.sources["write_command_ns"].contains("estimate"));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut turns = readings();
        turns.device.as_mut().unwrap().rotational = Some(true);
        let said = calibrate("b", &turns).unwrap_err().to_string();
        assert!(said.contains("hdd-laptop"), "{said}");
        let mut few = readings();
        few.reads.truncate(3);
        assert!(matches!(
            calibrate("b", &few),
            Err(CalibrationError::Few { .. })
        ));
        let mut busy = readings();
        busy.reads.extend(
            [Read {
                bytes: SMALL,
                ns: 90_000_000,
            }; 40],
        );
        let said = calibrate("b", &busy).unwrap_err().to_string();
        assert!(said.contains("while the board is idle"), "{said}");
        // Slow processors of 25 MHz are 40 ns a cycle.
        let mut slow = readings();
        slow.additions = vec![(1_000, 40_000)];
        slow.device = None;
        let found = calibrate("b", &slow).unwrap();
        assert_eq!((found.cpu_shift, found.profile), (Some(5), None));
    }
}
