"""Every view of the registry, on traces of many shapes."""

import json
from dataclasses import replace

import pytest
from matplotlib.text import Text

from areaviz.app.chart import find_first_view
from areaviz.draw.theme import SEQUENCE
from areaviz.draw.view import EXPORT_FORMATS, View, encode_figure, format_csv, format_json
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.views import TEXTS
from areaviz.views.views import VIEWS as EVERY
from tests import fakes

VIEWS = {view.name: view for view in TEXTS}
SITES = ("encoder self", "decoder self", "encoder-decoder")
FOCI = (
    Focus("encoder-decoder"),
    Focus("decoder self", 1, 3, "query", (0,)),
    Focus("encoder self", 0, None, "memory", (2, 3)),
    Focus("encoder-decoder", 1, 0, "query", (4, 2, 4), "word"),
)
HOSTILE = "$5 and $6 $\\frac{ <b>x</b> &amp; שלום \U0001f600 \u0301 \u202e \u200b \n %{z} \ud800 中"
START = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


@pytest.fixture(scope="module")
def trace() -> Trace:
    return fakes.trace()


@pytest.fixture(scope="module")
def hostile() -> Trace:
    """Return a trace with one item per character, except one that is the whole hostile text."""
    trace = fakes.trace(HOSTILE, HOSTILE[::-1])
    whole = {
        name: replace(field, labels=(HOSTILE, *field.labels[1:]))
        for name, field in trace.fields.items()
    }
    return replace(trace, fields=whole)


def test_registry_names_every_view_by_its_key() -> None:
    assert all(view.name == name and view.question.endswith("?") for name, view in VIEWS.items())


def test_more_is_brighter_and_called_so() -> None:
    light = [sum(SEQUENCE(share)[:3]) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert light == sorted(light)
    assert [view.name for view in EVERY.values() if "darker" in view.how_to_read] == []


@pytest.mark.parametrize(("largest", "opens"), [(3, "pyramid"), (1, "alignment")])
def test_page_opens_on_areas_if_there_are_any(largest: int, opens: str) -> None:
    trace, focus = fakes.trace(area_size=largest), Focus("encoder-decoder")
    fitting = [view for view in VIEWS.values() if view.fits(trace, focus)]
    assert find_first_view(fitting, trace, focus).name == opens
    # If no view may lead, the first view that fits is chosen.
    assert find_first_view([VIEWS["coverage"]], trace, focus).name == "coverage"


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("focus", FOCI, ids=str)
def test_every_view_draws_every_trace_it_fits(view: View, focus: Focus, trace: Trace) -> None:
    assert view.fits(trace, focus)
    figure = view.figure(trace, focus)
    assert "char-tiny-area" in figure.layout.meta["caption"]
    assert figure.layout.title.text and figure.layout.paper_bgcolor == "rgba(0,0,0,0)"
    table = view.table(trace, focus)
    assert table.rows and all(len(row) == len(table.columns) for row in table.rows)
    assert len(set(table.columns)) == len(table.columns)
    assert {type(cell) for row in table.rows for cell in row} <= {str, int, float}
    assert json.loads(format_json(table))["columns"] == list(table.columns)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize(
    ("trace", "items"),
    [
        (fakes.trace("A", "B"), (0,)),
        (fakes.trace("", ""), ()),
        (fakes.trace(layers=12, heads=12, area_size=1), (1,)),
    ],
    ids=["one item", "memory of 1", "12x12"],
)
def test_every_view_draws_small_and_deep_traces(
    view: View, trace: Trace, items: tuple[int, ...]
) -> None:
    for site in SITES:
        focus, grid = Focus(site, items=items), trace.maps[site].grid
        if view.name == "sizes" and grid.max_width == 1:
            assert not view.fits(trace, focus)
            continue
        assert view.fits(trace, focus)
        assert view.figure(trace, focus).data and view.table(trace, focus).rows


@pytest.mark.parametrize(
    "view", [view for view in VIEWS.values() if view.name != "probabilities"], ids=lambda v: v.name
)
@pytest.mark.parametrize(
    "focus",
    [
        Focus("no such site"),
        Focus("encoder-decoder", layer=2),
        Focus("encoder-decoder", layer=-1),
        Focus("encoder-decoder", head=4),
        Focus("encoder-decoder", items=(24,)),
        Focus("encoder-decoder", side="memory", items=(18,)),
    ],
    ids=str,
)
def test_view_states_that_it_does_not_fit(view: View, focus: Focus, trace: Trace) -> None:
    assert not view.fits(trace, focus)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_long_trace_gives_a_small_figure(view: View, long_trace: Trace) -> None:
    figure = view.figure(long_trace, Focus("encoder-decoder"))
    assert len(figure.to_json()) < 300_000


@pytest.fixture(scope="module")
def long_trace() -> Trace:
    return fakes.trace("abcdefgh" * 128, "xyzw " * 205, layers=1, heads=2, area_size=3)


def test_averaging_is_stated_in_the_title(long_trace: Trace) -> None:
    titles = {
        name: VIEWS[name].figure(long_trace, Focus("encoder-decoder")).layout.title.text
        for name in VIEWS
    }
    averaged = {name for name, title in titles.items() if "averaged" in title.replace("<br>", " ")}
    assert averaged == {"pyramid", "coverage", "alignment", "overview", "probabilities"}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_hostile_labels_stay_text(view: View, hostile: Trace) -> None:
    focus = Focus("encoder-decoder", 0, 0, "query", (0, 3))
    drawn = json.loads(view.figure(hostile, focus).to_json())
    del drawn["layout"]["meta"]  # removes the caption, which the page escapes
    spec = json.dumps(drawn, ensure_ascii=False)
    assert [active for active in ("<b>", "$", "\u202e", "\\u202e") if active in spec] == []
    printed = view.print(hostile, focus)
    assert not any(text.get_parse_math() for text in printed.findobj(Text))
    assert encode_figure(printed, "svg").startswith(START["svg"])
    format_csv(view.table(hostile, focus)).encode()


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_print_figure_is_written_in_every_format(kind: str, hostile: Trace) -> None:
    view, focus = VIEWS["sizes"], Focus("encoder-decoder")
    first, second = (encode_figure(view.print(hostile, focus), kind) for _ in range(2))
    assert first.startswith(START[kind])
    assert kind == "svg" or first == second  # identifiers in SVG are random


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_print_figures_carry_title_and_caption(view: View, trace: Trace) -> None:
    focus = Focus("encoder-decoder", 1, 2)
    figure = view.figure(trace, focus)
    texts = [" ".join(text.get_text().split()) for text in view.print(trace, focus).texts]
    assert figure.layout.meta["caption"] in texts
    assert figure.layout.title.text.replace("<br>", " ") in texts


def test_overview_of_large_map_draws_one_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, focus = fakes.trace(layers=3), Focus("encoder self", 2, 1)
    view = VIEWS["overview"]
    every, size = view.table(trace, focus).rows, trace.maps["encoder self"].weights.nbytes
    monkeypatch.setattr("areaviz.draw.overview.MAX_MAP_BYTES", size)
    assert repr(view.table(trace, focus).rows) == repr(every)
    assert "all 3 layers" in view.figure(trace, focus).layout.meta["caption"]
    monkeypatch.setattr("areaviz.draw.overview.MAX_MAP_BYTES", size - 1)
    of_layer = [row for row in every if row[0] == 3]
    assert repr(list(view.table(trace, focus).rows)) == repr(of_layer)
    drawn = view.figure(trace, focus).layout.meta
    assert drawn["title"] == "Every head of one layer" and "layer 3 of 3" in drawn["caption"]
