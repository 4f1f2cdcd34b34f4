"""Judgements: saved ones are committed, stale ones are refused, invalid ones get one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.sets.notes.exchange import from_jsonl, to_jsonl
from areaviz.sets.notes.notes import (
    MAX_SPANS,
    SEVERITIES,
    SIDES,
    ErrorSpan,
    Judgement,
    Judgements,
    compute_judgement_id,
    convert_spans_to_json,
    parse_spans,
)
from areaviz.sets.notes.records import Stale
from areaviz.trace.errors import InputError

SPAN = ErrorSpan("output", 4, 8, None, "Accuracy/Mistranslation", "major", "“Katze” for “Hund”")
ONE = Judgement("d" * 64, 3, "one.txt", "Ada", "A dog runs.", "Die Katze rennt.", (SPAN,), 64.5)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@pytest.fixture
def store(tmp_path: Path) -> Judgements:
    return Judgements.open(f"sqlite:///{tmp_path / 'notes.db'}")


def test_judgement_is_read_as_saved(store: Judgements, tmp_path: Path) -> None:
    boxed = ErrorSpan("picture", box=(0.1, 0.2, 0.5, 0.9), category="Accuracy", severity="minor")
    saved = store.save(replace(ONE, spans=(SPAN, boxed)))
    assert saved.version == 1 and saved.changed and saved.id == compute_judgement_id(ONE)
    again = Judgements.open(f"sqlite:///{tmp_path / 'notes.db'}")
    assert again.list_all(ONE.dataset) == [saved] and again.list_all("other") == []
    unscored = store.save(replace(ONE, rater="Bo", score=None, spans=()))
    assert store.list_all(ONE.dataset) == [saved, unscored]


def test_stale_judgement_is_refused_with_both_versions(store: Judgements) -> None:
    first = store.save(ONE)
    second = store.save(replace(first, score=10.0))
    assert second.version == 2
    for late in (replace(first, score=90.0), ONE):
        with pytest.raises(Stale) as refused:
            store.save(late)
        assert refused.value.there == second and refused.value.own.score == late.score
    with pytest.raises(Stale):
        store.remove(first)
    store.remove(second)
    with pytest.raises(Stale) as gone:
        store.save(replace(second, score=1.0))
    assert gone.value.there is None and store.list_all(ONE.dataset) == []


def test_own_and_old_judgements_are_removed(store: Judgements) -> None:
    mine = store.save(ONE, "me")
    hers = store.save(replace(ONE, rater="Bo"), "her")
    assert store.remove_own(ONE.dataset, "") == 0 and store.remove_own(ONE.dataset, "me") == 1
    assert store.list_all(ONE.dataset) == [hers] and mine.id != hers.id
    assert store.remove_older(hers.changed[:10]) == 0 and store.remove_older("9999") == 1


def test_import_overwrites_no_judgement(store: Judgements, tmp_path: Path) -> None:
    saved = store.save(ONE)
    other = Judgements.open(f"sqlite:///{tmp_path / 'other.db'}")
    assert other.merge([saved]) == (1, 0) and other.merge([saved]) == (0, 0)
    assert other.list_all(ONE.dataset) == [saved]
    changed = store.save(replace(saved, score=1.0))
    assert other.merge([changed]) == (0, 1) and other.merge([changed]) == (0, 0)
    kept, beside = sorted(other.list_all(ONE.dataset), key=lambda one: one.differs)
    assert kept == saved and beside.score == 1 and beside.differs == saved.id
    assert kept.counts and not beside.counts


def test_error_costs_follow_mqm() -> None:
    def cost(category: str, severity: str) -> float:
        return ErrorSpan("whole", category=category, severity=severity).weight

    assert [cost("Accuracy", severity) for severity in SEVERITIES] == [0, 1, 5, 25]
    assert cost("Non-translation!", "major") == 25 and cost("Fluency/Punctuation", "minor") == 0.1
    assert cost("Fluency/Punctuation", "major") == 5 and cost("Fluency/Grammar", "minor") == 1
    assert replace(ONE, spans=(SPAN, SPAN)).mqm == 10 and replace(ONE, spans=()).mqm == 0


def inside(text: str) -> st.SearchStrategy[tuple[int, int]]:
    starts = st.integers(0, len(text) - 1)
    return starts.flatmap(
        lambda start: st.tuples(st.just(start), st.integers(start + 1, len(text)))
    )


SPANS = st.builds(
    lambda place, category, severity, note: ErrorSpan(
        "source", place[0], place[1], None, category, severity, note
    ),
    inside(ONE.source),
    TEXT,
    st.sampled_from(SEVERITIES),
    TEXT,
)


@given(st.lists(SPANS, max_size=4), st.none() | st.floats(0, 100), TEXT)
def test_exported_judgements_are_read_unchanged(
    spans: list[ErrorSpan], score: float | None, rater: str
) -> None:
    one = replace(ONE, spans=tuple(spans), score=score, rater=rater.strip() or "x")
    assert from_jsonl(to_jsonl([one, ONE])) == [one, ONE]
    assert parse_spans(json.loads(json.dumps(convert_spans_to_json(spans)))) == tuple(spans)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"spans": (replace(SPAN, end=40),)},
            "Error 1 runs from character 4 to 40 but the output has 16 characters. Mark it again.",
        ),
        ({"spans": (SPAN, replace(SPAN, start=8))}, "Error 2 runs from character 8 to 8 but"),
        ({"spans": (replace(SPAN, start=-1),)}, "runs from character -1 to 8"),
        ({"spans": (replace(SPAN, side="source", end=12),)}, "but the source has 11 characters"),
        ({"spans": (replace(SPAN, side="left"),)}, f"It can be in: {', '.join(SIDES)}"),
        ({"spans": (ErrorSpan("picture", box=(0.5, 0, 0.2, 1)),)}, "a box outside the picture"),
        ({"spans": (ErrorSpan("picture"),)}, "a box outside the picture"),
        ({"spans": (replace(SPAN, severity="grave"),)}, 'has the severity "grave". Choose one of'),
        ({"spans": (SPAN,) * (MAX_SPANS + 1)}, "201 errors marked, but the limit is 200"),
        ({"score": 101.0}, "The score must be from 0 to 100, but it is 101. Correct it."),
        ({"score": float("nan")}, "must be from 0 to 100, but it is nan"),
        ({"rater": " "}, "under a rater's name. Enter yours"),
        ({"output": "x" * 20_001}, "output has 20,001 characters, but the limit is 20,000"),
        ({"source": "\ud800"}, "The source has a broken character"),
        ({"example": -1}, "The example has the number -1"),
    ],
)
def test_invalid_judgement_is_refused(
    store: Judgements, change: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        store.save(replace(ONE, **change))  # type: ignore[arg-type]
    assert said in str(refused.value) and store.list_all(ONE.dataset) == []


LINE = to_jsonl([ONE])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff", "is not a UTF-8 text"),
        (b"[1]\n", "Judgement 1 is not a JSON object"),
        (b'{"dataset": ""}\n', "Judgement 1 lacks number, model"),
        (LINE.replace(b"64.5", b'"good"'), "Judgement 1 has a score that is not a number"),
        (LINE.replace(b'"number": 4', b'"number": 0'), "no whole number as its example"),
        (LINE.replace(b'"model": "one.txt"', b'"model": 1'), "has no text as model"),
        (LINE + LINE.replace(b'"end": 8', b'"end": 80'), "Judgement 2 cannot be imported: Error"),
        (
            LINE.replace(b'"end": 8', b'"end": "8"'),
            "Error 1 is incomplete. It needs a side, a start",
        ),
        (LINE.replace(b'"box": null', b'"box": [1, 2]'), "Error 1 is incomplete"),
        (b"{}\n" * 100_001, "more than 100,000 lines"),
    ],
)
def test_file_without_judgements_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        from_jsonl(data)
