//! Kernel images beside logs: what they are, how they are packed, and the
//! configuration in them, as evidence for advice.

use bootimage::info::{Item, inspect};
use rawimage::Part;
use rawimage::compression::LIMIT;
use record::{NoteKind, Origin, Recorder, Severity};
use sources::kernel_config::KernelConfigFile;
use sources::{Input, Sniff, Source};

/// A kernel image. Its unit is the image.
///
/// Facts: `kernel-image.kind`, `.bytes`, `.compression`, `.packed_bytes`,
/// `.unpacked_bytes`; `kernel.version` from its banner; and those of its
/// configuration.
#[derive(Debug)]
pub struct KernelImage;

/// The one there is.
pub static KERNEL_IMAGE: KernelImage = KernelImage;

const NO_KERNEL: NoteKind = NoteKind {
    name: "no_kernel_in_image",
    severity: Severity::DataLoss,
    advice: "the image begins as a kernel does, but none could be found in it; see `firstlight \
             image info`",
};

const NO_CONFIGURATION: NoteKind = NoteKind {
    name: "no_configuration_in_image",
    severity: Severity::Info,
    advice: "the kernel holds no configuration of its own (CONFIG_IKCONFIG); give the \
             configuration as a file, too: /boot/config-*",
};

impl Source for KernelImage {
    fn name(&self) -> &'static str {
        "kernel-image"
    }

    fn description(&self) -> &'static str {
        "kernel image: `bzImage`, `zImage`, `Image` or `vmlinux`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let at = |at: usize, magic: &[u8]| head.get(at..).is_some_and(|h| h.starts_with(magic));
        let known = at(0x202, b"HdrS")
            || at(0x24, &0x016f_2818_u32.to_le_bytes())
            || at(56, b"ARM\x64")
            || at(56, b"RSC\x05")
            || (at(0, b"MZ") && at(4, b"zimg"))
            || at(0, &0x2705_1956_u32.to_be_bytes())
            || at(0, &0xd00d_feed_u32.to_be_bytes());
        if known { Sniff::Yes } else { Sniff::No }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let origin = Origin { source, offset: 0 };
        let items = Part::whole(&input.bytes)
            .ok()
            .and_then(|part| inspect(&part, LIMIT).ok())
            .unwrap_or_default();
        let Some(item) = kernel_of(&items) else {
            recorder.skipped(origin, &NO_KERNEL);
            return;
        };
        recorder.took(source);
        let mut facts = vec![
            ("kind", item.kind.name().to_owned()),
            ("bytes", item.size.to_string()),
        ];
        if let Some(packed) = item.kind.payload() {
            facts.push(("compression", packed.compression.name().to_owned()));
            facts.push(("packed_bytes", packed.packed.to_string()));
            let unpacked = packed.unpacked.or(packed.stated);
            facts.extend(unpacked.map(|u| ("unpacked_bytes", u.to_string())));
        }
        for (key, value) in facts {
            recorder.fact(&format!("kernel-image.{key}"), &value, origin);
        }
        let Some(content) = item.kind.content() else {
            return;
        };
        if let Some(banner) = &content.banner {
            let banner = banner.strip_prefix("Linux version ").unwrap_or(banner);
            recorder.fact("kernel.version", banner.trim(), origin);
        }
        match &content.config {
            Some(config) => {
                let name = format!("{}: its configuration", input.name);
                let input = Input {
                    name: &name,
                    bytes: config,
                };
                KernelConfigFile.read(input, recorder);
            }
            None => recorder.note(origin, &NO_CONFIGURATION, String::new),
        }
    }
}

/// The first item that is a kernel, or holds one.
fn kernel_of(items: &[Item]) -> Option<&Item> {
    items.iter().find_map(|item| {
        let holds = item
            .kind
            .content()
            .is_some_and(|c| c.banner.is_some() || c.config.is_some());
        if holds {
            Some(item)
        } else {
            kernel_of(&item.inside)
        }
    })
}
