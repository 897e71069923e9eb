//! The shape of a board's file.

use serde::Deserialize;
use std::path::PathBuf;
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub firstlight_board: Spanned<u32>,
    pub name: Option<Spanned<String>>,
    pub adapter: Option<Spanned<String>>,
    pub lock: Option<PathBuf>,
    pub power: Option<Spanned<PowerFile>>,
    pub console: Option<Spanned<ConsoleFile>>,
    pub labgrid: Option<Spanned<LabgridFile>>,
    pub lava: Option<Spanned<LavaFile>>,
    pub boot: Spanned<BootFile>,
    pub proof: Spanned<ProofFile>,
    #[serde(default)]
    pub deploy: DeployFile,
    pub state: Option<StateFile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerFile {
    pub on: Option<Spanned<String>>,
    pub off: Option<Spanned<String>>,
    pub cycle: Option<Spanned<String>>,
    pub seen: Option<Spanned<String>>,
    pub off_s: Option<Spanned<f64>>,
    pub limit_s: Option<Spanned<f64>>,
    pub tries: Option<Spanned<u32>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsoleFile {
    pub port: Option<Spanned<String>>,
    pub exec: Option<Spanned<String>>,
    pub baud: Option<Spanned<u32>>,
    pub wait_s: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabgridFile {
    pub place: Spanned<String>,
    pub coordinator: Option<String>,
    pub python: Option<String>,
    pub limit_s: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LavaFile {
    pub job: Spanned<PathBuf>,
    pub run: Spanned<String>,
    pub limit_s: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootFile {
    pub first_light: Spanned<String>,
    pub loader: Option<Spanned<String>>,
    pub panic: Option<Vec<Spanned<String>>>,
    pub fallback: Option<Spanned<String>>,
    pub resets: Option<u32>,
    pub limit_s: Option<Spanned<f64>>,
    pub silence_s: Option<Spanned<f64>>,
    pub light_error_s: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateFile {
    pub command: Spanned<String>,
    pub limit_s: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofFile {
    pub by: Spanned<String>,
    pub pattern: Option<Spanned<String>>,
    pub command: Option<Spanned<String>>,
    pub limit_s: Option<Spanned<f64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeployFile {
    pub files: Option<PathBuf>,
    pub mount: Option<Spanned<String>>,
    pub unmount: Option<Spanned<String>>,
    pub run: Option<Spanned<String>>,
    pub restore: Option<Spanned<String>>,
    pub recover: Option<Spanned<String>>,
    pub power: Option<Spanned<String>>,
    pub limit_s: Option<Spanned<f64>>,
    pub most: Option<u64>,
}
