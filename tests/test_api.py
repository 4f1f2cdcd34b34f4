"""The public package: every name exists, is typed, loads lazily, and is in docs/api.md."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import areaviz
from tests.api_reference import PATH, SECTIONS, reference

SOURCE = ast.parse(Path(areaviz.__file__).read_text(encoding="utf-8"))


def test_reference_matches_the_code() -> None:
    assert PATH.read_text(encoding="utf-8") == reference(), "run: python -m tests.api_reference"


def test_reference_has_every_public_name_once() -> None:
    assert sorted(sum(SECTIONS.values(), ())) == areaviz.__all__ == sorted(areaviz.EXPORTS)


def test_typed_and_lazy_imports_agree() -> None:
    """The imports under `TYPE_CHECKING` are those that `EXPORTS` names."""
    typed: dict[str, str | None] = {}
    for node in ast.walk(SOURCE):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("areaviz."):
            if node.module == "areaviz.old_names":
                continue  # imported at run time, too
            typed |= {alias.name: node.module for alias in node.names}
    assert typed == dict(areaviz.EXPORTS)


@pytest.mark.parametrize("name", areaviz.__all__)
def test_public_name_has_docstring_and_types(name: str) -> None:
    thing = getattr(areaviz, name)
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing):
        parameters = inspect.signature(thing).parameters.values()
        untyped = [one.name for one in parameters if one.annotation is one.empty]
        assert not untyped and inspect.signature(thing).return_annotation


def test_misspelt_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'atend'"):
        areaviz.atend  # noqa: B018
    assert set(areaviz.__all__) <= set(dir(areaviz))


def test_package_import_does_not_import_torch() -> None:
    """Traces can be read, queried, shown and exported without torch, Streamlit or transformers."""
    names = [name for name in areaviz.__all__ if name != "attend"]
    script = (
        f"import sys, areaviz\nfor name in {names}: getattr(areaviz, name)\n"
        "print([one for one in ('torch', 'streamlit', 'transformers') if one in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
