//! The shape of the experiment file.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub firstlight_experiment: toml::Spanned<u32>,
    pub base: BaseFile,
    #[serde(default)]
    pub variant: Vec<toml::Spanned<VariantFile>>,
    #[serde(default)]
    pub factor: BTreeMap<String, toml::Spanned<Factor>>,
}

/// The levels of a factor, each with its treatments.
pub type Factor = BTreeMap<String, Vec<toml::Spanned<String>>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaseFile {
    pub machine: toml::Spanned<String>,
    pub mode: Option<toml::Spanned<String>>,
    pub warm_up: Option<toml::Spanned<u32>>,
    pub seed: Option<toml::Spanned<u64>>,
    pub arch: Option<toml::Spanned<String>>,
    pub loader: Option<toml::Spanned<String>>,
    #[serde(default)]
    pub environment: Option<toml::Spanned<BTreeMap<String, String>>>,
    pub replay: Option<toml::Spanned<PathBuf>>,
    pub board: Option<toml::Spanned<PathBuf>>,
    /// The least difference that counts in real time, as a part of the baseline.
    pub minimum_effect: Option<toml::Spanned<f64>>,
    /// How many rounds of two baselines a board does first.
    pub scatter_rounds: Option<toml::Spanned<u32>>,
    pub memory_mb: Option<toml::Spanned<u32>>,
    pub cpu_shift: Option<toml::Spanned<u8>>,
    pub storage: Option<toml::Spanned<String>>,
    pub kernel: Option<toml::Spanned<String>>,
    pub modules: Option<toml::Spanned<PathBuf>>,
    pub device_tree: Option<toml::Spanned<PathBuf>>,
    pub kernel_config: Option<toml::Spanned<Vec<String>>>,
    /// What is on the machine's bus beside its own devices.
    #[serde(default)]
    pub devices: Vec<toml::Spanned<String>>,
    pub root: Option<toml::Spanned<RootFile>>,
    #[serde(default)]
    pub cmdline: Vec<toml::Spanned<String>>,
    /// What the baseline has as well.
    #[serde(default)]
    pub treatments: Vec<toml::Spanned<String>>,
    pub first_light: Option<toml::Spanned<String>>,
    #[serde(default)]
    pub record: Vec<toml::Spanned<String>>,
    pub limit_virtual_s: Option<u32>,
    #[serde(default = "limit_wall_s")]
    pub limit_wall_s: u32,
    pub ensemble: Option<NonZeroU32>,
}

/// Where the root comes from: a word or a path, or a folder and what is made of it.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected `none`, `debian-minimal`, a path, or { tree = \"FOLDER\", filesystem = \"ext4\" }"
)]
pub enum RootFile {
    Name(String),
    Tree {
        tree: PathBuf,
        filesystem: String,
        #[serde(default)]
        busybox: bool,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantFile {
    pub name: toml::Spanned<String>,
    pub treatments: Vec<toml::Spanned<String>>,
}

const fn limit_wall_s() -> u32 {
    600
}
