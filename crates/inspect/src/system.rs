//! What is known of a system beside its boot, from the files that the user
//! names: a configuration, images, a root tree.

mod root;

use crate::error::{Content, Error, Of};
use crate::open;
use crate::whole::{self, Item, Role, inspect};
use analysis::{
    CommandLine, Directory, EnvironmentProposal, Filesystem, ImageFact, ImageKind, KernelConfig,
    Place, SystemFacts,
};
use bootimage::environment::proposals;
use bootimage::info::Kind;
use bootimage::kernel::built_in::built_in;
use bootimage::kernel::symbols::symbols;
use bootimage::signature::is_signed_program;
use bootimage::{Compression, Part, fit, initramfs};
use disk::{Disk, File, Map, cramfs};
use flash::{jffs2, ubi};
use rawimage::ReadAt;
use rawimage::compression::{Decoder, LIMIT};
use rawimage::foreign::Foreign;
use std::collections::BTreeMap;
use std::io::Read;
use std::iter;
use std::path::{Path, PathBuf};

/// The largest configuration that is read, in bytes: a full one has 300 KB.
const MOST_CONFIG: u64 = 16 << 20;

/// Gathers what the files say.
///
/// # Errors
/// A file cannot be read, or is nothing that is known here.
pub fn facts(images: &[PathBuf], config: Option<&Path>) -> Result<SystemFacts, Error> {
    let mut facts = SystemFacts::default();
    for path in images {
        if path.is_dir() {
            if facts.root.is_some() {
                return Err(Error::unusable(
                    &path.display().to_string(),
                    "a second root tree; give one folder, and files beside it",
                ));
            }
            facts.root = Some(root::read(path)?);
        } else {
            image(path, &mut facts)?;
        }
    }
    // A configuration that is named wins over one that an image carries.
    if let Some(path) = config {
        facts.config = Some(read_config(path)?);
    }
    Ok(facts)
}

/// A kernel's configuration: its text, packed or not, or a kernel that holds it.
fn read_config(path: &Path) -> Result<KernelConfig, Error> {
    let shown = path.display().to_string();
    let file = open::image(path)?;
    let part = Part::whole(&file).of(&shown)?;
    let mut bytes = part.read(0, MOST_CONFIG as usize + 1).of(&shown)?;
    if bytes.starts_with(&[0x1f, 0x8b])
        && let Some(text) = unpacked(&part)
    {
        bytes = text;
    }
    let text = String::from_utf8_lossy(&bytes);
    let parsed = KernelConfig::parse(&shown, &text);
    if !parsed.is_empty() && bytes.len() as u64 <= MOST_CONFIG {
        return Ok(parsed);
    }
    let items = inspect(&part, LIMIT).of(&shown)?;
    match items.iter().find_map(embedded) {
        Some(text) => Ok(KernelConfig::parse(&shown, &text)),
        None => Err(Error::unusable(
            &shown,
            "no line of a kernel configuration (CONFIG_NAME=y) and no kernel that holds \
             one; expected a .config, /boot/config-*, /proc/config.gz, or a kernel built with \
             CONFIG_IKCONFIG",
        )),
    }
}

/// The text of a file that gzip packed; `None` if it is none or too long.
fn unpacked(part: &Part<'_>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut reader = Decoder::new(Compression::Gzip, part, MOST_CONFIG).ok()?;
    reader.read_to_end(&mut text).ok()?;
    Some(text)
}

/// The configuration that a kernel holds.
fn embedded(item: &Item) -> Option<String> {
    let own = item.kind.boot().and_then(Kind::content);
    let own = own.and_then(|c| c.config.as_deref());
    let own = own.map(|c| String::from_utf8_lossy(c).into_owned());
    own.or_else(|| item.inside.iter().find_map(embedded))
}

/// What an image is, and what is in it.
fn image(path: &Path, facts: &mut SystemFacts) -> Result<(), Error> {
    let shown = path.display().to_string();
    let file = open::image(path)?;
    if let Some(fact) = ubi_fact(&shown, &file) {
        facts.images.push(fact);
        return Ok(());
    }
    let part = Part::whole(&file).of(&shown)?;
    let items = inspect(&part, LIMIT).of(&shown)?;
    if let Some(what) = items.iter().find_map(|i| i.packed.as_ref()) {
        let packing = Foreign::recognise(&part.read(0, 512).of(&shown)?);
        let advice = packing.advice().map_or(String::new(), |a| format!("; {a}"));
        return Err(Error::unusable(
            &shown,
            format!("{packing}, of {what}{advice}"),
        ));
    }
    items_facts(&shown, &part, &items, facts)?;
    if items.is_empty() {
        return Err(Error::unusable(
            &shown,
            "nothing in it is known here; expected a kernel, an initramfs, a FIT or \
             legacy image, a U-Boot environment, a disk or a filesystem, a JFFS2 or UBI image, or \
             the folder of a root",
        ));
    }
    Ok(())
}

