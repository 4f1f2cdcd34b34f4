"""bAbI: stories of simple sentences, with questions and the facts that answer them.

Weston et al. 2015, version 1.2, with 1,000 training and 1,000 test questions per task.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

from areaviz.models.stories import Question

TASKS = range(1, 21)
VALID_SHARE = 10
"""One story in this many is held out from a training file, for choosing the checkpoint."""


def read_questions(data: Path, split: str, tasks: Sequence[int] = TASKS) -> list[Question]:
    """Read the questions of "train", "val" or "test".

    Raises:
        FileNotFoundError: The corpus is not in `data`.
    """
    questions: list[Question] = []
    for task in tasks:
        for number, story in enumerate(_iterate_stories(_find_task_file(data, task, split))):
            held_out = number % VALID_SHARE == VALID_SHARE - 1
            if split == "test" or held_out == (split == "val"):
                questions += _iterate_questions(task, story)
    return questions


def _find_task_file(data: Path, task: int, split: str) -> Path:
    folder, part = data / "babi" / "en", "test" if split == "test" else "train"
    found = sorted(folder.glob(f"qa{task}_*_{part}.txt.gz"))
    if not found:
        raise FileNotFoundError(
            f"{folder} has no qa{task}_*_{part}.txt.gz. Put the bAbI tasks, version 1.2, there."
        )
    return found[0]


def _iterate_stories(path: Path) -> Iterator[list[str]]:
    """Yield the lines of each story without their numbers. A story begins with the number 1."""
    story: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            number, _, text = line.rstrip("\n").partition(" ")
            if number == "1" and story:
                yield story
                story = []
            story.append(text)
    yield story


def _iterate_questions(task: int, story: Sequence[str]) -> Iterator[Question]:
    """Yield the questions of one story. Its lines, including questions, are numbered from 1."""
    facts: list[str] = []
    fact_of: dict[int, int] = {}
    for number, line in enumerate(story, start=1):
        text, *rest = line.split("\t")
        if not rest:
            fact_of[number] = len(facts)
            facts.append(text.strip())
            continue
        gold = tuple(fact_of[int(one)] for one in rest[1].split())
        yield Question(task, tuple(facts), text.strip(), rest[0], gold)
