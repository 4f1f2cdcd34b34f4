"""Stories in the format of bAbI. The sentences here are our own."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from areaviz.lab.tasks.stories import read_questions
from areaviz.models.stories import Question, split_sentence
from tests.stories import write_corpus

STORY = """1 Ann walked to the barn.
2 Bob took the lamp.
3 Where is Ann? \tbarn\t1
4 Ann went to the attic.
5 Where is Ann? \tattic\t4
1 Bob sat down.
2 What did Bob do? \tsat,down\t1
"""


def test_questions_have_preceding_and_supporting_facts(tmp_path: Path) -> None:
    folder = tmp_path / "babi" / "en"
    folder.mkdir(parents=True)
    (folder / "qa1_small_test.txt.gz").write_bytes(gzip.compress(STORY.encode()))
    first, second, third = read_questions(tmp_path, "test", [1])
    ann, lamp = "Ann walked to the barn.", "Bob took the lamp."
    assert first == Question(1, (ann, lamp), "Where is Ann?", "barn", (0,))
    assert second.facts == (ann, lamp, "Ann went to the attic.") and second.gold == (2,)
    assert third == Question(1, ("Bob sat down.",), "What did Bob do?", "sat,down", (0,))


def test_training_and_validation_share_no_story(tmp_path: Path) -> None:
    write_corpus(tmp_path, stories=40)
    train = read_questions(tmp_path, "train", [1])
    valid = read_questions(tmp_path, "val", [1])
    assert (len(train), len(valid)) == (36, 4)


def test_missing_corpus_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="qa3_"):
        read_questions(tmp_path, "train", [3])


def test_words_are_lower_case_without_punctuation() -> None:
    assert split_sentence("Where's Ann, then?") == ("where's", "ann", "then")
