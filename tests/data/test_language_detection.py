"""The check whether a text is German."""

from __future__ import annotations

import pytest

from areaviz.app.chart import is_probably_german
from areaviz.app.examples import SAMPLES


@pytest.mark.parametrize(
    "text",
    [
        "Ein Mann und der Hund auf dem Weg.",
        "Zwei Frauen trinken Kaffee vor einer Bäckerei.",
        "Die Kinder spielen nicht im Sand.",
    ],
)
def test_german_is_recognised(text: str) -> None:
    assert is_probably_german(text)


@pytest.mark.parametrize(
    "text", [*SAMPLES, "", "Café Müller", "was in an", "I love you.", "שלום", "xx yy zz"]
)
def test_other_languages_are_not_recognised_as_german(text: str) -> None:
    assert not is_probably_german(text)
