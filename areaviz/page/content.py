"""The content of a page: its options, its interactive maps, and its figures."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from areaviz.draw.labels import Markup
from areaviz.draw.select import list_sites, name_site
from areaviz.draw.view import Download, Table, View, convert_to_inline_svg, encode_figure
from areaviz.texts.catalogue import ENGLISH, KNOWN, LANGUAGES
from areaviz.trace.derived import find_known_logits
from areaviz.trace.document import check_focus
from areaviz.trace.errors import InputError, check_range, shorten
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.grid.grid import GRID_TAKEAWAY
from areaviz.views.message import serialise_message
from areaviz.views.ribbon.ribbon import RIBBON_TAKEAWAY
from areaviz.views.views import KINDS, VIEWS, find_kind
from areaviz.views.why import find_first_question, make_weight_view

# Options of a page.


Theme = Literal["auto", "light", "dark"]
THEMES: tuple[Theme, ...] = get_args(Theme)
LEAST_AREAS, MOST_AREAS = 4, 64
MIN_BYTES, MAX_BYTES = 2**17, 2**28


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The content and the size limit of a page.

    Args:
        title: the title above the page. "" uses the model's name.
        note: a note of the author below the title.
        layers: the layers to include, 0-based. Empty includes all layers.
        sites: the attention types to include. Empty includes all types.
        areas: the maximum number of areas per query and head, 4 to 64. Fewer areas make a smaller
            page, but means over several items become less exact.
        limit: the maximum size of the page in bytes, 128 KiB to 256 MiB.
        views: names of views to add as collapsed figures if they apply. They show the opening
            selection.
        theme: "light", "dark", or "auto", which follows the reader's system.
        language: the language of the page's own texts, "en" or "de". Figures are always in English,
            and so are components other than the ribbon and the grid.
    """

    title: str = ""
    note: str = ""
    layers: tuple[int, ...] = ()
    sites: tuple[str, ...] = ()
    areas: int = MOST_AREAS
    limit: int = 16 * 2**20
    views: tuple[str, ...] = ()
    theme: Theme = "auto"
    language: str = ENGLISH

    def checked(self) -> PageOptions:
        """Return these options after checking them.

        Raises:
            InputError: a number is out of range, or the theme or language does not exist.
        """
        check_range("limit", self.limit, (MIN_BYTES, MAX_BYTES))
        check_range("areas", self.areas, (LEAST_AREAS, MOST_AREAS))
        if self.theme not in THEMES:
            raise InputError(
                f'Theme "{self.theme}" does not exist. Choose one of {", ".join(THEMES)}.'
            )
        if self.language not in KNOWN:
            raise InputError(
                f'Language "{self.language}" does not exist. Choose one of {", ".join(LANGUAGES)}.'
            )
        return self


# Content of a page: interactive maps, figures of all other maps, and the opening selection.
#
# A component is a script that draws attention in the browser (see `areaviz/views/views.py`). A map
# that a component can show is a `Place`. The data of one of its layers are a `Payload`, and a page
# in a file contains the payloads of all layers. Maps without a component are drawn as figures. The
# opening selection is the selection with which the page is first shown.


MOST_HEADS = 16_384
"""Maximum number of heads in all maps and layers of a page. A small file can declare a million."""


@dataclass(frozen=True, slots=True)
class Place:
    """A map that is interactive in a page.

    Args:
        site: the site of the map in the trace.
        kind: the component that shows the map, a key of `KINDS`.
        name: the displayed name of the attention type.
        query, memory: the names of the fields that attend and are attended to.
        layers: the layers in the page, 0-based.
    """

    site: str
    kind: str
    name: str
    query: str
    memory: str
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Payload:
    """The data of one map and layer for a component.

    Args:
        site: the site of the map.
        layer: the layer, 0-based.
        data: the message (`message.serialise_message`) without the picture, deflated and
            encoded in base64.
    """

    site: str
    layer: int
    data: str


