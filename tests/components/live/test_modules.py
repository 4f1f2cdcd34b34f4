"""Modules of live pages are joined into scripts in which every name is unique."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import areaviz
from areaviz.live.build import ENGINE, PAGE
from areaviz.live.build import MODULES as PAIR
from areaviz.views import parts
from areaviz.views.parts import join_modules, list_top_level_names, read_text
from tests.components.live.node import run_node

FOLDER = Path(areaviz.__file__).parent
ALL = sorted(str(path.relative_to(FOLDER)) for path in (FOLDER / "live").rglob("*.js"))
MOST_LINES = 3050
"""The most lines of code of the engine and the payloads, without comments and blank lines."""


@pytest.mark.parametrize("entry", [ENGINE, PAGE, PAIR])
def test_joined_modules_have_no_imports_and_each_module_once(entry: tuple[str, ...]) -> None:
    script = join_modules(entry)
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    assert "</script" not in script and "<!--" not in script
    names = list_top_level_names(script)
    assert len(names) == len(set(names))


def test_every_module_is_part_of_a_script() -> None:
    scripts = join_modules(ENGINE) + join_modules(PAGE) + join_modules(PAIR)
    own = set(list_top_level_names(scripts))
    for path in ALL:
        text = re.sub(r"^export ", "", read_text(path), flags=re.MULTILINE)
        assert own.issuperset(list_top_level_names(text)), path


def test_engine_stays_below_its_size_limit() -> None:
    count = 0
    for path in (FOLDER / "live").glob("*.js"):
        code = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        lines = [line.strip() for line in code.splitlines()]
        count += sum(bool(line) and not line.startswith("//") for line in lines)
    assert 0 < count <= MOST_LINES


def test_engine_does_not_access_the_page() -> None:
    for path in (FOLDER / "live").glob("*.js"):
        assert "from './page/" not in path.read_text("utf-8"), path.name


def test_no_module_hides_a_name_that_the_browser_defines() -> None:
    own = list_top_level_names(join_modules(ENGINE) + join_modules(PAGE) + join_modules(PAIR))
    (taken,) = run_node("defined_names.mjs", own)
    assert taken == []


def test_page_script_has_unique_names() -> None:
    panels = read_text("views/message.js") + read_text("page/panels.js")
    shared = set(list_top_level_names(panels)) & set(list_top_level_names(join_modules(PAGE)))
    assert shared == set()


def test_joined_modules_refuses_a_name_that_two_modules_define(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {
        "a.js": "import { b } from './b.js';\nexport const ONE = 1, TWO = 2;\n",
        "b.js": "export function b() {}\nconst TWO = 3;\n",
    }
    monkeypatch.setattr(parts, "read_text", files.__getitem__)
    with pytest.raises(ValueError, match='b.js and a.js both define "TWO"'):
        join_modules(["a.js"])


def test_joined_modules_puts_imported_modules_first(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "a.js": "import { b } from './b.js';\nimport { c } from './c.js';\nb(c);\n",
        "b.js": "import { c } from './c.js';\nexport function b() { return c; }\n",
        "c.js": "export const c = 1;\n",
    }
    monkeypatch.setattr(parts, "read_text", files.__getitem__)
    joined = "const c = 1;\n\nfunction b() { return c; }\n\nb(c);\n"
    assert join_modules(["a.js"]) == joined
