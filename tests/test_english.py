"""The documents avoid some phrases, and their paragraphs are short.

These tests remind us of how we write, but they do not replace reading. A sentence that needs a
second reading is wrong even if they pass.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PHRASES = re.compile(r"\b(so many|at the most|is told of|most possible|anew)\b", re.I)
MAX_PARAGRAPH_WORDS = 100
MAX_README_LINES = 150


def paragraphs(document: Path) -> list[str]:
    """Return the paragraphs of a Markdown file, without code, tables, headings and lists."""
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    blocks = re.split(r"\n\s*\n", text)
    return [block for block in blocks if not re.match(r"\s*(\||#|<|[-*\d])", block)]


def test_phrases_stay_out_of_documents() -> None:
    found = [
        f"{one.name}: {hit[0]}" for one in DOCUMENTS for hit in PHRASES.finditer(one.read_text())
    ]
    assert not found, found


def test_paragraphs_of_documents_are_short() -> None:
    long = [
        f"{document.name}: {block[:60]}"
        for document in DOCUMENTS
        for block in paragraphs(document)
        if len(block.split()) > MAX_PARAGRAPH_WORDS
    ]
    assert not long, long


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= MAX_README_LINES
