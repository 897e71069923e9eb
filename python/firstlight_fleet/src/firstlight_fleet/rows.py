"""Reading boots: `firstlight rows` does it, and writes two Parquet files per batch."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from firstlight_fleet.errors import FleetError

#: The environment variable with the path of the `firstlight` program.
PROGRAM = "FIRSTLIGHT"


def program() -> str:
    """The path of `firstlight`: of the program that called us, else the one in PATH."""
    found = os.environ.get(PROGRAM) or shutil.which("firstlight")
    if not found:
        raise FleetError(
            "the program `firstlight` is not in PATH; install it, or set FIRSTLIGHT to its path"
        )
    return os.path.abspath(found) if os.sep in found else found


def batches(
    inputs: list[str], every: int, folder: Path, options: list[str], within: Path | None = None
) -> Iterator[tuple[Path, Path]]:
    """Reads boots, and gives their tables pair by pair: boots and items.

    The caller deletes each pair. `-` in the inputs is a list of paths on standard input. With
    `within`, the inputs are paths below it, and so are the sources in the tables.
    """
    command = [program(), "rows", "--out", str(folder), "--every", str(every), *options]
    if within is not None:
        # There may be more of them than a command line takes.
        listed = folder / "inputs"
        listed.write_text("".join(f"{path}\n" for path in inputs))
        command += ["--from-list", str(listed)]
        inputs = []
    try:
        process = subprocess.Popen(
            [*command, "--", *inputs],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=within,
        )
    except OSError as error:
        raise FleetError(f"{command[0]} cannot be started: {error.strerror}") from error
    assert process.stdout and process.stderr
    with process:
        try:
            for line in process.stdout:
                words = line.split()
                if len(words) > 1 and words[0].startswith("boots-"):
                    yield folder / words[0], folder / words[1]
            said = process.stderr.read()
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        last = said.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise FleetError(last[0].removeprefix("firstlight: "))
