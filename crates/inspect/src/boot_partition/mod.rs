//! A boot partition: which of its files say how the system boots, and what they are.
//!
//! Which kernel is started, the firmware of a Raspberry Pi reads in config.txt, and U-Boot in
//! extlinux.conf. Where neither says it, a file is known by its content.

mod firmware;
mod menu;

use crate::item::{BootFile, Item, Role};
use crate::kernel_image::KERNEL_IMAGE;
use ::disk::{File, Map};
use bootimage::info::{self, Kind};
use bootimage::{Compression, initramfs};
use firmware::Firmware;
use menu::default_entry;
use rawimage::Part;
use rawimage::compression::LIMIT;
use sources::{Sniff, Source};
use std::collections::{BTreeMap, BTreeSet};

/// So many files are looked into; boot partitions have less than twenty that could be kernels.
const MOST_FILES: usize = 64;
/// Longer texts are no settings, bytes.
const MOST_TEXT: usize = 64 << 10;
/// Where the menus of extlinux are.
const MENUS: [&str; 2] = ["/extlinux/extlinux.conf", "/boot/extlinux/extlinux.conf"];
/// Where a kernel is looked for by its content.
const FOLDERS: [&str; 2] = ["", "/boot"];

/// How the names of device trees end.
const TREES: [(&str, Role); 2] = [(".dtb", Role::DeviceTree), (".dtbo", Role::Overlay)];

/// A volume, and its files by their paths in small letters: FAT makes no difference.
struct Volume<'a> {
    part: Part<'a>,
    map: &'a Map,
    files: BTreeMap<String, (String, u32)>,
}

/// What the settings say of what is booted.
#[derive(Default)]
struct Chosen {
    /// Paths in small letters, of those that are there.
    kernels: BTreeSet<String>,
    initramfs: BTreeSet<String>,
    /// Whether anything says it.
    is_told: bool,
    /// The file with the command line, what it is, and where in it.
    cmdline: Option<(String, String, u64)>,
}

/// The files of a boot partition that say how the system boots, by their roles.
#[must_use]
pub fn files(part: &Part<'_>, map: &Map) -> Vec<BootFile> {
    let paths = map.inodes().iter().filter(|i| i.kind == ::disk::Kind::File);
    let paths = paths.filter_map(|i| {
        let path = String::from_utf8_lossy(&map.path(i.number)?).into_owned();
        Some((path.to_ascii_lowercase(), (path, i.number)))
    });
    let volume = Volume {
        part: *part,
        map,
        files: paths.collect(),
    };
    let mut found = volume.images();
    let chosen = volume.chosen(&found);
    for file in &mut found {
        let of = match file.role {
            Role::Kernel => &chosen.kernels,
            Role::Initramfs => &chosen.initramfs,
            _ => continue,
        };
        file.is_used = !chosen.is_told || of.contains(&file.path.to_ascii_lowercase());
    }
    found.extend(volume.texts(&chosen));
    found.extend(volume.trees());
    found.sort_by_key(|f| f.role);
    found
}

