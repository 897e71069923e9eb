//! The screen of `firstlight image info`.

use super::mount;
use crate::terminal::Style;
use crate::terminal::layout::{self, BAD, DIM, GOOD, PLAIN, Screen, WARN, clean, left, right};
use crate::words::{protocol, size, thousands, utc};
use bootimage::cpio::Entry;
use bootimage::fit::{Check, Fit};
use bootimage::info::Kind;
use bootimage::initramfs::Initramfs;
use bootimage::kernel::{Inner, Payload};
use bootimage::uimage::Uimage;
use inspect::contents::Contents;
use inspect::mounting::Mounts;
use inspect::whole::{self, BootFile, Item, Role};
use rawimage::Foreign;

/// The width of what a value is called.
const LABEL: usize = 14;
/// So many rows of a list are shown; JSON has them all.
const ROWS: usize = 12;

/// What files are, and what is in them.
#[must_use]
pub fn info(files: &[Contents], style: &Style) -> String {
    let mut screen = Screen::new(style);
    for file in files {
        let about = match file.items.as_slice() {
            [one] => format!("{}, {}", name(one), size(file.bytes)),
            several => format!("{} things, {}", several.len(), size(file.bytes)),
        };
        screen.heading(&file.name, &about);
        screen.blank();
        for item in &file.items {
            self::item(&mut screen, item, 0, file.items.len() > 1, &file.mounts);
        }
        if let Some(entries) = &file.entries {
            listing(&mut screen, entries);
        }
    }
    screen.finish()
}

/// What it is, in words, and what is packed in it.
fn name(item: &Item) -> String {
    let packed = item.packed.as_ref().map(|what| format!(", of {what}"));
    format!("{}{}", title(&item.kind), packed.unwrap_or_default())
}

/// What it is, in words.
fn title(kind: &whole::Kind) -> String {
    let kind = match kind {
        whole::Kind::Jffs2 { endian, .. } => return format!("JFFS2 filesystem, {endian}-endian"),
        whole::Kind::Filesystem(f) => return format!("{} filesystem", f.filesystem),
        whole::Kind::Disk(table, _) => {
            return format!("disk with a partition table ({})", table.name());
        }
        whole::Kind::Boot(kind) => kind,
    };
    match kind {
        Kind::Uimage(_) => "legacy U-Boot image".into(),
        Kind::Fit(f) if f.is_signed() => "FIT image, signed".into(),
        Kind::Fit(_) => "FIT image".into(),
        Kind::DeviceTree(d) if d.is_overlay => "device tree overlay".into(),
        Kind::DeviceTree(_) => "device tree".into(),
        Kind::ZImage(_) => "zImage, kernel of 32-bit ARM".into(),
        Kind::BzImage(b, _) if b.is_64 => "bzImage, kernel of x86-64".into(),
        Kind::BzImage(..) => "bzImage, kernel of x86".into(),
        Kind::Flat(f, _) => format!("Image, kernel of {}", f.arch.name()),
        Kind::Zboot(z) => format!("EFI zboot, kernel of {}", z.arch),
        Kind::Elf(e, _) => format!("ELF file of {}", e.arch()),
        Kind::Initramfs(_) => "initramfs".into(),
        Kind::Packed(p) => format!("{} data", p.compression),
        Kind::Environment(_) => "U-Boot environment".into(),
        Kind::Barebox(_) => "Barebox environment".into(),
        Kind::Android(a) if a.is_vendor => "Android vendor boot image".into(),
        Kind::Android(_) => "Android boot image".into(),
        Kind::Foreign(f) => f.name().into(),
        _ => "something else".into(),
    }
}

/// Rows of what is known, indented by how deep the item lies.
struct Rows<'a> {
    screen: &'a mut Screen,
    indent: usize,
}

