"""HTML that is safe because of its type, and standalone pages that load nothing.

`Markup` is HTML, and a plain `str` is text. `escape_markup` converts text to markup, and
`make_element` escapes every argument that is not `Markup`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence

from areaviz.drawing.labels import escape_controls

_VOID = ("img", "input", "meta")


class Markup(str):
    """HTML that is inserted without escaping. A plain `str` is text."""

    __slots__ = ()


def escape_markup(text: str) -> Markup:
    """Return text as escaped markup, with codes in place of control characters."""
    return Markup(html.escape(escape_controls(text)))


def join_markup(parts: Iterable[str]) -> Markup:
    """Concatenate texts and markup, escaping the texts."""
    return Markup(
        "".join(part if isinstance(part, Markup) else escape_markup(part) for part in parts)
    )


def make_element(tag: str, /, *content: str, **attributes: str) -> Markup:
    """Return an element that contains texts and markup.

    Args:
        tag: name of the element.
        content: texts, which are escaped, and markup.
        attributes: attributes. `class_` and `data_x` become "class" and "data-x".
    """
    start = f"<{tag}"
    for key, value in attributes.items():
        start += f' {key.strip("_").replace("_", "-")}="{escape_markup(value)}"'
    return Markup(f"{start}>" if tag in _VOID else f"{start}>{join_markup(content)}</{tag}>")


def make_raw_element(tag: str, content: str, /, **attributes: str) -> Markup:
    """Return a style sheet or script, whose content is inserted without escaping.

    Raises:
        ValueError: the content would end the element, or browsers would parse it differently.
    """
    if f"</{tag}" in content.lower() or "<!--" in content or "\r" in content or "\0" in content:
        raise ValueError(f"The content of a {tag} element must not contain its end or a comment.")
    return make_element(tag, Markup(content), **attributes)


def make_data_block(content: object, /, **attributes: str) -> Markup:
    """Return a script element with values as JSON, which the page's script reads."""
    # Without "<", the text cannot contain the end of the element or a comment.
    text = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    return make_raw_element("script", text, type="application/json", **attributes)


def hash_of(content: str) -> str:
    """Return the source expression of an inline style or script in a content security policy."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def make_document(
    title: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    body: Iterable[Markup],
    policy: Sequence[str] = (),
    tags: Sequence[Markup] = (),
    language: str = "en",
) -> Markup:
    """Return a page that loads nothing and runs only its own scripts.

    Args:
        title: title of the tab.
        styles: style sheets. The first one is added to the head. The others must be in the body.
        scripts: modules in the body.
        body: content of the page.
        policy: further directives of the page's security policy.
        tags: further elements of the head.
        language: the code of the page's language, for the attribute `lang`.
    """
    # Only styles and scripts with these hashes are allowed.
    allowed = " ".join(map(hash_of, scripts)) or "'none'"
    directives = [
        "default-src 'none'",
        f"style-src {' '.join(map(hash_of, styles))}",
        f"script-src {allowed}",
        "img-src data:",
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *policy,
    ]
    head = make_element(
        "head",
        make_element("meta", charset="utf-8"),
        make_element("meta", http_equiv="Content-Security-Policy", content="; ".join(directives)),
        make_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_element("meta", name="referrer", content="no-referrer"),
        make_element("title", title),
        *tags,
        make_raw_element("style", styles[0]),
    )
    page = make_element("html", head, make_element("body", *body), lang=language)
    return Markup(f"<!doctype html>\n{page}\n")
