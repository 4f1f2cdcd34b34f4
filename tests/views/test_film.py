"""The film strip, played and as a moving picture, compared with slow references."""

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import areaviz
from areaviz.draw import pictures
from areaviz.draw.view import EXPORT_FORMATS, encode_figure
from areaviz.trace import query
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus
from areaviz.views.film import film as frames
from areaviz.views.film.film import (
    DIM_BRIGHTNESS,
    GROUND,
    PLAYED_LEAST,
    PLAYED_LONGEST,
    arrange_sheet,
    brighten_dark_picture,
    compute_drawn_size,
    find_film,
    get_area_box,
    interpolate_shares,
    render_animation,
    render_gif,
)
from areaviz.views.views import VIEWS
from tests import fakes

FOCUS = Focus("encoder-decoder", 1, 2)
VIEW = VIEWS["film"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return fakes.caption_trace()


def slow_share(shares: np.ndarray, cells: Field, x: float, y: float) -> float:
    """Interpolate bilinearly between the middles of the cells; outside, use the nearest middle."""
    rows, columns = shares.shape
    boxes = cells.anchors.reshape(rows, columns, 4)

    def between(place: float, middles: list[float]) -> tuple[int, int, float]:
        if place <= middles[0]:
            return 0, 0, 0.0
        for k in range(len(middles) - 1):
            if place <= middles[k + 1]:
                return k, k + 1, (place - middles[k]) / (middles[k + 1] - middles[k])
        return len(middles) - 1, len(middles) - 1, 0.0

    c, d, across = between(x, [(boxes[0, k, 0] + boxes[0, k, 2]) / 2 for k in range(columns)])
    r, s, down = between(y, [(boxes[k, 0, 1] + boxes[k, 0, 3]) / 2 for k in range(rows)])
    upper = (1 - across) * shares[r, c] + across * shares[r, d]
    return float((1 - down) * upper + down * ((1 - across) * shares[s, c] + across * shares[s, d]))


def test_mask_is_bilinear_between_cell_centres() -> None:
    cells = fakes.picture_field(fakes.picture(width=90, height=40), 3, 5)
    shares = np.random.default_rng(0).random((3, 5), dtype=np.float32)
    drawn = interpolate_shares(shares, cells, (40, 90), (20, 45))
    expected = [
        [slow_share(shares, cells, 2 * x + 1, 2 * y + 1) for x in range(45)] for y in range(20)
    ]
    np.testing.assert_allclose(drawn, expected, atol=1e-6)


def test_pixels_outside_cells_get_no_attention() -> None:
    cells = Field("picture", "picture", "", ("a",), np.array([[10, 0, 20, 30]]))
    drawn = interpolate_shares(np.ones((1, 1), dtype=np.float32), cells, (30, 30), (30, 30))
    assert drawn[:, 10:20].min() == 1 and drawn[:, :10].max() == drawn[:, 20:].max() == 0


def test_frame_is_dimmed_by_shares_of_its_word(trace: Trace) -> None:
    drawn = find_film(trace, FOCUS)
    shares = query.item_shares(trace.maps[FOCUS.site], 1, 2)
    assert [frame.label for frame in drawn.frames] == ["a", "small", "red", "circle"]
    np.testing.assert_allclose(drawn.frames[2].shares.ravel(), shares[2], rtol=1e-6)
    small, lit = drawn.stills(96).plain, drawn.stills(96).of(drawn.frames[2])
    cells = trace.fields["picture"]
    for y, x in ((0, 0), (20, 60), (63, 95)):
        share = slow_share(drawn.frames[2].shares, cells, x + 0.5, y + 0.5)
        light = DIM_BRIGHTNESS + (1 - DIM_BRIGHTNESS) * min(share / shares[2].max(), 1)
        np.testing.assert_allclose(lit[y, x], small[y, x] * light, atol=0.51)


def test_black_background_becomes_grey() -> None:
    dark = np.zeros((4, 4, 3), dtype=np.uint8)
    dark[0, 0] = 255
    np.testing.assert_allclose(
        [brighten_dark_picture(dark)[0, 0, 0], brighten_dark_picture(dark)[3, 3, 0]], [255, GROUND]
    )
    np.testing.assert_array_equal(brighten_dark_picture(np.maximum(dark, 50)), np.maximum(dark, 50))


def test_every_frame_is_scaled_to_its_largest_cell(trace: Trace) -> None:
    for frame in find_film(trace, FOCUS).frames:
        np.testing.assert_allclose(frame.light, frame.shares / frame.shares.max(), rtol=1e-6)


def test_sink_is_dark_relative_to_the_average(trace: Trace) -> None:
    attention = trace.maps[FOCUS.site]
    weights = attention.weights.copy()
    weights *= 0.1
    weights[..., 0] += 0.9
    sunk = replace(trace, maps={**trace.maps, FOCUS.site: replace(attention, weights=weights)})
    for frame in find_film(sunk, FOCUS).frames:
        assert frame.light[0, 0] == 1
    against = find_film(sunk, replace(FOCUS, against="average"))
    assert all(frame.light[0, 0] < 0.2 for frame in against.frames)
    assert max(float(frame.light.max()) for frame in against.frames) > 0.5
    assert "average" in against.note


def test_every_word_has_a_frame_and_locked_mark(trace: Trace) -> None:
    drawn = find_film(trace, replace(FOCUS, items=(2, 1)))
    assert [frame.label for frame in drawn.frames if frame.marked] == ["small", "red"]
    assert [frame.label for frame in drawn.frames] == ["a", "small", "red", "circle"]
    locked = replace(FOCUS, items=(1,))
    moving = Image.open(io.BytesIO(render_gif(trace, locked)))
    assert getattr(moving, "n_frames", 1) == len(VIEW.table(trace, locked).rows) == 4
    one, other = (VIEW.figure(trace, focus).layout.images for focus in (FOCUS, locked))
    assert [a.source != b.source for a, b in zip(one, other, strict=True)] == [0, 0, 1, 0, 0]


def test_symbols_are_omitted_unless_requested(trace: Trace) -> None:
    assert [frame.first for frame in find_film(trace, replace(FOCUS, items=(4, 1))).frames] == [
        *range(5)
    ]
    assert "⟨end⟩" not in [frame.label for frame in find_film(trace, FOCUS).frames]


def test_locked_words_make_film_of_long_text() -> None:
    long = fakes.caption_trace(" ".join(["word"] * (frames.MOST_FRAMES + 1)))
    assert not VIEW.fits(long, FOCUS)
    drawn = find_film(long, replace(FOCUS, items=(3, 5)))
    assert VIEW.fits(long, replace(FOCUS, items=(3, 5))) and len(drawn.frames) == 2


def test_items_join_to_words() -> None:
    trace = fakes.caption_trace("a b c")
    split = replace(
        trace.fields["target"], raw="ab c", anchors=np.array([[0, 1], [1, 2], [2, 4], [4, 4]])
    )
    trace = replace(trace, fields={**trace.fields, "target": split})
    drawn = find_film(trace, replace(FOCUS, unit="word"))
    shares = query.item_shares(trace.maps[FOCUS.site], 1, 2)
    assert [frame.label for frame in drawn.frames] == ["ab", "c"]
    np.testing.assert_allclose(drawn.frames[0].shares.ravel(), shares[:2].mean(0), rtol=1e-6)
    assert drawn.frames[0].probability == pytest.approx(np.prod(trace.output.probabilities[:2]))


def test_top_area_of_word_uses_all_items() -> None:
    trace = fakes.caption_trace("a b c")
    split = replace(
        trace.fields["target"], raw="ab c", anchors=np.array([[0, 1], [1, 2], [2, 4], [4, 4]])
    )
    trace = replace(trace, fields={**trace.fields, "target": split})
    attention = trace.maps[FOCUS.site]
    for head, heads in ((2, [2]), (None, [0, 1, 2, 3])):
        heaviest = find_film(trace, replace(FOCUS, head=head, unit="word")).frames[0].heaviest
        mean_A = attention.weights[1, heads][:, :2].mean((0, 1))
        assert heaviest and heaviest.area == attention.grid.area(int(mean_A.argmax()))
        assert heaviest.weight == pytest.approx(mean_A.max())


def test_hard_attention_outlines_the_cells_read() -> None:
    trace = fakes.caption_trace(hard=True)
    attention = trace.maps[FOCUS.site]
    assert attention.chosen is not None
    frame = find_film(trace, FOCUS).frames[1]
    area = attention.grid.area(int(attention.chosen[1, 2, 1]))
    cells = trace.fields["picture"].anchors.reshape(4, 4, 4)
    first, last = (
        cells[area.top, area.left],
        cells[area.top + area.height - 1, area.left + area.width - 1],
    )
    assert [box for box, _ in frame.read] == [(*first[:2], *last[2:])]
    assert (
        get_area_box(attention, trace.fields["picture"], int(attention.chosen[1, 2, 1]))
        == frame.read[0][0]
    )
    assert len(find_film(trace, replace(FOCUS, head=None)).frames[1].read) == attention.heads
    plain = replace(frame, read=())
    drawn = find_film(trace, FOCUS)
    assert (drawn.stills(96).of(frame) != drawn.stills(96).of(plain)).any()


def test_caption_names_model_site_head_and_scale(trace: Trace) -> None:
    told = VIEW.figure(trace, FOCUS).layout.meta["caption"]
    for part in (
        "captioner",
        "encoder-decoder",
        "layer 2 of 2",
        "head 3 of 4",
        "softmax over areas",
        "2×2 cells",
    ):
        assert part in told
    assert "own largest cell" in told


def test_table_has_one_line_per_word(trace: Trace) -> None:
    table = VIEW.table(trace, FOCUS)
    assert len(set(table.columns)) == len(table.columns) == 4 + 16
    assert table.columns[4] == "row 1, column 1"
    assert [row[1] for row in table.rows] == ["a", "small", "red", "circle"]
    for row in table.rows:
        assert sum(map(float, row[4:])) == pytest.approx(1, abs=1e-5)


def test_strip_of_thirty_words_is_small() -> None:
    trace = fakes.caption_trace(" ".join(["word"] * 30), grid=8)
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3)).astype(np.uint8)
    picture = pictures.shrink_to_fit(pictures.shrink_to_fit(noise, 80), 640)
    large = fakes.Picture.of("large", picture)
    cells = fakes.picture_field(large, 8, 8)
    trace = replace(
        trace,
        request=replace(trace.request, picture=large),
        fields={**trace.fields, "picture": cells},
    )
    assert len(VIEW.figure(trace, FOCUS).to_json()) < 1_000_000


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_film_is_printed(trace: Trace, kind: str) -> None:
    assert len(encode_figure(VIEW.print(trace, FOCUS), kind)) > 1000


