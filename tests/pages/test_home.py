"""Home: the lit hero, six starting points, three doors, and links that all work."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from areaviz.app.examples import (
    EXAMPLES,
    SAMPLES,
    Example,
    build_example_link,
    list_examples,
    load_stored_examples,
)
from areaviz.app.four_ways import MECHANISMS
from areaviz.app.home import LINK_CARDS, TILE_PAINTERS, TILES, WHAT_IT_DOES
from areaviz.app.page import PAGE_GROUPS, TITLES
from areaviz.app.run import list_missing_models
from areaviz.samples.paths import CARDS, HERO
from areaviz.trace import file
from areaviz.trace.request import Focus, from_params
from areaviz.views.ribbon.ribbon import make_ribbon_payload
from tests.pages import folder
from tests.pages.conftest import APP, Open, shown

MOST_WORDS, WORDS_OF_RIBBON = 250, 95


def labels(app: AppTest) -> list[str]:
    """Return the texts of the page's links."""
    return [element.proto.label for element in app.get("page_link")]


def test_home_describes_the_app_in_two_sentences(open_page: Open) -> None:
    app = open_page("home")
    assert not app.exception and not app.error
    assert [title.value for title in app.title] == ["See what a model attends to"]
    assert WHAT_IT_DOES in shown(app) and WHAT_IT_DOES.count(". ") == 1


def test_hero_opens_with_a_span_highlighted() -> None:
    trace = file.load(HERO)
    payload = make_ribbon_payload(trace, Focus("encoder-decoder", 1))
    (item,) = payload["header"]["lit"]["items"]
    assert trace.fields["target"].labels[item].strip().isalpha()
    assert trace.fields["target"].raw == (
        "Ein schwarzer Hund rennt mit einem Stock durch den Schnee."
    )


def test_home_has_few_words(open_page: Open) -> None:
    app = open_page("home")
    said = [element.value for element in app.markdown if not element.value.startswith("<style")]
    said += [element.value for element in (*app.title, *app.subheader, *app.caption)]
    words = " ".join([*said, *labels(app), *PAGE_GROUPS, "Home"]).split()
    # The browser draws the ribbon, which adds its texts, two sentences and a legend.
    assert len(words) <= MOST_WORDS - WORDS_OF_RIBBON


def test_first_link_to_fresh_server_runs_the_app(open_page: Open) -> None:
    open_page("translate")
    assert PagesManager.uses_pages_directory is False, (
        "else Streamlit shows its own list of the files in pages/"
    )


def test_home_has_six_tiles_and_three_cards(open_page: Open) -> None:
    app = open_page("home")
    assert len(TILES) == 6 and len(LINK_CARDS) == 3
    assert {f"**{TITLES[way.page]}**" for way in TILES} <= set(labels(app))
    assert {door.title for door in LINK_CARDS} <= {element.value for element in app.subheader}


def test_every_link_opens_a_page(open_page: Open) -> None:
    links = [element.proto.page for element in open_page("home").get("page_link")]
    # The tour has a link in the navigation and one in the hero, next to the link to own sentences.
    assert len(links) == 3 + len(TILES) + sum(len(door.links) for door in LINK_CARDS)
    pages = {path.stem for path in (APP.parent / "pages").glob("*.py")}
    assert {Path(link).stem or "home" for link in links} <= pages


def test_every_tile_has_a_small_picture_or_a_text() -> None:
    for way in TILES:
        if way.page in (*TILE_PAINTERS, "four_ways"):
            assert way.picture.read_text("utf-8").startswith("<svg")
            assert way.picture.stat().st_size < 60_000
        else:
            assert way.example is not None and way.example.text
    pictures = [CARDS / way.file_name for way in MECHANISMS]
    assert max(path.stat().st_size for path in pictures) < 20_000


def test_tile_without_model_says_so_and_has_no_link(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needed = {tuple(stored["models"]) for stored in load_stored_examples().values()}
    models = {model for names in needed for model in names} | {way.model for way in TILES}
    for model in models - {"memory-stories", ""}:
        (tmp_path / model).mkdir()
        (tmp_path / model / "card.json").touch()
    monkeypatch.setenv("AREAVIZ_BACKEND", "local")
    monkeypatch.setenv("AREAVIZ_CHECKPOINTS", str(tmp_path))
    app = open_page("home")
    assert not app.exception and not app.error
    assert "1 of 6 need models that are not installed. To get them, restore the folder" in shown(
        app
    )
    assert "Missing model: `memory-stories`" in shown(app)
    assert "**Reason**" not in labels(app) and "**Caption**" in labels(app)


def test_every_example_names_its_models() -> None:
    assert [*load_stored_examples()] == [example.slug for example in EXAMPLES]
    models = {model for stored in load_stored_examples().values() for model in stored["models"]}
    assert models and list_missing_models(models) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_example_link_has_text_and_focus(example: Example) -> None:
    params = build_example_link(example)
    assert "model" not in params, "which models there are is known by Translate"
    request, focus = from_params({"model": "any", **params})
    assert (request.text, request.area_size) == (example.text, example.area_size)
    assert focus is not None and focus.items, "an example opens with something lit"
    if example.focus.items:
        assert focus == example.focus


def test_examples_are_offered_on_their_pages(open_page: Open) -> None:
    app = open_page("translate")
    examples = [example.title for example in list_examples("translate")]
    assert len(examples) == 4 and set(examples) <= set(labels(app))
    assert sum(len(list_examples(page)) for page in TITLES) == len(EXAMPLES)


def test_example_opens_with_an_available_model(open_page: Open) -> None:
    example = Example(
        "A title", folder.TEXT, "A note", Focus("encoder self", 1, items=(2,)), compare="1"
    )
    app = open_page("translate", **build_example_link(example))
    assert not app.exception and not app.error
    assert "Ein kleiner Hund rennt." in shown(app) and app.query_params["items"] == "3"


def test_samples_are_sentences_that_differ() -> None:
    assert len(set(SAMPLES)) == len(SAMPLES) >= 10
    assert all(text.endswith(".") and 20 <= len(text) <= 80 for text in SAMPLES)
