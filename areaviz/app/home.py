"""The page Home: its hero, tiles and cards, and the stored traces that pages open with.

The parts of the page come first. The stored traces and the pictures of the tiles are made in
the last two sections.
"""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import streamlit as st
from PIL import Image
from streamlit.testing.v1 import AppTest

from areaviz.app.components import draw_ribbon
from areaviz.app.examples import EXAMPLES, Example, build_example_link, list_missing_models_for
from areaviz.app.four_ways import MECHANISMS
from areaviz.app.frame import FIRST_TOUR_STEP, draw_page_link
from areaviz.app.page import TITLES
from areaviz.app.run import list_missing_models
from areaviz.app.texts import sentence, show_errors
from areaviz.cards.tasks import TASKS
from areaviz.samples.paths import APP, CARDS, CHECKPOINTS_SETTING, HERO, to_get_models
from areaviz.texts.catalogue import message
from areaviz.trace import file
from areaviz.trace.areas import Area
from areaviz.trace.errors import BackendError
from areaviz.trace.query import top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, to_params
from areaviz.trace.safe_files import write_whole
from areaviz.views.looks.looks import count_steps, draw_picture_at_step, get_picture
from areaviz.views.message import OPENS_AT, choose_first_focus

# The CSS of Home: its title, its tiles, and its link that looks like a button.


HOME_STYLE = """
[data-testid="stMainBlockContainer"] { padding-bottom: 1rem; }
[data-testid="stMainBlockContainer"] h1 { font-size: 40px; line-height: 47px; padding-bottom: 0; }
.st-key-hero { justify-content: space-between; }
.st-key-hero > :first-child { flex: 1 1 24rem; }
.st-key-hero p { font-size: 17px; line-height: 26px; }
.st-key-hero [data-testid="stPageLink-NavLink"] {
  background: #0F6466; border-radius: 6px; padding: 0.5rem 1rem; min-height: 44px; }
.st-key-hero [data-testid="stPageLink-NavLink"]:hover { background: #0B5254; }
.st-key-hero .stElementContainer:last-child [data-testid="stPageLink-NavLink"] {
  background: none; box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 22%, transparent); }
.st-key-hero .stElementContainer:last-child [data-testid="stPageLink-NavLink"] p {
  color: inherit; }
.st-key-hero [data-testid="stPageLink-NavLink"] p {
  color: #FFFFFF; font-size: 16px; font-weight: 600; text-decoration: none; }
[class*="st-key-way_"] { padding: 0 0 8px; gap: 0; overflow: hidden; }
[class*="st-key-way_"] > :not([class*="st-key-tile_"], :has([class*="st-key-tile_"])) {
  padding: 0 12px; }
[class*="st-key-way_"] p { font-size: 15px; line-height: 20px; }
[class*="st-key-tile_"] { height: 104px; flex: none; justify-content: center; overflow: hidden;
  margin-bottom: 6px; background: color-mix(in srgb, currentColor 7%, transparent); }
[class*="st-key-tile_"] img { height: 104px; object-fit: contain; border-radius: 0; }
[class*="st-key-tile_"] p { font-family: "Source Serif", serif; font-size: 17px; line-height: 26px;
  padding: 0 12px; }
.st-key-doors [data-testid="stPageLink-NavLink"] p { font-size: 15px; }
@media (max-width: 62rem) { .st-key-hero > :first-child { min-width: 100%; }
  .st-key-hero { justify-content: start; } }
@media (max-width: 62rem) { .st-key-ways_in [data-testid="stColumn"] {
  min-width: calc(33% - 1rem); } }
@media (max-width: 40rem) { [data-testid="stMainBlockContainer"] h1 {
  font-size: 34px; line-height: 38px; } }
@media (max-width: 40rem) { .st-key-ways_in [data-testid="stColumn"] {
  min-width: calc(50% - 1rem); } }
"""


# Home's three cards with links: the lessons, the analysis of a dataset, and your own models.


@dataclass(frozen=True, slots=True)
class LinkCard:
    """A card that leads to pages. `links` has their paths and labels."""

    title: str
    what: str
    links: tuple[tuple[str, str], ...]


LINK_CARDS: tuple[LinkCard, ...] = (
    LinkCard(
        message("Learn how areas work"),
        message("Change one thing and watch the attention follow."),
        (("pages/how_areas_work.py", message("Start the lessons")),),
    ),
    LinkCard(
        message("Compare two models"),
        message("Run both on a dataset and read the sentences where they differ most."),
        (
            ("pages/analyse.py", message("Analyse a dataset")),
            ("pages/models.py", message("All models")),
        ),
    ),
    LinkCard(
        message("Bring your own model"),
        message("Save its attention weights with one line of Python and open the file here."),
        (("pages/your_tensors.py", message("Open your own attention")),),
    ),
)


