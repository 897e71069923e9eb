//! The device tree that U-Boot leaves: `/bootstage/N`, with a name and a mark
//! or an accumulated time, in microseconds of 32 bits. Nodes are in reverse.

use super::notes as note;
use super::table::{Entry, Table, Time, at};
use crate::fdt;
use crate::text;
use crate::unpack::{self, Member};
use record::{Recorder, SourceId};
use std::collections::BTreeMap;

/// The node that holds the records.
const NODE: &str = "/bootstage/";

/// What is known of a record.
#[derive(Debug, Default)]
struct Node {
    offset: usize,
    name: Option<String>,
    time: Option<Time>,
}

impl Node {
    fn property(&mut self, name: &[u8], value: &[u8], offset: usize) {
        self.offset = match self.offset {
            0 => offset,
            known => known.min(offset),
        };
        let time = || value.try_into().ok().map(u32::from_be_bytes).map(u64::from);
        match name {
            b"name" => {
                let name = value.split(|&b| b == 0).next().unwrap_or_default();
                // Linux gives each node of a tree that has none a `name` of its
                // own; U-Boot's comes first.
                self.name
                    .get_or_insert_with(|| text::lossy(name).into_owned());
            }
            b"mark" => self.time = time().map(Time::Mark),
            b"accum" => self.time = time().map(Time::Accumulated),
            _ => {}
        }
    }
}

/// Whether this may be the start of a blob with such a node. A node's name
/// stands behind the token that begins it; U-Boot adds this one before others.
pub(super) fn has_bootstage(head: &[u8]) -> bool {
    head.starts_with(fdt::MAGIC) && memchr::memmem::find(head, b"\x01bootstage\0").is_some()
}

/// Reads a blob. Units are nodes.
pub(super) fn blob(blob: &[u8], source: SourceId, recorder: &mut Recorder) -> Table {
    let mut nodes: BTreeMap<String, Node> = BTreeMap::new();
    let whole = fdt::walk(blob, |p| {
        if let Some(node) = p.node.strip_prefix(NODE) {
            let node = nodes.entry(node.to_owned()).or_default();
            let value = blob.get(p.place.clone()).unwrap_or_default();
            node.property(p.name, value, p.place.start);
        }
    });
    if !whole {
        recorder.note(at(source, 0), &note::NOT_WHOLE, String::new);
    }
    entries(nodes, source, recorder)
}

/// Whether a member is a property of such a node, which node, and which one.
fn member(m: &Member) -> Option<(&str, &str)> {
    let (rest, property) = m.name.rsplit_once('/')?;
    let known = matches!(property, "name" | "mark" | "accum");
    let (_, node) = rest.rsplit_once('/').unwrap_or(("", rest));
    let number = !node.is_empty() && node.bytes().all(|b| b.is_ascii_digit());
    (known && number).then_some((node, property))
}

/// Whether these are members of such a folder.
pub(super) fn is_folder(members: &[Member]) -> bool {
    let time = |m: &Member| member(m).is_some_and(|(_, p)| p != "name");
    members.iter().any(time)
}

/// Reads a tar of `/proc/device-tree/bootstage`: a file for each property.
/// Units are nodes.
pub(super) fn folder(tar: &[u8], source: SourceId, recorder: &mut Recorder) -> Table {
    let (members, whole) = unpack::members(tar);
    let mut nodes: BTreeMap<String, Node> = BTreeMap::new();
    for m in &members {
        if let Some((node, property)) = member(m) {
            let value = tar.get(m.place.clone()).unwrap_or_default();
            let node = nodes.entry(node.to_owned()).or_default();
            node.property(property.as_bytes(), value, m.place.start);
        }
    }
    if !whole {
        recorder.note(at(source, 0), &note::NOT_WHOLE, String::new);
    }
    entries(nodes, source, recorder)
}

fn entries(nodes: BTreeMap<String, Node>, source: SourceId, recorder: &mut Recorder) -> Table {
    let mut numbered: Vec<(u64, Node)> = Vec::new();
    for (number, node) in nodes {
        numbered.push((number.parse().unwrap_or(u64::MAX), node));
    }
    // The first record has the highest number.
    numbered.sort_by_key(|n| std::cmp::Reverse(n.0));
    let mut all = Vec::new();
    for (_, node) in numbered {
        let origin = at(source, node.offset);
        match (node.name.filter(|n| !n.is_empty()), node.time) {
            (Some(name), Some(time)) => {
                all.push(Entry { name, time, origin });
                recorder.took(source);
            }
            _ => recorder.skipped(origin, &note::NO_VALUE),
        }
    }
    let mut table = Table::default();
    table.merge(all);
    table
}
