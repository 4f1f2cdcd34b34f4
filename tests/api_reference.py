"""Write docs/api.md from the signatures and docstrings of `areaviz.__all__`.

Run it with `python -m tests.api_reference`.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from pathlib import Path

import areaviz

PATH = Path(__file__).parents[1] / "docs" / "api.md"
SECTIONS = {
    "Make a trace": ("attend", "from_arrays", "from_cache", "from_generate", "load", "save"),
    "Show a trace": ("show", "export", "Focus", "PageOptions", "Paper"),
    "Query a trace": (
        *("top_areas", "densest_areas", "top_queries", "coverage", "item_shares", "entropy"),
        *(
            "area_size_shares",
            "head_summary",
            "best_alignment",
            "Attended",
            "Attending",
            "HeadSummary",
        ),
    ),
    "Analyse a set": ("load_analysis",),
    "What a trace is made of": (
        *("Trace", "Request", "Field", "Output", "AttentionMap", "Area", "AreaGrid"),
    ),
    "Errors": ("InputError", "BackendError"),
}
OPENING = """# Reference

This page lists all names in `areaviz.__all__`. [releases.md](releases.md) promises that they stay.
Everything else that can be imported may change.

`python -m tests.api_reference` writes this page from signatures and docstrings, and a test compares
it with them. [trace.md](trace.md) explains the fields of a trace, [your_models.md](your_models.md)
lists the models that can be run, and [extensions.md](extensions.md) explains how other packages
extend areaviz.
"""
_HEADS = ("Args", "Returns", "Raises")


def reference() -> str:
    """Return the whole page."""
    parts = [OPENING]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(areaviz, name)) for name in names]
    return "\n".join(parts)


def _entry(name: str, thing: object) -> str:
    lines = [f"### {name}\n"]
    is_error = isinstance(thing, type) and issubclass(thing, Exception)
    if not is_error:
        lines += ["```python", _signature(name, thing), "```\n"]
    lines += _paragraphs(inspect.getdoc(thing) or "")
    if dataclasses.is_dataclass(thing) and isinstance(thing, type):
        lines += _fields(thing)
    return "\n".join(lines)


def _signature(name: str, thing: object) -> str:
    """Return the signature on one line, or with one line per parameter if it would be long."""
    assert callable(thing)
    found = inspect.signature(thing)
    given = [_parameter(one) for one in found.parameters.values()]
    kinds = [one.kind for one in found.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        given.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    answer = "" if isinstance(thing, type) else f" -> {found.return_annotation}"
    line = f"{name}({', '.join(given)}){answer}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name}(", *(f"    {one}," for one in given), f"){answer}"])


def _parameter(one: inspect.Parameter) -> str:
    """Return a parameter as written in the code. A default made by a factory is shown as "..."."""
    if one.default is one.empty:
        return f"{one.name}: {one.annotation}"
    default = "..." if "factory" in repr(one.default) else repr(one.default)
    return f"{one.name}: {one.annotation} = {default}"


def _paragraphs(text: str) -> list[str]:
    """Convert a docstring to Markdown: keep paragraphs, turn arguments and errors into lists."""
    lines: list[str] = []
    for part in re.split(r"\n\n", text.strip()):
        head, _, rest = part.partition("\n")
        if head.rstrip(":") in _HEADS and head.endswith(":"):
            lines += [f"{head.rstrip(':')}:\n", *_listed(rest), ""]
        else:
            lines += [_plain(part), ""]
    return lines


def _listed(text: str) -> list[str]:
    """Convert "name: description" entries, which may span several lines, into list items."""
    text = textwrap.dedent(text)
    points: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith(" ") and points:
            points[-1].append(line.strip())
        else:
            points.append([line.strip()])
    found = []
    for point in points:
        name, colon, what = " ".join(point).partition(": ")
        found.append(f"- `{name}`: {what}" if colon else f"- {name}")
    return found


def _fields(thing: type) -> list[str]:
    """List the fields of a class that have a comment above them, each with its comment."""
    comment: list[str] = []
    found = []
    for line in inspect.getsource(thing).splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped.lstrip("# "))
            continue
        name = re.match(r"    (\w+): ", line)
        if name and comment:
            found.append(f"- `{name[1]}`: {' '.join(comment)}")
        comment = []
    return [*found, ""] if found else []


def _plain(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
