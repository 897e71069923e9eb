//! Output has the shapes that `schemas/` promises, and the schemas are strict.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod boots;

use boon::{Compiler, SchemaIndex, Schemas};
use firstlight_views::json;
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json as value};
use std::path::Path;

struct Schema {
    all: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn of(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        let file = root.join(format!("{name}.json"));
        let mut all = Schemas::new();
        let index = Compiler::new()
            .compile(&file.to_string_lossy(), &mut all)
            .unwrap_or_else(|e| panic!("{e:#}"));
        Self { all, index }
    }

    fn accepts(&self, value: &Value) -> bool {
        self.all.validate(value, self.index).is_ok()
    }

    /// `document`, which must fit.
    fn check(&self, document: &impl Serialize) -> Value {
        let value = serde_json::to_value(document).unwrap();
        if let Err(e) = self.all.validate(&value, self.index) {
            panic!("{e:#}");
        }
        value
    }

    /// Every key at every depth is needed and has one type, and no other key
    /// is let in.
    fn is_strict(&self, document: &Value) {
        for path in paths(document) {
            let mut without = document.clone();
            let (parent, key) = path.rsplit_once('/').unwrap();
            if let Some(Value::Object(map)) = without.pointer_mut(parent) {
                map.remove(key);
                assert!(!self.accepts(&without), "{path} may be missing");
                let mut more = document.clone();
                more.pointer_mut(parent).unwrap()["surplus"] = value!(1);
                assert!(!self.accepts(&more), "anything may stand beside {path}");
            }
            let mut other = document.clone();
            *other.pointer_mut(&path).unwrap() = value!({"another": "shape"});
            assert!(!self.accepts(&other), "{path} may be anything");
        }
    }
}

/// The files in `schemas/` are what the structs give. `FIRSTLIGHT_BLESS=1` rewrites them.
#[test]
fn files_are_generated_from_the_structs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let bless = std::env::var_os("FIRSTLIGHT_BLESS").is_some();
    for file in firstlight_views::schema_files() {
        let path = root.join(&file.name);
        if bless {
            // Other tests read the file meanwhile.
            let beside = path.with_extension("new");
            std::fs::write(&beside, &file.text).unwrap();
            std::fs::rename(&beside, &path).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == file.text,
            "schemas/{} differs from its struct; FIRSTLIGHT_BLESS=1 rewrites it",
            file.name
        );
    }
}

