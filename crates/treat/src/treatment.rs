//! Treatments of a boot: parsed, planned, applied and undone.

use crate::cmdline::{self, CommandLine, WordError};
use crate::fastmap;
use crate::initramfs;
use crate::reading;
use crate::spec::{BootSpec, Initramfs, KernelForm, Order};
use ::rawimage::Compression;
use std::fmt;

/// One change to a [`BootSpec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// `cmdline+=WORD`: the word is added at the end of the kernel's words.
    AddWord(String),
    /// `cmdline-=WORD`: the word is taken away, wherever it stands.
    RemoveWord(String),
    /// `mask=UNIT`: systemd does not start the unit.
    Mask(String),
    /// `kernel=uncompressed`, `kernel=direct`, `kernel=image`: the form of the kernel.
    Kernel(KernelForm),
    /// `env=NAME=VALUE`: a variable of the boot loader's environment.
    SetVariable {
        /// Its name.
        name: String,
        /// What it becomes; it may hold blanks and `=`.
        value: String,
    },
    /// `env-=NAME`: a variable is taken out of the boot loader's environment.
    RemoveVariable(String),
    /// `prefetch=LIST[,OPTION[=VALUE]]...`: a prefetcher in the initramfs reads ahead
    /// what an access list names.
    Prefetch(String),
    /// `order=LIST[,read-around]`: the root is laid out in the order of an access list.
    Order(Order),
    /// `build=FRAGMENT`: the kernel is built from its source with this configuration,
    /// laid over that of the `build=` before it, and everything else left out.
    Build(String),
    /// `initramfs=METHOD`: the initramfs is packed in another way.
    Initramfs(Compression),
    /// `modules=unsigned`: the modules in the initramfs have no signatures.
    UnsignedModules,
    /// `ubi-fastmap=on`: the kernel command line says that UBI keeps a fastmap.
    UbiFastmap,
    /// A treatment of the files that a board boots from, as its text: `menu-timeout=0`. Only
    /// those files know what it does. [`Treatment::parse`] never gives it.
    OfFiles(String),
}

/// Why a treatment cannot be understood, applied or undone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreatError {
    /// The text names no treatment.
    #[error(
        "unknown treatment `{found}`; known treatments: `cmdline+=PARAMETER`, \
         `cmdline-=PARAMETER`, `mask=UNIT`, `kernel=uncompressed`, `kernel=direct`, \
         `kernel=image`, `env=NAME=VALUE`, `env-=NAME`, `prefetch=LIST`, `order=LIST`, \
         `build=FRAGMENT`, `initramfs=METHOD`, `modules=unsigned` and `ubi-fastmap=on`"
    )]
    Unknown {
        /// The text.
        found: String,
    },
    /// The word would not be one word on a command line.
    #[error("invalid treatment `{treatment}`: {why}")]
    Word {
        /// The text.
        treatment: String,
        /// What is wrong with the word.
        why: WordError,
    },
    /// A unit name that systemd would not take.
    #[error(
        "invalid treatment `mask={unit}`: not a full unit name; write one such as `cron.service` \
         (letters, digits, `:-_.\\@` and a systemd suffix)"
    )]
    Unit {
        /// The name.
        unit: String,
    },
    /// A variable that no environment could hold.
    #[error(
        "invalid treatment `{treatment}`: a variable needs a name without blanks or `=` and a \
         value without control characters"
    )]
    Variable {
        /// The text.
        treatment: String,
    },
    /// A word that should go is not there.
    #[error("`{word}` cannot be removed: it is not on the kernel command line `{cmdline}`")]
    NotThere {
        /// The word.
        word: String,
        /// The command line.
        cmdline: String,
    },
    /// The state to undo is not the one that the treatment left.
    #[error(
        "the treatment `{treatment}` cannot be undone: a later treatment changed the same thing; \
         undo that first"
    )]
    ChangedSince {
        /// The text.
        treatment: String,
    },
}

