"""Conversion of a print figure to inline SVG that any content security policy allows.

The policy of a website may forbid scripts, style attributes and data URLs. It cannot forbid
elements of the page. Every style therefore becomes a presentation attribute, and a picture becomes
a mosaic of coloured paths.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from io import BytesIO
from itertools import groupby
from xml.etree.ElementTree import Element, fromstring

from matplotlib import rc_context
from matplotlib.figure import Figure as PrintFigure
from PIL import Image

from areaviz.drawing.markup import Markup, make_element

MOSAIC_CELLS, MOSAIC_COLOURS = 64, 48
"""Cells along the longer side of a picture, and its number of colours."""
MOSAIC_DPI = 72
"""Resolution of pictures in dots per inch. A mosaic has fewer cells per inch than this."""
# Elements that are removed. Clip paths need references "url(#...)", which the pages do not allow,
# and they are not needed, because all marks are inside their axes.
_LEFT_OUT = ("metadata", "style", "clipPath")
_KEPT = (
    *("d", "x", "y", "width", "height", "transform", "href", "id", "viewBox", "role"),
    *("fill", "fill-rule", "stroke", "stroke-width", "stroke-linejoin", "stroke-linecap"),
    *("stroke-dasharray", "stroke-dashoffset", "stroke-opacity", "fill-opacity", "opacity"),
    *("shape-rendering", "aria-label", "font-size", "font-weight", "font-style", "font-family"),
)
_FONTS = "DejaVu Sans, Verdana, sans-serif"
"""Font of the figure, and a fallback of nearly equal width."""


def convert_to_inline_svg(figure: PrintFigure, alt: str) -> Markup:
    """Return a print figure as an `svg` element without styles and external URLs.

    Args:
        figure: the figure.
        alt: description for screen readers.
    """
    root = fromstring(_render_svg(figure))
    # matplotlib's style sheet sets these two properties for every line.
    root.attrib |= {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    root.attrib |= {"role": "img", "aria-label": alt}
    return _convert_node(root)


def _render_svg(figure: PrintFigure) -> bytes:
    """Return a figure as SVG with text elements. It is smaller and faster than `encode_figure`.

    The layout engine is run and then removed. With an engine, `savefig` would draw the figure
    twice.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "areaviz", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", dpi=MOSAIC_DPI, facecolor="white")
    return buffer.getvalue()


def _convert_node(node: Element) -> Markup:
    name = _get_local_name(node.tag)
    if name in _LEFT_OUT:
        return Markup()
    attributes = {_get_local_name(key): value for key, value in node.attrib.items()}
    if name == "image":
        return _convert_image(attributes)
    for style in attributes.pop("style", "").split(";"):
        key, _, value = style.partition(":")
        attributes[key.strip()] = value.strip()
    if name == "text":
        attributes["font-family"] = _FONTS
    # Ids of figures, axes and patches are not referenced, and would repeat between figures.
    if name not in ("path", "symbol"):
        attributes.pop("id", None)
    kept = {key: " ".join(attributes[key].split()) for key in _KEPT if key in attributes}
    text = node.text if name == "text" and node.text else ""
    return make_element(name, text, *map(_convert_node, node), **kept)


def _get_local_name(name: str) -> str:
    """Return a name without its namespace. In HTML, the `svg` element implies the namespace."""
    return name.rpartition("}")[2]


def _convert_image(image: dict[str, str]) -> Markup:
    """Return one path per colour in place of a picture's `image` element."""
    data = base64.b64decode(image["href"].partition(",")[2])
    picture = Image.open(BytesIO(data)).convert("RGBA")
    white = Image.new("RGBA", picture.size, "white")
    picture = Image.alpha_composite(white, picture).convert("RGB")
    picture.thumbnail((MOSAIC_CELLS, MOSAIC_CELLS))
    few = picture.quantize(MOSAIC_COLOURS)
    columns, rows = few.size
    colours = few.getpalette() or []
    indices = few.tobytes()
    runs = defaultdict[int, list[str]](list)
    for row in range(rows):
        column = 0
        for colour, cells in groupby(indices[row * columns : (row + 1) * columns]):
            length = len(list(cells))
            runs[colour].append(f"M{column} {row}h{length}v1h-{length}z")
            column += length
    paths = []
    for colour, found in runs.items():
        red, green, blue = colours[3 * colour : 3 * colour + 3]
        paths.append(
            make_element("path", d="".join(found), fill=f"#{red:02x}{green:02x}{blue:02x}")
        )
    wide, high = float(image["width"]) / columns, float(image["height"]) / rows
    place = f"translate({image.get('x', '0')} {image.get('y', '0')}) scale({wide:.6g} {high:.6g})"
    cells_drawn = make_element("g", *paths, transform=place, shape_rendering="crispEdges")
    return make_element("g", cells_drawn, transform=image.get("transform", "translate(0 0)"))