fn items_facts(
    source: &str,
    image: &Part<'_>,
    items: &[Item],
    facts: &mut SystemFacts,
) -> Result<(), Error> {
    if let Some(text) = items.iter().find_map(embedded)
        && facts.config.is_none()
    {
        facts.config = Some(KernelConfig::parse(source, &text));
    }
    let signed = items.iter().any(is_signed_fit);
    for item in items {
        item_facts(source, image, item, signed, facts)?;
    }
    Ok(())
}

fn is_signed_fit(item: &Item) -> bool {
    let own = matches!(item.kind.boot(), Some(Kind::Fit(fit)) if fit.is_signed());
    own || item.inside.iter().any(is_signed_fit)
}

fn item_facts(
    source: &str,
    image: &Part<'_>,
    item: &Item,
    signed: bool,
    facts: &mut SystemFacts,
) -> Result<(), Error> {
    let place = Place {
        source: source.to_owned(),
        offset: item.offset,
    };
    let kind = match &item.kind {
        whole::Kind::Jffs2 { .. } => {
            let own = image.part(item.offset, item.size);
            facts
                .images
                .extend(jffs2_fact(&own).map(|what| ImageFact { place, what }));
            return Ok(());
        }
        whole::Kind::Filesystem(_) | whole::Kind::Disk(..) => {
            let own = image.part(item.offset, item.size);
            match Disk::open(&own, None) {
                Ok(disk) => {
                    facts.images.extend(filesystem_facts(&place, &disk));
                    boot_facts(source, &own, &disk, item, facts)?;
                }
                // Beside other things in a file it is one of many, and they are told all the same.
                Err(_) if own.len() < image.len() => {}
                Err(e) => return Err(e).of(source),
            }
            return Ok(());
        }
        whole::Kind::Boot(kind) => kind,
    };
    let what = match kind {
        Kind::Uimage(u) => Some(ImageKind::Uimage {
            size: u64::from(u.size),
            packed: u.compression().is_none_or(|c| c != Compression::None),
        }),
        Kind::Fit(fit) => Some(fit_fact(fit)),
        Kind::Initramfs(archive) => {
            let packed = archive.segments.iter().rfind(|s| !s.is_only_early);
            packed.map(|segment| ImageKind::Initramfs {
                compression: segment.compression.name().to_owned(),
                packed: segment.size,
                unpacked: segment.unpacked,
                entries: segment.count(),
            })
        }
        Kind::Environment(environment) => {
            let Some(data) = environment.data() else {
                return Ok(());
            };
            let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
            let variables: BTreeMap<String, String> = data
                .variables()
                .iter()
                .map(|v| (text(&v.name), text(&v.value)))
                .collect();
            let found = proposals(data, Some(image), signed.then_some(true)).of(source)?;
            // A treatment sets one variable.
            let alone = found.proposals.into_iter().filter(|p| p.with.is_empty());
            let proposals = alone.filter_map(|p| match p.change {
                bootimage::environment::Change::Set(name, value) => Some(EnvironmentProposal {
                    name: text(&name),
                    value: text(&value),
                    why: p.why,
                    cost: p.cost,
                    saves_ns: p.saves_ns,
                    surplus_bytes: p.surplus_bytes,
                }),
                _ => None,
            });
            Some(ImageKind::Environment {
                variables,
                proposals: proposals.collect(),
            })
        }
        Kind::Android(android) => {
            if facts.cmdline.is_none() && !android.cmdline.is_empty() {
                facts.cmdline = Some(CommandLine {
                    text: android.cmdline.clone(),
                    place: Place {
                        offset: item.offset.saturating_add(android.cmdline_at),
                        ..place.clone()
                    },
                });
            }
            None
        }
        Kind::Foreign(Foreign::Cramfs) => {
            let found = cramfs::programs(&image.part(item.offset, item.size));
            let found = found.of(source)?;
            found.map(|found| ImageKind::Cramfs {
                packed: found.packed,
                in_place: found.in_place,
            })
        }
        // Packed data is a kernel only if it says so.
        Kind::Packed(p) if p.content.banner.is_none() => None,
        kind => kind.payload().and_then(|p| {
            let own = image.part(item.offset, item.size);
            let kernel = kernel_of(&own.part(p.offset, p.packed), p.compression);
            let kernel = kernel.unwrap_or_default();
            Some(ImageKind::Kernel {
                compression: p.compression.name().to_owned(),
                packed: p.packed,
                unpacked: p.unpacked.or(p.stated)?,
                signed: signed || is_signed_program(&own),
                variable_names: symbols(&kernel).map(|s| s.variable_bytes),
                initramfs: built_in(&kernel).map(|i| i.packed),
            })
        }),
    };
    if let Some(ImageKind::Initramfs { unpacked, .. }) = &what {
        let modules = modules_of(&image.part(item.offset, item.size)).of(source)?;
        if !modules.is_empty() {
            let (place, unpacked) = (place.clone(), *unpacked);
            let what = ImageKind::InitramfsModules { modules, unpacked };
            facts.images.push(ImageFact { place, what });
        }
    }
    facts
        .images
        .extend(what.map(|what| ImageFact { place, what }));
    for inside in &item.inside {
        item_facts(source, image, inside, signed, facts)?;
    }
    Ok(())
}

