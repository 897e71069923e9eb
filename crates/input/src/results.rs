//! Results of `firstlight lab run`, as far as variants are compared in them.

use crate::error::{On, Result, refuse};
use analysis::{SideChange, Verdict};
use record::Nanos;
use serde_json::Value;
use std::path::Path;

/// The files of results in an output folder: of a board, of the lab.
const FILES: [&str; 2] = ["board.json", "result.json"];

/// The formats of these files.
const SCHEMAS: [&str; 2] = ["firstlight.lab.board/1", "firstlight.lab/1"];

/// The result of a search, and its format.
const TUNED: (&str, &str) = ("tune.json", "firstlight.tune/1");

/// What a run says of its variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// `virtual` or `wall`.
    pub clock: String,
    /// The board's name, if a board booted.
    pub board: Option<String>,
    /// What each variant changes.
    pub changes: Vec<(String, SideChange)>,
}

/// Reads the results in an output folder of `firstlight lab run`, or in one of its files.
///
/// # Errors
/// If there are none, or they are of another format.
pub fn results(path: &Path) -> Result<Results> {
    let file = match path.is_dir() {
        false => path.to_owned(),
        true => {
            let mut files = FILES.iter().map(|name| path.join(name));
            match files.find(|file| file.is_file()) {
                Some(file) => file,
                None => refuse!(
                    "{}: has no board.json or result.json; name the output folder of `firstlight \
                     lab run`",
                    path.display()
                ),
            }
        }
    };
    let name = file.display();
    let text = std::fs::read_to_string(&file).on(|| format!("{name}: cannot be read"))?;
    let run: Value = serde_json::from_str(&text).on(|| format!("{name}: is not JSON"))?;
    let schema = run
        .get("schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !SCHEMAS.contains(&schema) {
        refuse!(
            "{name}: expected the schema {} or {}, found `{schema}`; name a result of `firstlight \
             lab run`",
            SCHEMAS[0],
            SCHEMAS[1]
        );
    }
    match of(&run) {
        Some(results) => Ok(results),
        None => refuse!("{name}: lacks the baseline's first light; run the experiment again"),
    }
}