def list_wanted_sites(trace: Trace, options: PageOptions) -> list[str]:
    """Return the sites that the options choose, or all sites of the trace by default.

    Raises:
        InputError: the trace does not have a chosen site.
    """
    there = list_sites(trace)
    for site in options.sites:
        if site not in there:
            raise InputError(f'This trace has no site "{site}". Choose from: {", ".join(there)}.')
    return [site for site in there if site in (options.sites or there)]


def list_places(trace: Trace, options: PageOptions) -> list[Place]:
    """Return the sites that are interactive, each with the layers in the options.

    Args:
        trace: the trace.
        options: the options of the page.

    Raises:
        InputError: the trace lacks a chosen site or all chosen layers, or has too many heads.
    """
    found = []
    heads = 0
    for site in list_wanted_sites(trace, options):
        kind = find_kind(trace, site)
        if kind:
            place = _make_place(trace, site, kind, options)
            heads += len(place.layers) * (trace.maps[site].heads if site in trace.maps else 1)
            found.append(place)
    if heads > MOST_HEADS:
        raise InputError(
            f"The page would have {heads:,} heads, but the limit is {MOST_HEADS:,}. Include fewer"
            " layers or sites."
        )
    return found


def _make_place(trace: Trace, site: str, kind: str, options: PageOptions) -> Place:
    name = name_site(trace, site)
    if site in trace.gazes:
        gaze = trace.gazes[site]
        return Place(site, kind, name, gaze.query, gaze.memory, (0,))
    one = trace.maps[site]
    layers = tuple(n for n in range(one.layers) if not options.layers or n in options.layers)
    if not layers:
        raise InputError(
            f'The site "{site}" has {one.layers:,} layers, but none of the requested ones.'
            " Choose other layers."
        )
    if KINDS[kind].is_whole:
        layers = layers[-1:]
    return Place(site, kind, name, one.query, one.memory, layers)


def make_payloads(
    trace: Trace, shown: Sequence[Place], options: PageOptions, taken: int
) -> list[Payload]:
    """Return the payloads of all maps and layers of a page. Their size is estimated first.

    Args:
        trace: the trace.
        shown: the interactive maps.
        options: the options of the page.
        taken: size of the page without payloads, in bytes.

    Raises:
        InputError: the page would exceed its size limit.
    """
    first = make_first_payloads(trace, shown, options, taken)
    found: list[Payload] = []
    for place, made in zip(shown, first, strict=True):
        for layer in place.layers:
            found.append(
                made if layer == made.layer else make_payload(trace, place, layer, options)
            )
            taken += len(found[-1].data)
            _check_size(taken, options.limit, "more than")
    return found


def make_opening_payloads(
    trace: Trace, shown: Sequence[Place], options: PageOptions, opening: Focus | None, taken: int
) -> list[Payload]:
    """Return the payload of one layer of each map. Other layers are loaded when users select them.

    The layer is that of the opening selection. It is the last layer if the map does not have that
    layer or is shown by another component.

    Args:
        trace: the trace.
        shown: the interactive maps.
        options: the options of the page.
        opening: the selection with which the page opens.
        taken: size of the page without payloads, in bytes.

    Raises:
        InputError: the page would exceed its size limit.
    """
    found = []
    kinds = {place.site: place.kind for place in shown}
    for place in shown:
        layer = place.layers[-1]
        if opening is not None and kinds.get(opening.site) == place.kind:
            layer = opening.layer if opening.layer in place.layers else layer
        found.append(make_payload(trace, place, layer, options))
        taken += len(found[-1].data)
    _check_size(taken, options.limit, "about")
    return found


def make_first_payloads(
    trace: Trace, shown: Sequence[Place], options: PageOptions, taken: int
) -> list[Payload]:
    """Return the payload of the first layer of each map.

    Args:
        trace: the trace.
        shown: the interactive maps.
        options: the options of the page.
        taken: size of the page without payloads, in bytes.

    Raises:
        InputError: the page would exceed its size limit if all layers were this large.
    """
    found = [make_payload(trace, place, place.layers[0], options) for place in shown]
    for place, made in zip(shown, found, strict=True):
        taken += len(made.data) * len(place.layers)
    _check_size(taken, options.limit, "about")
    return found


