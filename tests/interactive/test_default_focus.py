"""Where to look first, compared with a search by `top_areas` over all layers, words and heads."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.trace.query import top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.message import SITE, choose_first_focus, choose_first_item
from tests import fakes


def shown_weight(trace: Trace, layer: int, item: int) -> float:
    """Return the sum over heads of the weights of top areas that have several items."""
    attention = trace.maps[SITE]
    tops = [top_areas(attention, layer, head, item, 1)[0] for head in range(attention.heads)]
    return sum(top.weight for top in tops if top.area.size > 1)


@pytest.mark.parametrize("layers", [1, 3])
def test_first_look_maximises_the_weight_of_shown_spans(layers: int) -> None:
    trace = fakes.trace(layers=layers)
    focus = choose_first_focus(trace)
    labels = trace.fields["target"].labels
    words = [item for item, label in enumerate(labels) if label.strip().isalpha()]
    scores = {
        (layer, item): shown_weight(trace, layer, item) for layer in range(layers) for item in words
    }
    assert scores[focus.layer, focus.items[0]] == pytest.approx(max(scores.values()))
    assert focus.areas == "any"


def test_first_look_prefers_spans_if_no_head_shows_one() -> None:
    trace = fakes.trace(layers=1)
    weights, grid = trace.maps[SITE].weights, trace.maps[SITE].grid
    weights[..., grid.sizes() == 1] += 1
    weights /= weights.sum(-1, keepdims=True)
    focus = choose_first_focus(trace)
    mean_QA = weights[0].mean(0)[:, grid.sizes() > 1]
    labels = trace.fields["target"].labels
    words = np.array([label.strip().isalpha() for label in labels])
    assert focus.items == (int(np.where(words, mean_QA.max(-1), 0).argmax()),)
    assert focus.areas == "several"


def test_first_look_of_single_items_is_top_item() -> None:
    trace = fakes.trace(layers=1, area_size=1)
    focus = choose_first_focus(trace)
    assert focus.areas == "any" and len(focus.items) == 1


def test_first_look_without_words_opens_layer_with_an_item() -> None:
    trace = fakes.trace(target="123", layers=1)
    assert choose_first_focus(trace) == Focus(SITE)
    assert len(choose_first_item(trace.maps[SITE], 0, trace.fields["target"])) == 1


def test_first_item_agrees_with_first_look_in_its_layer() -> None:
    trace = fakes.trace(layers=2)
    focus = choose_first_focus(trace)
    assert choose_first_item(trace.maps[SITE], focus.layer, trace.fields["target"]) == focus.items
