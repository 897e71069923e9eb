//! Devices that a machine has beside its own.

/// A device on the bus of a machine, with nothing plugged into it. Each of these answers at once
/// or by the virtual clock, so that a boot with it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// A controller of a SCSI bus, LSI 53C895A.
    Scsi,
    /// A controller of a USB, EHCI.
    Usb,
}

impl Device {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Scsi, Self::Usb];

    /// The emulator's name of it, which is also that in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scsi => "lsi53c895a",
            Self::Usb => "usb-ehci",
        }
    }
}
