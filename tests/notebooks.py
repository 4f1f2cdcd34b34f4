"""Run the example script as a notebook in a Jupyter kernel."""

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
    """Return the code of the example, split into cells at `# %%`, with a table added at the end."""
    _, *found = re.split("^# %%.*$", CELLS.read_text("utf-8"), flags=re.MULTILINE)
    return [*map(str.strip, found), "trace"]


def run() -> NotebookNode:
    """Run the notebook and return it with its outputs.

    Raises:
        CellExecutionError: A cell fails.
    """
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells()]
    )
    # The kernel starts in this folder, so it imports the package from this checkout.
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT)}},
    )
    done: NotebookNode = client.execute()
    nbformat.validate(done)
    return done