impl Volume<'_> {
    fn open(&self, path: &str) -> Option<File<'_>> {
        let (_, number) = self.files.get(&path.to_ascii_lowercase())?;
        File::open(self.part, self.map, *number)
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.open(path)?;
        let part = Part::whole(&file).ok()?;
        part.read(0, MOST_TEXT).ok()
    }

    fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn file(&self, path: &str, role: Role) -> Option<BootFile> {
        let (path, number) = self.files.get(path)?;
        let inode = self.map.inode(*number)?;
        Some(BootFile {
            path: path.clone(),
            number: *number,
            role,
            count: 1,
            bytes: inode.size,
            is_used: true,
            cmdline: None,
            items: Vec::new(),
        })
    }

    /// Kernels, archives, scripts and environments, by their content.
    fn images(&self) -> Vec<BootFile> {
        let config = self.firmware();
        let prefix = config.as_ref().map_or("", Firmware::prefix);
        let prefixed = absolute(prefix).to_ascii_lowercase();
        let is_there = |path: &str| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            FOLDERS.contains(&folder) || path.starts_with(&prefixed) && prefixed.len() > 1
        };
        let paths = self.files.keys().filter(|p| is_there(p));
        let found = paths.filter_map(|path| self.image(path));
        found.take(MOST_FILES).collect()
    }

    fn image(&self, path: &str) -> Option<BootFile> {
        let file = self.open(path)?;
        let part = Part::whole(&file).ok()?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_environment = matches!(name, "uboot.env" | "uboot-redund.env");
        let head = part.read(0, 4096).ok()?;
        let looks = KERNEL_IMAGE.sniff(&head) == Sniff::Yes
            || initramfs::is_archive(&head)
            || Compression::detect(&head).is_some();
        // Trees are counted, and firmware has a name that ends so.
        if !(is_environment || looks) || is_tree(path) {
            return None;
        }
        let items = info::inspect(&part, LIMIT).ok()?;
        let role = items.iter().find_map(|i| role(&i.kind))?;
        let items = items.into_iter().map(Item::from).collect();
        Some(BootFile {
            items,
            ..self.file(path, role)?
        })
    }

    fn firmware(&self) -> Option<Firmware> {
        let text = self.text("/config.txt")?;
        Some(Firmware::parse(&text, &|name| self.text(&absolute(name))))
    }

    /// A file that the firmware names: with the prefix, if it is there.
    fn named(&self, prefix: &str, name: &str) -> Option<String> {
        let candidates = [absolute(&format!("{prefix}{name}")), absolute(name)];
        let mut candidates = candidates.into_iter().map(|c| c.to_ascii_lowercase());
        candidates.find(|c| self.files.contains_key(c))
    }

    fn chosen(&self, images: &[BootFile]) -> Chosen {
        let is_kernel = |path: &String| {
            let mut kernels = images.iter().filter(|i| i.role == Role::Kernel);
            kernels.any(|i| i.path.eq_ignore_ascii_case(path))
        };
        let mut chosen = Chosen::default();
        if let Some(config) = self.firmware() {
            let named = |name: &str| self.named(config.prefix(), name);
            let kernels = config.kernels().into_iter().filter_map(named);
            chosen.kernels = kernels.filter(is_kernel).collect();
            // The firmware may start U-Boot, which reads another file.
            let starts_other = config.names_kernel() && chosen.kernels.is_empty();
            chosen.is_told = !chosen.kernels.is_empty();
            if chosen.is_told {
                let all = config.initramfs();
                chosen.initramfs = all.iter().filter_map(|name| named(name)).collect();
            }
            if !starts_other {
                chosen.cmdline = named(config.cmdline()).and_then(|path| self.first_line(path));
            }
        }
        let menu = MENUS
            .iter()
            .find_map(|m| Some((*m, default_entry(&self.bytes(m)?)?)));
        if let (false, Some((path, entry))) = (chosen.is_told, menu) {
            let whole = |p: &String| menu::absolute(path, p).to_ascii_lowercase();
            chosen.kernels = entry.kernel.iter().map(whole).filter(is_kernel).collect();
            chosen.initramfs = entry.initramfs.iter().map(whole).collect();
            chosen.is_told = !chosen.kernels.is_empty();
            if let Some((append, at)) = entry.append {
                chosen.cmdline = Some((path.to_owned(), append, at));
            }
        }
        if chosen.cmdline.is_none() && !self.files.contains_key("/config.txt") {
            chosen.cmdline = self.first_line("/cmdline.txt".to_owned());
        }
        chosen
    }

    /// The command line in a file that has nothing else: its first line.
    fn first_line(&self, path: String) -> Option<(String, String, u64)> {
        let text = self.text(&path)?;
        let line = text.lines().next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        (!line.is_empty()).then(|| (path, line.to_owned(), indent as u64))
    }

    /// Settings that are text.
    fn texts(&self, chosen: &Chosen) -> Vec<BootFile> {
        let mut found: Vec<BootFile> = MENUS
            .iter()
            .filter_map(|m| self.file(m, Role::Menu))
            .collect();
        found.extend(self.file("/config.txt", Role::Firmware));
        let cmdline = chosen.cmdline.as_ref();
        let path = cmdline.map_or("/cmdline.txt", |(path, ..)| path);
        if !MENUS.contains(&path) {
            found.extend(self.file(path, Role::CommandLine));
        }
        for file in &mut found {
            let own = cmdline.filter(|(path, ..)| file.path.eq_ignore_ascii_case(path));
            file.cmdline = own.map(|(_, text, at)| (text.clone(), *at));
        }
        found
    }

    /// Device trees, and overlays of them, summed up.
    fn trees(&self) -> Vec<BootFile> {
        let sums = TREES.into_iter().filter_map(|(end, role)| {
            let all = || self.files.keys().filter(move |path| path.ends_with(end));
            let mut first = self.file(all().next()?, role)?;
            let sizes = all().filter_map(|path| Some(self.file(path, role)?.bytes));
            first.count = all().count() as u64;
            first.bytes = sizes.fold(0, u64::saturating_add);
            Some(first)
        });
        sums.collect()
    }
}

fn is_tree(path: &str) -> bool {
    TREES.iter().any(|(end, _)| path.ends_with(end))
}

/// A path from the root on.
fn absolute(path: &str) -> String {
    format!("/{}", path.trim_start_matches('/'))
}

/// What a file is for, by what it is.
fn role(kind: &Kind) -> Option<Role> {
    if kind.content().is_some_and(|c| c.banner.is_some()) {
        return Some(Role::Kernel);
    }
    Some(match kind {
        Kind::ZImage(_) | Kind::BzImage(..) | Kind::Flat(..) | Kind::Zboot(_) | Kind::Fit(_) => {
            Role::Kernel
        }
        Kind::Uimage(u) => match u.kind().as_str() {
            "kernel" | "kernel_noload" | "multi" => Role::Kernel,
            "ramdisk" => Role::Initramfs,
            "script" => Role::Script,
            _ => return None,
        },
        Kind::Initramfs(_) => Role::Initramfs,
        Kind::Environment(_) => Role::Environment,
        _ => return None,
    })
}
