"""HTML that is safe by its type.

Text becomes markup only by way of `escaped`, and `element` escapes what is no markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable

from areaviz.drawing.labels import readable

_VOID = ("img", "meta")


class Markup(str):
    """HTML as it stands in a page; a plain `str` is text."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Text as markup that shows it, everything invisible in it named."""
    return Markup(html.escape(readable(text)))


def joined(parts: Iterable[str]) -> Markup:
    """Texts and markup one after the other."""
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts))


def element(tag: str, /, *content: str, **attributes: str) -> Markup:
    """An element with texts and markup in it.

    Args:
        attributes: `class_` and `data_x` stand for "class" and "data-x".
    """
    start = f"<{tag}"
    for key, value in attributes.items():
        start += f' {key.strip("_").replace("_", "-")}="{escaped(value)}"'
    return Markup(f"{start}>" if tag in _VOID else f"{start}>{joined(content)}</{tag}>")


def raw(tag: str, content: str, /, **attributes: str) -> Markup:
    """A style sheet or script, whose text stands in the page as it is.

    Raises:
        ValueError: the text would end the element, or a browser would read it otherwise.
    """
    if f"</{tag}" in content.lower() or "<!--" in content or "\r" in content or "\0" in content:
        raise ValueError(f"The content of a {tag} element must not have its end in it.")
    return element(tag, Markup(content), **attributes)


def data_block(content: object, /, **attributes: str) -> Markup:
    """Plain values as JSON for a script of the page; nothing in it can end the element."""
    # Without "<" the text can hold neither an end of the element nor a comment.
    text = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    return raw("script", text, type="application/json", **attributes)


def hash_of(content: str) -> str:
    """The source expression by which a content security policy knows an inline style or script."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
