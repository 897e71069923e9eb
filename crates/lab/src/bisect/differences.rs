//! The numbered differences of two systems, and experiments with some of them.

use super::cmdline::{self, Words};
use super::config;
use super::devicetree;
use super::packages::{self, Package};
use super::script;
use super::tree::{self, Source};
use crate::artifacts::Form;
use crate::cache::hash_bytes;
use crate::error::{LabError, io_error};
use crate::experiment::{Experiment, Kernel, Root};
use bootimage::branches::Branches;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use treat::{CommandLine, Treatment};

/// The command that builds what is booted: it gets a file as `$1` and writes `$2`.
pub type Make = String;

/// What differs between two systems.
pub struct Differences {
    names: Vec<String>,
    kind: Kind,
}

enum Kind {
    Cmdline {
        own: Vec<String>,
        all: Vec<Words>,
    },
    Config {
        first: BTreeMap<String, String>,
        all: Vec<config::Changed>,
        make: Option<Make>,
    },
    Packages {
        first: BTreeMap<String, String>,
        all: Vec<Package>,
        make: Make,
    },
    DeviceTree {
        first: Branches,
        all: Vec<devicetree::Changed>,
    },
    Tree {
        first: Source,
        second: Source,
        all: Vec<tree::Changed>,
    },
}

fn text_of(path: &Path) -> Result<String, LabError> {
    let bytes = fs::read(path).map_err(io_error(path, "cannot be read"))?;
    String::from_utf8(bytes)
        .map_err(|_| LabError::Search(format!("{}: is not text; pass a text file", path.display())))
}

impl Differences {
    /// Of two kernel command lines.
    ///
    /// # Errors
    /// One is none.
    pub fn cmdline(first: &str, second: &str) -> Result<Self, LabError> {
        let parse = |text: &str| {
            CommandLine::parse(text.trim())
                .map_err(|e| LabError::Search(format!("invalid kernel command line: {e}")))
        };
        let (first, second) = (parse(first)?, parse(second)?);
        if first.parts().1 != second.parts().1 {
            let why = "the words behind `--` differ, which are init's and not the kernel's; pass two \
                       command lines with equal ones";
            return Err(LabError::Search(why.to_owned()));
        }
        let all = cmdline::differences(&first, &second);
        let own = all.iter().flat_map(|w| w.removed.clone()).collect();
        Ok(Self {
            names: all.iter().map(|w| w.name.clone()).collect(),
            kind: Kind::Cmdline { own, all },
        })
    }

    /// Of two kernel configurations. `make` builds a kernel image `$2` of the configuration
    /// `$1`; without it the lab does.
    ///
    /// # Errors
    /// A file cannot be read, or is no configuration.
    pub fn config(first: &Path, second: &Path, make: Option<Make>) -> Result<Self, LabError> {
        let read = |path: &Path| {
            config::options(&text_of(path)?).map_err(|(line, found)| {
                LabError::Search(format!(
                    "{}:{line}: expected a line such as `CONFIG_X=y`, found `{found}`; pass a \
                     kernel configuration",
                    path.display()
                ))
            })
        };
        let (first, second) = (read(first)?, read(second)?);
        let all = config::differences(&first, &second);
        let shown = |c: &config::Changed| format!("{} {} -> {}", c.option, c.before, c.after);
        Ok(Self {
            names: all.iter().map(shown).collect(),
            kind: Kind::Config { first, all, make },
        })
    }

    /// Of two lists of packages. `make` builds the root image `$2` of the list `$1`.
    ///
    /// # Errors
    /// A file cannot be read, or has no packages.
    pub fn packages(first: &Path, second: &Path, make: Make) -> Result<Self, LabError> {
        let read = |path: &Path| {
            let all = packages::packages(&text_of(path)?);
            match all.is_empty() {
                false => Ok(all),
                true => Err(LabError::Search(format!(
                    "{}: has no packages; write one per line, as `dpkg-query -W` does",
                    path.display()
                ))),
            }
        };
        let (first, second) = (read(first)?, read(second)?);
        let all = packages::differences(&first, &second);
        Ok(Self {
            names: all.iter().map(Package::shown).collect(),
            kind: Kind::Packages { first, all, make },
        })
    }

    /// Of two compiled device trees.
    ///
    /// # Errors
    /// A file cannot be read, or is none.
    pub fn devicetree(first: &Path, second: &Path) -> Result<Self, LabError> {
        let read = |path: &Path| {
            let bytes = fs::read(path).map_err(io_error(path, "cannot be read"))?;
            Branches::read(&bytes).map_err(|e| LabError::Search(format!("{}: {e}", path.display())))
        };
        let (first, second) = (read(first)?, read(second)?);
        let all = devicetree::differences(&first, &second);
        Ok(Self {
            names: all.iter().map(|c| c.name.clone()).collect(),
            kind: Kind::DeviceTree { first, all },
        })
    }

