"""The kind of a dataset's texts follows from their content."""

from __future__ import annotations

import pytest

from areaviz.samples.dataset import (
    POINTS,
    SENTENCES,
    STORIES,
    TREES,
    Dataset,
    Example,
    find_common_kind,
    find_text_kind,
)

TREE = "(S (NP XX )NP (VP XX )VP )S"
STORY = "Mary went to the kitchen. Where is Mary?"


@pytest.mark.parametrize(
    ("text", "references", "kind"),
    [
        ("", (), ""),
        ("  ", ("x",), ""),
        ("A dog.", ("Ein Hund.",), SENTENCES),
        ("A dog sleeps", (TREE,), TREES),
        ("A dog sleeps", ("(S (NP XX )NP",), SENTENCES),
        ("A dog sleeps", (TREE, "Ein Hund"), SENTENCES),
        ("A dog sleeps", ("(laughs)",), SENTENCES),
        (STORY, ("kitchen",), STORIES),
        (STORY, ("n,s",), STORIES),
        # These are two sentences to translate.
        (STORY, ("Mary ging in die Küche. Wo ist Mary?",), SENTENCES),
        (STORY, (), SENTENCES),
        ("Where is Mary?", ("kitchen",), SENTENCES),
        ("120,300 400,80", (), POINTS),
        ("120,300 and 400,80", (), SENTENCES),
        ("1,200", (), POINTS),
    ],
)
def test_kinds_of_one_text(text: str, references: tuple[str, ...], kind: str) -> None:
    assert find_text_kind(text, references) == kind


def test_dataset_has_the_kind_of_all_its_texts() -> None:
    assert find_common_kind(["", ""]) == ""
    assert find_common_kind([STORIES, "", STORIES]) == STORIES
    assert find_common_kind([STORIES, SENTENCES]) == SENTENCES
    examples = (Example("1", STORY, ("kitchen",)), Example("2", "A dog.", ("Ein Hund.",)))
    assert Dataset("mixed", examples, {}).texts == SENTENCES
    assert Dataset("stories", examples[:1], {}).texts == STORIES
