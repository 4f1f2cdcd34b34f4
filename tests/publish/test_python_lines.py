"""The Python lines of a figure reproduce it if they run next to the downloaded trace."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

from areaviz.draw.view import Download, Paper
from areaviz.page.page import make_file_stem, write_python_lines
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes
from tests.ui.results.test_downloads import POINTED, TAKEAWAYS


@pytest.mark.parametrize(("takeaway", "trace", "focus"), [*POINTED, *TAKEAWAYS])
def test_python_lines_write_the_figure(
    takeaway: Download,
    trace: Trace,
    focus: Focus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    file.save(trace, "run.npz")
    lines = write_python_lines(takeaway.name, trace, focus, Paper(3.35, 9.0), "run.npz")
    Path("figure.py").write_text(lines, encoding="utf-8")
    runpy.run_path("figure.py")
    figure = tmp_path / f"{make_file_stem(takeaway.name, trace, focus)}.pdf"
    assert figure.read_bytes().startswith(b"%PDF")
    assert set(os.listdir(tmp_path)) == {"run.npz", "figure.py", figure.name}


def test_file_is_named_after_its_view() -> None:
    trace = fakes.trace()
    label = "".join(filter(str.isalnum, trace.fields["target"].labels[0]))
    focus = Focus("encoder-decoder", 0, 1, items=(0,))
    model = trace.request.model
    assert make_file_stem("pyramid", trace, focus) == f"{model}_L1_H2_{label}_pyramid"
    assert make_file_stem("overview", trace, Focus("encoder-decoder", 1)) == f"{model}_L2_overview"


def test_python_lines_contain_only_chosen_options() -> None:
    trace, focus = fakes.trace(), Focus("encoder self", head=1)
    plain = write_python_lines("pyramid", trace, focus, Paper(), "run.npz")
    assert "Paper" not in plain and "areaviz.Focus(site='encoder self', head=1)" in plain
    assert "width=12.0" in write_python_lines("pyramid", trace, focus, Paper(12.0), "run.npz")
