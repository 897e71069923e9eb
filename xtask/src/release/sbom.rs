//! The bill of materials in CycloneDX 1.5, <https://cyclonedx.org/docs/1.5/json/>.

use super::base::{Release, TARGET};
use super::files::quietly;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// A crate of others that is part of the program or of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Crate {
    pub name: String,
    pub version: String,
    /// An SPDX expression.
    pub license: String,
    pub repository: String,
    /// The SHA-256 of the package.
    pub checksum: String,
    /// Its unpacked folder.
    pub folder: PathBuf,
}

/// The crates that are linked, by name and version.
///
/// # Errors
/// If cargo cannot say.
pub(super) fn crates(release: &Release) -> Result<Vec<Crate>> {
    let cargo = |args: &[&str]| {
        quietly(
            Command::new("cargo")
                .current_dir(&release.source)
                .args(args),
        )
    };
    let metadata = cargo(&["metadata", "--locked", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_slice(&metadata).context("cargo metadata")?;
    // What is resolved for one program: metadata unites the features of all packages.
    let tree = cargo(&[
        "tree",
        "--locked",
        "--package",
        "firstlight",
        "--package",
        "firstlight-agent",
        "--target",
        TARGET,
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ])?;
    let tree = String::from_utf8_lossy(&tree);
    let linked: Vec<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let checksums = checksums(&std::fs::read_to_string(release.source.join("Cargo.lock"))?);
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let mut crates: Vec<Crate> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|p| p["source"].is_string())
        .filter_map(|p| {
            let (name, version) = (text(&p["name"]), text(&p["version"]));
            linked
                .contains(&(name.as_str(), version.as_str()))
                .then(|| Crate {
                    license: text(&p["license"]).replace('/', " OR "),
                    repository: text(&p["repository"]),
                    checksum: checksums
                        .get(&(name.clone(), version.clone()))
                        .cloned()
                        .unwrap_or_default(),
                    folder: PathBuf::from(text(&p["manifest_path"]))
                        .parent()
                        .map(PathBuf::from)
                        .unwrap_or_default(),
                    name,
                    version,
                })
        })
        .collect();
    crates.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(crates)
}

/// The checksums in `Cargo.lock`, by name and version.
pub(super) fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut all = BTreeMap::new();
    for block in lock.split("[[package]]") {
        let value = |key: &str| {
            block.lines().find_map(|line| {
                let (k, v) = line.split_once(" = ")?;
                (k == key).then(|| v.trim_matches('"').to_owned())
            })
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            all.insert((name, version), sum);
        }
    }
    all
}

/// The document. It holds no time but the commit's and no random serial number, so that
/// equal inputs give equal bytes.
pub(super) fn document(release: &Release, crates: &[Crate]) -> Result<String> {
    let version = &release.version;
    let reference = |name: &str, version: &str| format!("pkg:cargo/{name}@{version}");
    let components: Vec<Value> = crates
        .iter()
        .map(|c| {
            let mut component = json!({
                "type": "library",
                "bom-ref": reference(&c.name, &c.version),
                "name": c.name,
                "version": c.version,
                "scope": "required",
                "licenses": [{"expression": c.license}],
                "purl": reference(&c.name, &c.version),
            });
            if !c.checksum.is_empty() {
                component["hashes"] = json!([{"alg": "SHA-256", "content": c.checksum}]);
            }
            if !c.repository.is_empty() {
                component["externalReferences"] = json!([{"type": "vcs", "url": c.repository}]);
            }
            component
        })
        .collect();
    let own = reference("firstlight", &version.number);
    let date = date(version.epoch);
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": date,
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "firstlight",
                "version": version.number,
                "purl": own,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            },
        },
        "components": components,
        "dependencies": [{
            "ref": own,
            "dependsOn": crates.iter().map(|c| reference(&c.name, &c.version)).collect::<Vec<_>>(),
        }],
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Seconds since 1970 as RFC 3339 in UTC. The days are counted in the proleptic Gregorian
/// calendar in eras of 400 years.
fn date(epoch: u64) -> String {
    let (days, seconds) = (epoch / 86_400, epoch % 86_400);
    let from_march = days + 719_468;
    let (era, day) = (from_march / 146_097, from_march % 146_097);
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::{checksums, date};

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(1_795_528_999), "2026-11-24T14:03:19Z");
    }

    #[test]
    fn checksums_of_a_lock() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\
            checksum = \"ff\"\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let sums = checksums(lock);
        assert_eq!(sums.len(), 1);
        assert_eq!(sums[&("a".to_owned(), "1.0.0".to_owned())], "ff");
    }
}