impl Rows<'_> {
    fn row(&mut self, label: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let first = format!("{}  {}", " ".repeat(self.indent), left(label, LABEL));
        let indent = self.indent + LABEL + 4;
        self.screen.wrapped(&first, indent, PLAIN, value);
    }

    fn some<T: ToString>(&mut self, label: &str, value: Option<T>) {
        if let Some(value) = value {
            self.row(label, &value.to_string());
        }
    }

    fn line(&mut self, text: &str) {
        let line = format!("{}  {text}", " ".repeat(self.indent));
        self.screen.line(&line);
    }
}

fn item(screen: &mut Screen, item: &Item, depth: usize, titled: bool, mounts: &Mounts) {
    let indent = depth * 4;
    if titled {
        let line = format!(
            "{}  {}  {}",
            " ".repeat(indent),
            screen.paint(GOOD, &name(item)),
            screen.paint(DIM, &place(item.offset, item.size))
        );
        screen.line(&line);
    }
    let mut rows = Rows {
        screen,
        indent: indent + if titled { 2 } else { 0 },
    };
    details(&mut rows, &item.kind);
    match mounts.get(item) {
        Some(Ok(mount)) => rows.row("mount", &mount::sentence(mount)),
        Some(Err(why)) => rows.row("mount", why),
        None => {}
    }
    rows.some("kernel", item.kind.boot().and_then(banner).map(clean));
    let config = item.kind.boot().and_then(Kind::content);
    let config = config.and_then(|c| c.config.as_ref());
    if let Some(config) = config {
        let lines = config.split(|b| *b == b'\n').count().saturating_sub(1);
        let text = format!(
            "built in, {} lines; --config prints it",
            thousands(lines as u64)
        );
        rows.row("configuration", &text);
    }
    files(&mut rows, &item.files);
    let indent = rows.indent;
    for note in &item.notes {
        screen.wrapped(&" ".repeat(indent + 2), indent + 2, WARN, &sentence(note));
    }
    for inner in &item.inside {
        self::item(screen, inner, depth + 1, true, mounts);
    }
}

