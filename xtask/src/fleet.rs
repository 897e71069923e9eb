//! The tests of the Python package for fleets: a virtual environment, pip, pytest.
//!
//! What cannot be installed is skipped, and said.

use crate::root;
use crate::runner::{self, Summary};
use crate::venv::{self, pip, quiet, text};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The package's folder.
const PACKAGE: &str = "python/firstlight_fleet";

/// What Spark reads Delta tables with.
const DELTA: &str = "\
<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <modelVersion>4.0.0</modelVersion>
  <groupId>firstlight</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>io.delta</groupId><artifactId>delta-spark_2.13</artifactId><version>4.4.0</version>
  </dependency></dependencies>
</project>
";

/// The long form of the test that kills an ingest: `./x test fleet -- --kills 200`.
const KILLS: &str = "--kills";

/// Runs the tests that have one of `filter` in their names; all if it is empty. With
/// `--kills N` in it, an ingest is killed N times, and no other test runs.
///
/// # Errors
/// If the program cannot be built or pytest cannot be started.
pub fn test(filter: &[String]) -> Result<Summary> {
    let (kills, filter) = match filter {
        [option, kills] if option == KILLS => (Some(kills), vec!["killed".to_owned()]),
        filter => (None, filter.to_vec()),
    };
    let python = match installed() {
        Ok(python) => python,
        Err(why) => {
            return Ok(Summary {
                skipped: vec![format!("fleet: {why}")],
                ..Summary::default()
            });
        }
    };
    let jars = spark(&python);
    runner::build_programs()?;

    let firstlight = root().join("target/debug/firstlight");
    let mut pytest = Command::new(&python);
    pytest
        .args(["-m", "pytest", "-q", "-rfEs", "--color=no"])
        .current_dir(root().join(PACKAGE))
        .env("FIRSTLIGHT", firstlight)
        .stdin(Stdio::null());
    if let Ok(jars) = &jars {
        pytest.env("FIRSTLIGHT_DELTA_JAR_DIR", jars);
    }
    if let Some(kills) = kills {
        pytest.env("FIRSTLIGHT_KILLS", kills);
    }
    if !filter.is_empty() {
        pytest.args(["-k", &filter.join(" or ")]);
    }
    let output = pytest.output().context("pytest could not be started")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut summary = read(&said);
    if !output.status.success() {
        eprintln!("{said}\n{}", String::from_utf8_lossy(&output.stderr));
        if summary.failed.is_empty() {
            summary
                .failed
                .push(format!("fleet: pytest: {}", output.status));
        }
    }
    if let Err(why) = jars {
        summary.skipped.push(format!("fleet: Spark: {why}"));
    }
    Ok(summary)
}

/// The Python of an environment that has the package and what its tests need, or why there
/// is none.
///
/// # Errors
/// If it cannot be made.
pub fn installed() -> Result<PathBuf, &'static str> {
    venv::with("fleet", &format!("{PACKAGE}[test]"))
}

/// The folder with the jars of Delta for Spark, after PySpark is installed.
fn spark(python: &Path) -> Result<PathBuf, &'static str> {
    if std::env::var_os("FIRSTLIGHT_NO_SPARK").is_some() {
        return Err("FIRSTLIGHT_NO_SPARK is set");
    }
    if !quiet("java", &["-version"]) {
        return Err("there is no java");
    }
    if !pip(python, &format!("{PACKAGE}[spark]")) {
        return Err("pip cannot install PySpark");
    }
    let jars = root().join("target/fleet/jars");
    if jars.join("done").is_file() {
        return Ok(jars);
    }
    let project = root().join("target/fleet/pom.xml");
    std::fs::write(&project, DELTA).map_err(|_| "target/fleet cannot be written")?;
    let fetched = quiet(
        "mvn",
        &[
            "--quiet",
            "--batch-mode",
            "--file",
            &text(&project),
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
            "-DincludeGroupIds=io.delta,io.unitycatalog",
            &format!("-DoutputDirectory={}", text(&jars)),
        ],
    );
    match fetched && std::fs::write(jars.join("done"), "").is_ok() {
        true => Ok(jars),
        false => Err("Maven cannot fetch delta-spark"),
    }
}

/// What came of the tests, by what pytest prints at its end.
fn read(said: &str) -> Summary {
    let mut summary = Summary::default();
    for line in said.lines() {
        if let Some(rest) = line.strip_prefix("SKIPPED ") {
            let reason = rest.split_once("] ").map_or(rest, |(_, reason)| reason);
            summary.skipped.push(format!("fleet: {reason}"));
        } else if let Some(test) = line
            .strip_prefix("FAILED ")
            .or_else(|| line.strip_prefix("ERROR "))
        {
            let name = test.split(" - ").next().unwrap_or(test);
            summary.failed.push(format!("fleet: {name}"));
        } else if let Some((before, _)) = line.split_once(" passed")
            && let Some(count) = before.split([' ', ',']).next_back()
        {
            summary.passed = count.parse().unwrap_or(0);
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_end_of_pytest_is_read() {
        let said = "..s.F\n\
            SKIPPED [1] tests/test_spark.py:30: there is no java\n\
            FAILED tests/test_s3.py::test_writers - AssertionError: x\n\
            1 failed, 41 passed, 1 skipped in 9.32s\n";
        let summary = read(said);
        assert_eq!(summary.passed, 41);
        assert_eq!(summary.failed, ["fleet: tests/test_s3.py::test_writers"]);
        assert_eq!(
            summary.skipped,
            ["fleet: tests/test_spark.py:30: there is no java"]
        );
    }
}
