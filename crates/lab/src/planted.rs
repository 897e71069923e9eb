//! Planted causes: boots that have what a finding is about, and the same boots
//! with its treatment, so that what was expected can be set beside what it brings.
//!
//! A file has a sentence about the cause, the findings that must be found, and
//! boots as those of a classic: an `experiment`, or a `workload` with its cases. In their place
//! it may name serial logs of boots that another program timed.

use crate::arm_virt::environment;
use crate::artifacts::Cache;
use crate::classics::{self, Classic, Method};
use crate::error::{LabError, io_error};
use crate::experiment::{BASELINE, Experiment, Loader, Platform, Root};
use crate::run::Hosts;
use crate::workload::{Board, Workload};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use treat::{FileTreatment, Treatment};

/// The version of the format that this program reads.
const VERSION: u32 = 1;

/// Boots with a cause, and what must be found in them.
#[derive(Clone, Debug, PartialEq)]
pub struct Planted {
    /// Its file's name.
    pub id: String,
    /// What is planted, in a sentence.
    pub cause: String,
    /// What must be found; empty: nothing may be, the system is clean.
    pub findings: Vec<Wanted>,
    /// The boots.
    boots: Boots,
    /// The case or variant that has the cause.
    pub planted: String,
    /// The case or variant that is looked at: the same, but recorded.
    pub seen: String,
    /// The file of its capture that is looked at alone, as somebody has it who has no more;
    /// `None`: all of them.
    pub only: Option<PathBuf>,
    /// What is looked at beside it.
    beside: Vec<Beside>,
    /// Whether the configuration of the kernel is looked at, too.
    with_config: bool,
    /// The treated boots that differ in their root, each as an experiment of one variant.
    other_roots: Vec<Experiment>,
    /// The one boot that is looked at, where something is recorded that the timed ones do
    /// without.
    recorded: Option<Experiment>,
}

/// Where boots come from.
#[derive(Clone, Debug, PartialEq)]
enum Boots {
    /// The lab boots them.
    Lab(Classic),
    /// Their names, and their serial logs with time stamps, which are there already.
    Logs(BTreeMap<String, PathBuf>),
}

/// A finding that must be found.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Which.
    pub id: String,
    /// A word of its title, where there are several of that kind.
    #[serde(default)]
    pub of: String,
    /// The case or variant with its treatment.
    pub treated: String,
    /// What was done, where no treatment of the lab does it.
    pub by_hand: Option<String>,
    /// The root of the treated boot, as an experiment's base has it, where the root is
    /// what differs.
    root: Option<Value>,
}

/// The time of each case of a workload in nanoseconds, and what failed.
pub type Figures = (Vec<Option<i64>>, Vec<String>);

/// What advice is asked for beside the boot.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Beside {
    /// The kernel's image.
    Kernel,
    /// The initramfs.
    Initramfs,
    /// The script, as a start script of a root.
    Script,
    /// The folder that an experiment's root is made of.
    Root,
    /// The image of an experiment's root.
    RootImage,
    /// The variables that an experiment gives its boot loader, as U-Boot keeps them.
    Environment,
    /// An image of the workload.
    Image(String),
    /// A file.
    File(PathBuf),
}

impl Beside {
    fn parse(text: &str) -> Option<Self> {
        if let Some(file) = text.strip_prefix("file:") {
            return Some(Self::File(file.into()));
        }
        Some(match text {
            "kernel" => Self::Kernel,
            "initramfs" => Self::Initramfs,
            "script" => Self::Script,
            "root" => Self::Root,
            "root-image" => Self::RootImage,
            "environment" => Self::Environment,
            _ => Self::Image(text.strip_prefix("image:")?.to_owned()),
        })
    }
}

#[derive(Debug, Deserialize)]
struct File {
    firstlight_planted: u32,
    cause: String,
    #[serde(default)]
    finding: Vec<Wanted>,
    planted: Option<String>,
    seen: Option<String>,
    only: Option<PathBuf>,
    #[serde(default)]
    beside: Vec<String>,
    #[serde(default)]
    log: Vec<Log>,
    #[serde(default = "begin")]
    from: String,
    #[serde(default = "done")]
    to: String,
}