def test_labels_stay_text(trace: Trace) -> None:
    hostile = replace(
        trace.fields["target"], labels=("<b>x</b>", "$5$ $6$", "\u202e", "\ud800", "⟨end⟩")
    )
    trace = replace(trace, fields={**trace.fields, "target": hostile})
    spec = VIEW.figure(trace, FOCUS).to_json()
    assert "<b>" not in spec and "$" not in spec and "\\u202e" not in spec
    assert encode_figure(VIEW.print(trace, FOCUS), "svg").startswith(b"<?xml")
    assert render_gif(trace, FOCUS).startswith(b"GIF89a")


def test_film_fits_only_text_attending_to_picture(trace: Trace) -> None:
    assert VIEW.fits(trace, FOCUS) and not VIEW.fits(trace, replace(FOCUS, items=(5,)))
    assert not VIEW.fits(trace, Focus("encoder self")) and not VIEW.fits(
        trace, Focus("decoder self")
    )
    assert not VIEW.fits(fakes.trace(), FOCUS) and not VIEW.fits(
        fakes.gaze_trace(), Focus("glimpses")
    )


@pytest.mark.parametrize("name", ["pyramid", "coverage", "alignment", "lines"])
def test_views_of_texts_do_not_fit_pictures(trace: Trace, name: str) -> None:
    assert not VIEWS[name].fits(trace, FOCUS) and not VIEWS[name].fits(trace, Focus("encoder self"))
    assert not VIEWS[name].fits(fakes.gaze_trace(), Focus("glimpses"))