def _check_size(size: int, limit: int, about: str) -> None:
    if size > limit:
        raise InputError(
            f"The page would take {about} {size / 2**20:,.1f} MiB, but the limit is"
            f" {limit / 2**20:,.4g} MiB. Include fewer layers, sites or areas, or raise the"
            " limit."
        )


def make_payload(trace: Trace, place: Place, layer: int, options: PageOptions) -> Payload:
    """Return the data of one layer for the component of a site."""
    kind, focus = KINDS[place.kind], Focus(place.site, layer)
    message = kind.message(trace, focus, options.areas)
    header = {**message["header"], "items": list(kind.first(trace, focus))}
    # The page already contains the picture as an image, and the sound in a player.
    header.pop("audio", None)
    arrays = {name: values for name, values in message["arrays"].items() if name != "picture"}
    packed = zlib.compress(serialise_message(header, arrays), 9)
    return Payload(place.site, layer, base64.b64encode(packed).decode())


def choose_opening_focus(trace: Trace, shown: Sequence[Place], focus: Focus | None) -> Focus | None:
    """Return the selection with which a page opens, or None if no site is interactive.

    By default it is the last layer of the first site, with the items that the site's component
    first shows.

    Raises:
        InputError: the selection is not in the trace or not in the page.
    """
    if focus is None:
        return _choose_first_focus(trace, shown[0]) if shown else None
    place = next((place for place in shown if place.site == focus.site), None)
    if focus.site in trace.gazes:
        return None if place is None else _look_focus(trace, focus)
    check_focus(trace, focus)
    if not shown:
        # No component shows this trace, so the page has only figures.
        return None
    if place is not None and KINDS[place.kind].is_whole:
        return replace(focus, layer=place.layers[-1])
    if place is None or focus.layer not in place.layers:
        raise InputError(
            f'The page cannot open at layer {focus.layer + 1} of "{focus.site}", which it'
            " does not include. Include that layer and site, or choose another focus."
        )
    return focus


def _choose_first_focus(trace: Trace, place: Place) -> Focus:
    focus = Focus(place.site, place.layers[-1])
    return replace(focus, items=KINDS[place.kind].first(trace, focus))


def _look_focus(trace: Trace, focus: Focus) -> Focus:
    """Return the focus on one step of a gaze, by default the last step."""
    last = len(trace.gazes[focus.site].seen) - 1
    look = min(focus.items, default=last) if focus.side == "query" else last
    return replace(focus, layer=0, side="query", items=(look if 0 <= look < last else last,))


def format_initial_focus(
    trace: Trace, shown: Sequence[Place], focus: Focus | None
) -> dict[str, Any] | None:
    """Return the opening selection as plain values for the page's script."""
    opening = choose_opening_focus(trace, shown, focus)
    return None if opening is None else format_focus(opening)


def format_focus(focus: Focus) -> dict[str, Any]:
    """Return a selection as plain values for the page's script."""
    selection = asdict(focus)
    site, layer = selection.pop("site"), selection.pop("layer")
    return {"site": site, "layer": layer, "selection": {**selection, "items": list(focus.items)}}


# Views of a trace as figures: the choice of a view by its name, and figures for pages.


POINTED = {one.name: one for one in (RIBBON_TAKEAWAY, GRID_TAKEAWAY)}
"""The ribbon and the image grid as figures, by their names. They can be chosen like views."""
DEFAULT_VIEW = "alignment"
"""The view to draw if no view is named and this view applies."""


@dataclass(frozen=True, slots=True)
class Still:
    """A still figure in a page.

    Args:
        title: the title of its view.
        question: the question that it answers.
        source: a data URL with an SVG image.
        how_to_read: an explanation of the figure, or "" if another text explains it.
    """

    title: str
    question: str
    source: str
    how_to_read: str = ""


