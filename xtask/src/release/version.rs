//! The version, from one place: `[workspace.package]` in `Cargo.toml`.

use super::files::quietly;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Which source a release is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// As in `0.1.0`.
    pub number: String,
    /// The commit, in full.
    pub commit: String,
    /// Seconds since 1970 of the commit, or `SOURCE_DATE_EPOCH`.
    pub epoch: u64,
}

impl Version {
    /// Reads it from a checkout.
    ///
    /// # Errors
    /// If the packages do not agree on the version, or it is no checkout of git.
    pub fn read(source: &Path) -> Result<Self> {
        let metadata = quietly(Command::new("cargo").current_dir(source).args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
        ]))?;
        let metadata: Value = serde_json::from_slice(&metadata).context("cargo metadata")?;
        let number = agreed(&metadata)?;
        let git = |args: &[&str]| -> Result<String> {
            let out = quietly(Command::new("git").current_dir(source).args(args))?;
            Ok(String::from_utf8_lossy(&out).trim().to_owned())
        };
        let commit = match std::env::var("FIRSTLIGHT_COMMIT") {
            Ok(commit) => commit,
            Err(_) => git(&["rev-parse", "HEAD"])
                .context("without git, set FIRSTLIGHT_COMMIT and SOURCE_DATE_EPOCH")?,
        };
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => epoch,
            Err(_) => git(&["log", "-1", "--format=%ct"])?,
        };
        let epoch = epoch
            .parse()
            .with_context(|| format!("SOURCE_DATE_EPOCH is '{epoch}'; expected seconds"))?;
        Ok(Self {
            number,
            commit,
            epoch,
        })
    }

    /// How many files of the checkout are not as in the commit.
    pub(super) fn changed(&self, source: &Path) -> Result<usize> {
        let names = quietly(Command::new("git").current_dir(source).args([
            "diff",
            "--name-only",
            &self.commit,
        ]))?;
        Ok(String::from_utf8_lossy(&names).lines().count())
    }
}

/// The version that all published packages have, and that they ask of one another.
fn agreed(metadata: &Value) -> Result<String> {
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let published: Vec<&Value> = packages
        .iter()
        .filter(|p| p["publish"] != Value::Array(Vec::new()))
        .collect();
    let mut number: Option<&str> = None;
    for package in &published {
        let own = package["version"].as_str().unwrap_or_default();
        let name = package["name"].as_str().unwrap_or_default();
        match number {
            Some(n) if n != own => bail!("{name} has version {own}, and others have {n}"),
            _ => number = Some(own),
        }
    }
    let number = number.context("the workspace has no package to publish")?;
    for package in &published {
        let asks = package["dependencies"].as_array().cloned();
        for asked in asks.unwrap_or_default() {
            let required = asked["req"].as_str().unwrap_or_default();
            let is_ours = asked["path"].is_string();
            // Tests may use a room by its path alone.
            if is_ours && required != "*" && required != format!("^{number}") {
                bail!(
                    "{} asks for {} {required}, and the workspace has {number}; change \
                     [workspace.dependencies] in Cargo.toml",
                    package["name"],
                    asked["name"]
                );
            }
        }
    }
    Ok(number.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Version, agreed};
    use serde_json::json;

    #[test]
    fn this_workspace_has_one_version() {
        let version = Version::read(&crate::root()).unwrap();
        assert!(version.number.split('.').count() >= 3, "{version:?}");
        assert!(version.epoch > 1_700_000_000);
    }

    #[test]
    fn a_package_that_lags_behind_is_named() {
        let package = |name, version, asks| {
            json!({"name": name, "version": version, "publish": null,
                   "dependencies": [{"name": "b", "req": asks, "path": "/x"}]})
        };
        let one = json!({"packages": [package("a", "0.2.0", "^0.1.0")]});
        assert!(agreed(&one).unwrap_err().to_string().contains("^0.1.0"));
        let two =
            json!({"packages": [package("a", "0.2.0", "^0.2.0"), package("b", "0.1.0", "^0.2.0")]});
        assert!(
            agreed(&two)
                .unwrap_err()
                .to_string()
                .contains("others have 0.2.0")
        );
    }
}
