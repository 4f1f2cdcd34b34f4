"""Best alignment is a choice next to the layers, in links and in what a page opens with."""

from __future__ import annotations

from dataclasses import replace

from areaviz.app.focus import format_layer, get_layer_format, list_layer_choices
from areaviz.app.page import BEST_LAYER, State
from areaviz.cards.card import Opening
from areaviz.draw.select import list_model_sites, name_site
from areaviz.trace.derived import BEST, BestAlignment, add_best
from areaviz.trace.request import Focus
from tests.fakes import trace as make_trace

SITE = "encoder-decoder"
CHOSEN = BestAlignment(((0, 1, 1), (1, 0, 0)), 20, "validation captions", 0.2, 0.3)
TRACE = add_best(make_trace(), {SITE: CHOSEN})


def test_best_alignment_follows_layers_and_is_not_a_site() -> None:
    assert list_layer_choices(TRACE, SITE) == [0, 1, BEST_LAYER]
    assert list_layer_choices(TRACE, "encoder self") == [0, 1]
    assert format_layer(BEST_LAYER) == get_layer_format(TRACE, SITE)(BEST_LAYER) == "Best alignment"
    assert SITE + BEST not in list_model_sites(TRACE)
    assert name_site(TRACE, SITE + BEST) == "Translation to source, best alignment"


def test_only_link_with_best_alignment_opens_it() -> None:
    best = State().with_focus(Focus(SITE + BEST))
    assert (best.site, best.layer) == (SITE, BEST_LAYER)
    plain = State().with_focus(Focus(SITE, layer=1))
    assert (plain.site, plain.layer) == (SITE, 1)


def test_page_opens_best_alignment_only_by_card() -> None:
    opening = Opening("coverage", 1, 0, CHOSEN)
    assert State(opening={SITE: opening}).at_site(SITE).layer == 1
    opens = replace(opening, best=replace(CHOSEN, opens=True))
    state = State(opening={SITE: opens})
    assert state.at_site(SITE).layer == BEST_LAYER
    # A link has chosen a layer of this site already.
    assert replace(state, opened=SITE, layer=0).at_site(SITE).layer == 0
