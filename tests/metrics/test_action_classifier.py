"""The recognition of the action that a sentence describes."""

from __future__ import annotations

import math

from areaviz.lab.tasks.clips import ActionClassifier

TEXTS = ["a fox climbs", "the fox climbs up", "a heron shouts", "a heron is shouting"]
ACTIONS = ["climb", "climb", "shout", "shout"]


def test_words_predict_the_action_they_occurred_with() -> None:
    found = ActionClassifier(TEXTS, ACTIONS)
    assert found.told("an otter climbs") == "climb"
    assert found.told("an otter is shouting") == "shout"
    # "climbs" and "up" together outweigh "heron", which occurs only with shouting.
    assert found.told("a heron climbs up") == "climb"


def test_sentence_without_known_words_predicts_nothing() -> None:
    found = ActionClassifier(TEXTS, ACTIONS)
    assert found.told("otters sleep") == "" and found.told("") == ""


def test_predicted_action_matches_manual_probability() -> None:
    found = ActionClassifier(TEXTS, ACTIONS)
    words = {word for text in TEXTS for word in text.split()}
    sums = {}
    for action in ("climb", "shout"):
        own = [w for t, a in zip(TEXTS, ACTIONS, strict=True) if a == action for w in t.split()]
        likely = [(own.count(w) + 1) / (len(own) + len(words)) for w in ["a", "fox", "is", "up"]]
        sums[action] = sum(map(math.log, likely))
    assert found.told("a fox is up") == max(sums, key=lambda action: sums[action])
