"""A notebook of the example's cells, run by a kernel as Jupyter runs it."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).parents[1]
CELLS = ROOT / "examples" / "in_a_notebook.py"
SECONDS = 120


def cells() -> list[str]:
    """The code of the example, a cell each, as editors divide it at `# %%`; a table is added."""
    _, *found = re.split("^# %%.*$", CELLS.read_text("utf-8"), flags=re.MULTILINE)
    return [*map(str.strip, found), "trace"]


def run() -> NotebookNode:
    """The notebook with its outputs.

    Raises:
        CellExecutionError: a cell fails.
    """
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells()]
    )
    # The kernel finds the package of this checkout in the folder where it starts.
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT)}},
    )
    done: NotebookNode = client.execute()
    nbformat.validate(done)
    return done
