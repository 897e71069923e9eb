"""Reads the reports for other programs by the parsers and models of those programs' makers.

    outputs.py FOLDER VERDICT

KCIDB by kernelci.org's kcidb-io, Prometheus text by prometheus_client, SARIF by pydantic_sarif
(generated from the schema of OASIS), Markdown by GitHub's cmark. Bencher and
github-action-benchmark have no parser of their own: their fields are compared with what they
document. Prints a line for each format and exits with 1 if one of them is wrong.
"""

import json
import sys
from pathlib import Path

FOLDER, VERDICT = Path(sys.argv[1]), sys.argv[2]


def text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def kcidb() -> None:
    import kcidb_io

    report = json.loads(text("kcidb"))
    kcidb_io.schema.V5_3.validate(report)
    status = {"regressed": "FAIL", "fine": "PASS", "cannot tell": "ERROR"}[VERDICT]
    assert report["tests"][0]["status"] == status, report["tests"]


def prometheus() -> None:
    from prometheus_client.parser import text_string_to_metric_families

    families = {f.name: f for f in text_string_to_metric_families(text("prometheus"))}
    outcome = families["firstlight_check_outcome"].samples[0].value
    assert outcome == {"regressed": 1, "fine": 0, "cannot tell": 2}[VERDICT], outcome
    times = families["firstlight_boot_time_seconds"].samples
    assert 0.9 < times[0].value < 1.2, times


def sarif() -> None:
    import pydantic_sarif.model as model

    log = model.StaticAnalysisResultsFormatSarifVersion210JsonSchema
    run = log.model_validate_json(text("sarif")).runs[0]
    levels = [str(getattr(r.level, "value", r.level)) for r in run.results]
    expected = {"regressed": ["error"], "fine": [], "cannot tell": ["warning"]}[VERDICT]
    assert levels == expected, levels


def markdown() -> None:
    import cmarkgfm

    html = cmarkgfm.github_flavored_markdown_to_html(text("markdown"))
    assert html.count("<table>") >= 1 and "<h3>" in html, html
    raw = text("markdown")
    assert raw.count("<details>") == raw.count("</details>") >= 1, raw


def bencher() -> None:
    for name, measures in json.loads(text("bencher")).items():
        assert isinstance(name, str) and set(measures) == {"latency"}, measures
        latency = measures["latency"]
        assert set(latency) <= {"value", "lower_value", "upper_value"}, latency
        assert all(isinstance(v, (int, float)) for v in latency.values()), latency


def benchmark() -> None:
    for entry in json.loads(text("benchmark")):
        assert {"name", "unit", "value"} <= set(entry) <= {"name", "unit", "value", "range"}
        assert isinstance(entry["value"], (int, float)) and entry["unit"] == "ms", entry


def main() -> int:
    wrong = 0
    for check, by in [
        (kcidb, "kcidb-io"),
        (prometheus, "prometheus_client"),
        (sarif, "pydantic_sarif"),
        (markdown, "cmark-gfm"),
        (bencher, "its documented fields"),
        (benchmark, "its documented fields"),
    ]:
        try:
            check()
            print(f"ok  {check.__name__} by {by}")
        except Exception as error:  # noqa: BLE001
            wrong += 1
            print(f"WRONG  {check.__name__} by {by}: {error!r}".replace("\n", " "))
    return 1 if wrong else 0


sys.exit(main())
