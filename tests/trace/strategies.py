"""Hypothesis strategies for the records of `areaviz.trace`."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.changes import Change, Gate, Hide, Share, Weigh
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Focus, Request

SOME = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
"""Settings for properties whose examples take long to draw on a busy machine."""

MODELS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
SITES = st.sampled_from(["encoder self", "decoder self", "encoder-decoder"])
POSITIONS = st.integers(0, 4095)


def changes() -> st.SearchStrategy[tuple[Change, ...]]:
    """Return a strategy for a few changes that a link can hold."""
    maybe, items = (
        st.none() | st.integers(0, 40),
        st.lists(POSITIONS, min_size=1, max_size=5).map(tuple),
    )
    areas = st.lists(
        st.builds(Area, POSITIONS, POSITIONS, st.integers(1, 16), st.integers(1, 16)), max_size=3
    )
    factors = st.floats(0, 100, allow_subnormal=False)
    weigh = st.builds(
        Weigh, SITES, items, areas.map(tuple), factors, maybe, maybe, maybe, st.booleans()
    )
    gate = st.builds(Gate, SITES, maybe, maybe, factors)
    sharper = st.floats(0.01, 100, allow_subnormal=False)
    share = st.builds(Share, SITES, sharper, st.booleans(), POSITIONS)
    return st.lists(
        weigh | gate | share | st.builds(Hide, st.sampled_from(["source", "picture"]), items),
        max_size=3,
    ).map(tuple)


def requests(text: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Request]:
    """Return a strategy for requests that a link can hold."""
    return st.builds(
        Request,
        model=MODELS,
        text=text if text is not None else st.text(max_size=60),
        method=st.sampled_from(["greedy", "beam"]),
        beam=st.integers(1, 16),
        area_size=st.none() | st.integers(1, 16),
        seed=st.integers(0, 2**32 - 1),
        target=st.none() | st.text(max_size=20),
        changes=changes(),
    )


def focuses() -> st.SearchStrategy[Focus]:
    """Return a strategy for focuses that a link can hold."""
    return st.builds(
        Focus,
        site=SITES,
        layer=POSITIONS,
        head=st.none() | POSITIONS,
        side=st.sampled_from(["query", "memory"]),
        items=st.lists(POSITIONS, max_size=12).map(tuple),
        unit=st.sampled_from(["item", "word"]),
        areas=st.sampled_from(["any", "several"]),
        reading=st.sampled_from(["heaviest", "coverage", "densest"]),
        mass=st.integers(30, 90),
        against=st.sampled_from(["nothing", "average"]),
    )


@st.composite
def grids(draw: st.DrawFn, longest: int = 6) -> AreaGrid:
    """Draw a memory of up to `longest` x `longest` items with areas of any size that fits."""
    height, width = draw(st.integers(1, longest)), draw(st.integers(1, longest))
    return AreaGrid(height, width, draw(st.integers(1, height)), draw(st.integers(1, width)))


@st.composite
def maps(
    draw: st.DrawFn, site: str = "encoder self", query: str = "source", queries: int | None = None
) -> AttentionMap:
    """Draw attention over a small grid, with some masked rows and some weights of exactly 0."""
    grid = draw(grids())
    count = queries if queries is not None else draw(st.integers(1, 5))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 3)), count, grid.count)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = (
        rng.exponential(1, shape) * (rng.random(shape) < 0.7) * (rng.random((*shape[:3], 1)) < 0.8)
    )
    sums = weights.sum(-1, keepdims=True)
    weights = np.divide(weights, sums, out=np.zeros(shape), where=sums > 0).astype(np.float32)
    return AttentionMap(site, query, "source", grid, weights)


@st.composite
def fields(draw: st.DrawFn, name: str = "source", count: int | None = None) -> Field:
    """Draw a field over any Unicode text. Its items are in order, anywhere in the text."""
    raw = draw(st.text(max_size=20))
    size = count if count is not None else draw(st.integers(1, 8))
    cuts = sorted(draw(st.lists(st.integers(0, len(raw)), min_size=size + 1, max_size=size + 1)))
    labels = draw(st.lists(st.text(max_size=5), min_size=size, max_size=size))
    anchors = np.array(list(zip(cuts[:-1], cuts[1:], strict=True)), dtype=np.int64)
    return Field(name, "text", raw, tuple(labels), anchors)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Draw a valid trace with two sites over small grids."""
    target = draw(fields("target"))
    cross = draw(maps("encoder-decoder", "target", len(target)))
    source = draw(fields("source", cross.grid.items))
    share = st.floats(0, 1, width=32)
    likely = draw(st.lists(share, min_size=len(target), max_size=len(target)))
    options = st.lists(st.tuples(st.text(max_size=3), share), max_size=3).map(tuple)
    alternatives = tuple(draw(st.lists(options, min_size=len(target), max_size=len(target))))
    return Trace(
        request=draw(requests()),
        fields={"source": source, "target": target},
        output=Output("target", np.array(likely, dtype=np.float32), alternatives),
        maps={"encoder-decoder": cross},
        details=draw(st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3)),
    )