def find_view(trace: Trace, focus: Focus, name: str | None) -> Download:
    """Return the view of a name, or by default the alignment or the first view that applies.

    Raises:
        InputError: the view does not exist or does not apply to the selection, or no view applies.
    """
    if name in POINTED and focus.site in trace.maps and KINDS[name].fits(trace, focus):
        return POINTED[name]
    fitting = [view.name for view in VIEWS.values() if view.fits(trace, focus)]
    if name is not None and name not in VIEWS:
        raise InputError(
            f'View "{shorten(name)}" does not exist. Choose one of {", ".join(VIEWS)}.'
        )
    if not fitting:
        raise InputError(
            f'No view fits the site "{focus.site}" of this trace. Choose another site.'
        )
    if name is None:
        name = DEFAULT_VIEW if DEFAULT_VIEW in fitting else fitting[0]
    if name not in fitting:
        raise InputError(
            f'The view "{name}" does not fit the site "{focus.site}" of this trace. Choose'
            f" one of {', '.join(fitting)}."
        )
    return VIEWS[name]


def choose_figure(trace: Trace, focus: Focus) -> Download:
    """Return the figure of the component that shows this site, or the first view that applies."""
    kind = KINDS.get(find_kind(trace, focus.site))
    return (kind and kind.takeaway) or find_view(trace, focus, None)


def draw_stills(trace: Trace, shown: Sequence[str]) -> list[Still]:
    """Draw every view that applies to an attention type, each once, in print quality."""
    found: dict[str, Still] = {}
    for site in shown:
        focus = Focus(site)
        for name, view in VIEWS.items():
            if name not in found and view.fits(trace, focus):
                found[name] = draw_still(view, trace, focus)
    return list(found.values())


def draw_named_views(trace: Trace, focus: Focus | None, names: Sequence[str]) -> list[Still]:
    """Draw the named views that apply to a selection, in print quality.

    Raises:
        InputError: a name is not a view.
    """
    for name in names:
        if name not in VIEWS:
            raise InputError(
                f'View "{shorten(name)}" does not exist. Choose one of {", ".join(VIEWS)}.'
            )
    if focus is None:
        return []
    return [
        draw_still(VIEWS[name], trace, focus) for name in names if VIEWS[name].fits(trace, focus)
    ]


def find_why_view(trace: Trace, focus: Focus | None) -> list[View]:
    """Return the view that explains the top area's weight, or [] if the trace has no logits."""
    if focus is None or focus.site not in trace.maps:
        return []
    logits = find_known_logits(trace, focus.site, focus.layer)
    question = find_first_question(trace, focus)
    return [] if logits is None or question is None else [make_weight_view(logits, question)]


def draw_opening_png(trace: Trace, focus: Focus | None) -> bytes:
    """Return a PNG of a page's opening selection, or b"" if the trace has no attention."""
    if focus is None:
        return b""
    return encode_figure(choose_figure(trace, focus).print(trace, focus), "png")


def list_opening_numbers(trace: Trace, focus: Focus | None) -> Table:
    """Return the table of the opening selection. It is empty if the trace has no attention."""
    if focus is None:
        return Table((), ())
    return choose_figure(trace, focus).table(trace, focus).filled()


def draw_page_substitute(trace: Trace, focus: Focus, limit: int) -> Markup:
    """Return an SVG of the page's opening selection, for browsers that forbid the page's script.

    The result is empty if the SVG has more than an eighth of `limit`, the page's limit in bytes.
    """
    figure = choose_figure(trace, focus).print(trace, focus)
    drawn = convert_to_inline_svg(figure, "What the page opens with")
    return drawn if len(drawn) <= limit / 8 else Markup()


def select_first_site(trace: Trace) -> Focus | None:
    """Return a selection of the first attention type, or None if the trace has no attention."""
    found = list_sites(trace)
    return Focus(found[0]) if found else None


def draw_still(view: View, trace: Trace, focus: Focus) -> Still:
    """Draw the figure of a view in print quality."""
    drawn = base64.b64encode(encode_figure(view.print(trace, focus), "svg")).decode()
    source = f"data:image/svg+xml;base64,{drawn}"
    return Still(view.title, view.question, source, view.how_to_read)