/// What the files of boot partitions are that are booted, and the command line there.
fn boot_facts(
    source: &str,
    image: &Part<'_>,
    disk: &Disk,
    item: &Item,
    facts: &mut SystemFacts,
) -> Result<(), Error> {
    for (volume, map) in disk.maps() {
        let at = item.offset.saturating_add(volume.start);
        let mut own = iter::once(item).chain(&item.inside);
        let Some(own) = own.find(|i| i.offset == at && !i.files.is_empty()) else {
            continue;
        };
        let own_part = image.part(volume.start, volume.len);
        for file in own.files.iter().filter(|f| f.is_used) {
            let source = format!("{source}:{}", file.path);
            if let (None, Some((text, offset))) = (&facts.cmdline, &file.cmdline) {
                let place = Place {
                    source: source.clone(),
                    offset: *offset,
                };
                let text = text.clone();
                facts.cmdline = Some(CommandLine { text, place });
            }
            let content = match file.role {
                Role::Kernel | Role::Initramfs | Role::Environment => {
                    File::open(own_part, map, file.number)
                }
                _ => None,
            };
            if let Some(content) = content {
                let part = Part::whole(&content).of(&source)?;
                items_facts(&source, &part, &file.items, facts)?;
            }
        }
    }
    Ok(())
}

/// The largest kernel that is looked into, in bytes: one of a distribution has 60 MB.
const MOST_KERNEL: u64 = 256 << 20;

/// The kernel proper of a packed one.
fn kernel_of(packed: &Part<'_>, compression: Compression) -> Option<Vec<u8>> {
    let mut kernel = Vec::new();
    let mut reader = Decoder::new(compression, packed, MOST_KERNEL).ok()?;
    reader.read_to_end(&mut kernel).ok()?;
    Some(kernel)
}

/// The endings of files that are modules of the kernel, packed or not.
const MODULE_ENDS: [&str; 4] = [".ko", ".ko.gz", ".ko.xz", ".ko.zst"];

/// The modules in an initramfs: their names as the kernel lists them, and their bytes.
fn modules_of(archive: &Part<'_>) -> Result<BTreeMap<String, u64>, Content> {
    let mut modules = BTreeMap::new();
    initramfs::read_with(archive, LIMIT, &mut |_, entry| {
        let path = String::from_utf8_lossy(&entry.name);
        let file = path.rsplit('/').next().unwrap_or(&path);
        let name = MODULE_ENDS.iter().find_map(|e| file.strip_suffix(e));
        if let Some(name) = name {
            modules.insert(name.replace('-', "_"), u64::from(entry.size));
        }
    })?;
    Ok(modules)
}

/// The filesystems of a disk, or the one that an image is, which begins at `place`.
fn filesystem_facts<'a>(place: &'a Place, disk: &'a Disk) -> impl Iterator<Item = ImageFact> + 'a {
    disk.volumes.iter().filter_map(|volume| {
        Some(ImageFact {
            place: Place {
                source: place.source.clone(),
                offset: place.offset.saturating_add(volume.start),
            },
            // What cannot be mapped has nothing to say, nor what is no root.
            what: ImageKind::Filesystem(filesystem_fact(
                volume.map.as_ref().ok().filter(|m| !m.facts.is_fat())?,
            )),
        })
    })
}

/// A directory of so many bytes or less comes with one read, and holds some thousand
/// names: an index gains little.
const SMALL_DIRECTORY: u64 = 64 << 10;

