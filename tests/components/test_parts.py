"""Every file of the browser side: which component it belongs to, and what none of them may do."""

from __future__ import annotations

from pathlib import Path

import pytest

import areaviz
from areaviz.views import parts

FOLDER = Path(areaviz.__file__).parent
THERE = sorted(
    str(path.relative_to(FOLDER))
    for kind in ("html", "css", "js")
    for path in FOLDER.rglob(f"*.{kind}")
)


def test_every_file_belongs_to_a_component() -> None:
    named = {
        "views/component.css",
        *(path for paths in parts.COMPONENTS.values() for path in paths),
    }
    assert named == {path for path in THERE if not path.startswith(("page/", "live/", "site/"))}


MARKUP = "innerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "setHTML"
# A notebook's widget takes the page as Python wrote it, with every text escaped.
WHOLE_PAGE = "page.innerHTML = model.get('_body');"


@pytest.mark.parametrize("path", THERE)
def test_browser_code_sets_text_and_never_markup(path: str) -> None:
    text = (FOLDER / path).read_text("utf-8")
    assert text
    if path == "page/widget.js":
        assert text.count(WHOLE_PAGE) == 1
        text = text.replace(WHOLE_PAGE, "")
    assert not any(word in text for word in (*MARKUP, "http:", "https:"))


@pytest.mark.parametrize("name", parts.COMPONENTS)
def test_component_has_one_entry_and_stays_in_its_element(name: str) -> None:
    made = parts.read_parts(name)
    assert made.js.count("\nfunction mount(") + made.js.startswith("function mount(") == 1
    assert "</" not in made.js + made.css and "style=" not in made.html


def test_files_of_one_kind_are_joined_in_their_order() -> None:
    read = {
        path: (FOLDER / path).read_text("utf-8")
        for path in ("views/component.css", *parts.COMPONENTS["grid"])
    }
    made = parts.read_parts("grid")
    assert made.html == read["views/grid/grid.html"]
    assert made.css == "\n".join(
        read[path]
        for path in ("views/component.css", "views/ribbon/ribbon.css", "views/grid/grid.css")
    )
    joined = "\n".join(text for path, text in read.items() if path.endswith(".js"))
    assert made.js.endswith(joined) and made.js.startswith("const TEXTS = {};\n")
