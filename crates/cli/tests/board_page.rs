//! The page of a run on a board, and of the lab's forecasts beside it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

mod board_bench;
mod common;

use board_bench::Bench;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

const BASE: &str = "warm_up = 0\nscatter_rounds = 1\nensemble = 8\nseed = 4\n\
    minimum_effect = 0.05\n";

const VARIANTS: &str = "[[variant]]\nname = \"later\"\ntreatments = [\"cmdline+=plant=+0.5\"]\n\
    [[variant]]\nname = \"earlier\"\ntreatments = [\"cmdline+=plant=-0.4\"]\n\
    [[variant]]\nname = \"same\"\ntreatments = [\"cmdline+=plant=+0.0\"]\n";

/// The data block of a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (block, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(block).unwrap()
}

/// What the lab forecast of the same variants, in its own time: `later` twice as much as it is.
const FORECAST: &str = r#"{"schema":"firstlight.lab/1","clock":"virtual","baseline":"baseline",
    "trials":[],"variants":[{"variant":"baseline","median_ns":1000000000}],"comparison":[
    {"variant":"later","delta_ns":1000000000,"interval_ns":null,"verdict":"slower"},
    {"variant":"earlier","delta_ns":-300000000,"interval_ns":null,"verdict":"faster"},
    {"variant":"same","delta_ns":0,"interval_ns":null,"verdict":"no_difference"}]}"#;

#[test]
fn a_run_on_a_board_has_a_page_with_its_evidence_and_the_forecasts() {
    let Some(bench) = Bench::start(&["--length", "0.2", "--scatter", "0.01"]) else {
        return;
    };
    bench.write_board(
        "[deploy]\nfiles = \"card\"\n[state]\ncommand = \"echo temperature_c 41\"\n",
        "silence_s = 3\n",
    );
    let experiment = bench.write_experiment(BASE, VARIANTS);
    bench.tell("fault panic 1");
    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");

    // The folder was moved since: the page finds its captures where they lie now.
    let moved = bench.path("moved/board");
    fs::create_dir_all(bench.path("moved")).unwrap();
    fs::rename(bench.path("out"), &moved).unwrap();
    let moved = moved.to_str().unwrap();
    let html = bench.path("page.html");
    let html = html.to_str().unwrap();
    let page = |args: &[&str]| {
        let made = common::json(&[&["report", "--json", "-o", html], args].concat());
        assert_eq!(made["page"], html);
        let shown = data(&fs::read_to_string(html).unwrap());
        common::valid(&shown, "page");
        shown
    };
    let alone = page(&[moved]);
    assert!(alone["lab"].is_null() && alone["truth"].is_null());
    assert_eq!(alone["baseline"]["title"], "baseline");
    assert_eq!(alone["best"]["title"], "earlier");
    let notes = alone["baseline"]["show"]["notes"].to_string();
    assert!(
        notes.contains("\"boot_of_board\"") && !notes.contains("\"capture_note\""),
        "{notes}"
    );
    // What the page shows is what the run said, to the last digit.
    let shown = &alone["board"]["run"];
    for key in [
        "board",
        "baseline",
        "basis",
        "comparison",
        "variants",
        "scatter",
        "drift",
        "states",
        "looks",
        "level",
        "off_ns",
    ] {
        assert_eq!(shown[key], run[key], "{key}");
    }
    assert_eq!(shown["trials"], run["trials"]);
    let void: Vec<&Value> = shown["trials"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|t| !t["void"].is_null())
        .collect();
    assert_eq!(void.len(), 1);
    assert!(
        void[0]["void"].as_str().unwrap().contains("panic"),
        "{}",
        void[0]
    );
    let says = alone["board"]["says"].to_string();
    assert!(
        says.contains("Scatter of the baseline") && says.contains("temperature_c"),
        "{says}"
    );

    // Beside the lab, whichever is named first.
    let lab = bench.path("moved/lab");
    fs::create_dir_all(&lab).unwrap();
    fs::write(lab.join("result.json"), FORECAST).unwrap();
    let lab = lab.to_str().unwrap();
    let both = page(&[lab, "--against", moved]);
    assert_eq!(both, page(&[moved, "--against", lab]));
    let truth = &both["truth"]["table"];
    let compared = common::json(&["calibrate", "compare", lab, moved, "--json"]);
    assert_eq!(*truth, compared);
    assert_eq!(truth["rank_correlation"].as_f64(), Some(1.0));
    assert_eq!(
        (&truth["same_sign"], &truth["proven"]),
        (&2.into(), &2.into())
    );
    let later = &truth["variants"][0];
    assert_eq!(later["forecast_virtual_ns"], 1_000_000_000);
    assert!(
        (later["board_percent"].as_f64().unwrap() - 50.0).abs() < 10.0,
        "{later}"
    );

    // Two runs that are not a lab and a board have no such page.
    let refused = common::firstlight(&["report", moved, "--against", moved, "-o", html]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("name a capture of each"), "{said}");

    serves(bench.path("moved").to_str().unwrap());
}

/// `serve` lists both runs, and has the page of the board and that of both.
fn serves(dir: &str) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["serve", dir, "--bind", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut url).unwrap();
    let address = url
        .trim()
        .trim_start_matches("http://")
        .trim_end_matches('/');
    let get = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        data(&text)
    };
    let list = get("/");
    common::valid(&list, "list");
    let entries = list["entries"].as_array().unwrap();
    let board = entries.iter().find(|e| e["path"] == "board").unwrap();
    assert_eq!(
        (&board["kind"], &board["clock"], &board["machine"]),
        (&"experiment".into(), &"wall".into(), &"bench".into())
    );
    assert!(
        board["first_light_ns"].as_i64().unwrap() > 100_000_000,
        "{board}"
    );
    assert_eq!(get("/page?path=board")["board"]["run"]["board"], "bench");
    let both = get("/page?path=lab&path=board");
    assert_eq!(both["truth"]["table"]["board"], "bench");
    child.kill().unwrap();
    child.wait().unwrap();
}
