//! The settings of a serial port.

use rustix::termios::{
    self, Action, ControlModes, InputModes, OptionalActions, QueueSelector, SpecialCodeIndex,
    Termios,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// How a serial line is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bits per second: any number, standard or not.
    pub baud: u32,
    /// Data bits of a character: 5 to 8.
    pub bits: u8,
    /// What the parity bit says.
    pub parity: Parity,
    /// Stop bits: 1 or 2.
    pub stop: u8,
    /// Who may stop the other one from sending.
    pub flow: Flow,
}

impl Default for Settings {
    /// 115200 8n1, no flow control: what nearly every console has.
    fn default() -> Self {
        Self {
            baud: 115_200,
            bits: 8,
            parity: Parity::None,
            stop: 1,
            flow: Flow::None,
        }
    }
}

/// The parity bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// There is none.
    None,
    /// It makes the number of ones even.
    Even,
    /// It makes the number of ones odd.
    Odd,
    /// It is always one.
    Mark,
    /// It is always zero.
    Space,
}

/// Flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Nobody stops anybody.
    None,
    /// The lines RTS and CTS.
    Hard,
    /// The characters XON and XOFF.
    Soft,
}

impl Settings {
    /// How long one character takes on the line, in bits: start bit, data,
    /// parity, stop bits.
    pub fn bits_per_byte(&self) -> u8 {
        1 + self.bits + u8::from(self.parity != Parity::None) + self.stop
    }
}

/// A port that is set, and left as it was found.
#[derive(Debug)]
pub struct Port {
    fd: OwnedFd,
    before: Termios,
    counters: Option<Counters>,
}

impl Port {
    /// Sets a terminal line to give every byte as it comes, and drops what was
    /// waiting in it: nobody knows when that arrived.
    ///
    /// # Errors
    /// If the driver refuses, or does not take the rate.
    pub fn set(fd: OwnedFd, settings: &Settings) -> io::Result<Self> {
        let before = termios::tcgetattr(&fd)?;
        // Nobody else shall read half of the bytes. Not every driver can tell.
        termios::ioctl_tiocexcl(&fd).ok();
        let mut wanted = before.clone();
        wanted.make_raw();
        wanted
            .input_modes
            .remove(InputModes::IXOFF | InputModes::IXANY);
        wanted
            .control_modes
            .remove(ControlModes::CSIZE | ControlModes::CSTOPB | ControlModes::CRTSCTS);
        wanted
            .control_modes
            .remove(ControlModes::PARENB | ControlModes::PARODD | ControlModes::CMSPAR);
        // Without HUPCL the board keeps its lines when the port is closed: on
        // some a drop of DTR is a reset.
        wanted.control_modes.remove(ControlModes::HUPCL);
        wanted.control_modes |= ControlModes::CREAD | ControlModes::CLOCAL;
        wanted.control_modes |= match settings.bits {
            5 => ControlModes::CS5,
            6 => ControlModes::CS6,
            7 => ControlModes::CS7,
            _ => ControlModes::CS8,
        };
        if settings.stop == 2 {
            wanted.control_modes |= ControlModes::CSTOPB;
        }
        wanted.control_modes |= match settings.parity {
            Parity::None => ControlModes::empty(),
            Parity::Even => ControlModes::PARENB,
            Parity::Odd => ControlModes::PARENB | ControlModes::PARODD,
            Parity::Space => ControlModes::PARENB | ControlModes::CMSPAR,
            Parity::Mark => ControlModes::PARENB | ControlModes::PARODD | ControlModes::CMSPAR,
        };
        match settings.flow {
            Flow::None => {}
            Flow::Hard => wanted.control_modes |= ControlModes::CRTSCTS,
            Flow::Soft => wanted.input_modes |= InputModes::IXON | InputModes::IXOFF,
        }
        wanted.special_codes[SpecialCodeIndex::VMIN] = 1;
        wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        wanted.set_speed(settings.baud)?;
        termios::tcsetattr(&fd, OptionalActions::Now, &wanted)?;
        // The kernel takes what it can of a request and says nothing.
        let got = termios::tcgetattr(&fd)?.input_speed();
        let off = u64::from(got.abs_diff(settings.baud)) * 50;
        if off > u64::from(settings.baud) {
            termios::tcsetattr(&fd, OptionalActions::Now, &before).ok();
            return Err(io::Error::other(format!(
                "the driver sets {got} baud instead of {}",
                settings.baud
            )));
        }
        termios::tcflush(&fd, QueueSelector::IFlush)?;
        let counters = Counters::read(fd.as_fd());
        Ok(Self {
            fd,
            before,
            counters,
        })
    }