fn filesystem_fact(map: &Map) -> Filesystem {
    let facts = &map.facts;
    let is_ext = facts.filesystem.starts_with("ext");
    let block = u64::from(facts.block_size);
    let indirect = map
        .extents()
        .filter(|e| e.kind == disk::Kind::IndirectBlock);
    let indirect = indirect.fold(0_u64, |sum, e| sum.saturating_add(e.len));
    let is_indexed = !is_ext || facts.features.iter().any(|f| f == "dir_index");
    let large = map.inodes().iter().filter(|i| {
        let is_large = i.size > SMALL_DIRECTORY;
        !is_indexed && i.kind == disk::Kind::Directory && is_large
    });
    let mut unindexed: Vec<Directory> = large
        .filter_map(|i| {
            let path = map.path(i.number)?;
            // Made large in advance, and empty.
            let is_wanted = path != b"/lost+found";
            is_wanted.then(|| Directory {
                path: String::from_utf8_lossy(&path).into_owned(),
                bytes: i.size,
                names: map.names_in(i.number) as u64,
            })
        })
        .collect();
    unindexed.sort();
    let free = facts.free_blocks.unwrap_or(0);
    Filesystem {
        filesystem: facts.filesystem.to_owned(),
        features: facts.features.clone(),
        used: facts.blocks.saturating_sub(free).saturating_mul(block),
        indirect_blocks: indirect.checked_div(block).unwrap_or(0),
        unindexed,
    }
}

fn fit_fact(fit: &fit::Fit) -> ImageKind {
    let hashes = fit.images.iter().flat_map(|i| {
        let bytes = i.data.map_or(0, |(_, size)| size);
        let checked = i.hashes.iter().filter(|h| !h.is_ignored);
        checked.map(move |h| (h.algorithm.clone(), bytes))
    });
    ImageKind::Fit {
        signed: fit.is_signed(),
        hashes: hashes.collect(),
    }
}

fn jffs2_fact(image: &Part<'_>) -> Option<ImageKind> {
    let report = jffs2::check(image, &jffs2::CheckOptions::default()).ok()?;
    let count = |letters: &str| {
        let found = report.map.chars().filter(|c| letters.contains(*c));
        found.count() as u64
    };
    Some(ImageKind::Jffs2 {
        programs: jffs2_programs(image).unwrap_or(0),
        used_blocks: count("-=sS"),
        summarised: count("sS"),
        saves_ns: report.mount.now_ns.saturating_sub(report.mount.summary_ns),
        mount_ns: report.mount.now_ns,
        erased_ns: report.mount.profile.erased_ns(),
        erase_size: u64::from(report.erase_size),
        blocks: report.blocks,
    })
}

/// Bytes of the executable files of a JFFS2.
fn jffs2_programs(image: &Part<'_>) -> Option<u64> {
    const KIND: u32 = 0o170_000;
    const FILE: u32 = 0o100_000;
    const EXECUTE: u32 = 0o111;
    let filesystem = jffs2::Filesystem::open(image, &jffs2::OpenOptions::default()).ok()?;
    let stats = filesystem.inodes().map(|ino| filesystem.stat(ino));
    let programs = stats.flatten().flatten().filter(|s| {
        let is_program = s.mode & KIND == FILE && s.mode & EXECUTE != 0;
        is_program && s.links > 0
    });
    Some(programs.fold(0, |sum, s| s.size.saturating_add(sum)))
}

fn ubi_fact(source: &str, image: &dyn ReadAt) -> Option<ImageFact> {
    let mut head = [0; 4];
    image.read_exact_at(0, &mut head).ok()?;
    if head != *b"UBI#" {
        return None;
    }
    let report = ubi::check(image, &ubi::Options::default()).ok()?;
    let fixed: Vec<_> = report.volumes.iter().filter(|v| v.open_ns > 0).collect();
    let only = match fixed.as_slice() {
        [only] => Some(only.id),
        _ => None,
    };
    let (bytes, ns) = fixed.iter().fold((0_u64, 0_u64), |(b, t), v| {
        (b.saturating_add(v.bytes), t.saturating_add(v.open_ns))
    });
    let with = report.attach.fastmap_ns;
    Some(ImageFact {
        place: Place {
            source: source.to_owned(),
            offset: 0,
        },
        what: ImageKind::Ubi {
            blocks: report.blocks,
            fastmap_saves_ns: with.map_or(0, |w| report.attach.now_ns.saturating_sub(w)),
            checked_bytes: bytes,
            checked_ns: ns,
            checked_volume: only,
        },
    })
}
