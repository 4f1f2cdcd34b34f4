"""Home: the picture, the examples and the four kinds of attention, with no link that
leads nowhere.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.runtime.pages_manager import PagesManager

from areaviz.data.places import CARDS
from areaviz.trace.link import from_params
from areaviz.trace.request import Focus
from areaviz.ui.forms.samples import EXAMPLES, SAMPLES, Example
from areaviz.ui.home.sections import KINDS, link_of, stored_examples
from areaviz.ui.shell.engine import missing_models
from tests.pages import folder
from tests.pages.conftest import APP, Open, shown


def test_home_shows_a_stored_example_and_says_what_this_is(open_page: Open) -> None:
    app = open_page("home")
    assert not app.exception and not app.error
    assert "Every head has a colour" in shown(app)
    assert "point at a word" in shown(app).lower()


def test_the_first_link_into_a_fresh_server_goes_through_the_app(open_page: Open) -> None:
    open_page("translate")
    assert PagesManager.uses_pages_directory is False, (
        "else Streamlit shows its own list of the files in pages/"
    )


def test_every_kind_of_attention_has_a_card_and_a_page(open_page: Open) -> None:
    app = open_page("home")
    kinds = [kind for row in KINDS for kind in row]
    assert {kind.title for kind in kinds} <= {element.value for element in app.subheader}
    assert all(kind.page for kind in kinds)


def test_no_link_leads_nowhere(open_page: Open) -> None:
    links = [element.proto.page for element in open_page("home").get("page_link")]
    assert len(links) == len(EXAMPLES) + 6
    pages = {path.stem for path in (APP.parent / "pages").glob("*.py")}
    assert {Path(link).stem or "home" for link in links} <= pages


def test_a_card_whose_models_are_not_here_says_so_instead_of_leading_there(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needed = {slug: stored.models for slug, stored in stored_examples().items()}
    tree = needed["a-tree-grows-over-its-sentence"]
    for model in {model for models in needed.values() for model in models} - set(tree):
        (tmp_path / model).mkdir()
        (tmp_path / model / "card.json").touch()
    monkeypatch.setenv("AREAVIZ_BACKEND", "local")
    monkeypatch.setenv("AREAVIZ_CHECKPOINTS", str(tmp_path))
    app = open_page("home")
    assert not app.exception and not app.error
    assert f"1 of {len(EXAMPLES)} need models that are not here; restore the folder" in shown(app)
    assert f"Not here: `{tree[0]}`" in shown(app)
    labels = [element.proto.label for element in app.get("page_link")]
    assert len([label for label in labels if label.startswith("Open “")]) == len(EXAMPLES) - 1
    assert "Open “A tree grows over its sentence”" not in labels


def test_every_example_knows_the_models_it_was_opened_with() -> None:
    assert [*stored_examples()] == [example.slug for example in EXAMPLES]
    models = {model for stored in stored_examples().values() for model in stored.models}
    assert models and missing_models(models) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_the_link_of_an_example_is_its_text_and_focus(example: Example) -> None:
    params = link_of(example)
    assert "model" not in params, "which models there are is known by Translate"
    request, focus = from_params({"model": "any", **params})
    assert (request.text, request.area_size) == (example.text, example.area_size)
    assert focus is not None and focus.items, "an example opens with something lit"
    if example.focus.items:
        assert focus == example.focus


def test_every_card_has_a_small_picture_of_its_own() -> None:
    kinds = [kind for row in KINDS for kind in row]
    slugs = [one.slug for one in (*EXAMPLES, *kinds)]
    assert len(set(slugs)) == len(slugs)
    sizes = [(CARDS / f"{slug}.png").stat().st_size for slug in slugs]
    assert max(sizes) < 80_000


def test_links_are_named_after_their_example(open_page: Open) -> None:
    labels = [element.proto.label for element in open_page("home").get("page_link")]
    assert {f"Open “{example.title}”" for example in EXAMPLES} <= set(labels)
    assert len([label for label in labels if label.startswith("Open “")]) == len(EXAMPLES)


def test_an_example_opens_with_whatever_model_there_is(open_page: Open) -> None:
    example = Example(
        "A title", folder.TEXT, "A note", Focus("encoder self", 1, items=(2,)), compare="1"
    )
    app = open_page("translate", **link_of(example))
    assert not app.exception and not app.error
    assert "Ein kleiner Hund rennt." in shown(app) and app.query_params["items"] == "3"


def test_samples_are_sentences_that_differ() -> None:
    assert len(set(SAMPLES)) == len(SAMPLES) >= 10
    assert all(text.endswith(".") and 20 <= len(text) <= 80 for text in SAMPLES)