/// A boot that another program timed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    name: String,
    /// Its serial log, whose first line is the power-on.
    file: PathBuf,
}

fn begin() -> String {
    "begin".to_owned()
}

fn done() -> String {
    "done".to_owned()
}

/// The word for the configuration of a workload's kernel, which the lab keeps beside its image.
const CONFIG: &str = "config";

/// The keys that are not those of a classic.
const OWN: [&str; 10] = [
    "firstlight_planted",
    "cause",
    "finding",
    "planted",
    "seen",
    "only",
    "beside",
    "log",
    "from",
    "to",
];

impl Planted {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not what it should be.
    pub fn of_file(path: &Path) -> Result<Self, LabError> {
        let text = fs::read_to_string(path).map_err(|source| LabError::ReadExperiment {
            path: path.to_owned(),
            source,
        })?;
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&id, &text, path.parent().unwrap_or(Path::new("")))
    }

    fn parse(id: &str, text: &str, folder: &Path) -> Result<Self, LabError> {
        let wrong = |line: usize, why: String| LabError::Experiment {
            name: format!("{id}.toml"),
            line,
            why,
        };
        let of_toml = |e: toml::de::Error| {
            let start = e.span().map_or(0, |s| s.start);
            let before = text.get(..start).unwrap_or(text);
            wrong(before.matches('\n').count() + 1, e.message().to_owned())
        };
        let mut table: Table = toml::from_str(text).map_err(of_toml)?;
        let file: File = toml::from_str(text).map_err(of_toml)?;
        if file.firstlight_planted != VERSION {
            let found = file.firstlight_planted;
            let why =
                format!("unsupported version {found}; write `firstlight_planted = {VERSION}`");
            return Err(wrong(1, why));
        }
        let usual = match table.contains_key("experiment") {
            true => BASELINE,
            false => "planted",
        };
        let planted = file.planted.as_deref().unwrap_or(usual);
        // The rest is of a classic whose figures are the planted case's, and then those of each
        // treated one.
        table.retain(|key, _| !OWN.contains(&key));
        let with_roots = file
            .finding
            .iter()
            .filter_map(|f| Some((f, f.root.as_ref()?)));
        let other_roots = with_roots.map(|(wanted, root)| {
            other_root(id, &table, root, planted, wanted).map_err(|why| wrong(1, why))
        });
        let other_roots = other_roots.collect::<Result<_, _>>()?;
        let boots = match file.log.is_empty() {
            true => {
                let treated = file.finding.iter().map(|f| &*f.treated);
                let cases = std::iter::once(planted).chain(treated);
                let text = classic(table, &file, cases).map_err(|e| wrong(1, e.to_string()))?;
                Boots::Lab(classics::parse(id, &text, folder)?)
            }
            false if table.is_empty() => {
                let logs = file.log.into_iter();
                Boots::Logs(logs.map(|l| (l.name, folder.join(l.file))).collect())
            }
            false => {
                let why = "a file with a `log` boots nothing; remove the other one";
                return Err(wrong(1, why.to_owned()));
            }
        };
        let with_config = file.beside.iter().any(|b| b == CONFIG);
        let beside = file.beside.iter().filter(|b| *b != CONFIG).map(|b| {
            Beside::parse(b).ok_or_else(|| {
                let why = format!(
                    "expected `kernel`, `config`, `initramfs`, `script`, `root`, `root-image`, \
                     `environment`, `image:NAME` or `file:PATH` in `beside`, found `{b}`"
                );
                wrong(1, why)
            })
        });
        let mut all = Self {
            id: id.to_owned(),
            beside: beside.collect::<Result<_, _>>()?,
            with_config,
            cause: file.cause,
            seen: file.seen.unwrap_or_else(|| planted.to_owned()),
            only: file.only,
            planted: planted.to_owned(),
            findings: file.finding,
            other_roots,
            recorded: None,
            boots,
        };
        let treated = all.findings.iter().map(|f| &f.treated);
        for name in treated.chain([&all.seen, &all.planted]) {
            if !all.has(name) {
                let why = format!("no case or variant `{name}`");
                return Err(wrong(1, why));
            }
        }
        let mut needed = vec![all.planted.clone()];
        needed.extend(all.findings.iter().map(|f| f.treated.clone()));
        if let Boots::Lab(Classic {
            method: Method::Experiment(experiment),
            ..
        }) = &mut all.boots
        {
            if experiment.base.recording.is_noticed() {
                // What recording costs is not the same with the cause and without it.
                let mut recorded = Experiment::clone(experiment);
                recorded.variants.retain(|v| v.name == all.seen);
                recorded.base.ensemble = NonZeroU32::MIN;
                all.recorded = Some(recorded);
                **experiment = experiment.unrecorded();
                all.other_roots = all.other_roots.iter().map(Experiment::unrecorded).collect();
            } else {
                needed.push(all.seen.clone());
            }
            // A baseline that is only what others are made of needs no boot.
            experiment.variants.retain(|v| needed.contains(&v.name));
        }
        Ok(all)
    }

    fn has(&self, name: &str) -> bool {
        let mut all = self.experiment().into_iter().chain(&self.other_roots);
        let is_variant = all.any(|e| e.variants.iter().any(|v| v.name == name));
        let is_log = self.logs().is_some_and(|logs| logs.contains_key(name));
        is_variant || is_log || self.workload(name).is_some()
    }

    fn experiment(&self) -> Option<&Experiment> {
        match &self.boots {
            Boots::Lab(Classic {
                method: Method::Experiment(own),
                ..
            }) => Some(own),
            _ => None,
        }
    }

    /// The names of the boots and their serial logs, if no boots but logs are given.
    #[must_use]
    pub fn logs(&self) -> Option<&BTreeMap<String, PathBuf>> {
        match &self.boots {
            Boots::Lab(_) => None,
            Boots::Logs(logs) => Some(logs),
        }
    }

    /// The boot that is looked at alone, with the name of its folder, where something is
    /// recorded in it.
    #[must_use]
    pub fn recorded(&self) -> Option<(&'static str, &Experiment)> {
        Some(("run-recorded", self.recorded.as_ref()?))
    }

    /// The experiments that are booted to be timed, each with the name of its folder; none of
    /// a workload.
    pub fn experiments(&self) -> impl Iterator<Item = (String, &Experiment)> {
        let own = self.experiment().map(|own| ("run".to_owned(), own));
        let named = |e: &'_ Experiment| {
            let name = e.variants.first().map_or("", |v| &v.name);
            format!("run-{name}")
        };
        let others = self.other_roots.iter().map(move |e| (named(e), e));
        own.into_iter().chain(others)
    }

    fn workload(&self, name: &str) -> Option<&Workload> {
        let Boots::Lab(Classic {
            method: Method::Workload { cases, .. },
            ..
        }) = &self.boots
        else {
            return None;
        };
        cases.iter().find(|c| c.0 == name).map(|c| &c.1)
    }

    /// Whether `treatment` is what the treated case has and the planted one has not.
    #[must_use]
    pub fn is_applied(&self, treatment: &str, treated: &str) -> bool {
        if let Some(experiment) = self.experiment() {
            let of = |name: &str| experiment.variants.iter().find(|v| v.name == name);
            let (Some(before), Some(after)) = (of(&self.planted), of(treated)) else {
                return false;
            };
            let Ok(treatment) = Treatment::parse(treatment) else {
                return false;
            };
            let applied = treatment.apply(&before.spec).map(|(spec, _)| spec);
            return applied.is_ok_and(|spec| spec == after.spec && spec != before.spec);
        }
        let (Some(before), Some(after)) = (self.workload(&self.planted), self.workload(treated))
        else {
            return false;
        };
        let mut wanted = before.clone();
        if let Some(word) = treatment.strip_prefix("cmdline+=") {
            wanted.cmdline.push(word.to_owned());
        } else if let Some(word) = treatment.strip_prefix("cmdline-=") {
            wanted.cmdline.retain(|w| w != word);
        } else if let Ok(treatment) = FileTreatment::parse(treatment) {
            match treatment.to_string().starts_with("initramfs=") {
                true => wanted.initramfs.push(treatment),
                false => {
                    for image in &mut wanted.images {
                        image.treatments.push(treatment.clone());
                    }
                }
            }
        }
        wanted == *after && wanted != *before
    }

    /// Boots the cases of a workload, with their files in `out`: the time of the
    /// planted one, then of each treated one, in nanoseconds; and what failed. `None`: it is
    /// no workload.
    ///
    /// # Errors
    /// As [`classics::run`].
    pub fn run(
        &self,
        out: &Path,
        jobs: NonZeroUsize,
        say: &mut dyn FnMut(String),
    ) -> Result<Option<Figures>, LabError> {
        let Boots::Lab(classic) = &self.boots else {
            return Ok(None);
        };
        if self.experiment().is_some() {
            return Ok(None);
        }
        let hosts = Hosts {
            jobs: Some(jobs),
            ..Hosts::default()
        };
        let report = classics::run(classic, out, &hosts, say)?;
        let figures = report.values.iter().map(|v| v.measured_ns);
        Ok(Some((figures.collect(), report.failures)))
    }

    /// The configuration of the planted case's kernel, if it is looked at.
    ///
    /// # Errors
    /// If the kernel cannot be made.
    pub fn config(&self, say: &mut dyn FnMut(String)) -> Result<Option<PathBuf>, LabError> {
        if !self.with_config {
            return Ok(None);
        }
        let cache = Cache::open()?;
        let kernel = match (self.workload(&self.planted), self.experiment()) {
            (Some(workload), _) => workload.kernel_image(&cache, say)?,
            (None, Some(experiment)) => {
                let mut variants = experiment.variants.iter();
                let planted = variants.find(|v| v.name == self.planted);
                let build = planted.map(|v| &v.spec.build).filter(|b| !b.is_empty());
                let build = build.ok_or_else(|| no_root(&self.id))?;
                cache.pc_kernel(build, say)?.image
            }
            (None, None) => return Err(no_root(&self.id)),
        };
        Ok(Some(kernel.with_file_name(CONFIG)))
    }

    /// The files that are looked at beside the boot, which was booted in `run`; those
    /// that are made go to `folder`.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn beside(
        &self,
        folder: &Path,
        run: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<PathBuf>, LabError> {
        let cache = Cache::open()?;
        let workload = match (self.experiment(), self.workload(&self.planted)) {
            (_, Some(workload)) => workload,
            (Some(experiment), _) => {
                let of = |b| beside_experiment(b, experiment, &cache, (folder, run), say);
                return self.beside.iter().map(of).collect();
            }
            _ => return Ok(Vec::new()),
        };
        let write = |name: &str, bytes: &[u8]| written(folder, name, bytes);
        let mut paths = Vec::new();
        for beside in &self.beside {
            paths.push(match beside {
                Beside::Kernel => workload.kernel_image(&cache, say)?,
                Beside::Initramfs => write("initramfs", &workload.archive(&cache, say)?)?,
                Beside::Script => {
                    write("root/etc/init.d/S50planted", workload.script.as_bytes())?;
                    folder.join("root")
                }
                Beside::Image(name) => write(name, &workload.image(name, &cache, say)?)?,
                Beside::File(path) => path.clone(),
                Beside::Root | Beside::RootImage | Beside::Environment => {
                    return Err(no_root(&self.id));
                }
            });
        }
        Ok(paths)
    }
}

