//! Treatments of what a boot reads: it is read ahead of need, and it lies in the
//! order of need.

use crate::cmdline::CommandLine;
pub use crate::spec::Reading;
use crate::spec::{BootSpec, Order};

/// Where the list lies in the initramfs.
pub const LIST: &str = "/firstlight/boot.list";

/// The word of the kernel's command line by which the agent reads ahead.
const WORD: &str = "firstlight.prefetch=";

/// The state of a boot that a treatment of reading changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    reading: Reading,
    cmdline: CommandLine,
}

impl State {
    pub(crate) fn of(spec: &BootSpec) -> Self {
        Self {
            reading: spec.reading.clone(),
            cmdline: spec.cmdline.clone(),
        }
    }

    pub(crate) fn put(self, spec: &mut BootSpec) {
        spec.reading = self.reading;
        spec.cmdline = self.cmdline;
    }
}

/// Has `list` read ahead: `LIST[,OPTION[=VALUE]]...`, options as the agent's
/// `prefetch` takes them, without the dashes.
pub(crate) fn prefetch(spec: &mut BootSpec, list: &str) {
    let (path, options) = list.split_once(',').unwrap_or((list, ""));
    let words = spec.cmdline.words().iter();
    let before: Vec<String> = words.filter(|w| w.starts_with(WORD)).cloned().collect();
    for word in before {
        spec.cmdline.remove(&word);
    }
    let comma = if options.is_empty() { "" } else { "," };
    spec.cmdline.add(&format!("{WORD}{LIST}{comma}{options}"));
    spec.reading.prefetch = Some(path.to_owned());
}

/// One sentence about a `prefetch=`.
pub(crate) fn plan_prefetch(list: &str, spec: &BootSpec) -> String {
    let path = list.split_once(',').map_or(list, |(path, _)| path);
    match &spec.reading.prefetch {
        Some(before) => {
            format!("the initramfs prefetches the files in {path} instead of those in {before}")
        }
        None => format!("the initramfs prefetches the files in {path}"),
    }
}

/// One sentence about an `order=`.
pub(crate) fn plan_order(order: &Order, spec: &BootSpec) -> String {
    let Order { list, read_around } = order;
    let pieces = if *read_around {
        ", each 128 KiB of a file in one piece"
    } else {
        ""
    };
    match &spec.reading.order {
        Some(before) => format!(
            "the root file system is laid out in the order of {list}{pieces} instead \
            of {}",
            before.list
        ),
        None => format!(
            "the root file system stores the files in {list} contiguously, in the \
            order of use{pieces}"
        ),
    }
}