def draw_link_cards() -> None:
    """Draw the cards in one row."""
    with st.container(key="doors"):
        for card, place in zip(LINK_CARDS, st.columns(len(LINK_CARDS)), strict=True):
            with place.container(border=True, height="stretch", gap="xsmall"):
                st.subheader(sentence(card.title), anchor=False)
                st.markdown(sentence(card.what))
                with st.container(horizontal=True):
                    for path, label in card.links:
                        draw_page_link(path, sentence(label))


# The hero of Home: a stored translation in a ribbon that opens with a word lit.


WHAT_IT_DOES = message(
    "A translator writes German word by word and looks back at the English before each word. It may"
    " take neighbours as one: an **area**."
)


def draw_hero() -> None:
    """Draw the two sentences, the link to a sentence of the user's own, and the lit ribbon."""
    with st.container(key="hero", horizontal=True, vertical_alignment="bottom"):
        st.markdown(sentence(WHAT_IT_DOES))
        draw_page_link("pages/home.py", sentence("Take the 90-second tour"), FIRST_TOUR_STEP)
        draw_page_link("pages/translate.py", sentence("Try your own sentence"))
    with show_errors(message("showing the example")), st.container(border=True, key="hero_card"):
        trace = load_hero_trace()
        # Lock no item: the ribbon then opens at the word of the first example.
        draw_ribbon(trace, replace(EXAMPLES[0].focus, head=None, items=()), key="home")


def light_as_on_home(trace: Trace) -> Trace:
    """Return a trace that opens with the word that Home shows, if Home shows the same request."""
    return _find_lit_word(trace) if trace.request == load_hero_trace().request else trace


def load_hero_trace() -> Trace:
    """Return the stored trace that Home shows."""
    return _load_stored_trace(HERO.stat().st_mtime_ns)


@st.cache_resource(show_spinner=False, max_entries=1)
def _load_stored_trace(modified: int) -> Trace:
    """Return the trace in the file as it was last written."""
    return _find_lit_word(file.load(HERO))


def _find_lit_word(trace: Trace) -> Trace:
    item = str(EXAMPLES[0].focus.items[0])
    return replace(trace, details={**trace.details, OPENS_AT: item})