fn no_root(id: &str) -> LabError {
    LabError::Experiment {
        name: format!("{id}.toml"),
        line: 1,
        why: "the file in `beside` does not exist; `root` and `root-image` need an experiment \
            with a `tree`, `environment` one with a loader's `environment`, `config` one whose \
            planted variant has a `build=` or a workload, the others a workload"
            .to_owned(),
    }
}

/// The text of a classic with the boots in `table`, whose figures are those of `cases`.
fn classic<'a>(
    mut table: Table,
    file: &File,
    cases: impl Iterator<Item = &'a str>,
) -> Result<String, toml::ser::Error> {
    table.insert("firstlight_classic".to_owned(), Value::Integer(1));
    for key in ["title", "source", "here", "why"] {
        table.insert(key.to_owned(), Value::String(file.cause.clone()));
    }
    let value = |case: &str| {
        let pairs = [
            ("name", case),
            ("case", case),
            ("from", &file.from),
            ("to", &file.to),
        ];
        let pairs = pairs.map(|(k, v)| (k.to_owned(), Value::String(v.to_owned())));
        Value::Table(pairs.into_iter().collect())
    };
    table.insert("value".to_owned(), Value::Array(cases.map(value).collect()));
    toml::to_string(&table)
}

/// The experiment of `table` with another root, and of its variants the planted one, by
/// the name of the treated one.
fn other_root(
    id: &str,
    table: &Table,
    root: &Value,
    planted: &str,
    wanted: &Wanted,
) -> Result<Experiment, String> {
    let clause = "a finding with a `root` needs an `experiment` and `by_hand`";
    let mut table = match (table.get("experiment"), &wanted.by_hand) {
        (Some(Value::Table(table)), Some(_)) => table.clone(),
        _ => return Err(clause.to_owned()),
    };
    let base = table.get_mut("base").and_then(Value::as_table_mut);
    base.ok_or(clause)?.insert("root".to_owned(), root.clone());
    let text = toml::to_string(&table).map_err(|e| e.to_string())?;
    let parsed = Experiment::parse(&format!("{id}.toml"), &text);
    let mut experiment = parsed.map_err(|e| e.to_string())?;
    experiment.variants.retain(|v| v.name == planted);
    for variant in &mut experiment.variants {
        variant.name.clone_from(&wanted.treated);
    }
    Ok(experiment)
}

