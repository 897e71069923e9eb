//! What a boot loader needs to read kernel and initramfs from the storage.
//!
//! The emulator starts a kernel that is in memory already, whatever its size. A loader reads
//! it first, at the rate of the storage. That time is computed from the storage profile and
//! put before the kernel: power-on and what the firmware did move back by it, so that the
//! times that the target read stay as they are. It is a stage of its own, marked as modeled.

use agent::capture::{MarkInfo, NoteInfo, note};
use record::Phase;
use serde::{Deserialize, Serialize};
use storage::Profile;

/// A loader asks for so many bytes at a time: a large request, which U-Boot's and GRUB's
/// drivers cut further on some devices. Each costs a command.
const REQUEST_BYTES: u64 = 1 << 20;

/// How far apart files lie on a disk, in bytes, and how many of these the disk has: a file
/// costs a seek over a third of it, the mean of random seeks.
const APART: u64 = 1 << 30;

/// The stage of the loader that is computed.
pub const STAGE: &str = "loading (modeled)";

/// The time of reading what a boot starts with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loading {
    /// The storage profile's name.
    profile: String,
    /// The length of the kernel's file.
    kernel: u64,
    /// The length of the initramfs, if the product has one.
    initramfs: Option<u64>,
    /// How long reading both takes, in nanoseconds.
    pub ns: u64,
}

impl Loading {
    /// What `profile` charges for files of these lengths, in bytes.
    #[must_use]
    pub fn from_storage(profile: &Profile, kernel: u64, initramfs: Option<u64>) -> Self {
        let files = [Some(kernel), initramfs].into_iter().flatten().zip(1..);
        let requests = files.flat_map(|(file, place): (u64, u64)| {
            let pieces = 0..file.div_ceil(REQUEST_BYTES);
            pieces.map(move |n| {
                let done = n * REQUEST_BYTES;
                (place * APART + done, (file - done).min(REQUEST_BYTES))
            })
        });
        // A loader waits for each request.
        let now = storage::in_sequence(&profile.storage, 3 * APART, requests);
        Self {
            profile: profile.name.clone(),
            kernel,
            initramfs,
            ns: now,
        }
    }

    /// How it is charged, as a line of a trial's inputs.
    #[must_use]
    pub fn input(&self) -> String {
        format!("loading_ns = {}\n", self.ns)
    }

    /// What was charged and how it is known, without a full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let initramfs = match self.initramfs {
            Some(bytes) => format!(" and {:.1} MiB of initramfs", mib(bytes)),
            None => String::new(),
        };
        format!(
            "loading {:.1} MiB of kernel{initramfs} takes {:.3} s, modeled from profile `{}`: the \
             emulator itself loads them in no time",
            mib(self.kernel),
            self.ns as f64 / 1e9,
            self.profile
        )
    }

    /// Puts it before the kernel, among the marks of the host: those before it move back.
    /// Where the stages are unknown, only power-on does.
    pub fn charge(&self, marks: &mut Vec<MarkInfo>) {
        let by = i64::try_from(self.ns).unwrap_or(i64::MAX);
        let later = [Phase::Decompression.as_str(), Phase::Kernel.as_str()];
        let kernel = marks
            .iter()
            .position(|m| m.begins.as_deref().is_some_and(|b| later.contains(&b)));
        let before = marks.iter_mut().take(kernel.unwrap_or(usize::MAX));
        for mark in before {
            mark.at_ns = mark.at_ns.saturating_sub(by);
        }
        let stage = kernel.and_then(|at| Some((at, marks.get(at)?)));
        if let Some((at, next)) = stage {
            let stage = MarkInfo {
                name: STAGE.to_owned(),
                clock: next.clock.clone(),
                at_ns: next.at_ns.saturating_sub(by),
                begins: Some(Phase::Loader.as_str().to_owned()),
            };
            marks.insert(at, stage);
        }
    }

    /// The note of a capture that holds it.
    #[must_use]
    pub fn note(&self) -> NoteInfo {
        NoteInfo {
            kind: note::MODELED.to_owned(),
            text: self.sentence(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Loading, STAGE};
    use agent::capture::MarkInfo;
    use storage::Profile;

    fn profile(name: &str) -> Profile {
        let all = storage::profiles::profiles().unwrap();
        all.into_iter().find(|p| p.name == name).unwrap()
    }

    #[test]
    fn bytes_and_commands_are_charged() {
        // 735 us a command, 20 bytes a microsecond.
        let card =
            |kernel, initramfs| Loading::from_storage(&profile("sd-card"), kernel, initramfs).ns;
        assert_eq!(card(1 << 20, None), 735_000 + 52_428_800);
        assert_eq!(card(4 << 20, None), 4 * (735_000 + 52_428_800));
        assert_eq!(
            card(1 << 20, Some(20)),
            735_000 + 52_428_800 + 735_000 + 1_000
        );
        assert_eq!(card(0, None), 0);
        // A disk: a seek over a third, half a turn, and then the bytes alone.
        let disk = |kernel| Loading::from_storage(&profile("hdd-laptop"), kernel, None).ns;
        let seek = disk(1) - 40;
        assert!((13_500_000..14_500_000).contains(&seek), "{seek}");
        assert_eq!(disk(8 << 20), seek + 8 * 41_943_040);
    }

    #[test]
    fn what_came_before_moves_back() {
        let mark = |name: &str, at_ns, begins: Option<&str>| MarkInfo {
            name: name.into(),
            clock: "counter".into(),
            at_ns,
            begins: begins.map(str::to_owned),
        };
        let loading = Loading {
            profile: "p".into(),
            kernel: 1,
            initramfs: None,
            ns: 100,
        };
        let mut marks = vec![
            mark("power-on", 0, Some("firmware")),
            mark("u-boot", 5, Some("loader")),
            mark("decompression-start", 20, Some("decompression")),
            mark("kernel-entry", 30, Some("kernel")),
        ];
        loading.charge(&mut marks);
        let times: Vec<_> = marks.iter().map(|m| (m.name.as_str(), m.at_ns)).collect();
        let expected = [
            ("power-on", -100),
            ("u-boot", -95),
            (STAGE, -80),
            ("decompression-start", 20),
            ("kernel-entry", 30),
        ];
        assert_eq!(times, expected);
        let mut unknown = vec![mark("power-on", 0, None)];
        loading.charge(&mut unknown);
        assert_eq!(unknown, [mark("power-on", -100, None)]);
    }
}
