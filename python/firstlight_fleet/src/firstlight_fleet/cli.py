"""The command line of `firstlight-fleet`, which `firstlight fleet` calls."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from firstlight_fleet import __version__, output
from firstlight_fleet.errors import FleetError, first_line

_EXAMPLES = """examples:
  firstlight fleet ingest store --release 1.10 --board b2 logs/
  firstlight fleet releases store
  firstlight fleet blame store --base 1.9 --release 1.10
  firstlight fleet report store -o fleet.html
  firstlight fleet sql store 'select count(*) as n from boots' --json
"""


def main() -> None:
    """Runs a command; exit code 0 if it is done, 2 if not."""
    try:
        sys.exit(run(sys.argv[1:]))
    except FleetError as error:
        print(f"firstlight-fleet: {error}", file=sys.stderr)
    except BrokenPipeError:
        # The reader has gone, which is its right.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        print("firstlight-fleet: interrupted", file=sys.stderr)
    except Exception as error:
        if os.environ.get("FIRSTLIGHT_DEBUG"):
            raise
        kind = type(error).__name__
        print(
            f"firstlight-fleet: {kind}: {first_line(error)}; FIRSTLIGHT_DEBUG=1 shows where",
            file=sys.stderr,
        )
    sys.exit(2)


#: How the name of a Spark master begins.
_SPARK = ("spark://", "local")


def run(arguments: list[str]) -> int:
    """Parses the command line and runs the command."""
    args = _parser().parse_args(arguments)
    args.run(args)
    sys.stdout.flush()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="firstlight fleet",
        description="Store the boots of a fleet and ask which release, board or unit made them "
        "slower.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, about: str, run: Callable[[Any], None]) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=about + ".")
        sub.add_argument("store", metavar="STORE", help="folder, or s3://, gs://, az:// URL")
        sub.add_argument(
            "--storage-option",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="option of the object store, such as AWS_ENDPOINT_URL=...",
        )
        sub.add_argument("--json", action="store_true", help='print JSON with a "schema" key')
        sub.set_defaults(run=run)
        return sub

    def question(name: str, about: str, run: Callable[[Any], None]) -> argparse.ArgumentParser:
        sub = command(name, about, run)
        sub.add_argument("--csv", action="store_true", help="print comma-separated values")
        sub.add_argument(
            "--engine",
            default="duckdb",
            metavar="ENGINE",
            help="duckdb, or a Spark master such as spark://HOST:7077 or local[2] "
            "[default: duckdb]",
        )
        return sub

    ingest = command("ingest", "Read boots and store them, each once", _ingest)
    ingest.add_argument("inputs", nargs="+", metavar="INPUT", help="captures, logs, folders, "
                        "archives, or prefixes of an object store (s3://BUCKET/PREFIX); - is an "
                        "archive or a list of paths on standard input")
    ingest.add_argument("--release", help="release of these boots")
    ingest.add_argument("--board", help="board of these boots [default: as the log says]")
    ingest.add_argument("--product", help="product of these boots [default: default]")
    ingest.add_argument("--boot-kind", help="cold, warm, factory, after-update, recovery")
    ingest.add_argument("--map", metavar="FILE", help="table (CSV) with the columns pattern, "
                        "product, board, release, boot_kind; the first match of a path counts")
    ingest.add_argument("--first-light", metavar="TEXT", help="what ends the boot, as in "
                        "`firstlight show`")
    ingest.add_argument("--redact", action="store_true", help="store no paths and no raw names")
    ingest.add_argument("--batch", type=int, default=5000, metavar="N",
                        help="boots in a commit [default: 5000]")
    ingest.add_argument("--engine", metavar="ENGINE", help="let the executors of a Spark master, "
                        "such as spark://HOST:7077, read the boots")

    sql = question("sql", "Answer a query in SQL", _sql)
    sql.add_argument("query", metavar="SELECT", help="over the tables boots, items, boots_hist, "
                     "items_hist, quarantine, releases")

    question("releases", "Show percentiles by release, and which release is slower", _releases)
    question("boards", "Show percentiles by board and release", _boards)
    blame = question("blame", "List the items that made a release slower", _blame)
    blame.add_argument("--base", required=True, help="release to compare with")
    blame.add_argument("--release", required=True, help="release to judge")
    blame.add_argument("--board", default="all", help="only this board")
    blame.add_argument("--top", type=int, default=20, metavar="N", help="rows [default: 20]")
    outliers = question("outliers", "List boots that are far slower than their peers", _outliers)
    outliers.add_argument("--top", type=int, default=20, metavar="N", help="boots [default: 20]")
    item = question("item", "Show the history of an item by release", _item)
    item.add_argument("name", metavar="NAME", help="canonical name of the item")
    why = question("why", "Compare one boot with its peers", _why)
    why.add_argument("boot", metavar="BOOT", help="boot id, or its first digits")
    why.add_argument("--top", type=int, default=20, metavar="N", help="items [default: 20]")

    report = command("report", "Make one HTML page of the fleet", _report)
    report.add_argument("-o", "--out", default="fleet.html", metavar="FILE",
                        help="where the page goes [default: fleet.html]")
    report.add_argument("--boot-pages", action="store_true",
                        help="also make a page of each boot that the page lists, where its logs "
                        "are still there")
    report.add_argument("--engine", default="duckdb", metavar="ENGINE",
                        help="duckdb, or a Spark master [default: duckdb]")

    command("compact", "Merge small files and histograms", _compact)
    expire = command("expire", "Delete old boots", _expire)
    expire.add_argument("--older-than", type=_days, required=True, metavar="DAYS",
                        help="days, such as 180 or 180d")
    expire.add_argument("--only-items", action="store_true",
                        help="keep boots and histograms, delete raw items")
    return parser


def _days(text: str) -> int:
    days = int(text.removesuffix("d"))
    if days < 0:
        raise ValueError
    return days


def _open(args: Any):
    from firstlight_fleet.store import open_store

    return open_store(args.store, args.storage_option)


def _engine(args: Any):
    if args.engine == "duckdb":
        from firstlight_fleet.engine import Duck

        return Duck(_open(args))
    if not args.engine.startswith(_SPARK):
        raise FleetError(f"unknown engine '{args.engine}'; use duckdb, spark://HOST:PORT or local[N]")
    from firstlight_fleet.spark import Spark

    return Spark(args.engine, args.store)


def _readers(engine: str):
    if not engine.startswith(_SPARK):
        raise FleetError(f"unknown engine '{engine}'; use spark://HOST:PORT or local[N]")
    from firstlight_fleet.spark import Readers

    return Readers(engine)


def _ingest(args: Any) -> None:
    from firstlight_fleet import ingest
    from firstlight_fleet.labels import NAMES, Labels
    from firstlight_fleet.store import open_or_create

    if args.batch < 1:
        raise FleetError("--batch: expected a number of boots, at least 1")
    labels = Labels.of({name: getattr(args, name) for name in NAMES}, args.map)
    options = ["--first-light", args.first_light] if args.first_light else []
    store = open_or_create(args.store, args.storage_option)
    readers = _readers(args.engine) if args.engine else None
    try:
        done = ingest.ingest(
            store, args.inputs, labels, every=args.batch, redact=args.redact, options=options,
            spark=readers,
        )
    finally:
        if readers:
            readers.stop()
    for warning in done.warnings:
        print(f"firstlight-fleet: {warning}", file=sys.stderr)
    if args.json:
        reasons = [{"reason": r, "boots": n} for r, n in sorted(done.reasons.items())]
        counts = {
            "stored": done.stored,
            "known": done.known,
            "quarantined": done.quarantined,
            "items": done.items,
            "read_bytes": done.read_bytes,
        }
        sys.stdout.write(output.as_json("ingest", reasons, **counts))
        return
    print(
        f"{done.stored} boots stored ({done.items} items), {done.known} already known, "
        f"{done.quarantined} in quarantine"
    )
    for reason, boots in sorted(done.reasons.items(), key=lambda r: -r[1])[:10]:
        print(f"  {boots} x {reason}")


def _show(args: Any, kind: str, rows: list[dict[str, Any]], names: list[str] | None = None,
          **more: Any) -> None:
    if args.json:
        sys.stdout.write(output.as_json(kind, rows, **more))
        return
    nested = {name for row in rows for name, value in row.items() if isinstance(value, list)}
    names = [n for n in (names or list(rows[0] if rows else [])) if n not in nested]
    if args.csv:
        output.as_csv(rows, names, sys.stdout)
    else:
        output.as_table(rows, names)


def _sql(args: Any) -> None:
    engine = _engine(args)
    if hasattr(engine, "table"):
        table = engine.table(args.query)
        rows, names = table.to_pylist(), table.column_names
    else:
        rows = engine.rows(args.query)
        names = list(rows[0]) if rows else []
    if args.json or args.csv:
        _show(args, "sql", rows, names)
    else:
        output.as_table(rows, names)


def _releases(args: Any) -> None:
    from firstlight_fleet import questions

    rows = questions.releases(_engine(args))
    for row in rows:
        row.setdefault("items", [])
    _show(args, "releases", rows)
    if not (args.json or args.csv):
        for row in rows:
            for item in row["items"]:
                print(
                    f"{row['release']} is slower than {row['previous']}: {item['kind']} "
                    f"{item['name']} adds {output.duration(item['delta_ns'])}"
                )


def _boards(args: Any) -> None:
    from firstlight_fleet import questions

    _show(args, "boards", _engine(args).rows(questions.filled("boards")))


def _blame(args: Any) -> None:
    from firstlight_fleet import questions

    engine = _engine(args)
    there = {row["release"] for row in engine.rows("select distinct release from boots_hist")}
    for release in [args.base, args.release]:
        if release not in there:
            known = ", ".join(sorted(there)) or "none"
            raise FleetError(f"{args.store}: no boots of release '{release}'; releases: {known}")
    rows = questions.blame(engine, args.base, args.release, args.board, args.top)
    _show(args, "blame", rows, base=args.base, release=args.release)


def _outliers(args: Any) -> None:
    from firstlight_fleet import questions

    rows = questions.outliers(_engine(args), args.top)
    _show(args, "outliers", rows)
    if not (args.json or args.csv):
        for row in rows:
            for item in row["odd"]:
                print(
                    f"{row['boot_id'][:12]}: {item['kind']} {item['name']} took "
                    f"{output.duration(item['dur_ns'])}, usually {output.duration(item['usual_ns'])}"
                )


def _item(args: Any) -> None:
    from firstlight_fleet import questions

    engine = _engine(args)
    rows = engine.rows(questions.filled("item", name=args.name))
    if not rows:
        quoted = args.name.replace("'", "''")
        like = engine.rows(
            f"select distinct name from items_hist where name like '%{quoted}%' order by name limit 5"
        )
        hint = "; similar: " + ", ".join(row["name"] for row in like) if like else ""
        raise FleetError(f"{args.store}: no item is called '{args.name}'{hint}")
    _show(args, "item", rows)


def _why(args: Any) -> None:
    from firstlight_fleet import questions

    engine = _engine(args)
    digits = args.boot.lower()
    if not digits or set(digits) - set("0123456789abcdef"):
        raise FleetError(f"'{args.boot}' is not a boot id; `firstlight fleet outliers` lists some")
    found = [
        boot
        for table in ["boots", "quarantine"]
        for boot in engine.rows(f"select * from {table} where boot_id like '{digits}%' limit 2")
    ]
    ids = sorted({boot["boot_id"] for boot in found})
    if len(ids) != 1:
        what = "no boot" if not ids else "more than one boot"
        raise FleetError(f"{args.store}: {what} has an id that begins with '{args.boot}'")
    rows = engine.rows(questions.filled("why", boots=ids, each=args.top))
    boot = found[0]
    if not (args.json or args.csv):
        shown = ["boot_id", "product", "release", "board", "boot_kind", "day", "status", "reason",
                 "doubts", "source"]
        for name in shown:
            if boot[name] is not None:
                print(f"{name:<12}{boot[name]}")
        print(f"{'first light':<12}{output.duration(boot['first_light_ns'])}\n")
    _show(args, "why", rows, boot=boot)


def _report(args: Any) -> None:
    from pathlib import Path

    from firstlight_fleet import report

    data = report.gather(_engine(args), args.store)
    out = Path(args.out)
    made = report.pages_of_boots(data, out) if args.boot_pages else 0
    page = report.page(data)
    part = out.with_name(f".{out.name}.part")
    try:
        part.write_text(page, "utf-8")
        part.replace(out)
    except OSError as error:
        raise FleetError(f"{out}: cannot be written: {error.strerror}") from error
    if args.json:
        sys.stdout.write(json.dumps(data, default=output.plain) + "\n")
        return
    also = f", and pages of {made} boots" if args.boot_pages else ""
    print(f"{out}: {data['counts']['boots']} boots on a page of {len(page.encode())} bytes{also}")


def _compact(args: Any) -> None:
    from firstlight_fleet import maintain

    done = maintain.compact(_open(args))
    if args.json:
        sys.stdout.write(output.as_json("compact", [], **done))
    else:
        print(
            f"{done['files_before']} files became {done['files_after']}; "
            f"{done['files_removed']} old files removed"
        )


def _expire(args: Any) -> None:
    from firstlight_fleet import maintain

    done = maintain.expire(_open(args), args.older_than, args.only_items)
    if args.json:
        sys.stdout.write(output.as_json("expire", [], **done))
    else:
        what = "raw items" if args.only_items else "boots"
        print(f"{what} before {done['before_day']} deleted: {done['files_deleted']} files")