# Home's six tiles: one per page, with a picture from the page's stored example.


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile that opens a page, at a stored example if there is one.

    Args:
        page: the name of the page.
        what: what the page shows, in a few words.
        example: the example that the tile opens, and that its picture shows; None opens the page
            as its menu does.
        model: the model that a tile without an example needs.
    """

    page: str
    what: str
    example: Example | None = None
    model: str = ""

    @property
    def picture(self) -> Path:
        """The picture of the tile, which `areaviz openings` writes."""
        return CARDS / f"{self.page}.svg"

    @property
    def missing(self) -> list[str]:
        """The models that the tile needs and this machine lacks."""
        return (
            list_missing_models_for(self.example)
            if self.example
            else list_missing_models([self.model])
        )

    @property
    def link(self) -> dict[str, str]:
        """The URL parameters of the tile."""
        return build_example_link(self.example) if self.example else {}


_EXAMPLES_BY_TITLE = {example.title: example for example in EXAMPLES}
TILES: tuple[Tile, ...] = (
    Tile(
        "caption", message("A picture in words"), _EXAMPLES_BY_TITLE["A caption and its rectangles"]
    ),
    Tile(
        "reason", message("A story in three hops"), _EXAMPLES_BY_TITLE["A question and its facts"]
    ),
    Tile(
        "watch",
        message("A clip, frame by frame"),
        _EXAMPLES_BY_TITLE["What happens, frame by frame"],
    ),
    Tile("four_ways", message("One digit, four readers"), model=TASKS["digits"].opens),
    Tile("listen", message("Spoken digits"), _EXAMPLES_BY_TITLE["Seven digits, heard one by one"]),
    Tile("read", message("What comes next?"), _EXAMPLES_BY_TITLE["A sentence goes on"]),
)


def draw_tiles() -> None:
    """Draw the tiles in one row, and say which of them need models that are not installed."""
    missing = [way.missing for way in TILES]
    count = sum(bool(models) for models in missing)
    if count:
        st.caption(
            sentence(
                "{count} of {all} need models that are not installed. To get them, {what_to_do}.",
                count=count,
                all=len(TILES),
                what_to_do=sentence(to_get_models()),
            )
        )
    with st.container(key="ways_in"):
        for way, models, place in zip(TILES, missing, st.columns(len(TILES)), strict=True):
            with place.container(border=True, height="stretch", key=f"way_{way.page}"):
                _draw_tile(way, models)


def _draw_tile(way: Tile, missing: Sequence[str]) -> None:
    """Draw one tile, with a link to its page unless models are missing."""
    title = sentence(TITLES[way.page])
    with st.container(key=f"tile_{way.page}"):
        if way.picture.is_file():
            st.image(
                way.picture.read_text("utf-8"),
                width="stretch",
                alt=sentence("Preview of {title}", title=title),
            )
        elif way.example:
            st.markdown(f"{way.example.text} **…**")
    if missing:
        st.markdown(f"**{title}**")
        names = ", ".join(f"`{model}`" for model in missing)
        st.caption(sentence("Missing model: {names}", names=names))
        return
    draw_page_link(f"pages/{way.page}.py", f"**{title}**", way.link)
    st.markdown(sentence(way.what))


# The stored traces with which pages open, found by opening every page and example once.
#
# The traces to store follow from the requests of the pages, so no second list is needed.


PAGES = (
    "translate",
    "read",
    "caption",
    "translate_picture",
    "four_ways",
    "listen",
    "watch",
    "reason",
)
"""Pages that run models when they are opened."""
SELECTION_PARAMS = ("site", "layer", "items", "areas")
"""URL parameters of the selection."""
HERO_EXAMPLE = EXAMPLES[0]
"""The example that Home shows."""
PAGE_TIMEOUT_SECONDS = 600
MAX_TRACE_BYTES = 512 * 2**10
"""Largest stored file in bytes. Larger traces, such as those of photographs, are computed."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The first result of a page.

    Args:
        page: the name of the page.
        example: the example that opened it, None for the page itself.
        traces: the traces that it shows.
    """

    page: str
    example: Example | None
    traces: tuple[Trace, ...]

    @property
    def focus(self) -> Focus:
        """The selection: that of the example, or else the top span."""
        if self.example is not None and self.example.focus.items:
            return self.example.focus
        return choose_first_focus(self.traces[0])


def store_openings(folder: Path, looks: Path, checkpoints: Path) -> list[StoredResult]:
    """Run the requests with which pages and examples open, and store the traces in `folder`.

    Returns:
        The first results, pages first. Other traces in the folder are deleted.

    Raises:
        BackendError: a page shows a problem in place of a result.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.npz"):
        path.unlink()
    os.environ["AREAVIZ_BACKEND"] = f"record:{folder}"
    os.environ[CHECKPOINTS_SETTING] = str(checkpoints)
    opened = list(_open_pages())
    for path in folder.glob("*.npz"):
        if path.stat().st_size > MAX_TRACE_BYTES:
            path.unlink()
    found = {
        opening.example.slug: _describe_stored(opening) for opening in opened if opening.example
    }
    write_whole(looks, f"{json.dumps(found, indent=2)}\n".encode())
    return opened


def build_hero_trace(opened: Iterable[StoredResult]) -> Trace:
    """Return the trace that Home shows."""
    return next(opening.traces[0] for opening in opened if opening.example == HERO_EXAMPLE)


def _describe_stored(opening: StoredResult) -> dict[str, object]:
    """Return the stored data of an example: its models, and the selection if it names no items."""
    models = dict.fromkeys(trace.request.model for trace in opening.traces)
    stored: dict[str, object] = {"models": list(models)}
    if opening.example is not None and not opening.example.focus.items:
        params = to_params(opening.traces[0].request, opening.focus)
        stored["look"] = {name: params[name] for name in SELECTION_PARAMS if name in params}
    return stored


def _open_pages() -> Iterator[StoredResult]:
    """Open every page that runs models and every example once, and yield their results."""
    for page in PAGES:
        yield StoredResult(page, None, _get_shown_traces(page, {}))
    for example in EXAMPLES:
        page = Path(example.page).stem
        params = build_example_link(example)
        if not example.focus.items:
            # Leave out the selection, because this run has to find it.
            params = {name: params[name] for name in params if name not in SELECTION_PARAMS}
        yield StoredResult(page, example, _get_shown_traces(page, params))


def _get_shown_traces(page: str, params: Mapping[str, str]) -> tuple[Trace, ...]:
    """Return the traces that a page shows at a URL."""
    app = AppTest.from_file(str(APP), default_timeout=PAGE_TIMEOUT_SECONDS)
    app.query_params.update(params)
    app.switch_page(f"pages/{page}.py").run()
    if app.exception or app.error:
        said = [element.value for element in (*app.exception, *app.error)]
        raise BackendError(f"The page {page} opens with a problem: {' '.join(said)}")
    traces: tuple[Trace, ...] = app.session_state["result"].traces
    return traces


