//! Cold or warm, first boot, after an update, recovery: boots that take different times.

use record::Record;

/// What kind of boot it was. Boots of different kinds are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BootKind {
    /// Power came on.
    Cold,
    /// A restart without loss of power: reset, watchdog, kexec.
    Warm,
    /// The first boot of an installed system, or of one that was reset to factory state.
    Factory,
    /// A boot that installs an update, or the first after one.
    AfterUpdate,
    /// Rescue, emergency, single user.
    Recovery,
    /// Nothing says.
    Unknown,
}

impl BootKind {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Factory => "factory",
            Self::AfterUpdate => "after-update",
            Self::Recovery => "recovery",
            Self::Unknown => "unknown",
        }
    }
}

/// Messages that name a kind. The texts are those of systemd (src/core/main.c and the
/// units system-update.target and systemd-update-done.service), of U-Boot
/// (arch/arm/mach-imx/cpu.c and others: "Reset cause: POR") and of barebox.
const SAID: &[(&str, BootKind)] = &[
    ("Detected first boot", BootKind::Factory),
    ("Offline System Update", BootKind::AfterUpdate),
    ("Update is Completed", BootKind::AfterUpdate),
    ("Reset cause: POR", BootKind::Cold),
    ("reset reason: power-on", BootKind::Cold),
    ("Reset cause: ", BootKind::Warm),
    ("reset reason: ", BootKind::Warm),
];

/// Kernel parameters that lead into recovery (systemd, kernel-command-line(7)).
const RECOVERY: [&str; 9] = [
    "rescue",
    "emergency",
    "single",
    "s",
    "S",
    "1",
    "-b",
    "systemd.unit=rescue.target",
    "systemd.unit=emergency.target",
];

/// What kind of boot it was, by its kernel command line and its messages. What its user
/// did goes before how power came.
#[must_use]
pub fn boot_kind(record: &Record) -> BootKind {
    let cmdline = record.fact("kernel.cmdline").unwrap_or_default();
    if cmdline.split_whitespace().any(|p| RECOVERY.contains(&p)) {
        return BootKind::Recovery;
    }
    let mut found = None;
    for message in record.messages() {
        let text = record.text(message);
        let Some((_, kind)) = SAID.iter().find(|(said, _)| text.contains(said)) else {
            continue;
        };
        match kind {
            BootKind::Factory | BootKind::AfterUpdate => return *kind,
            other => {
                found.get_or_insert(*other);
            }
        }
    }
    found.unwrap_or(BootKind::Unknown)
}

#[cfg(test)]
mod tests {
    use super::{BootKind, boot_kind};
    use record::{ClockKind, Origin, Recorder};

    fn kind(cmdline: &str, messages: &[&str]) -> BootKind {
        let mut recorder = Recorder::new();
        let source = recorder.source("board.log", "serial");
        let clock = recorder.clock("printk", ClockKind::Printk, 1_000);
        let origin = Origin { source, offset: 0 };
        recorder.fact("kernel.cmdline", cmdline, origin);
        for message in messages {
            recorder.message(clock, Some(0), None, message, origin);
        }
        boot_kind(&recorder.finish())
    }

    #[test]
    fn messages_and_the_command_line_name_the_kind() {
        assert_eq!(kind("quiet", &["Linux version 6.1"]), BootKind::Unknown);
        assert_eq!(kind("quiet rescue", &[]), BootKind::Recovery);
        assert_eq!(kind("", &["Reset cause: POR"]), BootKind::Cold);
        assert_eq!(kind("", &["Reset cause: WDOG"]), BootKind::Warm);
        let first = ["Reset cause: POR", "systemd[1]: Detected first boot."];
        assert_eq!(kind("", &first), BootKind::Factory);
    }
}