/// What takes a treatment back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undo {
    treatment: Treatment,
    inverse: Inverse,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Inverse {
    /// The treatment changed nothing.
    Nothing,
    /// Take this word away from this place.
    Take(usize, String),
    /// Put these words back at these places, first to last.
    Put(Vec<(usize, String)>),
    /// The command line before, and after.
    CommandLine(CommandLine, CommandLine),
    /// The form before, and the one after.
    Form(KernelForm, KernelForm),
    /// The variable, what was said of it before, and after.
    Variable(String, Option<Option<String>>, Option<String>),
    /// What was done about reading before, and after.
    Reading(Box<(reading::State, reading::State)>),
    /// The last fragment is taken away.
    Fragment(String),
    /// What was done about the initramfs before, and after.
    Initramfs(Initramfs, Initramfs),
    /// The last treatment of files is taken away.
    File(String),
}

/// The suffixes of unit names that can be masked.
const UNIT_SUFFIXES: &[&str] = &[
    ".service",
    ".socket",
    ".target",
    ".device",
    ".mount",
    ".automount",
    ".swap",
    ".timer",
    ".path",
    ".slice",
];

impl Treatment {
    /// Reads a treatment from its text.
    ///
    /// # Errors
    /// If the text names none, or its word or unit cannot be used.
    pub fn parse(text: &str) -> Result<Self, TreatError> {
        let word = |word: &str| {
            cmdline::check_word(word).map_err(|why| TreatError::Word {
                treatment: text.to_owned(),
                why,
            })?;
            Ok(word.to_owned())
        };
        if let Some(rest) = text.strip_prefix("cmdline+=") {
            return Ok(Self::AddWord(word(rest)?));
        }
        if let Some(rest) = text.strip_prefix("cmdline-=") {
            return Ok(Self::RemoveWord(word(rest)?));
        }
        if let Some(unit) = text.strip_prefix("mask=") {
            let legal = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
            let suffix = |s: &&str| unit.len() > s.len() && unit.ends_with(*s);
            if unit.chars().all(legal) && UNIT_SUFFIXES.iter().any(suffix) {
                return Ok(Self::Mask(unit.to_owned()));
            }
            return Err(TreatError::Unit {
                unit: unit.to_owned(),
            });
        }
        if let Some(form) = text.strip_prefix("kernel=").and_then(KernelForm::parse) {
            return Ok(Self::Kernel(form));
        }
        let variable = || TreatError::Variable {
            treatment: text.to_owned(),
        };
        if let Some(name) = text.strip_prefix("env-=") {
            let name = name.to_owned();
            return match is_variable(&name, "") {
                true => Ok(Self::RemoveVariable(name)),
                false => Err(variable()),
            };
        }
        if let Some(rest) = text.strip_prefix("env=") {
            let (name, value) = rest.split_once('=').ok_or_else(variable)?;
            if !is_variable(name, value) {
                return Err(variable());
            }
            return Ok(Self::SetVariable {
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        if let Some(list) = text.strip_prefix("prefetch=").filter(|l| !l.is_empty()) {
            // Its options become a word of the command line.
            return Ok(Self::Prefetch(word(list)?));
        }
        if let Some(list) = text.strip_prefix("order=").filter(|l| !l.is_empty()) {
            return Ok(Self::Order(Order::parse(list)));
        }
        if let Some(fragment) = text.strip_prefix("build=").filter(|f| !f.is_empty()) {
            return Ok(Self::Build(fragment.to_owned()));
        }
        if let Some(method) = text.strip_prefix("initramfs=").and_then(initramfs::method) {
            return Ok(Self::Initramfs(method));
        }
        if text == initramfs::UNSIGNED {
            return Ok(Self::UnsignedModules);
        }
        if text == fastmap::TEXT {
            return Ok(Self::UbiFastmap);
        }
        Err(TreatError::Unknown {
            found: text.chars().take(80).collect(),
        })
    }

    /// One sentence: what would change in `spec`, before and after.
    #[must_use]
    pub fn plan(&self, spec: &BootSpec) -> String {
        match self {
            Self::AddWord(word) => plan_add(word, spec),
            Self::Mask(unit) => {
                let add = plan_add(&mask_word(unit), spec);
                format!("systemd does not start {unit}: {add}")
            }
            Self::RemoveWord(word) => {
                match spec.cmdline.words().iter().filter(|w| *w == word).count() {
                    0 => {
                        format!("`{word}` cannot be removed: it is not on the kernel command line")
                    }
                    1 => format!("the kernel command line loses `{word}`"),
                    n => format!("the kernel command line loses `{word}` ({n} occurrences)"),
                }
            }
            Self::Kernel(form) if *form == spec.kernel => {
                format!(
                    "the kernel already has the form `{}`: nothing changes",
                    form.as_str()
                )
            }
            Self::Kernel(KernelForm::Uncompressed) => {
                "an uncompressed kernel is booted instead of one that decompresses itself".into()
            }
            Self::Kernel(KernelForm::Direct) => {
                "an uncompressed kernel is entered directly, and no firmware runs before it".into()
            }
            Self::Kernel(KernelForm::Image) => {
                "a kernel that decompresses itself is booted instead of an uncompressed one".into()
            }
            Self::SetVariable { name, value } => match spec.environment.get(name) {
                Some(Some(before)) => format!(
                    "the boot loader variable `{name}` changes from `{before}` to `{value}`"
                ),
                _ => format!("the boot loader variable `{name}` is set to `{value}`"),
            },
            Self::RemoveVariable(name) => {
                format!("the boot loader variable `{name}` is removed if it is set")
            }
            Self::Prefetch(list) => reading::plan_prefetch(list, spec),
            Self::Order(order) => reading::plan_order(order, spec),
            Self::Build(fragment) if spec.build.contains(fragment) => {
                format!("the kernel is already built with {fragment}: nothing changes")
            }
            Self::Build(fragment) => match spec.build.last() {
                Some(before) => {
                    format!("the kernel configuration {fragment} is merged on top of {before}")
                }
                None => format!(
                    "the kernel is built from source with the configuration {fragment} and every \
                     other option off"
                ),
            },
            Self::Initramfs(method) => initramfs::plan_packing(*method, spec),
            Self::UnsignedModules => initramfs::plan_unsigned(spec),
            Self::UbiFastmap => fastmap::plan(&spec.cmdline),
            Self::OfFiles(text) => format!("the files that the board boots from get `{text}`"),
        }
    }

    /// What `spec` becomes, and what takes that back.
    ///
    /// # Errors
    /// If a word that should go is not there.
    pub fn apply(&self, spec: &BootSpec) -> Result<(BootSpec, Undo), TreatError> {
        let mut after = spec.clone();
        let mut add = |word: String| match after.cmdline.add(&word) {
            Some(at) => Inverse::Take(at, word),
            None => Inverse::Nothing,
        };
        let inverse = match self {
            Self::AddWord(word) => add(word.clone()),
            Self::Mask(unit) => add(mask_word(unit)),
            Self::RemoveWord(word) => {
                let taken = after.cmdline.remove(word);
                if taken.is_empty() {
                    return Err(TreatError::NotThere {
                        word: word.clone(),
                        cmdline: spec.cmdline.to_string(),
                    });
                }
                Inverse::Put(taken.into_iter().map(|at| (at, word.clone())).collect())
            }
            Self::Kernel(form) if *form == spec.kernel => Inverse::Nothing,
            Self::Kernel(form) => {
                after.kernel = *form;
                Inverse::Form(spec.kernel, *form)
            }
            Self::SetVariable { name, value } => set(&mut after, name, Some(value.clone())),
            Self::RemoveVariable(name) => set(&mut after, name, None),
            Self::Prefetch(_) | Self::Order(_) => {
                match self {
                    Self::Prefetch(list) => reading::prefetch(&mut after, list),
                    Self::Order(order) => after.reading.order = Some(order.clone()),
                    _ => {}
                }
                let states = (reading::State::of(spec), reading::State::of(&after));
                Inverse::Reading(Box::new(states))
            }
            Self::Build(fragment) if spec.build.contains(fragment) => Inverse::Nothing,
            Self::Build(fragment) => {
                after.build.push(fragment.clone());
                Inverse::Fragment(fragment.clone())
            }
            Self::Initramfs(method) => {
                after.initramfs.packing = Some(*method);
                Inverse::Initramfs(spec.initramfs, after.initramfs)
            }
            Self::UnsignedModules => {
                after.initramfs.unsigned = true;
                Inverse::Initramfs(spec.initramfs, after.initramfs)
            }
            Self::UbiFastmap => match fastmap::enable(&mut after.cmdline) {
                true => Inverse::CommandLine(spec.cmdline.clone(), after.cmdline.clone()),
                false => Inverse::Nothing,
            },
            Self::OfFiles(text) if spec.files.contains(text) => Inverse::Nothing,
            Self::OfFiles(text) => {
                after.files.push(text.clone());
                Inverse::File(text.clone())
            }
        };
        let treatment = self.clone();
        Ok((after, Undo { treatment, inverse }))
    }
}

impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddWord(word) => write!(f, "cmdline+={word}"),
            Self::RemoveWord(word) => write!(f, "cmdline-={word}"),
            Self::Mask(unit) => write!(f, "mask={unit}"),
            Self::Kernel(form) => write!(f, "kernel={}", form.as_str()),
            Self::SetVariable { name, value } => write!(f, "env={name}={value}"),
            Self::RemoveVariable(name) => write!(f, "env-={name}"),
            Self::Prefetch(list) => write!(f, "prefetch={list}"),
            Self::Order(order) => write!(f, "order={order}"),
            Self::Build(fragment) => write!(f, "build={fragment}"),
            Self::Initramfs(method) => write!(f, "initramfs={}", method.name()),
            Self::UnsignedModules => f.write_str(initramfs::UNSIGNED),
            Self::UbiFastmap => f.write_str(fastmap::TEXT),
            Self::OfFiles(text) => f.write_str(text),
        }
    }
}

