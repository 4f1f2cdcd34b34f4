"""HTML that is safe by its type, and a page of it in one file that fetches nothing.

Text becomes markup only by way of `escaped`, and `element` escapes what is no markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence

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


def document(
    title: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    body: Iterable[Markup],
) -> Markup:
    """A page that leads nowhere, and in which nothing but its own scripts can run.

    Args:
        title: of the tab.
        styles: style sheets; the first one is the page's, the others are in its body.
        scripts: modules in its body.
        body: what the page holds.
    """
    # Only what these hashes name can style the page or run in it.
    allowed = " ".join(map(hash_of, scripts)) or "'none'"
    policy = [
        "default-src 'none'",
        f"style-src {' '.join(map(hash_of, styles))}",
        f"script-src {allowed}",
        "img-src data:",
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content="; ".join(policy)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        raw("style", styles[0]),
    )
    page = element("html", head, element("body", *body), lang="en")
    return Markup(f"<!doctype html>\n{page}\n")
