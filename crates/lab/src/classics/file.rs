//! The shape of a classic's file.

use super::classic::{Classic, Count, Method, RESET, Value};
use crate::artifacts::{Form, KernelConfig, Tree, hash_bytes};
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::files::{HashedFile, read};
use crate::workload::{Board, Image, ImageFrom, RootOn, Workload};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::{Spanned, Table};
use treat::{BootSpec, CommandLine, FileTreatment, Treatment};

/// The version of the format that this program reads.
const VERSION: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    firstlight_classic: u32,
    title: String,
    source: String,
    here: String,
    why: String,
    value: Vec<ValueFile>,
    /// What all cases share.
    workload: Option<Table>,
    /// Each case: its name, and what it has beyond or instead of that.
    #[serde(default)]
    case: Vec<Spanned<Table>>,
    experiment: Option<Table>,
    uart_baud: Option<u32>,
    load_bytes_per_s: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueFile {
    name: String,
    published_ms: Option<f64>,
    /// Of a figure that is no time: what it is counted in, and the mark that gives it.
    unit: Option<String>,
    count: Option<String>,
    published: Option<f64>,
    case: Option<String>,
    minus: Option<String>,
    /// Of a workload the mark `begin`, of an experiment `reset`, unless it says otherwise.
    from: Option<String>,
    #[serde(default = "done")]
    to: String,
    /// Whether the ratios of those after it are to this one.
    #[serde(default)]
    baseline: bool,
    /// What is not the same as in the published measurement.
    partial: Option<String>,
    load_bytes_per_s: Option<u64>,
}

impl ValueFile {
    /// Whether it is neither a time nor a count.
    fn is_half_counted(&self) -> bool {
        let is_time = self.published_ms.is_some() || self.from.is_some() || self.to != done();
        match (&self.unit, &self.count) {
            (Some(_), Some(_)) => is_time,
            (None, None) => self.published.is_some(),
            _ => true,
        }
    }
}