impl Undo {
    /// What `after` was before the treatment.
    ///
    /// # Errors
    /// If what the treatment changed was changed again since.
    pub fn apply(&self, after: &BootSpec) -> Result<BootSpec, TreatError> {
        let mut before = after.clone();
        let done = match &self.inverse {
            Inverse::Nothing => true,
            Inverse::Take(at, word) => before.cmdline.take(*at, word),
            Inverse::Put(words) => words.iter().all(|(at, w)| before.cmdline.put(*at, w)),
            Inverse::CommandLine(was, is) => {
                std::mem::replace(&mut before.cmdline, was.clone()) == *is
            }
            Inverse::Form(was, is) => {
                let unchanged = before.kernel == *is;
                before.kernel = *was;
                unchanged
            }
            Inverse::Variable(name, was, is) => {
                let unchanged = before.environment.get(name) == Some(is);
                match was {
                    Some(value) => before.environment.insert(name.clone(), value.clone()),
                    None => before.environment.remove(name),
                };
                unchanged
            }
            Inverse::Reading(states) => {
                let unchanged = reading::State::of(&before) == states.1;
                states.0.clone().put(&mut before);
                unchanged
            }
            Inverse::Fragment(fragment) => before.build.pop().as_ref() == Some(fragment),
            Inverse::Initramfs(was, is) => std::mem::replace(&mut before.initramfs, *was) == *is,
            Inverse::File(text) => before.files.pop().as_ref() == Some(text),
        };
        if done {
            Ok(before)
        } else {
            Err(TreatError::ChangedSince {
                treatment: self.treatment.to_string(),
            })
        }
    }
}

