//! The experiment file: what is booted, and which variants of it.

use crate::error::LabError;
use agent::config::FirstLight;
use serde::Deserialize;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use treat::{BootSpec, CommandLine, KernelForm, Treatment};

/// The version of the format that this program reads.
pub const VERSION: u32 = 1;

/// The variant without treatments.
pub const BASELINE: &str = "baseline";

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its file's name without `.toml`, for the reader.
    pub name: String,
    /// What all variants share.
    pub base: Base,
    /// The baseline first, then the file's variants in their order.
    pub variants: Vec<Variant>,
}

/// What all variants share.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// The memory of the machine, in MiB.
    pub memory_mb: u32,
    /// An instruction takes 2 to the power of this many nanoseconds.
    pub cpu_shift: u8,
    /// A storage profile's name.
    pub storage: String,
    /// The kernel.
    pub kernel: Kernel,
    /// The root filesystem.
    pub root: Root,
    /// The kernel command line of the baseline.
    pub cmdline: CommandLine,
    /// What ends the boot.
    pub first_light: FirstLight,
    /// A trial whose console shows a later time, in seconds of the kernel's
    /// clock, is ended.
    pub limit_virtual_s: Option<u32>,
    /// A trial that takes longer, in seconds of the host, is ended.
    pub limit_wall_s: u32,
    /// How many boots each variant gets, if nobody says otherwise.
    pub ensemble: NonZeroU32,
}

/// Where the kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Debian's kernel package as it is, from the cache.
    Debian,
    /// A file of the user, with the folder of its modules.
    File {
        /// The bzImage.
        image: PathBuf,
        /// A folder such as `/lib/modules/6.1.0-56-amd64`, if modules are
        /// needed that are not built in.
        modules: Option<PathBuf>,
    },
}

/// Where the root filesystem comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// The boot ends in the initramfs.
    None,
    /// A minimal Debian, made by this program, from the cache.
    DebianMinimal,
    /// An ext4 image of the user.
    Image(PathBuf),
}

/// A named set of treatments.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name: letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// What is changed, in order.
    pub treatments: Vec<Treatment>,
    /// What is booted.
    pub spec: BootSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    firstlight_experiment: toml::Spanned<u32>,
    base: BaseFile,
    #[serde(default)]
    variant: Vec<toml::Spanned<VariantFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaseFile {
    machine: toml::Spanned<String>,
    #[serde(default = "memory_mb")]
    memory_mb: toml::Spanned<u32>,
    #[serde(default = "cpu_shift")]
    cpu_shift: toml::Spanned<u8>,
    storage: toml::Spanned<String>,
    kernel: toml::Spanned<String>,
    modules: Option<toml::Spanned<PathBuf>>,
    root: toml::Spanned<String>,
    #[serde(default)]
    cmdline: Vec<toml::Spanned<String>>,
    first_light: toml::Spanned<String>,
    #[serde(default)]
    record: Vec<toml::Spanned<String>>,
    limit_virtual_s: Option<u32>,
    #[serde(default = "limit_wall_s")]
    limit_wall_s: u32,
    #[serde(default = "ensemble")]
    ensemble: NonZeroU32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantFile {
    name: toml::Spanned<String>,
    treatments: Vec<toml::Spanned<String>>,
}

fn memory_mb() -> toml::Spanned<u32> {
    toml::Spanned::new(0..0, 1536)
}

fn cpu_shift() -> toml::Spanned<u8> {
    toml::Spanned::new(0..0, 0)
}

const fn limit_wall_s() -> u32 {
    600
}

/// One boot as it is and two perturbed ones: the least that shows a spread that
/// is not one step of a timer.
const fn ensemble() -> NonZeroU32 {
    const { NonZeroU32::new(3).unwrap() }
}

/// What `record` can ask for, and the words that bring it.
const RECORDINGS: &[(&str, &[&str])] = &[
    // Without a large buffer the start of the log is lost.
    ("initcalls", &["initcall_debug", "log_buf_len=4M"]),
    // The agent reads /proc while the machine boots.
    ("samples", &["firstlight.sample_ms=100"]),
];

/// `record` can also ask for events of the kernel's trace, by this and a list.
const EVENTS: &str = "events:";

impl Experiment {
    /// Reads an experiment's file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path).map_err(|source| LabError::ReadExperiment {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&path.to_string_lossy(), &text)
    }

    /// Reads an experiment from its text; `path` is named in errors, and paths
    /// in the text are relative to its folder.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn parse(path: &str, text: &str) -> Result<Self, LabError> {
        let at = |span: &std::ops::Range<usize>, why: String| {
            let before = text.get(..span.start).unwrap_or(text);
            LabError::Experiment {
                name: path.to_owned(),
                line: before.matches('\n').count() + 1,
                why,
            }
        };
        let file: File = toml::from_str(text).map_err(|e| {
            let why = e.message().replace('\n', ", ");
            at(&e.span().unwrap_or(0..0), why)
        })?;
        let version = file.firstlight_experiment;
        if *version.get_ref() != VERSION {
            let found = version.get_ref();
            let why = format!(
                "this is an experiment of version {found}, and this program reads version {VERSION}; \
                 update the file or the program"
            );
            return Err(at(&version.span(), why));
        }
        let reader = Reader { path, at: &at };
        let (base, mut variants) = reader.base(file.base)?;
        for variant in file.variant {
            let next = reader.variant(&variant, &variants)?;
            variants.push(next);
        }
        let stem = Path::new(path).file_stem().unwrap_or_default();
        Ok(Self {
            name: stem.to_string_lossy().into_owned(),
            base,
            variants,
        })
    }
}

