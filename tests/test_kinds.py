"""Every kind of input works with every feature.

The rows are kinds of input, each with a tiny model (`tests/kinds.py`), and the columns are tests.
`NO_CELL` lists the combinations that are impossible, with the reason. Tests show that they are.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import areaviz
from areaviz.app.files import list_files
from areaviz.backend.access import compute_digest
from areaviz.backend.backend import CachedBackend, ReplayBackend
from areaviz.backend.local import LocalBackend
from areaviz.backend.remote import RemoteBackend
from areaviz.backend.server import Api
from areaviz.cards.card import write_card
from areaviz.cards.tasks import TASKS
from areaviz.cli import build
from areaviz.cli.show import describe_file, read_schema
from areaviz.draw.select import list_sites, name_site
from areaviz.draw.view import Paper
from areaviz.measures.faithfulness import Probe, measure_inputs
from areaviz.media.clips import encode_gif
from areaviz.media.sounds import encode_flac
from areaviz.page.page import export, write_python_lines
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.measures import MEASURES
from areaviz.sets.run import run_examples
from areaviz.trace import file as codec
from areaviz.trace import query
from areaviz.trace.changes import Hide
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.file import open_trace
from areaviz.trace.kinds import KINDS
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request, from_params, to_params
from areaviz.views.views import VIEWS, find_kind
from tests.kinds import CASES, Case, write_checkpoints
from tests.sampled import sampled
from tests.server.models import TOKEN
from tests.server.server import serving
from tests.trace.sentence import assert_one_sentence

EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
NO_CELL: Mapping[tuple[str, str], str] = {
    ("digit", "what if"): "glimpses are places in a picture and no weights that could be banned",
    ("digit", "faithfulness"): "the same: nothing can be taken away",
}
"""Kind and column of every impossible combination, with the reason."""


def cases(column: str) -> pytest.MarkDecorator:
    """Parametrise a test with the kinds for which its column is possible."""
    found = [case for case in CASES.values() if (case.name, column) not in NO_CELL]
    return pytest.mark.parametrize("case", found, ids=[case.name for case in found])


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoints")
    write_checkpoints(path)
    return path


@pytest.fixture(scope="module")
def backend(checkpoints: Path) -> LocalBackend:
    made = LocalBackend(checkpoints, "cpu")
    assert made.problems() == ()
    return made


@pytest.fixture(scope="module")
def traces(backend: LocalBackend) -> dict[str, Trace]:
    return {name: backend.trace(case.request) for name, case in CASES.items()}


@pytest.fixture(scope="module")
def remote(backend: LocalBackend) -> Iterator[RemoteBackend]:
    with serving(Api(CachedBackend(backend), compute_digest(TOKEN))) as running:
        yield RemoteBackend(running.address, TOKEN, answer_seconds=30)


def same(one: Trace, other: Trace) -> bool:
    """Return whether two traces are equal apart from the time they took."""
    untimed = {**one.details, "seconds": other.details.get("seconds", "")}
    if "seconds" not in other.details:
        untimed.pop("seconds")
    return codec.trace_to_bytes(replace(one, details=untimed)) == codec.trace_to_bytes(other)


def test_every_kind_of_field_and_every_task_with_models_is_walked(backend: LocalBackend) -> None:
    kinds = {kind for case in CASES.values() for kind in case.fields}
    assert kinds == KINDS.keys()
    tasks = {card.task for card in backend.models().values()}
    # A picture encoder is a part of a captioner, so no model has its task.
    assert tasks == TASKS.keys() - {"words of a picture"}
    samples = {case.sample for case in CASES.values() if case.sample}
    assert samples == SAMPLE_SETS.keys()


@EVERY
def test_model_of_every_kind_gives_valid_trace_with_views(
    traces: dict[str, Trace], case: Case
) -> None:
    trace = traces[case.name]
    validate(trace)
    read = [
        field.kind for field in trace.fields.values() if field.name not in ("target", "history")
    ]
    assert tuple(read) == case.fields
    assert case.site in list_sites(trace)
    assert [view for view in VIEWS.values() if view.fits(trace, Focus(case.site))]


@EVERY
def test_file(traces: dict[str, Trace], case: Case, tmp_path: Path) -> None:
    """Every reader returns the complete trace, and the document fits the schema."""
    trace, path = traces[case.name], tmp_path / "trace.npz"
    areaviz.save(trace, path)
    assert codec.trace_to_bytes(areaviz.load(path)) == codec.trace_to_bytes(trace)
    with path.open("rb") as file:
        assert codec.trace_to_bytes(open_trace(file)) == codec.trace_to_bytes(trace)
    assert "a trace, version" in describe_file(path)
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read(codec.DOCUMENT))
    Draft202012Validator(json.loads(read_schema())).validate(document)


@EVERY
def test_link(case: Case) -> None:
    """A link holds the whole request, except that it only names the file."""
    request = case.request.checked()
    if case.ban is not None:
        request = replace(request, changes=(case.ban,))
    focus = Focus(case.site)
    params = to_params(request, focus)
    found = from_params(params)
    assert found == (replace(request, picture=None, sound=None, clip=None), focus)
    for name in ("picture", "sound", "clip"):
        content = getattr(request, name)
        assert params.get(name) == (None if content is None else content.name)


@EVERY
def test_replay(
    traces: dict[str, Trace], backend: LocalBackend, case: Case, tmp_path: Path
) -> None:
    (tmp_path / "cards").mkdir()
    write_card(backend.models()[case.name], tmp_path / "cards" / "one.json")
    codec.save(traces[case.name], tmp_path / "one.npz")
    replay = ReplayBackend(tmp_path)
    assert replay.problems() == ()
    found = replay.trace(case.request.checked())
    assert codec.trace_to_bytes(found) == codec.trace_to_bytes(traces[case.name])
    with pytest.raises(InputError, match="no stored result"):
        replay.trace(replace(case.request, text="other", picture=None, sound=None, clip=None))


@EVERY
def test_remote(remote: RemoteBackend, traces: dict[str, Trace], case: Case) -> None:
    assert same(remote.trace(case.request), traces[case.name])


@EVERY
def test_page(traces: dict[str, Trace], case: Case, tmp_path: Path) -> None:
    """The page is one file with the output and its attention."""
    trace, path = traces[case.name], tmp_path / "page.html"
    export(trace, path)
    page = path.read_text(encoding="utf-8")
    assert trace.fields[trace.output.field].raw in page
    # Inputs without a component, such as sounds, are shown as pictures.
    drawn = name_site(trace, case.site) if find_kind(trace, case.site) else "data:image/svg+xml"
    assert drawn in page


@pytest.mark.parametrize("case", sampled(CASES.values(), *list(CASES.values())[::4]), ids=CASES)
def test_downloads(traces: dict[str, Trace], case: Case) -> None:
    """Make every file of the first view that fits, and the numbers of all views that fit."""
    trace, focus = traces[case.name], Focus(case.site)
    starts = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG", "gif": b"GIF8", "npz": b"PK"}
    fitting = [view for view in VIEWS.values() if view.fits(trace, focus)]
    for kind, file in list_files(fitting[0], trace, focus).items():
        content = file.make()
        assert content.startswith(starts.get(kind, b"")) and len(content) > 60
    for view in fitting:
        made = list_files(view, trace, focus)
        assert json.loads(made["json"].make()) and made["csv"].make().count(b"\n") > 1, view.name


@EVERY
def test_copy_as_python(
    traces: dict[str, Trace], case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copied lines make the figure again from the file in their folder."""
    trace, focus = traces[case.name], Focus(case.site)
    view = next(one for one in VIEWS.values() if one.fits(trace, focus))
    monkeypatch.chdir(tmp_path)
    codec.save(trace, tmp_path / "trace.npz")
    exec(write_python_lines(view.name, trace, focus, Paper(), "trace.npz"), {})
    assert [path.read_bytes()[:4] for path in tmp_path.glob("*.pdf")] == [b"%PDF"]