/// Writes a file below `folder`.
fn written(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, LabError> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(io_error(parent, "cannot be created"))?;
    fs::write(&path, bytes).map_err(io_error(&path, "cannot be written"))?;
    Ok(path)
}

/// How long an environment beside a boot is, in bytes.
const ENVIRONMENT_BYTES: usize = 16 << 10;

/// The variables that an experiment gives its boot loader.
fn variables(platform: &Platform) -> Option<&BTreeMap<String, String>> {
    match platform {
        Platform::Arm9 { nand } => nand.as_ref(),
        Platform::ArmVirt {
            loader: Loader::UBoot { environment, .. },
            ..
        } => Some(environment),
        _ => None,
    }
}

/// A file beside a boot of `experiment`, which was booted in `run`; one that is made goes to
/// `folder`.
fn beside_experiment(
    beside: &Beside,
    experiment: &Experiment,
    cache: &Cache,
    (folder, run): (&Path, &Path),
    say: &mut dyn FnMut(String),
) -> Result<PathBuf, LabError> {
    let base = &experiment.base;
    if let (Beside::Environment, Some(variables)) = (beside, variables(&base.platform)) {
        let bytes = environment(variables, ENVIRONMENT_BYTES);
        let bytes = bytes.ok_or_else(|| LabError::Experiment {
            name: format!("{}.toml", experiment.name),
            line: 1,
            why: "its `environment` does not fit into 16 KiB".to_owned(),
        })?;
        return written(folder, "environment", &bytes);
    }
    match (beside, &base.root) {
        (Beside::RootImage, Root::Image(path)) | (Beside::File(path), _) => Ok(path.clone()),
        (Beside::Initramfs, _) => Ok(run.join("run/initramfs.cpio")),
        (Beside::Root, Root::Tree { folder, .. } | Root::Initramfs { folder, .. }) => {
            Ok(folder.clone())
        }
        (Beside::RootImage, Root::Tree { folder, form, .. }) => {
            let architecture = match &base.platform {
                Platform::ArmVirt { arch, .. } => arch.as_str(),
                Platform::Arm9 { .. } => Board::Arm9.architecture(),
                Platform::Pc | Platform::Replay(_) | Platform::Board(_) => Board::Pc.architecture(),
            };
            let busybox = match base.root.busybox() {
                true => Some(cache.busybox(architecture, say)?),
                false => None,
            };
            form.image_of(cache, folder, busybox.as_deref(), say)
        }
        _ => Err(no_root(&experiment.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::Planted;
    use std::path::Path;

    const ROOT: &str = "firstlight_planted = 1\ncause = \"x\"\n[[finding]]\nid = \"root-delay\"\n\
        treated = \"short\"\n[workload]\nboard = \"arm9\"\nmemory_mb = 64\n\
        cmdline = [\"rootdelay=2\"]\nscript = \"mark done\"\n[[case]]\nname = \"planted\"\n\
        [[case]]\nname = \"short\"\ncmdline = []\n";

    #[test]
    fn every_file_is_understood() {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let (mut findings, mut clean) = (0, 0);
        for folder in ["findings", "blind"] {
            for entry in std::fs::read_dir(all.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|e| e == "toml") {
                    let planted = Planted::of_file(&path).unwrap();
                    findings += planted.findings.len();
                    clean += usize::from(planted.findings.is_empty());
                }
            }
        }
        assert!(findings >= 30, "{findings}");
        assert!(clean >= 10, "{clean}");
    }

    #[test]
    fn a_treatment_is_what_the_treated_case_has_more() {
        let planted = Planted::parse("x", ROOT, Path::new("")).unwrap();
        assert!(planted.is_applied("cmdline-=rootdelay=2", "short"));
        for other in ["cmdline+=quiet", "cmdline-=quiet", "initramfs=lz4", "none"] {
            assert!(!planted.is_applied(other, "short"), "{other}");
        }
        assert!(!planted.is_applied("cmdline-=rootdelay=2", "planted"));
    }

    #[test]
    fn an_environment_is_one_that_u_boot_reads() {
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let variables = [of("bootcmd", "bootm"), of("bootdelay", "2")];
        let variables = variables.into_iter().collect();
        let bytes = super::environment(&variables, super::ENVIRONMENT_BYTES).unwrap();
        assert_eq!(bytes.len(), 16 << 10);
        assert!(bytes[4..].starts_with(b"bootcmd=bootm\0bootdelay=2\0\0"));
        assert_eq!(bytes[..4], crc32fast::hash(&bytes[4..]).to_le_bytes());
    }

    const OTHER_ROOT: &str = "firstlight_planted = 1\ncause = \"x\"\nplanted = \"plain\"\n\
        beside = [\"root\"]\n[[finding]]\nid = \"root-unpacked\"\ntreated = \"packed\"\n\
        by_hand = \"y\"\nroot = { tree = \"b\", filesystem = \"squashfs\" }\n\
        [experiment]\nfirstlight_experiment = 1\n[experiment.base]\nmachine = \"pc\"\n\
        memory_mb = 512\nstorage = \"none\"\nkernel = \"debian\"\n\
        root = { tree = \"a\", filesystem = \"ext4\" }\nfirst_light = \"init\"\n\
        cmdline = [\"quiet\"]\n[[experiment.variant]]\nname = \"plain\"\n\
        treatments = [\"cmdline+=x\"]\n";

    #[test]
    fn a_treated_boot_may_have_another_root() {
        let planted = Planted::parse("x", OTHER_ROOT, Path::new("")).unwrap();
        let all: Vec<_> = planted.experiments().collect();
        let told: Vec<_> = all
            .iter()
            .map(|(folder, e)| {
                let names: Vec<&str> = e.variants.iter().map(|v| &*v.name).collect();
                (&**folder, e.base.root.fstype(), names)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("run", "ext4", vec!["plain"]),
                ("run-packed", "squashfs", vec!["packed"])
            ]
        );
        let specs: Vec<_> = all.iter().map(|(_, e)| &e.variants[0].spec).collect();
        assert_eq!(specs[0], specs[1]);
        assert_eq!(planted.only, None);
        let only = OTHER_ROOT.replacen("beside =", "only = \"kmsg\"\nbeside =", 1);
        let only = Planted::parse("x", &only, Path::new("")).unwrap().only;
        assert_eq!(only.as_deref(), Some(Path::new("kmsg")));
        let treated = OTHER_ROOT.replacen("by_hand = \"y\"\n", "", 1);
        let said = Planted::parse("x", &treated, Path::new("")).unwrap_err();
        assert!(said.to_string().contains("by_hand"), "{said}");
    }

    #[test]
    fn timed_boots_record_nothing() {
        let planted = Planted::parse("x", OTHER_ROOT, Path::new("")).unwrap();
        assert_eq!(planted.recorded(), None);
        let base = "first_light = \"init\"\n";
        let text = OTHER_ROOT.replacen(base, &format!("{base}record = [\"opens\"]\n"), 1);
        let planted = Planted::parse("x", &text, Path::new("")).unwrap();
        let (folder, recorded) = planted.recorded().unwrap();
        assert_eq!((folder, recorded.variants.len()), ("run-recorded", 1));
        let traces = |e: &crate::Experiment| {
            let words = e.variants[0].spec.cmdline.to_string();
            words.contains("firstlight.opens")
        };
        assert!(traces(recorded));
        assert_eq!(planted.experiments().count(), 2);
        assert!(planted.experiments().all(|(_, e)| !traces(e)));
    }

    #[test]
    fn boots_may_be_logs_of_another_program() {
        let text = "firstlight_planted = 1\ncause = \"x\"\n[[finding]]\nid = \"falcon-mode\"\n\
            treated = \"falcon\"\nby_hand = \"y\"\n[[log]]\nname = \"planted\"\nfile = \"a\"\n\
            [[log]]\nname = \"falcon\"\nfile = \"b\"\n";
        let planted = Planted::parse("x", text, Path::new("folder")).unwrap();
        let logs = planted.logs().unwrap();
        assert_eq!(logs["falcon"], Path::new("folder/b"));
        assert_eq!(planted.experiments().count(), 0);
        let more = ROOT.replacen(
            "[workload]",
            "[[log]]\nname = \"planted\"\nfile = \"a\"\n[workload]",
            1,
        );
        let said = Planted::parse("x", &more, Path::new("")).unwrap_err();
        assert!(said.to_string().contains("`log`"), "{said}");
        let gone = text.replacen("name = \"falcon\"", "name = \"other\"", 1);
        let said = Planted::parse("x", &gone, Path::new("")).unwrap_err();
        assert!(said.to_string().contains("`falcon`"), "{said}");
    }

    #[test]
    fn what_a_file_lacks_is_named() {
        for (from, to, said) in [
            ("treated = \"short\"", "treated = \"none\"", "`none`"),
            ("_planted = 1", "_planted = 2", "unsupported version 2"),
            ("id = ", "ids = ", "ids"),
            (
                "cause = \"x\"",
                "cause = \"x\"\nbeside = [\"disk\"]",
                "`disk`",
            ),
            ("cause = \"x\"", "cause = \"x\"\nwrong = 1", "wrong"),
        ] {
            let text = ROOT.replacen(from, to, 1);
            let said_so = Planted::parse("x", &text, Path::new("")).unwrap_err();
            assert!(said_so.to_string().contains(said), "{said_so}");
        }
    }
}
