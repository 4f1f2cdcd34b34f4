"""The repository's files other than Python: the citation, the container, the workflow."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml
from typer.main import get_command

from areaviz import __version__
from areaviz.cli.serve import serve
from areaviz.gateway.gateway import HEALTH

ROOT = Path(__file__).parents[1]


def instructions(name: str) -> list[str]:
    """Return every instruction of the Dockerfile that begins with `name`, with its lines joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    return [line.removeprefix(name).strip() for line in text.splitlines() if line.startswith(name)]


def test_citation_has_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert citation["license"] == "Apache-2.0"


def test_workflow_runs_the_whole_check() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    assert {"run": ".ci/run"} in job["steps"]
    assert workflow["permissions"] == {"contents": "read"}


def test_container_does_not_run_as_root() -> None:
    (user,) = instructions("USER")
    assert user.isdigit() and int(user) > 0


def test_container_copies_existing_files_and_locked_python() -> None:
    copied = [word for line in instructions("COPY") for word in line.split()[:-1]]
    assert "locks/run.txt" in copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert instructions("FROM")[0].startswith("python:3.11-")


def test_container_starts_the_app_and_checks_its_health() -> None:
    (check,) = instructions("HEALTHCHECK")
    assert f"http://localhost:8501{HEALTH}" in check
    # An instruction in JSON runs without a shell.
    command = json.loads(next(line for line in instructions("CMD") if line.startswith("[")))
    assert command[:4] == ["python", "-m", "areaviz", "serve"]
    with get_command(serve).make_context("serve", command[4:], resilient_parsing=True) as context:
        assert context.params["host"] == "0.0.0.0"
        assert context.params["allow_host"] == ["localhost"]
        assert str(context.params["token_file"]) == "/run/secrets/token"
