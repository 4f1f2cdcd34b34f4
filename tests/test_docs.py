"""The documentation is correct: what it names exists, and what exists is described."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from areaviz import __version__
from areaviz.app.page import HIDDEN_PARAMS, TITLES
from areaviz.cli import list_commands
from areaviz.trace.request import from_params
from areaviz.views.views import VIEWS

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md"]
DOCUMENTS += [
    "examples/README.md",
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
]
FOLDERS = "areaviz|assets|benchmarks|checkpoints|configs|docs|examples|pages|tests"
PATH = re.compile(rf"(?<![\w./-])(?:(?:{FOLDERS})/[\w./-]*[\w/]|\.ci/run|\.streamlit/config\.toml)")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
TARGET = re.compile(r"^([a-z-]+):.*## ", re.MULTILINE)


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def code_in(text: str) -> str:
    """Return all code in backticks, inline and in blocks."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_named_exist(document: str) -> None:
    paths = {path for path in PATH.findall(text_of(document)) if "NAME" not in path}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    folder = (ROOT / document).parent
    assert [link for link in LINK.findall(text_of(document)) if not (folder / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_named_exist(document: str) -> None:
    code = code_in(text_of(document))
    assert set(re.findall(r"\bmake ([a-z]+)", code)) <= set(TARGET.findall(text_of("Makefile")))
    assert set(re.findall(r"-m areaviz ([a-z]+)", code)) <= list_commands().keys()


def test_findings_links_open_what_they_describe() -> None:
    links = re.findall(
        r"\]\(http://127\.0\.0\.1:8501/([a-z_]+)\?([^)]+)\)", text_of("docs/findings.md")
    )
    models = {path.parent.name for path in (ROOT / "checkpoints").glob("*/card.json")}
    assert len(links) >= 3
    for page, query in links:
        params = {name: values[0] for name, values in parse_qs(query).items()}
        request, focus = from_params(params)
        assert (ROOT / "pages" / f"{page}.py").exists() and focus is not None and request.text
        assert {request.model, params.get("compare", request.model)} <= models and params[
            "view"
        ] in VIEWS


def test_readme_names_every_page_and_both_commands() -> None:
    readme = text_of("README.md")
    missing = [
        title
        for name, title in TITLES.items()
        if name not in HIDDEN_PARAMS and f"**{title}**" not in readme
    ]
    assert missing == []
    assert "make run" in readme and "make test" in readme


def test_every_room_is_described() -> None:
    rooms = {f"areaviz/{path.parent.name}" for path in (ROOT / "areaviz").glob("*/__init__.py")}
    rooms |= {"pages", "checkpoints", "configs", "assets", "benchmarks", "examples", "tests"}
    described = text_of("docs/architecture.md")
    assert [room for room in sorted(rooms) if f"`{room}`" not in described] == []


def test_every_file_of_commands_has_a_command() -> None:
    files = {f"areaviz.cli.{path.stem}" for path in (ROOT / "areaviz/cli").glob("[!_]*.py")}
    assert files <= {path for path, _ in list_commands().values()}


def test_every_phony_target_explains_itself() -> None:
    makefile = text_of("Makefile")
    phony = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()
    assert set(TARGET.findall(makefile)) == set(phony)


def test_changelog_has_the_version() -> None:
    headings = re.findall(r"^## \[([^\]]+)\]", text_of("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased" or headings[0] == __version__


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_machine_is_named(document: str) -> None:
    assert re.findall(r"/(?:work|tmp|root|home)/\w+", text_of(document)) == []


@pytest.mark.parametrize("folder", ["areaviz", "pages", "benchmarks", "examples"])
def test_every_module_has_a_docstring(folder: str) -> None:
    modules = [
        path for path in (ROOT / folder).rglob("*.py") if path.read_text(encoding="utf-8").strip()
    ]
    silent = [
        path
        for path in modules
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def test_every_shipped_model_has_a_row_among_the_systems_of_the_papers() -> None:
    rows = [line.split(" | ") for line in text_of("docs/systems.md").splitlines()]
    named = {
        name for row in rows if len(row) == 6 for name in re.findall(r"`([a-z0-9-]+)`", row[3])
    }
    shipped = {path.parent.name for path in (ROOT / "checkpoints").glob("*/card.json")}
    assert named == shipped


def test_front_matter_of_a_space_fits_the_dockerfile() -> None:
    text, built = (ROOT / "docs/scale.md").read_text(), (ROOT / "Dockerfile").read_text()
    [matter] = re.findall(r"^---\n(.*?)^---$", text, re.MULTILINE | re.DOTALL)
    settings = dict(line.split(": ", 1) for line in matter.splitlines())
    assert settings["sdk"] == "docker"
    assert f"EXPOSE {settings['app_port']}\n" in built
    # The document names the lines that must be changed for a Space.
    assert sum("10001" in line for line in built.splitlines()) == 2
    assert built.rstrip().splitlines()[-1].startswith("CMD [")