@pytest.mark.parametrize("site", ["encoder-decoder", "encoder self", "decoder self"])
def test_every_view_that_fits_a_caption_draws_it(trace: Trace, site: str) -> None:
    fitting = [view for view in VIEWS.values() if view.fits(trace, Focus(site))]
    several = {"sizes"} if trace.maps[site].grid.max_width > 1 else set()
    assert {view.name for view in fitting} >= {"overview", "probabilities"} | several
    for view in fitting:
        assert view.figure(trace, Focus(site)).data and view.table(trace, Focus(site)).rows
        assert view.print(trace, Focus(site)).axes


def test_animation_has_one_frame_per_word(trace: Trace) -> None:
    moving = Image.open(io.BytesIO(render_gif(trace, FOCUS)))
    assert (
        getattr(moving, "n_frames", 1) == 4
        and moving.info["duration"] == 700
        and moving.width >= 256
    )
    frames = []
    for number in range(4):
        moving.seek(number)
        frames.append(np.asarray(moving.convert("L"), dtype=int))
    high = 64 * moving.width // 96
    marked = [int((frame[high:] < 60).sum()) for frame in frames]
    assert min(marked) > 10 and marked[1] > marked[0]  # "small" is longer than "a"
    assert (frames[0][high:] != frames[1][high:]).any() and (
        frames[0][:high] != frames[1][:high]
    ).any()


