//! What a run would do and how long it would take, before it is done.

use super::{Options, plan};
use crate::artifacts::{Cache, hash_bytes};
use crate::experiment::{ArmArch, Experiment, Kernel, Loader, Platform, Root};
use crate::store;
use crate::trial::{Trial, TrialId};
use crate::{arm9, artifacts, emulator, pc, tools};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use treat::KernelForm;

/// What a run would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Every boot, in the order of running.
    pub boots: Vec<ForecastBoot>,
    /// How many machines would run at once.
    pub jobs: usize,
    /// How long the boots would take on this host, in seconds; those that are
    /// there already take none.
    pub wall_s: f64,
    /// What would be fetched, made or is missing, in sentences.
    pub before: Vec<String>,
}

/// A boot that a run would do.
#[derive(Clone, Debug, PartialEq)]
pub struct ForecastBoot {
    /// Which one.
    pub id: TrialId,
    /// The kernel command line.
    pub cmdline: String,
    /// How long it would take, in seconds.
    pub wall_s: f64,
    /// How that is known.
    pub basis: Basis,
}

/// How the length of a boot is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A trial of this name is in the output folder. It is used as it is, if its
    /// inputs are still the same.
    There,
    /// This variant was booted in this output folder.
    Variant,
    /// Such machines were booted on this host.
    Machine,
    /// Nothing like it was booted on this host: a guess.
    Guess,
}

impl Basis {
    /// The word for it in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Variant => "variant",
            Self::Machine => "machine",
            Self::Guess => "guess",
        }
    }
}

/// Boots of one kind on this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Spent {
    boots: u32,
    wall_s: f64,
}

/// What [`super::run`] would do. Nothing is fetched, made or written.
#[must_use]
pub fn forecast(experiment: &Experiment, options: &Options) -> Forecast {
    let cache = Cache::in_place();
    let stored = store::stored(&options.out);
    let boots: Vec<ForecastBoot> = plan::plan(experiment, options)
        .into_iter()
        .map(|plan| {
            let cmdline = plan.spec.cmdline.to_string();
            let (wall_s, basis) =
                length(experiment, &stored, &plan.id, &cmdline).unwrap_or_else(|| {
                    let spent = spent(&cache, &kind(experiment, plan.spec.kernel));
                    match spent.boots {
                        0 => (guess(experiment), Basis::Guess),
                        n => (spent.wall_s / f64::from(n), Basis::Machine),
                    }
                });
            ForecastBoot {
                id: plan.id,
                cmdline,
                wall_s,
                basis,
            }
        })
        .collect();
    let jobs = options.jobs(experiment.base.mode);
    let open = boots.iter().filter(|b| b.basis != Basis::There);
    Forecast {
        wall_s: together(open.map(|b| b.wall_s), jobs),
        boots,
        jobs,
        before: before(experiment, &cache),
    }
}

/// How long a boot of an experiment takes on such a host, in seconds.
pub fn typical(experiment: &Experiment, options: &Options) -> f64 {
    let boots = forecast(experiment, options).boots;
    let all: f64 = boots.iter().map(|b| b.wall_s).sum();
    all / boots.len().max(1) as f64
}

/// How long a boot takes, going by the trials in the output folder.
fn length(
    experiment: &Experiment,
    stored: &[Trial],
    id: &TrialId,
    cmdline: &str,
) -> Option<(f64, Basis)> {
    let form = |t: &Trial| {
        let mut variants = experiment.variants.iter();
        variants.any(|v| v.name == t.id.variant && v.spec.kernel.as_str() == t.kernel)
    };
    let same = |t: &&Trial| t.id == *id && t.cmdline == cmdline && form(t);
    if let Some(trial) = stored.iter().find(same) {
        return Some((trial.wall_s, Basis::There));
    }
    // The last one: an earlier one may have measured more than its boot.
    let mut variant = stored.iter().rev().filter(|t| t.id.variant == id.variant);
    variant
        .find(|t| form(t))
        .map(|t| (t.wall_s, Basis::Variant))
}

