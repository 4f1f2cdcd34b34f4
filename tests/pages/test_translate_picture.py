"""Translate with a picture: maps side by side, hidden words and links; no typed text is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streamlit.testing.v1 import AppTest

from areaviz.app.translate_picture import PICTURE_CONDITIONS
from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.samples.own_media import get_picture_sentence
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.pages import folder
from tests.pages.conftest import Open, shown
from tests.pages.pictured import Pictured

Use = Callable[[Backend], None]
PAGE = "translate_picture"
TEXT, HIDDEN, SITE = f"{PAGE}_text", f"{PAGE}_hidden", f"{PAGE}_site"
SEEN, OTHER, LOOKED = f"{PAGE}_seen", f"{PAGE}_other", f"{PAGE}_looked"


class Looking(Pictured):
    """A translator whose output reveals whether it got a picture."""

    def __init__(self) -> None:
        super().__init__()
        made = replace(
            folder.card("scene-translation", "text and picture"),
            task="picture translation",
            figures={},
        )
        self.cards = {
            made.name: replace(made, title="Translation with a shape scene", family="doubly")
        }

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        self.asked.append(request)
        made = fakes.doubly_trace(
            request.text or "x", "ein roter Stern" if request.picture else "ein blauer Stern"
        )
        if request.picture is None:
            fields = {name: field for name, field in made.fields.items() if name != "picture"}
            maps = {site: one for site, one in made.maps.items() if one.memory != "picture"}
            made = replace(made, fields=fields, maps=maps)
        return replace(made, request=request)


def opened(open_page: Open, use_backend: Use, **params: str) -> tuple[AppTest, Looking]:
    backend = Looking()
    use_backend(backend)
    return open_page(PAGE, **params), backend


def test_three_picture_choices_are_translated_at_once(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    assert not app.exception and not app.error
    true, none, wrong = backend.asked
    assert true.picture is not None and none.picture is None and wrong.picture is not None
    assert true.picture.name != wrong.picture.name
    assert {one.text for one in backend.asked} == {
        get_picture_sentence(true.picture.name).replace("blue", "?", 1)
    }
    assert "**blauer**" in shown(app), "the words that differ are bold"


def test_page_opens_with_a_hidden_colour(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(open_page, use_backend)
    words = app.session_state[TEXT].split()
    assert [words[place] for place in app.button_group(key=HIDDEN).value] == ["blue"]
    app.button_group(key=HIDDEN).set_value([]).run()
    assert not app.exception and app.button_group(key=HIDDEN).value == []


def test_hidden_word_is_hidden_from_every_run(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    words = app.session_state[TEXT].split()
    app.button_group(key=HIDDEN).set_value([1]).run()
    assert not app.exception and not app.error
    assert {one.text for one in backend.asked[3:]} == {" ".join([words[0], "?", *words[2:]])}
    app.text_input(key=TEXT).set_value("a star").run()
    assert backend.asked[-1].text == "a star", "a new sentence hides nothing"


def test_own_sentence_survives_a_picture_change(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    app.text_input(key=TEXT).set_value("my own words").run()
    app.query_params.update(
        {"model": "scene-translation", "picture": "scene-1", "text": "my own words"}
    )
    app.run()
    assert backend.asked[-1].text == "my own words"


def test_every_picture_choice_can_be_explored(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    app.button_group(key=SEEN).set_value(list(PICTURE_CONDITIONS)).run()
    assert not app.exception and not app.error
    assert len(backend.asked) == 4, "what was seen before is not asked again"
    app.button_group(key=LOOKED).set_value(["with", "without"]).run()
    assert not app.exception and not app.error
    app.button_group(key=LOOKED).set_value(["without"]).run()
    assert not app.exception and not app.error


def test_picture_is_described_without_a_sentence(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    before = len(backend.asked)
    app.text_input(key=TEXT).set_value("").run()
    assert not app.exception and not app.error
    assert all(one.picture is not None and not one.text for one in backend.asked[before:])


def test_link_restores_picture_sentence_and_site(open_page: Open, use_backend: Use) -> None:
    params = {
        "picture": "scene-1",
        "text": "a ? star",
        "site": "encoder-decoder picture",
        "items": "2",
    }
    app, backend = opened(open_page, use_backend, model="scene-translation", **params)
    assert not app.exception and not app.error
    assert backend.asked[0].text == "a ? star"
    assert backend.asked[0].picture is not None and backend.asked[0].picture.name == "scene-1"
    assert {name: app.query_params[name] for name in params} == params


def test_selected_word_stays_selected_in_equal_words(open_page: Open, use_backend: Use) -> None:
    params = {
        "model": "scene-translation",
        "picture": "scene-1",
        "text": "a red star",
        "site": "encoder-decoder picture",
    }
    app, _ = opened(open_page, use_backend, **params, items="1")
    for site, kept in (
        ("encoder-decoder", True),
        ("encoder self", False),
        ("encoder-decoder picture", True),
    ):
        app.segmented_control(key=SITE).set_value(site).run()
        assert (
            app.query_params["site"] == site
            and ("items" in app.query_params) == kept
            and not app.exception
        )


def test_words_to_hide_are_plain_text_of_long_sentences(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(
        open_page, use_backend, model="scene-translation", picture="scene-1", text="a **b** :red[c]"
    )
    assert not app.exception and list(app.button_group(key=HIDDEN).options)[1:] == [
        r"\*\*b\*\*",
        r"\:red\[c\]",
    ]
    app.text_input(key=TEXT).set_value("star " * 60).run()
    assert not app.exception and not app.error
    assert "up to 40 words" in shown(app) and backend.asked[-1].text.count("star") == 60


def test_too_long_sentence_keeps_older_translations(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    app.text_input(key=TEXT).set_value("a" * 4097).run()
    assert len(app.error) == 1 and len(backend.asked) == 3 and not app.exception
    assert "The result below is from your previous input" in shown(app) and "**blauer**" in shown(
        app
    )


def test_compared_picture_differs_from_the_picture(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(open_page, use_backend, model="scene-translation", picture="scene-20")
    assert app.session_state[OTHER] != "scene-20"


def test_link_restores_hidden_words_pictures_and_explored_runs(
    open_page: Open, use_backend: Use
) -> None:
    params = {
        "picture": "scene-1",
        "text": "a red star",
        "hidden": "2",
        "sees": "with,grey,other",
        "other": "scene-20",
    }
    app, backend = opened(open_page, use_backend, model="scene-translation", **params, look="grey")
    assert not app.exception and not app.error
    assert {one.text for one in backend.asked} == {"a ? star"} and app.session_state[HIDDEN] == [1]
    assert [one.picture and one.picture.name for one in backend.asked] == [
        "scene-1",
        "scene-20",
        "grey",
    ]
    assert app.session_state[LOOKED] == ["grey"]
    assert {**params, "sees": "with,other,grey", "look": "grey"}.items() <= dict(
        app.query_params
    ).items()
    app.button_group(key=HIDDEN).set_value([]).run()
    assert backend.asked[-1].text == "a red star" and "hidden" not in app.query_params


def test_click_in_run_without_the_site_stays_there(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(
        open_page, use_backend, model="scene-translation", picture="scene-1", text="a red star"
    )
    app.button_group(key=LOOKED).set_value(["with", "without"]).run()
    assert (
        not app.exception and not app.error and app.session_state[SITE] == "encoder-decoder picture"
    )
