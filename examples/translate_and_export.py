"""Translate a sentence, and export a page that shows what the model attended to.

python examples/translate_and_export.py    # writes translation.html
"""

from __future__ import annotations

import sys
from pathlib import Path

import areaviz
from areaviz.backend.local import LocalBackend
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.request import Focus, Request

SENTENCE = "Two children in red boots jump over a puddle."


def main(folder: Path) -> None:
    """Write `translation.html` into a folder."""
    backend = LocalBackend(CHECKPOINTS)
    trace = backend.trace(Request("token-boundary", SENTENCE, method="beam"))
    # The page has all layers. It opens at the second one, with the third item of the translation
    # lit.
    path = areaviz.export(
        trace,
        folder / "translation.html",
        focus=Focus("encoder-decoder", layer=1, items=(2,)),
        options=areaviz.PageOptions(
            title="Two children, in German", note="Point at a word of either sentence."
        ),
    )
    print(f"{trace.fields['target'].raw}\n{path}: {path.stat().st_size / 1000:,.0f} KB")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]))
