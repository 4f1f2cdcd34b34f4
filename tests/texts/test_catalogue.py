"""Every text of the catalogue has a translation that keeps its placeholders and marks."""

from __future__ import annotations

import gettext
import io
import re
import shutil
import subprocess
from importlib.resources import files

import pytest

from areaviz.texts.catalogue import (
    GERMAN,
    KNOWN,
    PSEUDO,
    find_language,
    load_translations,
    pseudo_translate,
    read_po,
    translate,
    use_decimal_mark,
)
from tests.texts.messages import messages

GERMAN_FILE = files("areaviz.texts").joinpath("de.po")
PLACEHOLDER = re.compile(r"\{\w+\}")
LINK = re.compile(r"\]\([^)]*\)")


def test_every_text_in_code_is_translated_and_no_other() -> None:
    there, needed = set(load_translations(GERMAN)), messages()
    assert needed - there == set(), "add these texts to areaviz/texts/de.po"
    assert there - needed == set(), "remove these texts from areaviz/texts/de.po"
    assert len(needed) > 40


@pytest.mark.parametrize("language", [GERMAN, PSEUDO])
def test_translation_keeps_placeholders_links_and_bold_words(language: str) -> None:
    for english, text in load_translations(language).items():
        assert text.strip(), english
        assert sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(english)), english
        assert LINK.findall(text) == LINK.findall(english), english
        assert text.count("**") == english.count("**"), english
        edges = (text[0] == " ", text[-1] == " ")
        assert edges == (english[0] == " ", english[-1] == " "), english


def test_texts_are_filled_in_and_unknown_texts_stay_english() -> None:
    assert translate("Preview of {title}", "de", title="Lesen") == "Vorschau: Lesen"
    assert translate("Preview of {title}", "en", title="Read") == "Preview of Read"
    assert translate("not in the {catalogue}", "de") == "not in the {catalogue}"
    assert [use_decimal_mark("0.5", language) for language in ("en", "de")] == ["0.5", "0,5"]


def test_browser_gets_the_nearest_language() -> None:
    asked = ["de", "de-AT", "DE-ch", "en-GB", "fr-FR", "", None, "ar-XB"]
    assert [find_language(code) for code in asked] == [
        *("de", "de", "de", "en", "en", "en", "en"),
        "ar-XB",
    ]
    assert set(asked) & set(KNOWN) == {"de", "ar-XB"}


def test_pseudo_text_has_accents_everywhere_but_in_placeholders() -> None:
    text = pseudo_translate(", [see](./a) **{name}** ")
    assert text == "⟦, [šéé](./a) **{name}**·······⟧ "


def test_pseudo_text_is_longer_by_three_tenths() -> None:
    assert pseudo_translate("Ten letter") == "⟦Ťéń ĺéťťéŕ···⟧"
    assert pseudo_translate("a" * 100).count("·") == 30


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="GNU gettext is not installed")
def test_catalogue_file_matches_gettext() -> None:
    text = GERMAN_FILE.read_text("utf-8")
    made = subprocess.run(
        ["msgfmt", "--check", "--output-file=-", "-"],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    read = gettext.GNUTranslations(io.BytesIO(made.stdout))
    found = read_po(text)
    assert found and all(read.gettext(english) == one for english, one in found.items())
    assert len(found) == text.count("\nmsgid ") - 1
