"""The operator can list the analyses of a running app, and stop one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from areaviz.cli import main
from areaviz.cli.serve import make_operator_commands
from areaviz.gateway.protocols import Connections
from areaviz.gateway.serving import SETTING, serve_commands
from areaviz.sets.app import runs as module
from areaviz.sets.jobs import Job, Jobs

PORT = 8598
ASKED = ["--port", str(PORT)]


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """Serve the jobs of an app at `PORT`, of which two are running."""
    monkeypatch.setenv(SETTING, str(tmp_path / "runtime"))
    found = Jobs()
    monkeypatch.setattr(module, "get_jobs", lambda: found)

    def work(job: Job) -> None:
        job.report(3, 2000)
        job.stopping.wait()

    for number, title in enumerate(("dogs.en, letters", "cats\x1b[2J.en, words\nand more")):
        found.start(str(number), work, f"reader {number}", title)
    with serve_commands(make_operator_commands(Connections(None)), PORT):
        yield found
    for job in found.running():
        job.stop()
        job.wait()


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["jobs", *words])
    assert ended.value.code in (0, 1)
    both = capsys.readouterr()
    return both.out + both.err


def test_running_analyses_are_listed_and_one_is_stopped(
    jobs: Jobs, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = told(capsys, *ASKED).splitlines()
    assert first.startswith("  1  3 of 2,000  since 2") and first.endswith(
        "  watched  dogs.en, letters"
    )
    assert second.endswith("cats⟨U+001B⟩[2J.en, words and more"), (
        "no sign of a title moves the cursor"
    )
    assert [one["number"] for one in json.loads(told(capsys, "--json", *ASKED))] == [1, 2]
    stopped = jobs.running()[0]
    assert "Stopped:   1  3 of 2,000" in told(capsys, "stop", "1", *ASKED)
    stopped.wait()
    assert [job.number for job in jobs.running()] == [2]
    assert "No analysis 1 is running. Running analyses: 2." in told(capsys, "stop", "1", *ASKED)


def test_missing_app_and_missing_analysis_are_reported(
    jobs: Jobs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "You have no app at port 8597" in told(capsys, "--port", "8597")
    for job in jobs.running():
        job.stop()
        job.wait()
    assert told(capsys, *ASKED) == "No analysis is running.\n"


@pytest.mark.parametrize("words", [[], ["x"], ["1", "2"], ["²"], ["-1"]])
def test_stop_refuses_an_invalid_number(words: list[str]) -> None:
    with pytest.raises(module.InputError, match="Name the number of one analysis"):
        module.stop_analysis(words)
