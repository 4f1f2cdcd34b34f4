"""The widget of `areaviz.show` in JupyterLab and marimo, which `make notebooks` installs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE

ROOT = Path(__file__).parents[2]
APPS = Path(sys.prefix) / "notebooks" / "bin"
SECONDS = 90
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not (APPS / "jupyter-lab").exists(),
        reason="JupyterLab and marimo are not here: install them with `make notebooks`",
    ),
]
TRACE = """import areaviz
from areaviz.samples.paths import ASSETS
from areaviz.trace.file import load

trace = load(ASSETS / "home.npz")
"""
CELLS = (
    f"{TRACE}view = areaviz.show(trace)\nview",
    "print('layer', view.focus.layer, 'items', view.focus.items)",
    "view.focus = areaviz.Focus('encoder self', layer=1, items=(2,))",
)
MARIMO = f"""import marimo

app = marimo.App()

@app.cell
def _():
    import marimo as mo
    {"    ".join(TRACE.splitlines(keepends=True))}
    view = mo.ui.anywidget(areaviz.show(trace))
    view
    return mo, view

@app.cell
def _(mo, view):
    view.value
    mo.md(f"layer {{view.widget.focus.layer}} items {{view.widget.focus.items}}")
    return

app.run() if __name__ == "__main__" else None
"""


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Page]:
    """Open a page that may report errors of the notebook application."""
    context = chromium.new_context(viewport={"width": 1400, "height": 1400})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        process.terminate()
        process.wait(30)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(page: Page, url: str) -> None:
    """Wait until a server answers."""
    for _ in range(SECONDS):
        try:
            with urlopen(url, timeout=2):
                return
        except (URLError, OSError):
            page.wait_for_timeout(1000)
    pytest.fail(f"{url} did not answer within {SECONDS} seconds.")


def choose_in(page: Page) -> None:
    """Lock a word, and choose a layer that the output does not contain."""
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
    expect(page.locator('[data-shown="encoder-decoder, layer 4"]')).to_have_count(1)
    page.locator(".ribbon #query-2").click()
    page.locator("#ribbon .choices fieldset").nth(1).get_by_text("1", exact=True).click()
    expect(page.locator('[data-shown="encoder-decoder, layer 1"]')).to_have_count(1)


def run_cell(page: Page, number: int) -> None:
    page.locator(".jp-Cell").nth(number).click()
    page.keyboard.press("Shift+Enter")


def test_jupyterlab_follows_the_focus_both_ways(
    opened: Page, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    kernel = tmp_path / "kernels" / "areaviz"
    kernel.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "areaviz", "env": {"PYTHONPATH": str(ROOT)}}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    cells = []
    for number, source in enumerate(CELLS):
        cell = {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": source}
        cells.append({**cell, "outputs": [], "execution_count": None})
    metadata = {"kernelspec": {"name": "areaviz", "display_name": "areaviz"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    port = free_port()
    options = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    options.append(f"--ServerApp.root_dir={tmp_path}")
    environment = {**os.environ, "JUPYTER_PATH": str(tmp_path), "HOME": str(tmp_path)}
    started.append(subprocess.Popen([str(APPS / "jupyter-lab"), *options], env=environment))
    wait_for(opened, f"http://127.0.0.1:{port}/api")
    opened.goto(f"http://127.0.0.1:{port}/lab/tree/a.ipynb")
    expect(opened.get_by_text("areaviz | Idle")).to_be_visible()
    run_cell(opened, 0)
    choose_in(opened)
    run_cell(opened, 1)
    expect(opened.locator(".jp-Cell").nth(1)).to_contain_text("layer 0 items (2,)")
    run_cell(opened, 2)
    expect(opened.locator('[data-shown="encoder self, layer 2"]')).to_have_count(1)


def test_marimo_follows_the_focus(
    opened: Page, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    (tmp_path / "app.py").write_text(MARIMO)
    port = free_port()
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{packages}", "HOME": str(tmp_path)}
    command = [
        str(APPS / "marimo"),
        "run",
        "app.py",
        "--headless",
        "--no-token",
        "--port",
        str(port),
    ]
    started.append(subprocess.Popen(command, env=environment, cwd=tmp_path))
    wait_for(opened, f"http://127.0.0.1:{port}/health")
    opened.goto(f"http://127.0.0.1:{port}/")
    choose_in(opened)
    expect(opened.get_by_text("layer 0 items (2,)")).to_be_visible()
