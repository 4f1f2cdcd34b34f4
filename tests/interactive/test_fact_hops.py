"""The data of facts by hops: weights of all hops, and what is known about the story."""

from __future__ import annotations

from dataclasses import replace

from areaviz.trace.changes import Hide
from areaviz.trace.kinds import EXPECTED
from areaviz.trace.request import Focus
from areaviz.views.facts.facts import make_hops_payload
from tests.views.test_reasoning import story_trace


def test_payload_has_every_hop() -> None:
    trace = story_trace("2")
    trace = replace(trace, details={**trace.details, EXPECTED: "Bob"})
    header = make_hops_payload(trace, Focus("hops"))["header"]
    assert header["weights"] == [[0.9, 0.1], [0.2, 0.8]]
    assert header["facts"] == ["Ann sat <b>down</b>.", "Bob left $x$."]
    assert (header["question"], header["answer"], header["sure"]) == ("Who left?", "Bob", 0.7)
    assert (header["needed"], header["expected"], header["hidden"]) == ([1], "Bob", [])


def test_payload_id_depends_on_hidden_facts() -> None:
    trace = story_trace()
    hidden = replace(trace, request=replace(trace.request, changes=(Hide("facts", (1,)),)))
    one, other = (make_hops_payload(each, Focus("hops"))["header"] for each in (trace, hidden))
    assert other["hidden"] == [1] and one["id"] != other["id"]