    /// Of two root trees, each a folder or an image.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn image(first: &Path, second: &Path) -> Result<Self, LabError> {
        let (first, second) = (Source::open(first)?, Source::open(second)?);
        let all = tree::differences(first.folder(), second.folder())?;
        Ok(Self {
            names: all.iter().map(|c| c.name.clone()).collect(),
            kind: Kind::Tree { first, second, all },
        })
    }

    /// The differences, each in a few words, by their numbers.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The variant `name` of the base experiment: the first system with the differences of
    /// `set`. Files are made in `out`.
    ///
    /// # Errors
    /// The outer one: something cannot be read or written. The inner one, a sentence: this
    /// set cannot be booted.
    pub(super) fn applied(
        &self,
        base: &Experiment,
        set: &[usize],
        name: &str,
        out: &Path,
    ) -> Result<Result<Experiment, String>, LabError> {
        let mut experiment = base.clone();
        experiment.variants.truncate(1);
        let Some(variant) = experiment.variants.first_mut() else {
            return Err(LabError::Bug {
                why: "an experiment without baseline".to_owned(),
            });
        };
        variant.name = name.to_owned();
        match &self.kind {
            Kind::Cmdline { own, all } => {
                let applied = set.iter().filter_map(|i| all.get(*i));
                variant.spec = cmdline::applied(&variant.spec, own, applied);
            }
            Kind::Config { first, all, make } => {
                let applied = set.iter().filter_map(|i| all.get(*i));
                let text = config::text(first, applied);
                let file = written(out, "config", text.as_bytes())?;
                match make {
                    Some(make) => {
                        let image = file.with_extension("kernel");
                        if let Err(why) = script::build(make, &file, &image)? {
                            return Ok(Err(why));
                        }
                        let modules = match &experiment.base.kernel {
                            Kernel::File { modules, .. } => modules.clone(),
                            _ => None,
                        };
                        experiment.base.kernel = Kernel::File {
                            image,
                            modules,
                            device_tree: None,
                        };
                    }
                    None => variant.treatments_add(Treatment::Build(shown(&file)?))?,
                }
            }
            Kind::Packages { first, all, make } => {
                let applied = set.iter().filter_map(|i| all.get(*i));
                let file = written(out, "packages", packages::text(first, applied).as_bytes())?;
                let image = file.with_extension("image");
                if let Err(why) = script::build(make, &file, &image)? {
                    return Ok(Err(why));
                }
                experiment.base.root = Root::Image(image);
            }
            Kind::DeviceTree { first, all } => {
                let applied = set.iter().filter_map(|i| all.get(*i));
                let tree = devicetree::applied(first, applied);
                experiment.base.device_tree = Some(written(out, "devicetree", &tree.bytes())?);
            }
            Kind::Tree { first, second, all } => {
                let folder = out.join("trees").join(name);
                let both = (first.folder(), second.folder());
                if let Err(why) = tree::make(both, all, set, &folder)? {
                    return Ok(Err(why));
                }
                experiment.base.root = match experiment.base.root {
                    Root::Initramfs {
                        packing, busybox, ..
                    } => Root::Initramfs {
                        folder,
                        packing,
                        busybox,
                    },
                    Root::Tree { form, busybox, .. } => Root::Tree {
                        folder,
                        form,
                        busybox,
                    },
                    Root::None | Root::DebianMinimal | Root::Image(_) => Root::Tree {
                        folder,
                        form: Form::parse("ext4").map_err(|why| LabError::Bug { why })?,
                        busybox: false,
                    },
                };
            }
        }
        Ok(Ok(experiment))
    }
}

impl crate::experiment::Variant {
    fn treatments_add(&mut self, treatment: Treatment) -> Result<(), LabError> {
        let applied = treatment.apply(&self.spec);
        let (spec, _) = applied.map_err(|e| LabError::Search(e.to_string()))?;
        self.spec = spec;
        self.treatments.push(treatment);
        Ok(())
    }
}

fn shown(path: &Path) -> Result<String, LabError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| LabError::Output {
        path: path.to_owned(),
        why: "the path is not valid UTF-8".to_owned(),
    })
}

/// Writes a file into the folder `made` of `out`, under the hash of its content.
fn written(out: &Path, kind: &str, content: &[u8]) -> Result<PathBuf, LabError> {
    let folder = out.join("made");
    fs::create_dir_all(&folder).map_err(io_error(&folder, "cannot be created"))?;
    let folder = fs::canonicalize(&folder).map_err(io_error(&folder, "cannot be opened"))?;
    let hash = hash_bytes(content);
    let path = folder.join(format!("{kind}-{}", hash.get(..16).unwrap_or(&hash)));
    fs::write(&path, content).map_err(io_error(&path, "cannot be written"))?;
    Ok(path)
}
