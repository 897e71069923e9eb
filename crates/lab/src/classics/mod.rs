//! The classics: results that boot-time engineers have cited for years, each as
//! an experiment that anyone can run again.
//!
//! A file of `experiments/classics/` holds the published table with its source,
//! how it is measured here, and why the two differ where they do. The files are
//! part of the program. A figure far from the published one is kept and
//! explained, never tuned.

mod classic;
mod file;
mod run;

pub use classic::{Basis, Classic, Count, Method, Value};
pub(crate) use file::{parse, workload};
pub(crate) use run::run_case;
pub use run::{Counted, Report, ReportValue, run};

use crate::error::LabError;
use std::path::Path;

/// A file of `experiments/classics/`, which `classics` leads to, so that the package has it.
macro_rules! classic {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/classics/",
                $name,
                ".toml"
            )),
        )
    };
}
/// The files, by their names.
const FILES: &[(&str, &str)] = &[
    classic!("root-filesystems"),
    classic!("log-replay"),
    classic!("several-filesystems"),
    classic!("jffs2-mount"),
    classic!("jffs2-first-mount"),
    classic!("jffs2-first-mount-nor"),
    classic!("ubi-attach"),
    classic!("ubi-fastmap-boot"),
    classic!("quiet"),
    classic!("lpj"),
    classic!("u-boot-load-address"),
    classic!("u-boot-verify"),
    classic!("u-boot-exact-size"),
    classic!("nand-exact-size"),
    classic!("u-boot-script"),
    classic!("u-boot-bootdelay"),
    classic!("kernel-compression"),
    classic!("initramfs-in-kernel"),
    classic!("optimize-for-size"),
    classic!("udev"),
    classic!("modules"),
    classic!("forks"),
    classic!("processes-of-a-shell"),
    classic!("shell-paths"),
    classic!("start-scripts"),
    classic!("splash"),
    classic!("splash-early"),
    classic!("splash-from-storage"),
    classic!("section-headers"),
    classic!("cut-library"),
    classic!("late-modules-beside"),
    classic!("function-trace"),
    classic!("empty-ports"),
    classic!("ide-disk"),
    classic!("removing-files"),
    classic!("inline-data"),
    classic!("merged-metadata"),
    classic!("writes-starve-reads"),
    classic!("placing-files"),
    classic!("aged-filesystem"),
];

/// All of them, in the order of the files.
///
/// # Errors
/// If a file is not what it should be.
pub fn classics() -> Result<Vec<Classic>, LabError> {
    let none = Path::new("");
    let all = FILES.iter().map(|(id, text)| file::parse(id, text, none));
    all.collect()
}

/// A file of the user's, in the same form. The images that it names are found from
/// its folder.
///
/// # Errors
/// If it cannot be read, or is not what it should be.
pub fn of_file(path: &Path) -> Result<Classic, LabError> {
    let text = std::fs::read_to_string(path).map_err(|source| LabError::ReadExperiment {
        path: path.to_owned(),
        source,
    })?;
    let id = path.file_stem().unwrap_or_default().to_string_lossy();
    file::parse(&id, &text, path.parent().unwrap_or(Path::new("")))
}

#[cfg(test)]
mod tests {
    use super::{Basis, Method, classics};

    #[test]
    fn every_file_is_understood_and_every_figure_has_a_case() {
        let all = classics().unwrap();
        for classic in &all {
            assert!(!classic.source.is_empty() && !classic.why.is_empty());
            assert!(
                classic.values.iter().any(|v| v.case.is_some()),
                "{}",
                classic.id
            );
            let cases: Vec<&str> = match &classic.method {
                Method::Workload { cases, .. } => cases.iter().map(|c| c.0.as_str()).collect(),
                Method::Experiment(e) => e.variants.iter().map(|v| v.name.as_str()).collect(),
            };
            let is_modeled = |v: &super::Value| classic.basis(v, false) == Basis::Modeled;
            let modeled = match classic.id.as_str() {
                "root-filesystems" | "quiet" | "initramfs-in-kernel" | "modules" => {
                    classic.values.iter().all(is_modeled)
                }
                "kernel-compression" | "optimize-for-size" => classic
                    .values
                    .iter()
                    .all(|v| is_modeled(v) == (v.from == "reset")),
                _ => !classic.values.iter().any(is_modeled),
            };
            assert!(modeled, "{}", classic.id);
            for value in &classic.values {
                for case in [&value.case, &value.minus].into_iter().flatten() {
                    assert!(cases.contains(&case.as_str()), "{}: {case}", classic.id);
                }
            }
        }
        let mut ids: Vec<_> = all.iter().map(|c| &c.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), all.len());
    }
}
