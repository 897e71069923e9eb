//! `firstlight.image.info/1`.

use super::file::File;
use super::mount::{Mount, Mounts};
use crate::verbs::flash::text as utf8;
use bootimage::environment::Environment;
use bootimage::fit::{Configuration, Fit, Image, Signature, instructions_per_byte};
use bootimage::info::Kind;
use bootimage::initramfs::{Initramfs, Segment};
use bootimage::kernel::{Content, Inner, Payload};
use bootimage::uimage::{Uimage, Xip};
use inspect::whole::{self, Item};
use serde_json::{Value, json};

pub fn text(files: &[File]) -> String {
    let all: Vec<Value> = files.iter().map(file).collect();
    views::json::text(&json!({ "schema": "firstlight.image.info/1", "files": all }))
}

fn file(file: &File) -> Value {
    let items: Vec<Value> = file.items.iter().map(|i| item(i, &file.mounts)).collect();
    let mut value = json!({ "image": file.name, "bytes": file.bytes, "items": items });
    if let (Some(entries), Some(object)) = (&file.entries, value.as_object_mut()) {
        let all: Vec<Value> = entries.iter().map(|(s, e)| entry(*s, e)).collect();
        object.insert("entries".to_owned(), all.into());
    }
    value
}

fn entry(segment: usize, e: &bootimage::cpio::Entry) -> Value {
    let (name, hex) = utf8(&e.name);
    json!({
        "segment": segment, "name": name, "name_hex": hex, "mode": e.mode, "uid": e.uid,
        "gid": e.gid, "links": e.links, "size": e.size, "mtime": e.mtime, "ino": e.ino,
        "offset": e.offset,
    })
}

fn item(item: &Item, mounts: &Mounts) -> Value {
    let inside: Vec<Value> = (item.inside.iter())
        .map(|i| self::item(i, mounts))
        .collect();
    let mount = mounts.get(item).and_then(|m| m.as_ref().ok());
    json!({
        "offset": item.offset,
        "size": item.size,
        "kind": item.kind.name(),
        "details": details(&item.kind),
        "notes": item.notes,
        "mount": mount.map(Mount::json),
        "inside": inside,
    })
}

fn details(kind: &whole::Kind) -> Value {
    match kind {
        whole::Kind::Boot(kind) => boot(kind),
        whole::Kind::Jffs2 { endian, erase_size } => json!({
            "endian": endian.to_string(), "erase_size": erase_size,
        }),
        whole::Kind::Filesystem(f) => filesystem(f),
        whole::Kind::Disk(table, partitions) => json!({
            "table": table.name(),
            "partitions": partitions.iter().map(|p| json!({
                "number": p.number, "start": p.start, "size": p.len, "type": p.kind, "name": p.name,
            })).collect::<Vec<_>>(),
        }),
    }
}

fn boot(kind: &Kind) -> Value {
    match kind {
        Kind::Uimage(u) => uimage(u),
        Kind::Fit(f) => fit(f),
        Kind::DeviceTree(d) => json!({
            "nodes": d.nodes,
            "model": d.model,
            "compatible": d.compatible,
            "overlay": d.is_overlay,
            "bootargs": d.bootargs,
            "stdout": d.stdout,
            "initrd": d.initrd.map(|(start, end)| json!({ "start": start, "end": end })),
            "config": d.config.iter().map(|(n, v)| json!({ "name": n, "value": v })).collect::<Vec<_>>(),
            "bootstage": d.bootstage.iter().map(|s| json!({
                "name": s.name, "us": s.us, "accumulated": s.is_accumulated,
            })).collect::<Vec<_>>(),
        }),
        Kind::ZImage(z) => json!({
            "arch": "arm",
            "endian": endian(z.kernel_is_big_endian.unwrap_or(z.is_big_endian)),
            "start": z.start,
            "end": u64::from(z.start) + z.size,
            "bss_size": z.bss_size,
            "text_offset": z.text_offset,
            "appended_dtb": z.appended_dtb.map(|(o, s)| json!({ "offset": o, "size": s })),
            "payload": packed(kind),
        }),
        Kind::BzImage(b, _) => json!({
            "arch": if b.is_64 { "x86_64" } else { "x86" },
            "protocol": protocol(b.protocol),
            "version": b.version,
            "setup_size": b.setup_size,
            "entry": b.code32_start,
            "preferred_address": b.preferred_address,
            "alignment": b.alignment,
            "init_size": b.init_size,
            "relocatable": b.is_relocatable,
            "efi_stub": b.has_efi_stub,
            "payload": packed(kind),
        }),
        Kind::Flat(f, c) => json!({
            "arch": f.arch.name(),
            "endian": endian(f.is_big_endian),
            "text_offset": f.text_offset,
            "memory": f.memory,
            "page_size": f.page_size,
            "anywhere": f.anywhere,
            "efi_stub": f.has_efi_stub,
            "content": inner(c),
        }),
        Kind::Zboot(z) => json!({
            "arch": z.arch, "method": z.method, "payload": packed(kind),
        }),
        Kind::Elf(e, c) => json!({
            "arch": e.arch(),
            "bits": if e.is_64 { 64 } else { 32 },
            "endian": endian(e.is_big_endian),
            "entry": e.entry,
            "content": inner(c),
        }),
        Kind::Initramfs(i) => initramfs(i),
        Kind::Packed(p) => packed_value(p),
        Kind::Environment(e) => environment(e),
        Kind::Barebox(b) => json!({
            "valid": b.is_whole,
            "use_built_in": b.use_built_in,
            "files": b.files.iter().map(|(n, s)| json!({ "name": n, "size": s })).collect::<Vec<_>>(),
        }),
        Kind::Foreign(f) => json!({ "name": f.name() }),
        _ => Value::Null,
    }
}