fn done() -> String {
    "done".into()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    board: Board,
    memory_mb: u32,
    cpu_shift: Option<u8>,
    #[serde(default)]
    cmdline: Vec<String>,
    /// What is done to the command line.
    #[serde(default)]
    treatments: Vec<String>,
    #[serde(default)]
    kernel: Vec<String>,
    #[serde(default)]
    built_in: bool,
    #[serde(default)]
    unpacked: bool,
    #[serde(default)]
    modules: Vec<String>,
    #[serde(default)]
    carried: Vec<String>,
    #[serde(default)]
    image: Vec<ImageFile>,
    /// What is done to the trees of images that are roots.
    #[serde(default)]
    root_treatments: Vec<String>,
    #[serde(default)]
    initramfs: Vec<String>,
    #[serde(default)]
    storage: Vec<String>,
    #[serde(default)]
    ide_disks: u8,
    root: Option<RootOn>,
    /// What all scripts begin with.
    #[serde(default)]
    prelude: String,
    #[serde(default)]
    script: String,
    #[serde(default = "limit_wall_s")]
    limit_wall_s: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImageFile {
    name: String,
    /// What the lab makes.
    form: Option<String>,
    #[serde(default)]
    tree: Tree,
    #[serde(default)]
    mib: u32,
    /// Or a file of the user's.
    file: Option<PathBuf>,
    #[serde(default)]
    treatments: Vec<String>,
}

const fn limit_wall_s() -> u32 {
    900
}

/// Reads the file of the classic `id`. Files that it names are found from `folder`.
///
/// # Errors
/// One sentence with file and line.
pub fn parse(id: &str, text: &str, folder: &Path) -> Result<Classic, LabError> {
    let at = |start: usize, why: String| LabError::Experiment {
        name: format!("{id}.toml"),
        line: text.get(..start).unwrap_or(text).matches('\n').count() + 1,
        why,
    };
    let wrong = |e: toml::de::Error| at(e.span().map_or(0, |s| s.start), e.message().into());
    let file: File = toml::from_str(text).map_err(wrong)?;
    if file.firstlight_classic != VERSION {
        let found = file.firstlight_classic;
        let why = format!(
            "the classic has version {found}, but this program supports version \
            {VERSION}; update the file or the program"
        );
        return Err(at(0, why));
    }
    let method = match (file.workload, file.experiment) {
        (Some(shared), None) => {
            let mut cases = Vec::new();
            for case in &file.case {
                let start = case.span().start;
                let mut case =
                    workload(&shared, case.get_ref(), folder).map_err(|why| at(start, why))?;
                if let Some(baud) = file.uart_baud {
                    // The rate is the guest's to set, also where the line takes no time.
                    let console = format!("console={},{baud}", case.1.board.console());
                    case.1.cmdline.insert(0, console);
                }
                cases.push(case);
            }
            Method::Workload {
                cases,
                uart_baud: file.uart_baud,
                load_bytes_per_s: file.load_bytes_per_s,
            }
        }
        (None, Some(experiment)) => {
            let text = toml::to_string(&experiment).map_err(|e| at(0, e.to_string()))?;
            let experiment = Experiment::parse(&format!("{id}.toml"), &text)?;
            Method::Experiment(Box::new(experiment))
        }
        _ => return Err(at(0, "expected either `workload` or `experiment`".into())),
    };
    let begin = match method {
        Method::Workload { .. } => "begin",
        Method::Experiment(_) => RESET,
    };
    if let Some(wrong) = file.value.iter().find(|v| v.is_half_counted()) {
        let why = format!(
            "value `{}`: a count has `unit` and `count`, and neither `published_ms` nor `from` and \
            `to`",
            wrong.name
        );
        return Err(at(0, why));
    }
    let mut baseline = 0;
    let values = file.value.into_iter().enumerate().map(|(i, v)| {
        if v.baseline {
            baseline = i;
        }
        Value {
            name: v.name,
            published_ms: v.published_ms,
            count: v.unit.zip(v.count).map(|(unit, mark)| Count {
                unit,
                mark,
                published: v.published,
            }),
            case: v.case,
            minus: v.minus,
            from: v.from.unwrap_or_else(|| begin.to_owned()),
            to: v.to,
            baseline,
            partial: v.partial,
            load_bytes_per_s: v.load_bytes_per_s,
        }
    });
    Ok(Classic {
        id: id.to_owned(),
        digest: digest(text).map_err(wrong)?,
        values: values.collect(),
        title: file.title,
        source: file.source,
        here: file.here,
        why: file.why,
        method,
    })
}

/// The digest of what decides the figures: a better text needs no new boot.
fn digest(text: &str) -> Result<String, toml::de::Error> {
    let mut file: Table = toml::from_str(text)?;
    for words in ["title", "source", "here", "why"] {
        file.remove(words);
    }
    let values = file.get_mut("value").and_then(|v| v.as_array_mut());
    for value in values.into_iter().flatten() {
        for published in ["published_ms", "published", "partial"] {
            value.as_table_mut().and_then(|v| v.remove(published));
        }
    }
    // Tables are kept by the order of their keys.
    Ok(hash_bytes(file.to_string().as_bytes()))
}

fn treatments(texts: &[String]) -> Result<Vec<FileTreatment>, String> {
    let all = texts.iter().map(|t| FileTreatment::parse(t));
    all.collect::<Result<_, _>>().map_err(|e| e.to_string())
}

/// A command line with what is done to it, word by word.
fn treated(words: Vec<String>, treatments: &[String]) -> Result<Vec<String>, String> {
    if treatments.is_empty() {
        return Ok(words);
    }
    let mut spec = BootSpec {
        cmdline: CommandLine::parse(&words.join(" ")).map_err(|e| e.to_string())?,
        ..BootSpec::default()
    };
    for text in treatments {
        let treatment = Treatment::parse(text).map_err(|e| e.to_string())?;
        let (after, _) = treatment.apply(&spec).map_err(|e| e.to_string())?;
        let only = BootSpec {
            cmdline: after.cmdline.clone(),
            ..BootSpec::default()
        };
        if after.cmdline == spec.cmdline || after != only {
            return Err(format!("`{text}` does not change this command line"));
        }
        spec = after;
    }
    Ok(spec.cmdline.words().to_vec())
}

fn image_of(image: ImageFile, folder: &Path) -> Result<Image, String> {
    image.tree.check()?;
    Ok(Image {
        name: image.name,
        treatments: treatments(&image.treatments)?,
        from: match (image.form, image.file) {
            (Some(form), None) => ImageFrom::Made {
                form: Form::parse(&form)?,
                tree: image.tree,
                mib: image.mib,
            },
            (None, Some(path)) => {
                let path = folder.join(path);
                let bytes = read(&path).map_err(|e| e.to_string())?;
                ImageFrom::File(HashedFile::of(path, &bytes))
            }
            _ => return Err("an image needs either `form` or `file`".into()),
        },
    })
}

/// A case: what it says itself counts, then what all share.
pub(crate) fn workload(
    shared: &Table,
    case: &Table,
    folder: &Path,
) -> Result<(String, Workload), String> {
    let mut all = shared.clone();
    all.extend(case.clone());
    let Some(toml::Value::String(name)) = all.remove("name") else {
        return Err("a case needs a `name`".into());
    };
    let file: WorkloadFile = all
        .try_into()
        .map_err(|e: toml::de::Error| e.message().to_owned())?;
    if file.ide_disks > 4 || file.ide_disks > 0 && file.board != Board::Pc {
        return Err(
            "`ide_disks` is at most 4, and only the board `pc` has an interface for them".into(),
        );
    }
    let images = file.image.into_iter().map(|mut image| {
        if image.tree.root {
            image.tree.treatments.extend(file.root_treatments.clone());
        }
        image_of(image, folder)
    });
    let workload = Workload {
        images: images.collect::<Result<_, String>>()?,
        board: file.board,
        memory_mb: file.memory_mb,
        cpu_shift: file.cpu_shift,
        cmdline: treated(file.cmdline, &file.treatments)?,
        kernel: KernelConfig {
            lines: file.kernel,
            initramfs: None,
        },
        built_in: file.built_in,
        unpacked: file.unpacked,
        modules: file.modules,
        carried: file.carried,
        initramfs: treatments(&file.initramfs)?,
        storage: file.storage,
        ide_disks: file.ide_disks,
        root: file.root,
        script: format!("{}{}", file.prelude, file.script),
        limit_wall_s: file.limit_wall_s,
    };
    Ok((name, workload))
}

#[cfg(test)]
mod tests {
    use super::{parse, treated};
    use crate::classics::Method;
    use std::path::Path;

    #[test]
    fn a_command_line_is_treated_and_what_changes_nothing_is_refused() {
        let words = || vec!["quiet".to_owned(), "ubi.mtd=1".to_owned()];
        let of = |t: &str| treated(words(), &[t.to_owned()]);
        assert_eq!(
            of("ubi-fastmap=on").unwrap(),
            ["quiet", "ubi.mtd=1,0,0,0,1", "ubi.fm_autoconvert=1"]
        );
        for wrong in ["cmdline+=quiet", "kernel=uncompressed", "x=y"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(treated(words(), &[]).unwrap(), words());
    }

    #[test]
    fn ide_disks_fit_the_board() {
        for (board, disks, is_right) in [("pc", 4, true), ("pc", 5, false), ("arm-virt", 1, false)]
        {
            let text = format!("board = \"{board}\"\nmemory_mb = 64\nide_disks = {disks}");
            let shared = text.parse().unwrap();
            let case = "name = \"x\"".parse().unwrap();
            let made = super::workload(&shared, &case, Path::new(""));
            assert_eq!(made.is_ok(), is_right, "{board} {disks}: {made:?}");
        }
    }

    #[test]
    fn a_case_treats_the_roots_of_its_images() {
        let text = "firstlight_classic = 1\ntitle = \"\"\nsource = \"\"\nhere = \"\"\nwhy = \"\"\n\
            [workload]\nboard = \"pc\"\nmemory_mb = 9\n\
            image = [{ name = \"a\", form = \"ext4\", tree = { root = true } }, \
            { name = \"b\", form = \"ext4\" }]\n\
            [[case]]\nname = \"x\"\nroot_treatments = [\"start-script=one\"]\n\
            [[value]]\nname = \"v\"\ncase = \"x\"\n";
        let classic = parse("t", text, Path::new("")).unwrap();
        assert_eq!(classic.values[0].from, "begin");
        let Method::Workload { cases, .. } = classic.method else {
            panic!("a workload");
        };
        let trees: Vec<_> = cases[0]
            .1
            .images
            .iter()
            .map(|i| format!("{:?}", i.from))
            .collect();
        assert!(trees[0].contains("start-script=one"), "{}", trees[0]);
        assert!(!trees[1].contains("start-script=one"), "{}", trees[1]);
        let wrong = text.replace("start-script=one", "x=y");
        assert!(parse("t", &wrong, Path::new("")).is_err());
    }
}
