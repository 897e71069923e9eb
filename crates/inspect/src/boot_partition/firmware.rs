//! What a Raspberry Pi's config.txt says of what is booted.
//!
//! Format: Raspberry Pi's documentation, "config.txt". Which board will read it is not
//! known: what stands under a filter, such as `[pi4]`, may hold.

/// So many files are included, and no more: a file that includes itself would have no end.
const MOST_INCLUDED: usize = 64;

/// The kernels that the firmware looks for by itself.
const KERNELS: [&str; 5] = [
    "kernel.img",
    "kernel7.img",
    "kernel7l.img",
    "kernel8.img",
    "kernel_2712.img",
];
/// Those of them that have 64 bits.
const KERNELS_64: [&str; 2] = ["kernel8.img", "kernel_2712.img"];

/// A setting: what it may be, and whether one of these stands under no filter.
#[derive(Debug, Default)]
struct Setting {
    values: Vec<String>,
    is_sure: bool,
}

impl Setting {
    fn set(&mut self, value: &str, is_sure: bool) {
        // The last one that holds is what counts.
        if is_sure {
            self.values.clear();
            self.is_sure = true;
        }
        self.values.push(value.to_owned());
    }

    fn last(&self) -> Option<&str> {
        self.values.last().map(String::as_str)
    }
}

/// What is booted, as far as config.txt decides it. Names may have a folder before them.
#[derive(Debug, Default)]
pub(super) struct Firmware {
    kernel: Setting,
    initramfs: Setting,
    finds_initramfs: Setting,
    is_64: Setting,
    cmdline: Setting,
    prefix: Setting,
}

impl Firmware {
    /// Reads config.txt; `open` gives the text of a file that it includes.
    pub fn parse(text: &str, open: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut firmware = Self::default();
        let mut left = MOST_INCLUDED;
        firmware.read(text, open, &mut left);
        firmware
    }

    /// Reads a file, and up to `left` others that it includes.
    fn read(&mut self, text: &str, open: &dyn Fn(&str) -> Option<String>, left: &mut usize) {
        let (mut is_sure, mut is_never) = (true, false);
        for line in text.lines().map(str::trim) {
            if let Some(filter) = line.strip_prefix('[') {
                let filter = filter.trim_end_matches(']').to_ascii_lowercase();
                is_sure = filter == "all";
                is_never = filter == "none";
                continue;
            }
            let Some((name, value)) = line.split_once(['=', ' ']) else {
                continue;
            };
            let value = value.trim();
            let setting = match name {
                _ if is_never => continue,
                "kernel" => &mut self.kernel,
                "initramfs" | "ramfsfile" => &mut self.initramfs,
                "auto_initramfs" => &mut self.finds_initramfs,
                "arm_64bit" => &mut self.is_64,
                "cmdline" => &mut self.cmdline,
                "os_prefix" => &mut self.prefix,
                "include" => {
                    let Some(rest) = left.checked_sub(1) else {
                        continue;
                    };
                    *left = rest;
                    if let Some(text) = open(value) {
                        self.read(&text, open, left);
                    }
                    continue;
                }
                _ => continue,
            };
            setting.set(value, is_sure);
        }
    }

    /// The name of the file with the command line.
    pub fn cmdline(&self) -> &str {
        self.cmdline.last().unwrap_or("cmdline.txt")
    }

    /// What stands before the names of files, where there are such files.
    pub fn prefix(&self) -> &str {
        self.prefix.last().unwrap_or_default()
    }

    /// Whether config.txt names a kernel for every board.
    pub fn names_kernel(&self) -> bool {
        self.kernel.is_sure
    }

    /// The kernels that it may start.
    pub fn kernels(&self) -> Vec<&str> {
        let named = self.kernel.values.iter().map(String::as_str);
        let wide = self.is_64.last().filter(|_| self.is_64.is_sure);
        let usual = KERNELS.into_iter().filter(|k| match wide {
            Some("0") => !KERNELS_64.contains(k),
            Some(_) => KERNELS_64.contains(k),
            None => true,
        });
        match self.kernel.is_sure {
            true => named.collect(),
            false => named.chain(usual).collect(),
        }
    }

    /// The archives that it may load: named, or found by the kernel's name.
    pub fn initramfs(&self) -> Vec<String> {
        // `initramfs a.gz,b.gz followkernel` loads one behind the other.
        let named = self.initramfs.values.iter().flat_map(|v| {
            let files = v.split_whitespace().next().unwrap_or_default();
            files.split(',').map(str::to_owned)
        });
        let mut all: Vec<String> = named.collect();
        if self.finds_initramfs.values.iter().any(|v| v == "1") {
            let of = |kernel: &str| {
                let name = kernel.strip_prefix("kernel")?.strip_suffix(".img")?;
                Some(format!("initramfs{name}"))
            };
            all.extend(self.kernels().into_iter().filter_map(of));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Firmware, MOST_INCLUDED};
    use std::cell::Cell;

    fn of(text: &str) -> Firmware {
        Firmware::parse(text, &|name| {
            (name == "more.txt").then(|| "kernel=included.img\n".to_owned())
        })
    }

    #[test]
    fn what_holds_last_counts_and_a_filter_may_hold() {
        let found = of("#kernel=no.img\nkernel=a.img\n[pi4]\nkernel=b.img\n[none]\nkernel=c.img\n");
        assert_eq!(found.kernels(), ["a.img", "b.img"]);
        assert!(found.names_kernel());
        let found = of("[PI4]\nkernel b.img\n[ALL]\nkernel=a.img\ncmdline=my.txt\n");
        assert_eq!(found.kernels(), ["a.img"]);
        assert_eq!(found.cmdline(), "my.txt");
        assert_eq!(
            of("kernel=a.img\ninclude more.txt\n").kernels(),
            ["included.img"]
        );
    }

    #[test]
    fn files_that_include_themselves_have_an_end() {
        let opened = Cell::new(0);
        // 4 KiB can include 256 files; four levels of them would be four billion.
        let text = "include config.txt\n".repeat(256) + "kernel=a.img\n";
        let found = Firmware::parse(&text, &|name| {
            assert_eq!(name, "config.txt");
            opened.set(opened.get() + 1);
            Some(text.clone())
        });
        assert_eq!(found.kernels(), ["a.img"]);
        assert_eq!(opened.get(), MOST_INCLUDED);
    }

    #[test]
    fn kernels_and_archives_are_found_by_their_names() {
        let found = of("arm_64bit=1\nauto_initramfs=1\nos_prefix=old/\n");
        assert_eq!(found.kernels(), ["kernel8.img", "kernel_2712.img"]);
        assert_eq!(found.initramfs(), ["initramfs8", "initramfs_2712"]);
        assert_eq!((found.prefix(), found.cmdline()), ("old/", "cmdline.txt"));
        let found = of("[pi0]\ninitramfs root.gz,modules.gz followkernel\n");
        assert_eq!(found.initramfs(), ["root.gz", "modules.gz"]);
        assert_eq!(found.kernels().len(), 5);
        assert!(!found.names_kernel());
    }
}