/// Says of the variable `name` that it is `value`, or is not there.
fn set(spec: &mut BootSpec, name: &str, value: Option<String>) -> Inverse {
    let was = spec.environment.insert(name.to_owned(), value.clone());
    if was.as_ref() == Some(&value) {
        return Inverse::Nothing;
    }
    Inverse::Variable(name.to_owned(), was, value)
}

/// Whether an environment can hold this: `NAME=VALUE` and a zero byte.
fn is_variable(name: &str, value: &str) -> bool {
    let in_name = |c: char| c.is_ascii_graphic() && c != '=';
    !name.is_empty() && name.chars().all(in_name) && !value.chars().any(char::is_control)
}

fn mask_word(unit: &str) -> String {
    format!("systemd.mask={unit}")
}

fn plan_add(word: &str, spec: &BootSpec) -> String {
    if spec.cmdline.contains(word) {
        return format!("`{word}` is already on the kernel command line: nothing changes");
    }
    let key = cmdline::key(word);
    // `systemd.mask=` and `console=` may be given many times; others too, and
    // only the kernel knows: so it is said, not judged.
    let same_key = |w: &&String| word.contains('=') && cmdline::key(w) == key;
    match spec.cmdline.words().iter().find(same_key) {
        Some(other) => format!("the kernel command line gains `{word}` in addition to `{other}`"),
        None => format!("the kernel command line gains `{word}`"),
    }
}