fn filesystem(f: &disk::Facts) -> Value {
    json!({
        "filesystem": f.filesystem,
        "bytes": f.bytes,
        "block_size": f.block_size,
        "blocks": f.blocks,
        "free_blocks": f.free_blocks,
        "inodes": f.inodes,
        "free_inodes": f.free_inodes,
        "label": f.label,
        "uuid": f.uuid,
        "features": f.features,
        "compression": f.compression,
        "state": f.state.word(),
        "made": f.made,
        "mounted": f.mounted,
        "written": f.written,
        "mounts": f.mounts,
        "mounted_on": f.mounted_on,
    })
}

fn endian(big: bool) -> &'static str {
    if big { "big" } else { "little" }
}

/// `2.15`.
pub fn protocol(version: u16) -> String {
    format!("{}.{}", version >> 8, version & 0xff)
}

fn packed(kind: &Kind) -> Value {
    kind.payload().map_or(Value::Null, packed_value)
}

fn packed_value(p: &Payload) -> Value {
    json!({
        "offset": p.offset,
        "compression": p.compression.name(),
        "size": p.packed,
        "unpacked": p.unpacked,
        "stated": p.stated,
        "failure": p.failure,
        "content": inner(&p.content),
    })
}

fn inner(c: &Content) -> Value {
    let (kind, arch, entry) = match &c.inner {
        Inner::Elf(e) => ("elf", Some(e.arch()), Some(e.entry)),
        Inner::Flat(f) => ("kernel-image", Some(f.arch.name()), None),
        Inner::Cpio => ("cpio", None, None),
        Inner::Unknown => ("unknown", None, None),
    };
    json!({
        "kind": kind,
        "arch": arch,
        "entry": entry,
        "banner": c.banner,
        "config_bytes": c.config.as_ref().map(Vec::len),
    })
}

fn uimage(u: &Uimage) -> Value {
    let xip = match u.xip() {
        Xip::At { address } => Some(address),
        _ => None,
    };
    json!({
        "name": u.name,
        "time": u.time,
        "os": u.os(),
        "arch": u.arch(),
        "type": u.kind(),
        "compression": u.compression().map(|c| c.name()),
        "data_size": u.size,
        "load": u.load,
        "entry": u.entry,
        "header_crc_ok": u.header_is_right,
        "data_crc_ok": u.data_is_right,
        "parts": u.parts.iter().map(|(o, s)| json!({ "offset": o, "size": s })).collect::<Vec<_>>(),
        "xip": { "load_address": xip, "advice": u.xip().to_string() },
    })
}

fn fit(f: &Fit) -> Value {
    json!({
        "tree_size": f.size,
        "description": f.description,
        "timestamp": f.timestamp,
        "signed": f.is_signed(),
        "default": f.default,
        "images": f.images.iter().map(fit_image).collect::<Vec<_>>(),
        "configurations": f.configurations.iter().map(configuration).collect::<Vec<_>>(),
    })
}

fn fit_image(i: &Image) -> Value {
    let hashes: Vec<Value> = i
        .hashes
        .iter()
        .map(|h| {
            json!({
                "algorithm": h.algorithm,
                "ignored": h.is_ignored,
                "check": h.check.name(),
                "instructions_per_byte": instructions_per_byte(&h.algorithm),
            })
        })
        .collect();
    json!({
        "name": i.name,
        "description": i.description,
        "type": i.kind,
        "arch": i.arch,
        "os": i.os,
        "compression": i.compression,
        "load": i.load,
        "entry": i.entry,
        "data": i.data.map(|(o, s)| json!({ "offset": o, "size": s })),
        "external": i.is_external,
        "hashes": hashes,
        "signatures": i.signatures.iter().map(signature).collect::<Vec<_>>(),
    })
}

fn signature(s: &Signature) -> Value {
    json!({ "algorithm": s.algorithm, "key": s.key, "has_value": s.has_value })
}

fn configuration(c: &Configuration) -> Value {
    json!({
        "name": c.name,
        "description": c.description,
        "kernel": c.kernel,
        "fdt": c.fdt,
        "ramdisk": c.ramdisk,
        "loadables": c.loadables,
        "compatible": c.compatible,
        "signatures": c.signatures.iter().map(signature).collect::<Vec<_>>(),
    })
}

fn initramfs(i: &Initramfs) -> Value {
    json!({
        "segments": i.segments.iter().map(segment).collect::<Vec<_>>(),
        "unpacked": i.unpacked(),
        "entries": i.count(),
        "junk_at": i.junk,
    })
}

fn segment(s: &Segment) -> Value {
    json!({
        "offset": s.offset,
        "size": s.size,
        "padding": s.padding,
        "compression": s.compression.name(),
        "unpacked": s.unpacked,
        "entries": s.count(),
        "files": s.entries.get(&'-').copied().unwrap_or(0),
        "folders": s.entries.get(&'d').copied().unwrap_or(0),
        "links": s.entries.get(&'l').copied().unwrap_or(0),
        "content": s.content,
        "early": s.early,
        "only_early": s.is_only_early,
        "problem": s.problem,
    })
}

fn environment(e: &Environment) -> Value {
    let active = e.active();
    json!({
        "copies": e.copies.iter().map(|c| c.offset).collect::<Vec<_>>(),
        "size": active.map(|c| c.size),
        "endian": active.and_then(|c| c.endian).map(|e| e.to_string()),
        "variables": e.data().map_or(0, |d| d.variables().len()),
    })
}

/// Whether an item says what kernel it is.
pub fn banner(kind: &Kind) -> Option<&str> {
    kind.content()?.banner.as_deref()
}
