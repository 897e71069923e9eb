//! The shape of a classic's file.

use super::classic::{Classic, Count, Method, Value};
use crate::artifacts::{Form, KernelConfig, Tree};
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::files::{HashedFile, read};
use crate::workload::{Board, Image, ImageFrom, RootOn, Workload};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::{Spanned, Table};
use treat::FileTreatment;

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
    #[serde(default = "begin")]
    from: String,
    #[serde(default = "done")]
    to: String,
    /// Whether the ratios of those after it are to this one.
    #[serde(default)]
    baseline: bool,
    /// What is not the same as in the published measurement.
    partial: Option<String>,
}

impl ValueFile {
    /// Whether it is neither a time nor a count.
    fn is_half_counted(&self) -> bool {
        let is_time = self.published_ms.is_some() || self.from != begin() || self.to != done();
        match (&self.unit, &self.count) {
            (Some(_), Some(_)) => is_time,
            (None, None) => self.published.is_some(),
            _ => true,
        }
    }
}

fn begin() -> String {
    "begin".into()
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
    #[serde(default)]
    initramfs: Vec<String>,
    #[serde(default)]
    storage: Vec<String>,
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
                cases
                    .push(workload(&shared, case.get_ref(), folder).map_err(|why| at(start, why))?);
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
            from: v.from,
            to: v.to,
            baseline,
            partial: v.partial,
        }
    });
    Ok(Classic {
        id: id.to_owned(),
        values: values.collect(),
        title: file.title,
        source: file.source,
        here: file.here,
        why: file.why,
        method,
    })
}

fn treatments(texts: &[String]) -> Result<Vec<FileTreatment>, String> {
    let all = texts.iter().map(|t| FileTreatment::parse(t));
    all.collect::<Result<_, _>>().map_err(|e| e.to_string())
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
    let images = file.image.into_iter().map(|image| image_of(image, folder));
    let workload = Workload {
        images: images.collect::<Result<_, String>>()?,
        board: file.board,
        memory_mb: file.memory_mb,
        cpu_shift: file.cpu_shift,
        cmdline: file.cmdline,
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
        root: file.root,
        script: format!("{}{}", file.prelude, file.script),
        limit_wall_s: file.limit_wall_s,
    };
    Ok((name, workload))
}