/// What treatments save in virtual time, as a search in the lab found: `tune.json` in the output
/// folder of `firstlight tune`, or that file. `None`: there is none.
///
/// # Errors
/// It is of another format, or of a board.
pub fn shares(path: &Path) -> Result<Option<Vec<(String, Nanos)>>> {
    let file = match path.is_dir() {
        true => path.join(TUNED.0),
        false => path.to_owned(),
    };
    if !file.is_file() || file.file_name() != Path::new(TUNED.0).file_name() {
        return Ok(None);
    }
    let name = file.display();
    let text = std::fs::read_to_string(&file).on(|| format!("{name}: cannot be read"))?;
    let found: Value = serde_json::from_str(&text).on(|| format!("{name}: is not JSON"))?;
    let is = |key: &str, value: &str| found.get(key).and_then(Value::as_str) == Some(value);
    if !is("schema", TUNED.1) || !is("clock", "virtual") {
        refuse!(
            "{name}: expected a search in the lab (schema {}, virtual time); name its output folder",
            TUNED.1
        );
    }
    let list = |key: &str| {
        found
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let text = |row: &Value, key: &str| Some(row.get(key)?.as_str()?.to_owned());
    let kept = list("kept").filter_map(|row| {
        let share = row.get("share_ns").and_then(Value::as_i64)?;
        Some((text(row, "treatment")?, Nanos(share)))
    });
    let dropped = list("dropped").filter_map(|row| {
        // Of what was not tried nothing is known.
        let was_tried = !text(row, "why")?.starts_with("not tried");
        was_tried.then_some((text(row, "treatment")?, Nanos::ZERO))
    });
    Ok(Some(kept.chain(dropped).collect()))
}

fn of(run: &Value) -> Option<Results> {
    let text = |key: &str| Some(run.get(key)?.as_str()?.to_owned());
    let name = text("baseline")?;
    let variants = run.get("variants")?.as_array()?;
    let baseline = variants
        .iter()
        .find(|v| v.get("variant").and_then(Value::as_str) == Some(&*name))?;
    let median = match run.get("basis").and_then(Value::as_str) {
        Some(basis) => baseline.get(basis)?.get("median_ns")?,
        None => baseline.get("median_ns")?,
    };
    let baseline = Nanos(median.as_i64()?);
    let compared = run.get("comparison")?.as_array()?.iter();
    let changes = compared.filter_map(|row| {
        let interval = row.get("interval_ns").and_then(Value::as_array);
        let ends = interval.and_then(|i| Some((i.first()?.as_i64()?, i.get(1)?.as_i64()?)));
        Some((
            row.get("variant")?.as_str()?.to_owned(),
            SideChange {
                baseline,
                delta: Nanos(row.get("delta_ns")?.as_i64()?),
                interval: ends.map(|(low, high)| (Nanos(low), Nanos(high))),
                verdict: match row.get("verdict")?.as_str()? {
                    "faster" => Some(Verdict::Faster),
                    "slower" => Some(Verdict::Slower),
                    "no_difference" => Some(Verdict::NoDifference),
                    _ => None,
                },
            },
        ))
    });
    Some(Results {
        clock: text("clock")?,
        board: text("board"),
        changes: changes.collect(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn shares_of_a_search_in_the_lab_are_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(shares(folder.path()).unwrap(), None);
        let write = |clock: &str| {
            let text = format!(
                r#"{{"schema":"firstlight.tune/1","clock":"{clock}",
                    "kept":[{{"treatment":"cmdline+=quiet","share_ns":500}},
                            {{"treatment":"mask=a.service","share_ns":null}}],
                    "dropped":[{{"treatment":"cmdline+=x","why":"no effect: none"}},
                               {{"treatment":"cmdline+=y","why":"not tried: it weakens"}}]}}"#
            );
            std::fs::write(folder.path().join("tune.json"), text).unwrap();
        };
        write("virtual");
        let found = shares(folder.path()).unwrap().unwrap();
        let wanted = [("cmdline+=quiet", 500), ("cmdline+=x", 0)];
        assert_eq!(found, wanted.map(|(t, ns)| (t.to_owned(), Nanos(ns))));
        write("wall");
        let said = shares(folder.path()).unwrap_err().to_string();
        assert!(said.contains("virtual time"), "{said}");
    }

    #[test]
    fn results_of_the_lab_and_of_a_board_are_read_alike() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write(
            "result.json",
            r#"{"schema":"firstlight.lab/1","clock":"virtual","baseline":"baseline",
                "variants":[{"variant":"baseline","median_ns":1000}],
                "comparison":[{"variant":"quiet","delta_ns":-100,"interval_ns":null,
                               "verdict":"faster"}]}"#,
        )
        .unwrap();
        let lab = results(folder.path()).unwrap();
        assert_eq!((lab.clock.as_str(), lab.board.as_ref()), ("virtual", None));
        assert_eq!(lab.changes[0].1.interval, None);
        write(
            "board.json",
            r#"{"schema":"firstlight.lab.board/1","clock":"wall","baseline":"baseline",
                "board":"bench","basis":"loader",
                "variants":[{"variant":"baseline","loader":{"median_ns":5000}}],
                "comparison":[{"variant":"quiet","delta_ns":-400,"interval_ns":[-500,-300],
                               "verdict":"undecided"}]}"#,
        )
        .unwrap();
        let board = results(folder.path()).unwrap();
        assert_eq!(board.board.as_deref(), Some("bench"));
        let (name, change) = &board.changes[0];
        assert_eq!((name.as_str(), change.baseline), ("quiet", Nanos(5_000)));
        assert_eq!(change.verdict, None);
        assert_eq!(change.interval, Some((Nanos(-500), Nanos(-300))));
        write("board.json", r#"{"schema":"firstlight.show/1"}"#).unwrap();
        let said = results(folder.path()).unwrap_err().to_string();
        assert!(said.contains("expected the schema"), "{said}");
    }
}
