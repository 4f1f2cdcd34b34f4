"""Pointer networks and the memory network answer in the page as they do in Python."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.request import Request
from tests.components.live.node import assert_equal_traces, documents
from tests.components.live.test_engine import live, traces
from tests.sampled import sampled

RUNS = 100
PEOPLE = ("Mary", "John", "Sandra", "Daniel", "Zoë")
PLACES = ("kitchen", "garden", "office", "hallway", "bathroom", "bedroom", "spaceship")


def points(rng: np.random.Generator) -> str:
    """Return between 3 and 12 random points."""
    places = rng.integers(0, 1001, (int(rng.integers(3, 13)), 2))
    return " ".join(f"{x},{y}" for x, y in places)


def story(rng: Random) -> str:
    """Return a random story of up to 20 facts with a question; some words are unknown."""
    facts = []
    for _ in range(rng.randint(1, 20)):
        verb = rng.choice(("went to", "moved to", "travelled to", "teleported to"))
        end = rng.choice((".", "!", " ."))
        facts.append(f"{rng.choice(PEOPLE)} {verb} the {rng.choice(PLACES)}{end}")
    return f"{' '.join(facts)} Where is {rng.choice(PEOPLE)}?"


@pytest.mark.parametrize("name", sampled(["pointer-hull", "pointer-tour"], "pointer-hull"))
def test_pointer_networks_agree_with_python(name: str) -> None:
    rng = np.random.default_rng(5)
    changes: tuple[tuple[Change, ...], ...] = (
        (),
        (Weigh("pointer", (1,)),),
        (Hide("points", (0, 2)),),
        (Weigh("pointer", (2,), factor=5.0),),
    )
    requests = []
    for number in range(RUNS):
        method = ("greedy", "beam")[number % 2]
        requests.append(Request(name, points(rng), method, changes=changes[number % 4]))
    for found, expected in traces(live(name), requests):
        assert_equal_traces(found, expected)


def test_points_on_a_grid_have_the_exact_answers_of_python() -> None:
    # Many of these points are on one line, as far from the mean, or at the same angle.
    rng = np.random.default_rng(7)
    requests = []
    for _ in range(40):
        chosen = rng.choice(25, 7, replace=False)
        text = " ".join(f"{250 * (place % 5)},{250 * (place // 5)}" for place in chosen)
        requests.append(Request("pointer-tour", text))
    for found, expected in traces(live("pointer-tour"), requests):
        assert_equal_traces(found, expected)


def test_given_points_agree_with_python() -> None:
    request = Request("pointer-hull", "0,0 900,10 500,800 400,300", target="2 3 1 2")
    ((found, expected),) = traces(live("pointer-hull"), [request])
    assert_equal_traces(found, expected)


def test_memory_network_agrees_with_python() -> None:
    rng = Random(3)
    changes: tuple[tuple[Change, ...], ...] = (
        (),
        (Hide("facts", (0,)),),
        (Weigh("hops", (0,), factor=4.0, layer=1), Gate("hops", factor=0.5, layer=2)),
    )
    name = "memory-stories"
    requests = [Request(name, story(rng), changes=changes[n % 3]) for n in range(RUNS)]
    requests.append(Request(name, "Mary went to the kitchen. Where is Mary?", target="Garden"))
    for found, expected in traces(live(name), requests):
        assert_equal_traces(found, expected)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("pointer-hull", "1,2 3,4", "at least 3 are needed"),
        ("pointer-hull", "0,0 500,500 10,10", "on one line"),
        ("pointer-hull", "0,0 5,5 0,0 9,3", "Points 1 and 3 are at the same place"),
        ("pointer-tour", "0,0 1,1001 5,5", '"1,1001" is not a point'),
        ("memory-stories", "Mary went home.", "no question at its end"),
        ("memory-stories", "Where is Mary?", "no fact"),
    ],
)
def test_bad_inputs_get_the_message_of_python(name: str, text: str, said: str) -> None:
    (document,) = documents(live(name), [Request(name, text)])
    assert said in document["error"]