/// The files of a boot partition, a row each.
fn files(rows: &mut Rows<'_>, files: &[BootFile]) {
    for file in files {
        let label = match file.role {
            Role::DeviceTree => "device trees",
            Role::Overlay => "overlays",
            Role::CommandLine => "command line",
            role => role.name(),
        };
        let mut parts = match file.count {
            1 => vec![format!("{}, {}", clean(&file.path), size(file.bytes))],
            count => vec![format!("{count} files, {}", size(file.bytes))],
        };
        if !file.is_used {
            parts.push("not selected by the boot settings".to_owned());
        }
        for item in &file.items {
            parts.push(title(&item.kind));
            let kind = item.kind.boot();
            let inner = item
                .inside
                .iter()
                .find_map(|i| i.kind.boot().and_then(Kind::payload));
            if let Some(payload) = kind.and_then(Kind::payload).or(inner) {
                let to = payload.unpacked.map(|n| format!(", {} unpacked", size(n)));
                parts.push(format!("{}{}", payload.compression, to.unwrap_or_default()));
            }
            if let Some(Kind::Initramfs(archive)) = kind
                && let Some(last) = archive.segments.last()
            {
                let unpacked = size(last.unpacked);
                parts.push(format!("{}, {unpacked} unpacked", last.compression.name()));
            }
            parts.extend(kind.and_then(banner).map(clean));
        }
        rows.row(label, &parts.join("; "));
        let cmdline = file.cmdline.as_ref().map(|(text, _)| clean(text));
        rows.row("", &cmdline.unwrap_or_default());
    }
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    let first = first.map_or(String::new(), String::from);
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

fn place(offset: u64, bytes: u64) -> String {
    format!("byte {offset} ({offset:#x}), {}", size(bytes))
}

/// `5,386,700 bytes (5.1 MiB)`.
fn bytes(n: u64) -> String {
    if n < 1024 {
        return format!("{n} bytes");
    }
    format!("{} bytes ({})", thousands(n), size(n))
}

fn details(rows: &mut Rows<'_>, kind: &whole::Kind) {
    match kind {
        whole::Kind::Boot(kind) => boot(rows, kind),
        whole::Kind::Jffs2 { erase_size, .. } => {
            rows.some("erase size", erase_size.map(|n| size(n.into())));
            rows.row("more", "`firstlight flash check` looks at each block");
        }
        whole::Kind::Filesystem(f) => filesystem(rows, f),
        whole::Kind::Disk(_, partitions) => {
            for p in partitions {
                let name = match p.name.as_str() {
                    "" => String::new(),
                    name => format!(", {}", clean(name)),
                };
                let place = format!("{} at byte {}, type {}{name}", size(p.len), p.start, p.kind);
                rows.row(&format!("partition {}", p.number), &place);
            }
        }
    }
}

fn boot(rows: &mut Rows<'_>, kind: &Kind) {
    match kind {
        Kind::Uimage(u) => uimage(rows, u),
        Kind::Fit(f) => fit(rows, f),
        Kind::DeviceTree(d) => {
            rows.some("model", d.model.as_deref().map(clean));
            rows.row("compatible", &clean(&d.compatible.join(", ")));
            rows.row("nodes", &thousands(d.nodes as u64));
            rows.some("bootargs", d.bootargs.as_deref().map(clean));
            rows.some("console", d.stdout.as_deref().map(clean));
            if let Some((start, end)) = d.initrd {
                rows.row("initrd", &format!("{start:#x} to {end:#x}"));
            }
            for (name, value) in d.config.iter().take(ROWS) {
                rows.row("/config", &clean(&format!("{name} = {value}")));
            }
            for stage in &d.bootstage {
                let how = if stage.is_accumulated { "in all" } else { "at" };
                let text = format!("{} {how} {} us", stage.name, thousands(stage.us));
                rows.row("bootstage", &clean(&text));
            }
        }
        Kind::ZImage(z) => {
            let order = if z.kernel_is_big_endian.unwrap_or(false) {
                "big-endian"
            } else {
                "little-endian"
            };
            rows.row("byte order", order);
            rows.row("size", &bytes(z.size));
            if z.start != 0 {
                rows.row("loaded at", &format!("{:#x}", z.start));
            }
            packed(rows, z.payload.as_ref());
        }
        Kind::BzImage(b, p) => {
            rows.some("version", b.version.as_deref().map(clean));
            rows.row("boot protocol", &protocol(b.protocol));
            rows.row(
                "entry",
                &format!(
                    "{:#x}, after {} bytes of setup",
                    b.code32_start, b.setup_size
                ),
            );
            if let Some(address) = b.preferred_address {
                let needs = b
                    .init_size
                    .map(|n| format!(", {} while unpacking", size(n.into())));
                rows.row(
                    "runs at",
                    &format!("{address:#x}{}", needs.unwrap_or_default()),
                );
            }
            packed(rows, p.as_ref());
        }
        Kind::Flat(f, _) => {
            rows.row("memory", &bytes(f.memory));
            rows.row("text offset", &format!("{:#x}", f.text_offset));
            rows.some("pages", f.page_size.map(|n| size(n.into())));
            if f.has_efi_stub {
                rows.row("EFI", "is an EFI program too");
            }
        }
        Kind::Zboot(z) => {
            rows.row("method", &clean(&z.method));
            packed(rows, z.payload.as_ref());
        }
        Kind::Elf(e, _) => {
            let order = if e.is_big_endian { "big" } else { "little" };
            rows.row("entry", &format!("{:#x}", e.entry));
            rows.row(
                "format",
                &format!("{} bits, {order}-endian", if e.is_64 { 64 } else { 32 }),
            );
        }
        Kind::Initramfs(i) => initramfs(rows, i),
        Kind::Packed(_) => packed(rows, kind.payload()),
        Kind::Environment(e) => {
            let count = e.data().map_or(0, |d| d.variables().len());
            rows.some("size", e.active().map(|c| bytes(c.size)));
            rows.row(
                "variables",
                &format!("{count}; `firstlight flash env` shows them"),
            );
        }
        Kind::Barebox(b) => {
            rows.row("size", &bytes(b.size));
            for (name, length) in b.files.iter().take(ROWS) {
                rows.row("file", &clean(&format!("{name}, {length} bytes")));
            }
        }
        Kind::Android(a) => {
            rows.some("header", a.version.map(|v| format!("version {v}")));
            rows.row("command line", &clean(&a.cmdline));
        }
        Kind::Foreign(Foreign::Ubi) => {
            rows.row("more", "`firstlight flash ubi` looks at its volumes");
        }
        _ => {}
    }
}

fn filesystem(rows: &mut Rows<'_>, f: &disk::Facts) {
    let free = f
        .free_blocks
        .map_or_else(String::new, |n| format!(", {} free", thousands(n)));
    let blocks = thousands(f.blocks);
    rows.row(
        "size",
        &format!(
            "{}: {blocks} blocks of {}{free}",
            size(f.bytes),
            size(f.block_size.into())
        ),
    );
    if f.inodes > 0 {
        let free = f
            .free_inodes
            .map_or_else(String::new, |n| format!(", {} free", thousands(n)));
        rows.row("inodes", &format!("{}{free}", thousands(f.inodes)));
    }
    rows.row("label", &clean(&f.label));
    rows.some("uuid", f.uuid.as_deref());
    rows.row("features", &f.features.join(", "));
    rows.some("compression", f.compression.as_deref());
    rows.row("state", f.state.name());
    let time = |t: Option<u64>| {
        let seconds = t.filter(|t| *t != 0).and_then(|t| i64::try_from(t).ok());
        seconds.map(utc)
    };
    rows.some("made", time(Some(f.made)));
    let mounts = match f.mounts {
        Some(1) => ", once since it was checked".to_owned(),
        Some(n) => format!(", {n} times since it was checked"),
        None => String::new(),
    };
    let on = match f.mounted_on.as_str() {
        "" => String::new(),
        on => format!(" on {}", clean(on)),
    };
    rows.some(
        "mounted",
        time(f.mounted).map(|t| format!("{t}{on}{mounts}")),
    );
    rows.some("written", time(f.written));
    rows.some(
        "wear",
        f.lifetime_written
            .map(|n| format!("{} written since it was made, by its own count", size(n))),
    );
    rows.row("more", "`firstlight image map` says which file lies where");
}

fn packed(rows: &mut Rows<'_>, payload: Option<&Payload>) {
    let Some(p) = payload else {
        return;
    };
    let to = match p.unpacked {
        Some(n) if p.packed > 0 => format!(
            " to {}, {:.1} times as much",
            bytes(n),
            n as f64 / p.packed as f64
        ),
        _ => String::new(),
    };
    rows.row(
        "packed with",
        &format!(
            "{}, {} at byte {}{to}",
            p.compression,
            bytes(p.packed),
            p.offset
        ),
    );
    match &p.content.inner {
        Inner::Elf(e) => rows.row(
            "unpacks to",
            &format!("ELF file of {}, entry {:#x}", e.arch(), e.entry),
        ),
        Inner::Flat(f) => rows.row("unpacks to", &format!("Image, kernel of {}", f.arch.name())),
        Inner::Cpio => rows.row("unpacks to", "cpio archive"),
        Inner::Unknown => {}
    }
}

fn uimage(rows: &mut Rows<'_>, u: &Uimage) {
    rows.row("name", &clean(&u.name));
    let compression = u.compression().map_or("unknown", |c| c.name());
    rows.row(
        "is",
        &format!(
            "{} of {}, {}, compression {compression}",
            u.kind(),
            u.os(),
            u.arch()
        ),
    );
    rows.row("made", &utc(u.time.into()));
    rows.row("data", &bytes(u.size.into()));
    rows.row(
        "load, entry",
        &format!("{:#010x}, {:#010x}", u.load, u.entry),
    );
    let right = |ok| if ok { "right" } else { "wrong" };
    let data = u.data_is_right.map_or("not there", right);
    rows.row(
        "checksums",
        &format!("header {}, data {data}", right(u.header_is_right)),
    );
}

fn fit(rows: &mut Rows<'_>, f: &Fit) {
    rows.some("description", f.description.as_deref().map(clean));
    rows.some(
        "made",
        f.timestamp.and_then(|t| i64::try_from(t).ok()).map(utc),
    );
    for image in f.images.iter().take(ROWS) {
        let of = |v: &Option<String>| v.as_deref().map(clean).unwrap_or_default();
        let mut text = format!(
            "{} {} {}",
            of(&image.kind),
            of(&image.arch),
            of(&image.compression)
        );
        if let Some((offset, length)) = image.data {
            text.push_str(&format!(", {} at byte {offset}", bytes(length)));
        }
        if let (Some(load), Some(entry)) = (image.load, image.entry) {
            text.push_str(&format!(", load {load:#x}, entry {entry:#x}"));
        }
        rows.row(&image.name, &text);
        for hash in &image.hashes {
            let ansi = match hash.check {
                Check::Right => GOOD,
                Check::Wrong => BAD,
                _ => WARN,
            };
            let check = rows.screen.paint(ansi, hash.check.name());
            let line = format!("{}  {} {check}", " ".repeat(LABEL), clean(&hash.algorithm));
            rows.line(&line);
        }
        for signature in &image.signatures {
            let key = of(&signature.key);
            let line = format!(
                "{}  signature {} {key}",
                " ".repeat(LABEL),
                clean(&signature.algorithm)
            );
            rows.line(&line);
        }
    }
    for c in f.configurations.iter().take(ROWS) {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(c.kernel.clone());
        parts.extend(c.fdt.clone());
        parts.extend(c.ramdisk.clone());
        parts.extend(c.loadables.clone());
        let mut text = parts.join(" + ");
        if f.default.as_ref() == Some(&c.name) {
            text.push_str(" (default)");
        }
        for s in &c.signatures {
            text.push_str(&format!(", signed {}", s.algorithm));
        }
        rows.row(&c.name, &clean(&text));
    }
    let more = f.images.len().max(f.configurations.len());
    if more > ROWS {
        rows.line(&format!("and more: {more} in all; --json has them"));
    }
}

fn initramfs(rows: &mut Rows<'_>, i: &Initramfs) {
    let head = format!(
        "{}  {}  {}  {}  {}",
        right("byte", 12),
        right("size", 12),
        left("packed", 9),
        right("unpacked", 13),
        right("entries", 8)
    );
    let head = rows.screen.paint(DIM, &head);
    rows.line(&head);
    // What the numbers leave, for a name.
    let room = rows.screen.width().saturating_sub(rows.indent + 74).max(12);
    for segment in i.segments.iter().take(ROWS) {
        let what = match (segment.is_only_early, segment.early.first()) {
            (true, Some(first)) => format!("  early: {}", layout::fit(first, room)),
            _ => String::new(),
        };
        let line = format!(
            "{}  {}  {}  {}  {}{what}",
            right(&thousands(segment.offset), 12),
            right(&thousands(segment.size), 12),
            left(segment.compression.name(), 9),
            right(&thousands(segment.unpacked), 13),
            right(&thousands(segment.count()), 8)
        );
        rows.line(&line);
    }
    if i.segments.len() > ROWS {
        rows.line(&format!(
            "and {} more; --json has them",
            i.segments.len() - ROWS
        ));
    }
}

fn listing(screen: &mut Screen, entries: &[(usize, Entry)]) {
    let about = thousands(entries.len() as u64);
    screen.heading("Entries", &about);
    for (segment, entry) in entries {
        let line = format!(
            "  {segment}  {}{:04o}  {}  {}",
            entry.letter(),
            entry.mode & 0o7777,
            right(&thousands(u64::from(entry.size)), 12),
            clean(&String::from_utf8_lossy(&entry.name))
        );
        screen.line(&line);
    }
}

/// Whether an item says what kernel it is.
fn banner(kind: &Kind) -> Option<&str> {
    kind.content()?.banner.as_deref()
}
