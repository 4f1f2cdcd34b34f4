"""A notebook that a kernel has run, and the page that nbconvert makes of it for viewers."""

from __future__ import annotations

import base64
import re
from copy import deepcopy
from html.parser import HTMLParser
from io import BytesIO

import pytest
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter, LatexExporter
from nbformat import NotebookNode
from PIL import Image
from traitlets.config import Config

from areaviz.page.notebook import HIDDEN_BY_CLASS
from tests import notebooks

SHOWN = (1, 2)
"""Numbers of the cells that show a trace. The first one makes the trace, the last has its table."""


@pytest.fixture(scope="module")
def notebook() -> NotebookNode:
    return notebooks.run()


def as_html(notebook: NotebookNode, *kinds: str, sanitized: bool = False) -> str:
    """Return nbconvert's page of the notebook, by default as its command line makes it.

    Args:
        notebook: an executed notebook.
        kinds: formats of outputs to prefer; none for nbconvert's own order.
        sanitized: whether to use the option `--sanitize-html`.
    """
    config = Config({"NbConvertBase": {"display_data_priority": list(kinds)}} if kinds else {})
    exporter = HTMLExporter(config=config, sanitize_html=sanitized)
    html, _ = exporter.from_notebook_node(deepcopy(notebook))
    return str(html)


class Outline(HTMLParser):
    """A parser of a document's tags, with the attributes of frames and pictures."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.frames: list[dict[str, str | None]] = []
        self.pictures: list[dict[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe":
            self.frames.append(dict(attrs))
        elif tag == "img":
            self.pictures.append(dict(attrs))


@pytest.mark.long
def test_every_showing_cell_outputs_text_page_and_picture(notebook: NotebookNode) -> None:
    assert notebook.cells[0].outputs == []
    for index in SHOWN:
        (output,) = notebook.cells[index].outputs
        assert {*output.data} == {"text/plain", "text/html", "image/png"}
        assert output.data["text/plain"].startswith("<areaviz page of")
        picture = Image.open(BytesIO(base64.b64decode(output.data["image/png"])))
        assert min(picture.size) > 100


def test_trace_is_shown_as_line_and_table(notebook: NotebookNode) -> None:
    (output,) = notebook.cells[3].outputs
    assert {*output.data} == {"text/plain", "text/html"}
    assert len(output.data["text/plain"]) < 200 and "\n" not in output.data["text/plain"]
    assert "<table" in output.data["text/html"] and "encoder-decoder" in output.data["text/html"]


def test_notebook_html_contains_whole_frames(notebook: NotebookNode) -> None:
    html = as_html(notebook)
    frames = Outline(html).frames
    assert [frame["title"] for frame in frames] == ["areaviz", "areaviz"]
    for index, frame in zip(SHOWN, frames, strict=True):
        given = Outline(notebook.cells[index].outputs[0].data["text/html"]).frames[0]
        assert frame == given and frame["sandbox"] == "allow-scripts"


def test_sanitised_notebook_keeps_the_picture(notebook: NotebookNode) -> None:
    # Viewers show an untrusted notebook in this form.
    html = as_html(notebook)
    left = re.sub(r"<(iframe|script)\b.*?</\1>", "", html, flags=re.DOTALL)
    pictures = [one["src"] or "" for one in Outline(left).pictures]
    for index, source in zip(SHOWN, pictures, strict=True):
        picture = notebook.cells[index].outputs[0].data["image/png"]
        assert source == f"data:image/png;base64,{picture.strip()}"


def test_sanitised_html_has_the_pictures_and_no_source(notebook: NotebookNode) -> None:
    html = as_html(notebook, "image/png", "text/plain", sanitized=True)
    outline = Outline(html)
    assert outline.frames == [] and "srcdoc" not in html and "fitFrames" not in html
    for index, picture in zip(SHOWN, outline.pictures, strict=True):
        given = notebook.cells[index].outputs[0].data["image/png"]
        assert (picture["src"] or "").split(",")[1].strip() == given.strip()


def test_sanitised_html_has_the_numbers_and_hides_the_source(notebook: NotebookNode) -> None:
    html = as_html(notebook, sanitized=True)
    soup = BeautifulSoup(html, "html.parser")
    assert soup.find(["iframe", "img"]) is None
    for hidden in soup.select(f".{HIDDEN_BY_CLASS}"):
        hidden.decompose()
    left = soup.select_one("main") or soup.body
    assert left is not None and "srcdoc" not in str(left) and "fitFrames" not in str(left)
    for index, kept in zip(SHOWN, left.select(".areaviz-numbers"), strict=True):
        given = BeautifulSoup(notebook.cells[index].outputs[0].data["text/html"], "html.parser")
        expected = [one.get_text() for one in given.select(".areaviz-numbers td")]
        assert len(expected) > 6 and [one.get_text() for one in kept.select("td")] == expected


def test_notebook_print_contains_the_pictures(notebook: NotebookNode) -> None:
    # LaTeX has no HTML, so nbconvert takes the richest remaining format.
    text, resources = LatexExporter().from_notebook_node(notebook)
    assert "iframe" not in text and len(resources["outputs"]) == len(SHOWN)
    for name, content in resources["outputs"].items():
        assert name in text and Image.open(BytesIO(content)).format == "PNG"
