"""Payloads that act where text is not treated as plain text, and checks that find them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from streamlit.testing.v1 import AppTest

from areaviz.trace.record import AttentionMap, Field, Output, Trace
from tests import fakes

PAYLOADS = (
    '<script>alert("1")</script><img src=x onerror=alert(2)>',
    (
        "[a link](javascript:alert(3)) ![p](http://127.0.0.1:1/x.png) **bold** `code` # head"
        " :red[x] :material/home: ---"
    ),
    "$5 and $6 $\\frac{$ $$x$$ \\text{",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "a\u202eb\u202ac\u2066d\u200be\ufefff",
    "{z} %{text} <extra></extra> {{7*7}} ${7*7}",
    "]]></text><script>1</script>&lt;b&gt;&amp;",
    "\ud800 \x00 \x1b[31m \u0301\u0301 \U0001f469\u200d\U0001f4bb",
)
EVERYTHING = " ".join(PAYLOADS)
LIVE = re.compile(
    r"(?<!\\)(?:<(?:script|img|b>|extra)|\$|\]\(|\*\*|`|:red|:material)|[\u202a-\u202e\u2066-\u2069\u200b\ufeff]"
)
"""Patterns that Markdown, HTML, formulas and bidirectional text would make of the payloads."""
_MARKDOWN = ("title", "header", "subheader", "markdown", "caption", "error", "warning", "info")
_LABELLED = (
    "button",
    "checkbox",
    "expander",
    "multiselect",
    "number_input",
    "radio",
    "selectbox",
    "slider",
    "text_area",
    "text_input",
)


def hostile_trace(text: str) -> Trace:
    """Return an untrusted trace in which every free text is `text`."""
    trace = fakes.trace(text, text[::-1], layers=1, heads=2)

    def field(item: Field) -> Field:
        return replace(item, labels=(text, *item.labels[1:]))

    def attention(item: AttentionMap) -> AttentionMap:
        return replace(item, normalisation=text)

    alternatives = tuple(
        tuple((text, share) for _, share in options) for options in trace.output.alternatives
    )
    return replace(
        trace,
        request=replace(trace.request, model=text, method=text),
        fields={name: field(item) for name, item in trace.fields.items()},
        maps={name: attention(item) for name, item in trace.maps.items()},
        output=Output("target", trace.output.probabilities, alternatives),
        details={"device": text, "warning": text, text: text},
    )


OWN = re.compile(
    r"\*\*(?:How to read this\.|Change what is asked|Limits\.|How faithful is this map\?)\*\*"
)
"""Texts that the pages themselves always set in bold."""


def live(app: AppTest) -> Iterator[str]:
    """Yield the page's Markdown texts and labels in which a part of a payload is active."""
    for kind in _MARKDOWN:
        yield from (
            one.value
            for one in app.get(kind)
            if not one.value.startswith("<style>") and LIVE.search(OWN.sub("", one.value))
        )
    for kind in _LABELLED:
        yield from (one.label for one in app.get(kind) if LIVE.search(OWN.sub("", one.label)))