@pytest.mark.parametrize(
    ("size", "drawn"),
    [
        ((96, 64), (256, 171)),
        ((320, 240), (320, 240)),
        ((640, 480), (480, 360)),
        ((1, 640), (32, 480)),
        ((640, 1), (480, 32)),
        ((1, 1), (256, 256)),
        ((300, 640), (225, 480)),
    ],
)
def test_animation_size_is_bounded(size: tuple[int, int], drawn: tuple[int, int]) -> None:
    assert compute_drawn_size(*size) == drawn


@pytest.mark.parametrize(("width", "height"), [(1, 640), (640, 1)])
def test_thin_picture_animation_has_bounded_frames(width: int, height: int) -> None:
    trace = fakes.caption_trace()
    thin = fakes.picture(width=width, height=height)
    cells = fakes.picture_field(thin, 4, 4)
    trace = replace(
        trace,
        request=replace(trace.request, picture=thin),
        fields={**trace.fields, "picture": cells},
    )
    moving = Image.open(io.BytesIO(render_gif(trace, FOCUS)))
    assert 256 <= moving.width <= 480 and moving.height < 640


def test_pictures_with_few_colours_stay_exact() -> None:
    pixels = pictures.gray_to_rgb(np.arange(64, dtype=np.uint8).reshape(8, 8) * 4)
    kind, content = pictures.to_data_uri(pixels).split(",")
    assert kind == "data:image/png;base64"
    decoded = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))).convert("RGB"))
    np.testing.assert_array_equal(decoded, pixels)


@pytest.mark.parametrize(
    ("sides", "expected"), [((10, 20), (60, 120)), ((300, 200), (120, 80)), ((1, 500), (1, 120))]
)
def test_pictures_are_resized(sides: tuple[int, int], expected: tuple[int, int]) -> None:
    assert pictures.shrink_to_fit(np.zeros((*sides, 3), dtype=np.uint8), 120).shape[:2] == expected


def test_given_word_has_no_probability() -> None:
    """Check the class token of a picture's encoder, which is a query but was not written."""
    shares = np.full((1, 1, 2, 6), 1 / 6, dtype=np.float32)
    trace = areaviz.from_arrays(shares, queries=["first", "second"], shape=(2, 3))
    drawn = find_film(trace, Focus("attention"))
    assert [frame.probability for frame in drawn.frames] == [None, None]
    assert [row[2] for row in VIEW.table(trace, Focus("attention")).rows] == ["", ""]
    assert "probability" not in VIEW.figure(trace, Focus("attention")).to_json()