    /// What was lost on the way since the port was set, if the driver counts.
    pub fn lost(&self) -> Vec<(&'static str, u32)> {
        match (self.counters, Counters::read(self.fd.as_fd())) {
            (Some(before), Some(now)) => now.since(&before),
            _ => Vec::new(),
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // Output that waits for a board that is off would block: it is let go.
        termios::tcflow(&self.fd, Action::OOn).ok();
        termios::tcsetattr(&self.fd, OptionalActions::Now, &self.before).ok();
        termios::ioctl_tiocnxcl(&self.fd).ok();
    }
}

/// How often characters were lost or damaged: the driver's own counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counters {
    frame: u32,
    overrun: u32,
    parity: u32,
    buffer: u32,
}

impl Counters {
    /// `TIOCGICOUNT`; `None` where the driver keeps no counters, as that of a
    /// pseudo-terminal.
    fn read(fd: BorrowedFd<'_>) -> Option<Self> {
        // struct serial_icounter_struct of linux/serial.h: cts, dsr, rng, dcd,
        // rx, tx, frame, overrun, parity, brk, buf_overrun, nine reserved.
        let mut counts = [0_i32; 20];
        if !ioctl::counts(fd, &mut counts) {
            return None;
        }
        let [_, _, _, _, _, _, frame, overrun, parity, _, buffer, ..] =
            counts.map(i32::cast_unsigned);
        Some(Self {
            frame,
            overrun,
            parity,
            buffer,
        })
    }

    fn since(&self, before: &Self) -> Vec<(&'static str, u32)> {
        [
            ("overrun", self.overrun, before.overrun),
            ("buffer", self.buffer, before.buffer),
            ("frame", self.frame, before.frame),
            ("parity", self.parity, before.parity),
        ]
        .into_iter()
        .map(|(what, now, before)| (what, now.wrapping_sub(before)))
        .filter(|(_, count)| *count > 0)
        .collect()
    }
}

#[expect(
    unsafe_code,
    reason = "no library provides this ioctl of serial drivers"
)]
mod ioctl {
    use std::os::fd::{AsRawFd, BorrowedFd};

    /// Fills `counts`; whether the driver did.
    pub(super) fn counts(fd: BorrowedFd<'_>, counts: &mut [i32; 20]) -> bool {
        // SAFETY: TIOCGICOUNT writes one serial_icounter_struct, which is 20
        // numbers of 32 bits, and `counts` is that large.
        unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCGICOUNT, counts.as_mut_ptr()) == 0 }
    }
}

/// How long a USB adapter may keep characters back, in milliseconds, if its
/// driver says so (FTDI's does: 16 ms unless it is told otherwise).
pub fn latency_ms(device: &Path) -> Option<u32> {
    let device = device.canonicalize().ok()?;
    let timer = Path::new("/sys/class/tty")
        .join(device.file_name()?)
        .join("device/latency_timer");
    let text = std::fs::read_to_string(timer).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Counters, Flow, Parity, Port, Settings};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{ControlModes, InputModes, tcgetattr};
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;

    fn pair() -> (OwnedFd, OwnedFd) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = PathBuf::from(name.into_string().unwrap());
        let slave = File::options().read(true).write(true).open(path).unwrap();
        (master, slave.into())
    }

    #[test]
    fn every_setting_reaches_the_driver_and_goes_again() {
        let (_master, slave) = pair();
        let again = slave.try_clone().unwrap();
        let before = tcgetattr(&again).unwrap();
        // 1,843,200 is in no table of standard rates.
        let settings = Settings {
            baud: 1_843_200,
            bits: 7,
            parity: Parity::Odd,
            stop: 2,
            flow: Flow::Soft,
        };
        assert_eq!(settings.bits_per_byte(), 11);
        let port = Port::set(slave, &settings).unwrap();
        let set = tcgetattr(&again).unwrap();
        assert_eq!(
            (set.input_speed(), set.output_speed()),
            (1_843_200, 1_843_200)
        );
        // A pseudo-terminal has eight bits and no parity, whatever it is told.
        assert!(
            set.control_modes
                .contains(ControlModes::CSTOPB | ControlModes::CREAD)
        );
        assert!(!set.control_modes.contains(ControlModes::HUPCL));
        assert!(
            set.input_modes
                .contains(InputModes::IXON | InputModes::IXOFF)
        );
        assert!(set.local_modes.is_empty() || set.local_modes.bits() & 2 == 0);
        assert_eq!(port.lost(), []);
        drop(port);
        let after = tcgetattr(&again).unwrap();
        assert_eq!(after.input_modes, before.input_modes);
        assert_eq!(after.local_modes, before.local_modes);
        assert_eq!(after.input_speed(), before.input_speed());
    }

    #[test]
    fn counters_that_wrapped_are_differences_still() {
        let at = |overrun, parity| Counters {
            frame: 7,
            overrun,
            parity,
            buffer: 0,
        };
        assert_eq!(at(2, 9).since(&at(u32::MAX, 9)), [("overrun", 3)]);
    }
}