/// How long `boots` take, `jobs` at once, each begun when one before it ends.
fn together(boots: impl Iterator<Item = f64>, jobs: usize) -> f64 {
    // In whole milliseconds, which can be ordered.
    let mut free: BinaryHeap<Reverse<u64>> = (0..jobs.max(1)).map(|_| Reverse(0)).collect();
    let mut last = 0;
    for boot in boots {
        let Reverse(begin) = free.pop().unwrap_or(Reverse(0));
        let end = begin + (boot.max(0.0) * 1000.0) as u64;
        last = last.max(end);
        free.push(Reverse(end));
    }
    last as f64 / 1000.0
}

/// Keeps how long a boot took, for later forecasts. That it cannot be kept is no
/// reason to end a run.
pub fn remember(cache: &Cache, experiment: &Experiment, trial: &Trial) {
    if trial.failure.is_some() {
        return;
    }
    let Some(form) = KernelForm::parse(&trial.kernel) else {
        return;
    };
    let kind = kind(experiment, form);
    let before = spent(cache, &kind);
    // Of long ago and another load of the host it need not know for ever.
    let weight = before.boots.min(20);
    let mean = before.wall_s / f64::from(before.boots.max(1));
    let now = Spent {
        boots: weight + 1,
        wall_s: mean * f64::from(weight) + trial.wall_s,
    };
    if let Ok(text) = serde_json::to_vec(&now) {
        let _ = cache.write(&cache.path(&kind), &text);
    }
}

fn spent(cache: &Cache, kind: &str) -> Spent {
    let stored = std::fs::read(cache.path(kind)).ok();
    let spent = stored.and_then(|b| serde_json::from_slice(&b).ok());
    spent.unwrap_or_default()
}

/// The file in the cache for boots that take about as long.
fn kind(experiment: &Experiment, form: KernelForm) -> String {
    let base = &experiment.base;
    let text = format!(
        "{:?} {:?} {:?} {} {} {:?} {:?}",
        base.platform,
        base.kernel,
        base.root,
        base.storage.name,
        base.cpu_shift,
        base.recording.asked,
        form.as_str()
    );
    format!("costs/{}.json", hash_bytes(text.as_bytes()))
}

/// Seconds of a host of 2026 for a boot: a Debian to its multi-user target, the
/// smallest boots of each machine, a stored one.
fn guess(experiment: &Experiment) -> f64 {
    let base = &experiment.base;
    let arm = |arch| match arch {
        ArmArch::Armhf => 6.0,
        ArmArch::Arm64 => 3.0,
    };
    match (&base.platform, &base.root) {
        (Platform::Replay(_), _) => 0.1,
        // Off, on and a usual boot.
        (Platform::Board(board), _) => board.off.as_secs_f64() + 30.0,
        (Platform::Arm9 { .. }, _) => 8.0,
        (Platform::Pc, Root::None) => 10.0,
        (Platform::Pc, _) => 40.0,
        (Platform::ArmVirt { arch, .. }, Root::None) => arm(*arch),
        (Platform::ArmVirt { arch, .. }, _) => 6.0 * arm(*arch),
    }
}

/// The emulator of a platform and the processor of its agent; `None`: nothing is emulated.
pub(crate) fn emulated(platform: &Platform) -> Option<(emulator::Program, artifacts::Arch)> {
    match platform {
        Platform::Pc => Some((pc::QEMU, artifacts::Arch::X86_64)),
        Platform::ArmVirt { arch, .. } => Some((arch.qemu(), arch.agent())),
        Platform::Arm9 { .. } => Some((arm9::QEMU, artifacts::Arch::Armv5)),
        Platform::Replay(_) | Platform::Board(_) => None,
    }
}

