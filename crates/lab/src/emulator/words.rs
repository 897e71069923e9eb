//! The words of QEMU's command line.

use std::ffi::OsString;
use std::path::Path;

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

    /// Adds memory called `id` that is the file at `path`, and the device that
    /// the guest sees it as. A guest's writes go to the file only if `shared`.
    pub fn memory(&mut self, id: &str, shared: bool, path: &Path, bytes: u64, device: &str) {
        let share = match shared {
            true => "share=on",
            false => "share=off,readonly=off",
        };
        let path = option(path);
        let object = format!("memory-backend-file,id={id},{share},mem-path={path},size={bytes}");
        self.pair("-object", object);
        self.pair("-device", format!("{device},memdev={id},id=dev-{id}"));
    }

    /// The second bank of a board's flash memory is the file at `path`, which is
    /// not written to.
    pub fn flash(&mut self, path: &Path) {
        let file = option(path);
        self.pair(
            "-drive",
            format!("if=pflash,unit=1,format=raw,file={file},readonly=on"),
        );
    }

    /// The board's only bank of flash memory is the file at `path`.
    pub fn nor(&mut self, path: &Path, writable: bool) {
        let file = option(path);
        let more = if writable { "" } else { ",readonly=on" };
        self.pair("-drive", format!("if=pflash,format=raw,file={file}{more}"));
    }

    /// The processor begins with the program at `path`, which lies at `address`.
    pub fn begin_with(&mut self, path: &Path, address: u32) {
        let file = option(path);
        let device = format!("loader,file={file},addr={address:#x},force-raw=on,cpu-num=0");
        self.pair("-device", device);
    }

    /// The machine's own memory is the file at `path`, of `bytes` bytes.
    pub fn machine_memory(&mut self, path: &Path, bytes: u64) {
        let path = option(path);
        self.pair(
            "-object",
            format!("memory-backend-file,id=ram,share=on,mem-path={path},size={bytes}"),
        );
        self.pair("-machine", "memory-backend=ram");
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

/// A path as a value among QEMU's options, where a comma is written twice.
#[must_use]
pub fn option(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::Words;

    #[test]
    fn commas_in_paths_are_doubled() {
        let mut words = Words::of("-M  q35");
        words.memory("m", true, "a,b".as_ref(), 8, "nvdimm");
        let words: Vec<_> = words.finish();
        assert_eq!(
            words,
            [
                "-M",
                "q35",
                "-object",
                "memory-backend-file,id=m,share=on,mem-path=a,,b,size=8",
                "-device",
                "nvdimm,memdev=m,id=dev-m"
            ]
        );
    }
}