# The pictures of Home's tiles (SVG) and of the four kinds of attention (PNG), from stored traces.
#
# A tile is 160 x 104 px. Its colours are of middle lightness, because one file serves the light and
# the dark theme.


TILE_WIDTH_PX, TILE_HEIGHT_PX = 160, 104
LIT_COLOUR, DIM_COLOUR, FRAME_COLOUR = "#2E86C1", "#8A9499", "#E07B00"
DIGIT_SIDE_PX = 150
"""Height in pixels of a picture of the four kinds of attention."""
_FRAME_COUNT, _BAR_COUNT = 4, 40
"""Frames of a clip, and bars of a recording, that fit into a tile."""


def draw_pictures(openings: Iterable[StoredResult], folder: Path) -> list[Path]:
    """Draw the picture of every tile that has one, and one for each kind of attention."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*folder.glob("*.png"), *folder.glob("*.svg")):
        path.unlink()
    made = []
    tiles = {way.example: way for way in TILES if way.example}
    for opening in openings:
        way = tiles.get(opening.example) if opening.example else None
        if way is not None and way.page in TILE_PAINTERS:
            drawn = TILE_PAINTERS[way.page](opening.traces[0], opening.focus)
            made.append(_write_picture(drawn.encode(), way.picture, folder))
        elif opening.example is None and opening.page == "four_ways":
            made += _write_mechanisms(opening.traces, folder)
    return made


def _write_picture(content: bytes, path: Path, folder: Path) -> Path:
    write_whole(folder / path.name, content)
    return folder / path.name


def _write_mechanisms(traces: Iterable[Trace], folder: Path) -> list[Path]:
    """Write the last glimpse of every mechanism, and the tile of Four ways to look."""
    made = []
    for way, trace in zip(MECHANISMS, traces, strict=True):
        look = draw_picture_at_step(trace, count_steps(trace) - 1)
        made.append(_write_picture(_encode_png(_centre_glimpse(look)), Path(way.file_name), folder))
        if way.mechanism == "location-wise hard":
            tile = _wrap_in_svg(
                _draw_image(
                    look, (TILE_WIDTH_PX - TILE_HEIGHT_PX) / 2, 0, TILE_HEIGHT_PX, TILE_HEIGHT_PX
                )
            )
            made.append(_write_picture(tile.encode(), Path("four_ways.svg"), folder))
    return made


def _centre_glimpse(look: npt.NDArray[np.uint8]) -> Image.Image:
    """Return a glimpse centred on black, twice as wide as it is high, with few colours."""
    glimpse = Image.fromarray(look)
    glimpse.thumbnail((DIGIT_SIDE_PX, DIGIT_SIDE_PX), Image.Resampling.LANCZOS)
    card = Image.new("RGB", (2 * DIGIT_SIDE_PX, DIGIT_SIDE_PX), "black")
    card.paste(glimpse, ((2 * DIGIT_SIDE_PX - glimpse.width) // 2, 0))
    return card.quantize(128)


def draw_picture_tile(trace: Trace, focus: Focus) -> str:
    """Draw the part of a picture around a word's top area, and a frame around the area."""
    pixels = get_picture(trace)
    side = pixels.shape[1]
    height = round(side * TILE_HEIGHT_PX / TILE_WIDTH_PX)
    left, top, right, bottom = _get_top_box(trace, focus)
    first = int(np.clip((top + bottom - height) // 2, 0, pixels.shape[0] - height))
    scale = TILE_WIDTH_PX / side
    frame = _draw_rectangle(
        left * scale, (top - first) * scale, (right - left) * scale, (bottom - top) * scale
    )
    return _wrap_in_svg(
        _draw_image(pixels[first : first + height], 0, 0, TILE_WIDTH_PX, TILE_HEIGHT_PX) + frame
    )


def _get_top_box(trace: Trace, focus: Focus) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the top area in pixels of the picture."""
    attention = trace.maps[focus.site]
    items = list(attention.grid.items_of(_get_top_area(trace, focus, focus.items[0])))
    cells_N4 = trace.fields[attention.memory].anchors[items]
    left, top = cells_N4[:, :2].min(0).tolist()
    right, bottom = cells_N4[:, 2:].max(0).tolist()
    return left, top, right, bottom


def draw_facts_tile(trace: Trace, focus: Focus) -> str:
    """Draw a bar per fact, the top fact of every hop, and the path of the hops to the answer."""
    attention = trace.maps[focus.site]
    count = len(trace.fields[attention.memory])
    step = (TILE_HEIGHT_PX - 20) / count
    tops = []
    for hop in range(attention.layers):
        tops.append(_get_top_area(trace, Focus(focus.site, hop), focus.items[0]).left)
    drawn = []
    for fact in range(count):
        colour = LIT_COLOUR if fact in tops else DIM_COLOUR
        drawn.append(_draw_bar(22, 10 + step * fact, 70, step * 0.6, colour, fact in tops))
    dots = [(104 + 14 * hop, 10 + step * (fact + 0.3)) for hop, fact in enumerate(tops)]
    path = " L".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    line = f'<path d="M{path}" fill="none" stroke="{LIT_COLOUR}" stroke-width="2.5"/>'
    circles = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{LIT_COLOUR}"/>' for x, y in dots]
    return _wrap_in_svg("".join([*drawn, line, *circles]))


def draw_clip_tile(trace: Trace, focus: Focus) -> str:
    """Draw frames of a clip, and a bar below those that the last marked word attends to."""
    attention, clip = trace.maps[focus.site], trace.request.clip
    assert clip is not None
    area = _get_top_area(trace, focus, focus.items[-1])
    count = len(trace.fields[attention.memory])
    chosen = np.linspace(0, len(clip.pixels) - 1, _FRAME_COUNT).round().astype(int)
    side = TILE_WIDTH_PX / _FRAME_COUNT
    frames = [
        _draw_image(clip.pixels[frame], place * side, 24, side - 2, side - 2)
        for place, frame in enumerate(chosen)
    ]
    left, width = TILE_WIDTH_PX * area.left / count, TILE_WIDTH_PX * area.width / count
    return _wrap_in_svg("".join(frames) + _draw_bar(left, 70, width, 7, LIT_COLOUR, True))


def draw_sound_tile(trace: Trace, focus: Focus) -> str:
    """Draw the loudness of a recording over time, bright where the marked item attends."""
    attention, sound = trace.maps[focus.site], trace.request.sound
    assert sound is not None
    starts_N = trace.fields[attention.memory].anchors[:, 0]
    weights_N = attention.weights[focus.layer].mean(0)[focus.items[0]]
    lit_N = starts_N[weights_N >= weights_N.max() / 8]
    step = TILE_WIDTH_PX / _BAR_COUNT
    loud = [float(np.abs(part).max()) for part in np.array_split(sound.samples / 32768, _BAR_COUNT)]
    length = len(sound.samples) / _BAR_COUNT
    drawn = []
    for bar, value in enumerate(loud):
        is_lit = bool(((lit_N >= bar * length) & (lit_N < (bar + 1) * length)).any())
        height = 4 + 76 * value / max(loud)
        colour = LIT_COLOUR if is_lit else DIM_COLOUR
        drawn.append(
            _draw_bar(
                bar * step + 0.7, (TILE_HEIGHT_PX - height) / 2, step - 1.4, height, colour, is_lit
            )
        )
    return _wrap_in_svg("".join(drawn))


TILE_PAINTERS: Mapping[str, Callable[[Trace, Focus], str]] = {
    "caption": draw_picture_tile,
    "reason": draw_facts_tile,
    "watch": draw_clip_tile,
    "listen": draw_sound_tile,
}
"""The picture of a tile, by the name of its page. A page of texts shows text instead."""


def _get_top_area(trace: Trace, focus: Focus, item: int) -> Area:
    """Return the top area of an item that attends."""
    attention = trace.maps[focus.site]
    return top_areas(attention, focus.layer, focus.head, item, k=1)[0].area


def _wrap_in_svg(content: str) -> str:
    width, height = TILE_WIDTH_PX, TILE_HEIGHT_PX
    size = f'viewBox="0 0 {width} {height}" width="{2 * width}" height="{2 * height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{content}</svg>\n'


def _draw_bar(x: float, y: float, width: float, height: float, colour: str, is_lit: bool) -> str:
    opacity = "1" if is_lit else "0.5"
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"'
        f' fill="{colour}" opacity="{opacity}"/>'
    )


def _draw_rectangle(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"'
        f' fill="none" stroke="{FRAME_COLOUR}" stroke-width="3"/>'
    )


def _draw_image(
    pixels: npt.NDArray[np.uint8], x: float, y: float, width: float, height: float
) -> str:
    """Return an SVG image of pixels, at most twice as large as it is drawn."""
    picture = Image.fromarray(pixels)
    picture.thumbnail((round(2 * width), round(2 * height)), Image.Resampling.LANCZOS)
    data = base64.b64encode(_encode_png(picture.quantize(128))).decode()
    return (
        f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' href="data:image/png;base64,{data}"/>'
    )


def _encode_png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
