//! What firmware and loader left behind: their times, and the machine's name.

use super::gathered::Gathered;
use super::texts::text_of;
use crate::sys::read_kernel_file;
use std::fs;
use std::io;
use std::path::Path;

/// The variables of systemd's boot loader interface
/// (`https://systemd.io/BOOT_LOADER_INTERFACE`), but for those that hold secrets.
const LOADER_VARIABLES: &[&str] = &[
    "LoaderTimeInitUSec",
    "LoaderTimeExecUSec",
    "LoaderTimeMenuUSec",
    "LoaderInfo",
    "LoaderFirmwareInfo",
    "LoaderFirmwareType",
    "StubInfo",
];

/// The vendor of these variables, behind their names.
const LOADER_VENDOR: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

const EFI_VARIABLES: &str = "/sys/firmware/efi/efivars";

/// The times of the firmware: the ACPI table as it is, and as the kernel reads it
/// (`Documentation/ABI/testing/sysfs-firmware-acpi`).
const ACPI_TIMES: [&str; 2] = ["/sys/firmware/acpi/tables/FPDT", "/sys/firmware/acpi/fpdt"];

/// The times that U-Boot leaves in the device tree.
const BOOTSTAGE: &str = "/proc/device-tree/bootstage";

/// The device tree as the loader gave it to the kernel.
const DEVICE_TREE: &str = "/sys/firmware/fdt";

/// The times of TI's first loader.
const SPL_PROFILE: &str = "/proc/device-tree/chosen/ti,spl-profile-v1";

/// No file of these is longer, and none of the folders has as many files.
const MOST_BYTES: usize = 4 << 20;
const MOST_FILES: usize = 1000;

/// The machine's name, from the device tree or the firmware's tables.
pub(super) fn machine() -> String {
    let model = text_of("/proc/device-tree/model");
    if !model.is_empty() {
        return model;
    }
    let dmi = |name: &str| text_of(&format!("/sys/class/dmi/id/{name}"));
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    format!("{vendor} {product}").trim().to_owned()
}

impl Gathered {
    /// Adds what firmware and loader left behind.
    pub(super) fn firmware(&mut self) {
        for name in LOADER_VARIABLES {
            let path = format!("{EFI_VARIABLES}/{name}-{LOADER_VENDOR}");
            self.copy("none", Path::new(&path));
        }
        for path in ACPI_TIMES {
            self.copy("none", Path::new(path));
        }
        self.copy("none", Path::new(SPL_PROFILE));
        if !Path::new(BOOTSTAGE).is_dir() {
            return;
        }
        self.copy("none", Path::new(BOOTSTAGE));
        // The whole tree, for its one node: as it is, it can be read.
        self.copy("", Path::new(DEVICE_TREE));
    }

    /// Adds a file, or all files below a folder; nothing, if it is not there.
    fn copy(&mut self, format: &str, path: &Path) {
        let mut left = MOST_FILES;
        if let Err(e) = self.copy_below(format, path, &mut left) {
            let advice = "run as root";
            self.missing(&path.to_string_lossy(), &e, advice);
        }
    }

    fn copy_below(&mut self, format: &str, path: &Path, left: &mut usize) -> io::Result<()> {
        let kind = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e),
        };
        if kind.is_dir() {
            let mut entries: Vec<_> = fs::read_dir(path)?.flatten().map(|e| e.path()).collect();
            entries.sort();
            for entry in entries {
                self.copy_below(format, &entry, left)?;
            }
            return Ok(());
        }
        let Some(name) = path.to_str().filter(|n| !n.contains('\\')) else {
            return Ok(());
        };
        if kind.is_file() && *left > 0 {
            *left -= 1;
            let mut bytes = read_kernel_file(path)?;
            bytes.truncate(MOST_BYTES);
            self.add(name, format, name.trim_start_matches('/'), "", bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::gather;
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_folder_is_copied_with_all_below_it_and_its_absence_is_nothing() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("copied");
        fs::create_dir_all(folder.join("b/c")).unwrap();
        fs::write(folder.join("b/c/mark"), [0, 0, 0, 9]).unwrap();
        fs::write(folder.join("a"), "first").unwrap();
        let mut gathered = gather(None);
        let before = gathered.members.len();
        gathered.copy("none", &folder);
        gathered.copy("none", Path::new("/nowhere/at/all"));
        let names: Vec<_> = gathered.members.iter().skip(before).collect();
        let name = |n: &str| folder.join(n).to_str().unwrap()[1..].to_owned();
        assert_eq!(
            names,
            [
                &(name("a"), b"first".to_vec()),
                &(name("b/c/mark"), vec![0, 0, 0, 9])
            ]
        );
    }
}
