//! `firstlight prefetch import`: the access list of a boot that was captured.

use super::args::Import;
use crate::input;
use crate::out::Out;
use agent::access::RangeKind;
use anyhow::Result;
use capture::accesses::import::Machine;
use views::json::{Document, PrefetchImport};
use views::terminal;

/// Imports.
pub fn run(args: &Import, out: &mut Out) -> Result<()> {
    let machine = Machine {
        name: &args.machine,
        page: args.page,
    };
    let (inputs, since) = (&args.inputs, args.since.as_deref());
    let (root, to) = (&args.root, &args.out);
    let done = proof::access_list(inputs, root, machine, since, to, &input::say)?;
    let (list, nameless, touches) = (done.list, done.nameless, done.touches);
    let (bytes, metadata_bytes) = list.bytes_of(RangeKind::Touched);
    let done = PrefetchImport {
        bytes,
        files: list.entries.iter().filter(|e| !e.is_device()).count(),
        known_by: if touches { "touch" } else { "fill" },
        list: args.out.display().to_string(),
        metadata_bytes,
        nameless,
        schema: PrefetchImport::SCHEMA,
    };
    if !out.json && !touches {
        anstream::eprintln!(
            "firstlight: the capture has no touches of pages (Linux 6.12 and later record them): \
             the list holds what came into memory, read-ahead included"
        );
    }
    if !out.json && nameless > 0 {
        anstream::eprintln!(
            "firstlight: {nameless} files that were read are not in {}, and are left out",
            args.root.display()
        );
    }
    out.show(|| &done, |_| terminal::prefetch::import(&done))
}
