//! The words of QEMU's command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The words, as they are put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<OsString>);

impl Words {
    /// The words of `text`, which blanks part.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(text.split_whitespace().map(Into::into).collect())
    }

    /// Adds a word.
    pub fn word(&mut self, word: impl Into<OsString>) {
        self.0.push(word.into());
    }

    /// Adds an option and its value.
    pub fn pair(&mut self, key: &str, value: impl Into<OsString>) {
        self.0.extend([key.into(), value.into()]);
    }

    /// The board's only bank of flash memory is the file at `path`, which is not written to.
    pub fn nor(&mut self, path: &Path) {
        let [before, after] = flash(None, false);
        self.pair("-drive", format!("{before}{}{after}", option(path)));
    }

    /// The files are disks of a PCI controller with two IDE channels: master and slave of the
    /// first channel, then of the second.
    pub fn ide_disks(&mut self, files: &[PathBuf]) {
        self.pair("-device", "piix3-ide,id=pata");
        for (number, file) in files.iter().enumerate() {
            let drive = format!("if=none,id=disk{number},format=raw,file={}", option(file));
            self.pair("-drive", drive);
            let (bus, unit) = (number / 2, number % 2);
            let place = format!("ide-hd,drive=disk{number},bus=pata.{bus},unit={unit}");
            self.pair("-device", place);
        }
    }

    /// QEMU's monitor listens on the socket at `path`.
    pub fn monitor(&mut self, path: &Path) {
        let socket = format!("socket,id=qmp,path={},server=on,wait=off", option(path));
        self.pair("-chardev", socket);
        self.pair("-mon", "chardev=qmp,mode=control");
    }

    /// The first serial port writes into the file at `path`.
    pub fn console_file(&mut self, path: &Path) {
        self.pair("-chardev", format!("file,id=console,path={}", option(path)));
        self.pair("-serial", "chardev:console");
    }

    /// All words in their order.
    #[must_use]
    pub fn finish(self) -> Vec<OsString> {
        self.0
    }
}

/// What comes before and behind the path of a file that is a bank of flash memory.
#[must_use]
pub fn flash(unit: Option<u8>, writable: bool) -> [String; 2] {
    let unit = unit.map_or(String::new(), |n| format!("unit={n},"));
    let after = if writable { "" } else { ",readonly=on" };
    [
        format!("if=pflash,{unit}format=raw,file="),
        after.to_owned(),
    ]
}

/// A path as a value among QEMU's options, where a comma is written twice.
#[must_use]
pub fn option(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}