/// What is checked beyond the file's shape.
struct Reader<'a, At> {
    path: &'a str,
    at: &'a At,
}

type Span = std::ops::Range<usize>;

impl<At: Fn(&Span, String) -> LabError> Reader<'_, At> {
    fn base(&self, file: BaseFile) -> Result<(Base, Vec<Variant>), LabError> {
        let at = self.at;
        let wrong = |v: &toml::Spanned<String>, expected: &str| {
            at(
                &v.span(),
                format!("expected {expected}, found `{}`", v.get_ref()),
            )
        };
        if file.machine.get_ref() != "pc" {
            return Err(wrong(&file.machine, "the machine `pc`"));
        }
        if *file.cpu_shift.get_ref() > 10 {
            let why = "`cpu_shift` is at most 10: an instruction of 1,024 ns".into();
            return Err(at(&file.cpu_shift.span(), why));
        }
        if !(256..=65_536).contains(file.memory_mb.get_ref()) {
            let why = "`memory_mb` is from 256 to 65536".into();
            return Err(at(&file.memory_mb.span(), why));
        }
        crate::storage::named(file.storage.get_ref())
            .map_err(|e| at(&file.storage.span(), e.to_string()))?;
        let Some(first_light) = FirstLight::parse(file.first_light.get_ref()) else {
            return Err(wrong(&file.first_light, FirstLight::EXPECTED));
        };
        let root = match file.root.get_ref().as_str() {
            "none" => Root::None,
            "debian-minimal" => Root::DebianMinimal,
            path => Root::Image(self.beside(path)),
        };
        if root == Root::None {
            if first_light != FirstLight::Init {
                return Err(wrong(&file.first_light, "`init`, since there is no root"));
            }
            if file.storage.get_ref() != "none" {
                return Err(wrong(&file.storage, "`none`, since there is no root"));
            }
        }
        let kernel = match (file.kernel.get_ref().as_str(), file.modules) {
            ("debian", None) => Kernel::Debian,
            ("debian", Some(modules)) => {
                let why = "`modules` goes with a kernel file; Debian's kernel has its own".into();
                return Err(at(&modules.span(), why));
            }
            (image, modules) => Kernel::File {
                image: self.beside(image),
                modules: modules.map(|m| self.beside(m.get_ref())),
            },
        };
        let base = Base {
            memory_mb: *file.memory_mb.get_ref(),
            cpu_shift: *file.cpu_shift.get_ref(),
            storage: file.storage.get_ref().clone(),
            kernel,
            root,
            cmdline: self.cmdline(&file.cmdline, &file.record)?,
            first_light,
            limit_virtual_s: file.limit_virtual_s,
            limit_wall_s: file.limit_wall_s,
            ensemble: file.ensemble,
        };
        let baseline = Variant {
            name: BASELINE.to_owned(),
            treatments: Vec::new(),
            spec: BootSpec {
                kernel: KernelForm::Image,
                cmdline: base.cmdline.clone(),
            },
        };
        Ok((base, vec![baseline]))
    }

    fn cmdline(
        &self,
        words: &[toml::Spanned<String>],
        record: &[toml::Spanned<String>],
    ) -> Result<CommandLine, LabError> {
        let at = self.at;
        let mut cmdline = CommandLine::default();
        for word in words {
            let parsed = CommandLine::parse(word.get_ref());
            match parsed.as_ref().map(CommandLine::words) {
                Ok([one]) if one == word.get_ref() => {}
                Ok(_) => {
                    let why = format!("`{}` is not one word of a command line", word.get_ref());
                    return Err(at(&word.span(), why));
                }
                Err(e) => return Err(at(&word.span(), e.to_string())),
            }
            if cmdline.add(word.get_ref()).is_none() {
                let why = format!("`{}` is there twice", word.get_ref());
                return Err(at(&word.span(), why));
            }
        }
        for asked in record {
            let found = asked.get_ref();
            if let Some(events) = found.strip_prefix(EVENTS) {
                let word = format!("firstlight.events={events}");
                if events.is_empty() || events.contains([' ', '"']) {
                    let why = format!("expected events as in `events:block:*`, found `{found}`");
                    return Err(at(&asked.span(), why));
                }
                cmdline.add(&word);
                continue;
            }
            let known = RECORDINGS.iter().find(|r| r.0 == found);
            let Some((_, words)) = known else {
                let names: Vec<_> = RECORDINGS.iter().map(|r| r.0).collect();
                let names = names.join("`, `");
                let why =
                    format!("expected one of `{names}`, `{EVENTS}LIST` to record, found `{found}`");
                return Err(at(&asked.span(), why));
            };
            for word in *words {
                cmdline.add(word);
            }
        }
        Ok(cmdline)
    }

    fn variant(
        &self,
        file: &toml::Spanned<VariantFile>,
        before: &[Variant],
    ) -> Result<Variant, LabError> {
        let at = self.at;
        let VariantFile { name, treatments } = file.get_ref();
        // The name becomes a folder's.
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let text = name.get_ref();
        if text.is_empty() || text.starts_with('.') || !text.chars().all(legal) {
            let why = format!(
                "`{text}` is no name for a variant: letters, digits, `-`, `_` and `.`, \
                 and no `.` at the start"
            );
            return Err(at(&name.span(), why));
        }
        if before.iter().any(|v| v.name == *text) {
            let why = format!("there is already a variant `{text}`; give this one another name");
            return Err(at(&name.span(), why));
        }
        let Some(baseline) = before.first() else {
            let why = "no baseline".to_owned();
            return Err(LabError::Bug { why });
        };
        let mut spec = baseline.spec.clone();
        let mut parsed = Vec::new();
        for treatment in treatments {
            let applied = Treatment::parse(treatment.get_ref())
                .and_then(|t| t.apply(&spec).map(|(after, _)| (t, after)));
            let (treatment, after) = applied.map_err(|e| at(&treatment.span(), e.to_string()))?;
            spec = after;
            parsed.push(treatment);
        }
        if let Some(other) = before.iter().find(|v| v.spec == spec) {
            let why = format!(
                "the variant `{text}` boots the same as `{}`; \
                 take one of them out, or change its treatments",
                other.name
            );
            return Err(at(&file.span(), why));
        }
        Ok(Variant {
            name: text.clone(),
            treatments: parsed,
            spec,
        })
    }

    /// A path of the file, seen from where the program runs.
    fn beside(&self, path: impl AsRef<Path>) -> PathBuf {
        let folder = Path::new(self.path).parent();
        folder.unwrap_or(Path::new("")).join(path)
    }
}