fn paths(document: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, out: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    let path = format!("{at}/{key}");
                    walk(inner, &path, out);
                    out.push(path);
                }
            }
            Value::Array(items) => {
                for (i, inner) in items.iter().enumerate() {
                    walk(inner, &format!("{at}/{i}"), out);
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(document, "", &mut out);
    out
}

#[test]
fn show() {
    let schema = Schema::of("show");
    let document = schema.check(&json::show(&boots::boot(&boots::base())));
    schema.is_strict(&document);
    for source in document["sources"].as_array().unwrap() {
        let of = |key: &str| source[key].as_u64().unwrap();
        assert_eq!(of("units"), of("events") + of("noted"));
    }
    schema.check(&json::show(&boots::boot(&boots::variant())));
    schema.check(&json::show(&boots::boot(&boots::record(""))));
}

#[test]
fn path() {
    let schema = Schema::of("path");
    for record in [boots::base(), boots::record("")] {
        let changes = analysis::Changes::default();
        let found = analysis::what_if(&record, &analysis::phases(&record), false, &changes);
        schema.check(&json::path(&found.unwrap()));
    }
}

#[test]
fn several_boots() {
    let schema = Schema::of("boots");
    let document = schema.check(&json::boots(&boots::several(true)));
    schema.is_strict(&document);
    schema.check(&json::boots(&boots::several(false)));
}

#[test]
fn gate() {
    let schema = Schema::of("gate");
    let document = schema.check(&json::gate(&boots::gate()));
    schema.is_strict(&document);
    assert_eq!(document["passed"], false);
}

#[test]
fn blame() {
    let schema = Schema::of("blame");
    let document = schema.check(&json::blame(&analysis::blame(&boots::base(), None, 0)));
    schema.is_strict(&document);
    let mut wrong = document;
    wrong["rows"][0]["kind"] = value!("thing");
    assert!(!schema.accepts(&wrong));
    let phases = analysis::blame(&boots::base(), Some(analysis::BlameKind::Phase), 0);
    schema.check(&json::blame(&phases));
}

#[test]
fn functions() {
    let record = boots::functions();
    let schema = Schema::of("blame.functions");
    let rows = analysis::functions(&record, analysis::FunctionOrder::Time, 0);
    schema.is_strict(&schema.check(&json::functions(&rows)));
    let schema = Schema::of("blame.calls");
    schema.is_strict(&schema.check(&json::calls(&analysis::calls(&record, 0))));
}

#[test]
fn diff() {
    let schema = Schema::of("diff");
    schema.is_strict(&schema.check(&json::diff(&boots::comparison())));
    let nothing = analysis::compare(&boots::record(""), &boots::base()).unwrap();
    schema.check(&json::diff(&nothing));
}

#[test]
fn lab_plan() {
    Schema::of("lab.plan").check(&json::lab_plan(&boots::lab_plan()));
}

#[test]
fn classics() {
    let schema = Schema::of("classics");
    let list = schema.check(&json::classics(&[boots::classic(&[])]));
    assert_eq!(list["rows"][0]["runs"], true);
    let lacking = json::classics(&[boots::classic(&["mkfs.x is missing"])]);
    assert_eq!(schema.check(&lacking)["rows"][0]["runs"], false);
    Schema::of("classics.result").check(&json::classics_result(&boots::classic_result()));
}

#[test]
fn findings_proof() {
    let schema = Schema::of("lab.findings");
    let proof = firstlight_views::FindingsProof {
        schema: "firstlight.lab.findings/1",
        systems: 2,
        clean: 1,
        kinds: 1,
        median_error_percent: Some(2.5),
        wrong_sign: 0,
        findings: vec![firstlight_views::ProvenFinding {
            experiment: "root-delay".to_owned(),
            finding: "root-delay".to_owned(),
            rank: 1,
            treatment: "cmdline-=rootdelay=2".to_owned(),
            by_hand: false,
            boot_ns: 3_000_000_000,
            expected_ns: 2_050_000_000,
            range_ns: [1_400_000_000, 2_050_000_000],
            proven_ns: 2_000_000_000,
            error_percent: Some(2.5),
        }],
        false_findings: vec![firstlight_views::ExpectedSaving {
            experiment: "clean".to_owned(),
            finding: "small-reads".to_owned(),
            title: "The boot reads many small pieces".to_owned(),
            expected_ns: 30_000_000,
            boot_ns: 1_000_000_000,
        }],
        failures: vec![firstlight_views::UnprovenCause {
            experiment: "lost".to_owned(),
            why: "never reached first light".to_owned(),
        }],
    };
    let document = schema.check(&proof);
    schema.is_strict(&document);
    let text = proof.markdown();
    let row = "| root-delay | root-delay | 1 | `cmdline-=rootdelay=2` | 3000.000 | 2050.000 | \
               1400.000 | 2050.000 | 2000.000 | +2.5 % |";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("1 false finding on 1 clean system"), "{text}");
    assert!(
        text.contains("Failed: lost: never reached first light."),
        "{text}"
    );
    // What has no proven saving has no error.
    let none = firstlight_views::FindingsProof {
        schema: "firstlight.lab.findings/1",
        ..firstlight_views::FindingsProof::default()
    };
    schema.check(&none);
}

#[test]
fn lab() {
    let schema = Schema::of("lab");
    let document = schema.check(&json::lab(&boots::experiment()));
    schema.is_strict(&document);
    let compared = document["comparison"].as_array().unwrap();
    let variants: Vec<&str> = compared
        .iter()
        .map(|c| c["variant"].as_str().unwrap())
        .collect();
    assert_eq!(variants, ["cryptomgr.notests", "slow", "quiet"]);
    schema.check(&json::lab(&boots::bare_experiment()));
}

