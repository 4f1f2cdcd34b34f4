"""A few sessions at once on the real app, and a check that a mix-up would be noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.faults.client import Shown
from tests.faults.load import Answer, load
from tests.faults.served import served
from tests.tiny import checkpoint


def test_sessions_never_mix(tmp_path: Path) -> None:
    checkpoint(tmp_path / "models")
    settings = {
        "AREAVIZ_CHECKPOINTS": str(tmp_path / "models"),
        "AREAVIZ_DEVICE": "cpu",
        "OMP_NUM_THREADS": "1",
    }
    with served(tmp_path / "log", settings) as app:
        found = load(app, tmp_path / "models", "tiny-area", sessions=5, questions=3, rest=0.3)
    assert found.answers == 15 and (found.mixed, found.wrong, found.errors) == (0, (), ()), str(
        found
    )


def answer(session: int, *texts: str) -> Answer:
    messages = [ForwardMsg() for _ in texts]
    for message, text in zip(messages, texts, strict=True):
        message.delta.new_element.text.body = text
    ribbon = ForwardMsg()
    ribbon.delta.new_element.bidi_component.json = "\n".join(texts)
    return Answer(session, texts[0], Shown(1.0, (*messages, ribbon)))


def test_mixed_up_session_and_wrong_answer_are_noticed() -> None:
    own = answer(3, "A wm03x001 dog", "Ein Hund")
    assert not own.mixed and not own.wrong("Ein Hund") and not own.wrong("Ein Hund ")
    assert "does not show" in own.wrong("Eine Katze")
    assert answer(3, "A wm03x001 dog", "Ein wm04x001 Hund").mixed
    assert "no ribbon" in replace(own, text="A wm03x002 dog").wrong("Ein Hund")