def test_film_is_not_offered_for_too_large_traces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = fakes.caption_trace()
    items = len(trace.fields[trace.maps["encoder-decoder"].query])
    monkeypatch.setattr(frames, "MOST_FRAMES", items)
    assert VIEW.fits(trace, Focus("encoder-decoder"))
    monkeypatch.setattr(frames, "MOST_FRAMES", 2)
    assert not any(
        VIEWS[name].fits(trace, Focus("encoder-decoder")) for name in ("film", "playback")
    )
    assert VIEW.fits(trace, Focus("encoder-decoder", items=(0, 1)))
    assert not VIEW.fits(trace, Focus("encoder-decoder", items=(0, 1, 2)))


def test_film_shows_all_words_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace, focus = fakes.caption_trace(), Focus("encoder-decoder", items=(0,))
    count = len(find_film(trace, focus).frames)
    assert count > 2
    monkeypatch.setattr(frames, "MOST_FRAMES", count)
    assert len(find_film(trace, focus).frames) == count
    monkeypatch.setattr(frames, "MOST_FRAMES", count - 1)
    assert len(find_film(trace, focus).frames) == 1


def test_every_word_has_a_picture_of_its_own() -> None:
    trace = fakes.caption_trace("a small red circle")
    shown, drawn = render_animation(trace, FOCUS), find_film(trace, FOCUS)
    assert shown.words == ("a", "small", "red", "circle")
    assert shown.pictures == tuple(
        pictures.to_data_uri(drawn.stills(PLAYED_LONGEST).of(frame)) for frame in drawn.frames
    )
    assert len(set(shown.pictures)) == len(shown.pictures)
    assert (shown.title, shown.note, shown.caption) == (drawn.title, drawn.note, drawn.caption)


def test_chosen_word_is_marked_in_player() -> None:
    trace = fakes.caption_trace("a b c")
    shown = render_animation(trace, Focus("encoder-decoder", items=(1,)))
    plain = render_animation(trace, Focus("encoder-decoder"))
    assert shown.words == plain.words == ("a", "b", "c")
    pairs = zip(shown.pictures, plain.pictures, strict=True)
    assert [one == other for one, other in pairs] == [True, False, True]


def test_invisible_text_is_named_and_markup_escaped() -> None:
    shown = render_animation(fakes.caption_trace("a \u202e <b>"), FOCUS)
    assert shown.words == ("a", "⟨U+202E⟩", "<b>")


def test_still_film_equals_the_film_strip() -> None:
    trace = fakes.caption_trace("a small red circle")
    assert VIEWS["playback"].played is render_animation
    assert VIEWS["playback"].figure(trace, FOCUS) == VIEWS["film"].figure(trace, FOCUS)


@pytest.mark.parametrize(("width", "height"), [(1, 640), (640, 1)])
def test_thin_picture_is_played_wide_enough(width: int, height: int) -> None:
    shown = render_animation(
        fakes.caption_trace("a b", seen=fakes.picture(width=width, height=height)), FOCUS
    )
    for source in shown.pictures:
        still = Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))
        assert min(still.size) >= PLAYED_LEAST and max(still.size) <= PLAYED_LONGEST


@pytest.mark.parametrize("words", [1, 30])
def test_frames_stay_small(words: int) -> None:
    shown = render_animation(fakes.caption_trace(" ".join(["word"] * words), grid=8), FOCUS)
    assert sum(map(len, shown.pictures)) < 45_000 * (words + 2)


def test_film_strip_shows_shares_of_attention(trace: Trace) -> None:
    """Check that the percentage below a picture is a weight, not the word's probability."""
    drawn = find_film(trace, FOCUS)
    shown = [tile.texts[1] for tile in arrange_sheet(drawn, 100).tiles[1:]]
    weights = [frame.heaviest.weight for frame in drawn.frames if frame.heaviest]
    assert shown == [f"{weight:.0%}" for weight in weights]
    assert shown != [f"{frame.probability:.0%}" for frame in drawn.frames]
    assert "percentage: weight of the word's top area" in arrange_sheet(drawn, 100).note