/// What has to be fetched or made first, or is missing.
fn before(experiment: &Experiment, cache: &Cache) -> Vec<String> {
    let base = &experiment.base;
    let Some((program, arch)) = emulated(&base.platform) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    let emulator::Program { name, package, .. } = program;
    if tools::find(name).is_none() {
        said.push(format!(
            "{name} is missing; run `apt-get install {package}`"
        ));
    }
    if let Platform::ArmVirt {
        arch,
        loader: Loader::UBoot { program: None, .. },
    } = &base.platform
    {
        let (file, package) = arch.u_boot();
        if !std::path::Path::new(file).is_file() {
            said.push(format!(
                "{file} is missing; run `apt-get install {package}`"
            ));
        }
    }
    if base.kernel == Kernel::Debian && artifacts::cached_kernel(arch).is_none() {
        said.push(format!(
            "fetches the Debian kernel for {arch} first, 40 to 70 MB"
        ));
    }
    if matches!(base.kernel, Kernel::Built { .. }) {
        said.extend(missing(&artifacts::linux_missing()));
        if !cache.built_for_arm9() {
            said.push("builds a kernel first, about 15 min".to_owned());
        }
    }
    let mut builds: Vec<_> = experiment.variants.iter().map(|v| &v.spec.build).collect();
    builds.retain(|b| !b.is_empty());
    builds.sort();
    builds.dedup();
    if !builds.is_empty() {
        said.extend(missing(&artifacts::pc_build_missing()));
        said.push(building(builds.len(), cache.built_for_pc()));
    }
    if base.root == Root::DebianMinimal && artifacts::cached_root().is_none() {
        said.push("creates the Debian root first, about 1 min; needs root".to_owned());
    }
    said
}

/// What is missing for a kernel that is built, and how to get it.
fn missing(missing: &[(&str, &str)]) -> Vec<String> {
    let words = |(what, package): &(&str, &str)| {
        format!("{what} is missing; run `apt-get install {package}`")
    };
    missing.iter().map(words).collect()
}

/// How long `kernels` of variants take to build.
fn building(kernels: usize, one_was_built: bool) -> String {
    let what = match kernels {
        1 => "builds the kernel of a variant first".to_owned(),
        n => format!("builds {n} kernels of variants first"),
    };
    match one_was_built {
        false => format!("{what}, up to 15 min each"),
        true => format!("{what}, a few minutes each unless they are in the cache"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Basis, before, building, forecast, together};
    use crate::artifacts::Cache;
    use crate::experiment::Experiment;
    use crate::run::Options;

    #[test]
    fn boots_at_once_take_as_long_as_the_longest_row_of_them() {
        assert!((together([4.0, 1.0, 1.0].into_iter(), 2) - 4.0).abs() < 0.01);
        assert!((together([1.0, 1.0, 4.0].into_iter(), 2) - 5.0).abs() < 0.01);
        assert!((together([1.0, 1.0, 1.0].into_iter(), 1) - 3.0).abs() < 0.01);
        assert!(together([].into_iter(), 4).abs() < 0.01);
    }

    #[test]
    fn kernels_of_variants_are_said_before() {
        let text = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nkernel = \"debian\"\n\
                    storage = \"none\"\nroot = \"none\"\n\
                    first_light = \"init\"\n[[variant]]\nname = \"a\"\ntreatments = [\"build=micro\"]\n\
                    [[variant]]\nname = \"b\"\ntreatments = [\"build=micro\", \"cmdline+=quiet\"]\n";
        let experiment = Experiment::parse("e.toml", text).unwrap();
        let said = before(&experiment, &Cache::in_place()).join("\n");
        assert!(
            said.contains("builds the kernel of a variant first"),
            "{said}"
        );
        let long = "builds 3 kernels of variants first, up to 15 min each";
        assert_eq!(building(3, false), long);
        assert!(building(3, true).contains("minutes"));
    }

    #[test]
    fn what_nobody_has_booted_is_a_guess_and_nothing_is_written() {
        let text = "firstlight_experiment = 1\n[base]\nmachine = \"replay\"\n\
                    replay = \"no-such-run\"\nlimit_wall_s = 4711\n";
        let experiment = Experiment::parse("e.toml", text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let options = Options {
            out: out.clone(),
            jobs: None,
            ensemble: 3,
            check_exact: false,
            recording_cost: true,
            shared: None,
            on: crate::elsewhere::On::Host,
        };
        let forecast = forecast(&experiment, &options);
        assert_eq!(forecast.boots.len(), 3);
        assert!(forecast.boots.iter().all(|b| b.basis == Basis::Guess));
        assert!(forecast.wall_s > 0.0 && !out.exists());
    }
}