#[test]
fn lab_board() {
    let schema = Schema::of("lab.board");
    let document = schema.check(&json::lab_board(&boots::board::report()));
    schema.is_strict(&document);
    let verdict = |name: &str| {
        let all = document["comparison"].as_array().unwrap();
        let one = all.iter().find(|c| c["variant"] == name);
        one.map(|c| c["verdict"].as_str().unwrap().to_owned())
    };
    assert_eq!(verdict("quiet").as_deref(), Some("faster"));
    assert_eq!(verdict("same").as_deref(), Some("no_difference"));
    assert_eq!(verdict("broken"), None);
    let void = document["trials"].as_array().unwrap().last().unwrap();
    assert_eq!(
        void["first_light_ns"],
        value!({"power_on": null, "loader": null})
    );
}

#[test]
fn lab_restore() {
    let schema = Schema::of("lab.restore");
    schema.is_strict(&schema.check(&json::LabRestore {
        schema: "firstlight.lab.restore/1",
        board: "bench".to_owned(),
        steps: vec!["`true` succeeded".to_owned()],
    }));
}

#[test]
fn doctor() {
    let schema = Schema::of("doctor");
    schema.is_strict(&schema.check(&json::doctor(&boots::checks())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Lines of a record in any order, or missing.
    #[test]
    fn every_record_fits(lines in Just(boots::BASE.lines().collect::<Vec<_>>()).prop_shuffle(), n in 0_usize..40) {
        let text: Vec<&str> = lines.into_iter().take(n).collect();
        let record = boots::record(&text.join("\n"));
        Schema::of("show").check(&json::show(&boots::boot(&record)));
        Schema::of("blame").check(&json::blame(&analysis::blame(&record, None, 0)));
        for width in [0, 61, 200] {
            let style = firstlight_views::terminal::Style { color: false, width };
            let screen = firstlight_views::terminal::show(&boots::boot(&record), &style);
            prop_assert!(screen.lines().all(|l| !l.ends_with(' ')));
        }
    }
}

#[test]
fn what_a_page_holds() {
    let (base, variant) = (boots::base(), boots::variant());
    let schema = Schema::of("page");
    let data = firstlight_views::html::data(&boots::page(&base, &variant));
    let data: Value = serde_json::from_str(&data).unwrap();
    let data = schema.check(&data);
    for key in data.as_object().unwrap().keys() {
        let mut without = data.clone();
        without.as_object_mut().unwrap().remove(key);
        assert!(!schema.accepts(&without), "without {key}");
    }
    let mut more = data;
    more["baseline"]["more"] = value!(1);
    assert!(!schema.accepts(&more));
}

#[test]
fn what_a_page_of_a_board_holds() {
    let (base, variant) = (boots::base(), boots::variant());
    let side = |baseline: i64, delta: i64| {
        let change = analysis::SideChange {
            baseline: record::Nanos(baseline),
            delta: record::Nanos(delta),
            interval: None,
            verdict: Some(analysis::Verdict::Faster),
        };
        vec![("quiet".to_owned(), change)]
    };
    let truth = analysis::truth(&side(1_000, -90), &side(4_000, -300));
    let mut page = boots::page(&base, &variant);
    page.experiment = None;
    page.board = Some(boots::board::report());
    page.truth = Some(firstlight_views::ForecastTruth::of("bench", &truth));
    let data: Value = serde_json::from_str(&firstlight_views::html::data(&page)).unwrap();
    let data = Schema::of("page").check(&data);
    assert_eq!(data["board"]["run"]["variants"][1]["variant"], "quiet");
    let says = data["board"]["says"].to_string();
    assert!(says.contains("Scatter of the baseline"), "{says}");
    let row = &data["truth"]["table"]["variants"][0];
    assert_eq!(row["forecast_percent"], -9.0);
    assert_eq!(row["board_percent"], -7.5);
    assert!(
        data["truth"]["says"].to_string().contains("0.83 times"),
        "{data}"
    );
}
