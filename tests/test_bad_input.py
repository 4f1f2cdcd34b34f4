"""Bad input of every kind, on the command line and over the wire, gives one sentence of advice.

Nothing is lost. The tests of each reader check the limits of files and texts, and the tests of
pages check the pages' messages.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image
from typer.testing import CliRunner

from areaviz.backend import wire
from areaviz.backend.access import compute_digest
from areaviz.backend.local import LocalBackend
from areaviz.backend.server import Api
from areaviz.cli import build
from areaviz.trace.errors import InputError
from areaviz.trace.request import RATE, Clip, Request, Sound
from tests.kinds import CASES, write_checkpoints
from tests.server.models import TOKEN
from tests.trace.sentence import assert_one_sentence


@dataclass(frozen=True)
class Bad:
    """A case of bad input.

    Args:
        kind: The kind of input, a key of `tests.kinds.CASES`.
        says: A part of the expected sentence.
        text: The text of the request.
        option: The option of the command line that takes the file.
        content: A function that returns the content of the file.
        example: Whether the sentence ends with an example to type.
    """

    kind: str
    says: str
    text: str = ""
    option: str = ""
    content: Callable[[], bytes] = bytes
    example: bool = False


def recording(seconds: float, rate: int = RATE, level: float = 0.3, kind: str = "WAV") -> bytes:
    samples = level * np.sin(np.arange(int(seconds * rate)) * 0.3)
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=kind)
    return file.getvalue()


def animation(frames: int) -> bytes:
    images = [Image.new("P", (2, 2), number % 2) for number in range(frames)]
    file = io.BytesIO()
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], optimize=False)
    return file.getvalue()


def _sound(says: str, content: Callable[[], bytes]) -> Bad:
    return Bad("sound", says, option="--sound", content=content)


def _clip(says: str, content: Callable[[], bytes]) -> Bad:
    return Bad("clip", says, option="--clip", content=content)


def _many(count: int) -> str:
    return " ".join(f"{number},{number * 7 % 900}" for number in range(count))


BAD = {
    "a rate that no recording has": _sound("sample rate is 2,000 Hz", lambda: recording(1, 2000)),
    "ten minutes": _sound("600 seconds long, but the limit is 20", lambda: recording(600)),
    "a bomb": _sound("600 seconds long", lambda: recording(600, level=0, kind="FLAC")),
    "silence": _sound("is silent", lambda: recording(1, level=0)),
    "half a recording": _sound("is incomplete", lambda: recording(1)[:6000]),
    "no recording": _sound("is not a WAV, FLAC, Ogg, MP3 or AIFF", lambda: b"no sound"),
    "one frame": _clip("has one frame only", lambda: animation(1)),
    "10,000 frames": _clip("more than 300 frames", lambda: animation(10_000)),
    "half a clip": _clip("is not a GIF, WebP or animated PNG", lambda: animation(9)[:40]),
    "a recorded video": replace(
        _clip("Video files are not supported", lambda: b"\0\0\0 ftypisom" + bytes(90)), example=True
    ),
    "no sound at all": Bad("sound", "sound needs a sound. Give a file or a sample with --sound"),
    "no clip at all": Bad("clip", "with --clip, for example three-left-grows"),
    "no picture at all": Bad("picture", "with --picture, for example"),
    "200 facts": Bad("facts", "200 facts, but the limit is 20", "Ann left. " * 200 + "Who left?"),
    "no question": Bad("facts", "no question at its end", "Ann left.", example=True),
    "no fact": Bad("facts", "The question has no facts", "Who left?", example=True),
    "two points in one place": Bad(
        "points", "Points 1 and 3 are at the same place", "5,5 7,7 5,5 9,20"
    ),
    "200 points": Bad("points", "There are 200 points, but the limit is", _many(200)),
    "one point": Bad("points", "There is 1 point", "5,5"),
    "points on a line": Bad("points", "are on one line", "0,0 10,10 20,20"),
    "no points": Bad("points", "is not a point", "five"),
    "no sentence": Bad("tree", "Type a sentence", " "),
    "half a sign": Bad("tree", "half a surrogate pair", "Ida \ud800 ."),
    "a book": Bad("tree", "the limit is 4,096", "Ida paints . " * 400),
}
EVERY = pytest.mark.parametrize("bad", BAD.values(), ids=BAD)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoints")
    write_checkpoints(path)
    return path


@pytest.fixture(scope="module")
def api(checkpoints: Path) -> Api:
    return Api(LocalBackend(checkpoints, "cpu"), compute_digest(TOKEN))


@EVERY
def test_command_line_reports_bad_input_and_keeps_files(
    checkpoints: Path, bad: Bad, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.npz"
    kept.write_bytes(b"what was there")
    given: list[str] = []
    if bad.option:
        (tmp_path / "input").write_bytes(bad.content())
        given = [bad.option, str(tmp_path / "input")]
    done = CliRunner().invoke(
        build("trace"),
        ["trace", bad.kind, bad.text, str(kept), *given, "--checkpoints", str(checkpoints)],
    )
    assert isinstance(done.exception, InputError), done.output
    assert bad.says in str(done.exception)
    if not bad.example:
        assert_one_sentence(done.exception)
    assert kept.read_bytes() == b"what was there"


@pytest.mark.parametrize("bad", [one for one in BAD.values() if one.text])
def test_model_server_reports_bad_input(api: Api, bad: Bad) -> None:
    assert_said(api, Request(bad.kind, bad.text), bad.says)


STILL = np.zeros((1, 4, 4, 3), np.uint8)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Request("sound", "", sound=Sound("s", bytes(2 * RATE * 600))), "600.0 seconds long"),
        (Request("sound", "", sound=Sound("s", bytes(3))), "request is damaged"),
        (Request("clip", "", clip=Clip.of("c", STILL)), "has 1 frames, but 2 to 32"),
        (Request("clip", "", clip=Clip.of("c", STILL.repeat(10_000, 0))), "has 10,000 frames"),
        (Request("sound", "three one four"), "sound"),
        (Request("clip", "three"), "clip"),
        (Request("picture", "a dog"), "picture"),
    ],
)
def test_model_server_checks_requests(api: Api, request_: Request, says: str) -> None:
    """A client of the server need not have used our decoders."""
    assert_said(api, request_, says)


def test_each_kind_names_its_input_when_refusing(api: Api) -> None:
    """Every model gets the input of every other, and answers or rejects it in a sentence."""
    for name in CASES:
        for other in CASES.values():
            asked = replace(other.request, model=name, target=None)
            reply = api.answer("POST", wire.TRACE, f"Bearer {TOKEN}", sent(asked))
            if reply.status != 200:
                kind, sentence = wire.failure_from_json(reply.content)
                assert kind == "input", f"{name} with {other.name}: {reply.content!r}"
                assert sentence.endswith((".", "?")), sentence


def sent(request: Request) -> bytes:
    return wire.trace_to_json(wire.TraceMessage(request))


def assert_said(api: Api, request: Request, says: str) -> None:
    reply = api.answer("POST", wire.TRACE, f"Bearer {TOKEN}", sent(request))
    kind, sentence = wire.failure_from_json(reply.content)
    # A message larger than any request is rejected for its size before it is read.
    assert kind in ("input", "size"), reply.content
    assert says in sentence or kind == "size", sentence
