"""docs/fleet.ipynb runs from ingest to culprit, and shows what it gives."""

import os
import subprocess
import sys
from pathlib import Path

import logs
import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

NOTEBOOK = ROOT / "docs/fleet.ipynb"


def _shown(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell printed."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(out.get("text", "") for out in cell.outputs).strip() for cell in cells]


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_the_notebook_finds_the_culprit(
    tmp_path: Path, firstlight: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, logs.__file__, str(tmp_path)], check=True)
    places = [str(firstlight.resolve().parent), str(Path(sys.executable).parent)]
    monkeypatch.setenv("PATH", os.pathsep.join([*places, os.environ["PATH"]]))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    before = _shown(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    if os.environ.get("FIRSTLIGHT_BLESS"):
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(notebook, NOTEBOOK)
        before = _shown(notebook)
    now = _shown(notebook)
    assert logs.NEW_UNIT in now[3].splitlines()[1]
    assert logs.SLOWER_UNIT in now[3].splitlines()[2]
    assert "slower" in now[1]
    assert now[:-1] == before[:-1], "run FIRSTLIGHT_BLESS=1 ./x test fleet -- notebook"
    assert (tmp_path / "fleet.html").is_file()