@cases("what if")
def test_what_if(
    backend: LocalBackend, remote: RemoteBackend, traces: dict[str, Trace], case: Case
) -> None:
    """Banned items get no weight, other items do, and changes work in files and on the wire."""
    assert case.ban is not None
    asked = replace(case.request, changes=(case.ban,))
    changed = backend.trace(asked)
    attention = changed.maps[case.site]
    items = list(case.ban.items)
    for layer in range(attention.layers):
        covered_QN = query.coverage(attention, layer, None)
        assert covered_QN[:, items].max() == 0
        # The remaining items still get attention.
        assert covered_QN.sum() > 0
    assert not np.allclose(attention.weights, traces[case.name].maps[case.site].weights)
    assert codec.trace_from_bytes(codec.trace_to_bytes(changed)).request == asked.checked()
    assert same(remote.trace(asked), changed)


def test_unsupported_change_is_reported(backend: LocalBackend) -> None:
    case = CASES["digit"]
    with pytest.raises(InputError) as refused:
        backend.trace(replace(case.request, changes=(Hide("picture", (0,)),)))
    assert_one_sentence(refused.value)


@cases("analyse")
def test_analyse(backend: LocalBackend, case: Case) -> None:
    """Examples of the app's own dataset run together and get metrics."""
    dataset = SAMPLE_SETS[case.sample]()
    asked = Request(case.name, "")
    task = TASKS[backend.models()[case.name].task]
    assert task.samples == case.sample and task.texts == dataset.texts
    rows = run_examples(dataset, range(3), asked, backend.trace_together)
    for row in rows:
        if row.error:
            # A tiny vocabulary may lack a word, but an error is always a sentence.
            assert row.error.endswith("."), row
    assert any(row.measures.keys() & MEASURES.keys() for row in rows), rows


@cases("faithfulness")
def test_faithfulness(backend: LocalBackend, case: Case) -> None:
    found, taken = measure_inputs([case.request], Probe(case.site, k=1, draws=2), backend.trace)
    assert taken == 1 and 0 < found.probability <= 1
    assert -1 <= found.comprehensiveness <= 1


@EVERY
def test_command_line(checkpoints: Path, case: Case, tmp_path: Path) -> None:
    """`trace` runs a model on the user's file, and `validate` and `export` accept the result."""
    request, saved = case.request, tmp_path / "trace.npz"
    given: list[str] = []
    if request.picture is not None:
        given += ["--picture", str(_written(tmp_path / "seen.png", _png(request)))]
    if request.sound is not None:
        given += ["--sound", str(_written(tmp_path / "heard.flac", encode_flac(request.sound)))]
    if request.clip is not None:
        given += ["--clip", str(_written(tmp_path / "seen.gif", encode_gif(request.clip)))]
    common = ["--checkpoints", str(checkpoints), "--device", "cpu"]
    _run("trace", case.name, request.text, str(saved), *given, *common)
    found = codec.load(saved)
    assert found.request.model == case.name and found.request.text == request.text
    if request.sound is not None:
        assert found.request.sound is not None and found.request.sound.pcm == request.sound.pcm
    assert "a trace, version" in _run("validate", str(saved))
    _run("export", str(saved), str(tmp_path / "page.html"))


def _run(command: str, *arguments: str) -> str:
    done = CliRunner().invoke(build(command), [command, *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _png(request: Request) -> bytes:
    from PIL import Image

    assert request.picture is not None
    file = io.BytesIO()
    Image.fromarray(request.picture.pixels).save(file, "PNG")
    return file.getvalue()
