"""Analyse: a button finds themes, whose rows can be shown and saved as a slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.sets.app import form
from areaviz.sets.app import themes as theme_causes
from areaviz.sets.app.sharing import MAKE_LINK_LABELS
from areaviz.sets.app.state import SHARE_PARAM, open_note_store
from areaviz.sets.notes.notes import Judgement
from areaviz.sets.run import SETTING
from areaviz.sets.themes.causes import Cause, Runner
from areaviz.sets.themes.conditions import Material
from areaviz.sets.themes.themes import Theme, Themes
from areaviz.sets.user_files import Mode
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.analysis.themes.made import lose_colours_of_women, made_material
from tests.pages.analysed import Translating, button, keyed, listed, ran, state_of, uploading
from tests.pages.conftest import Open, shown

MATERIAL = made_material(160, damage=lose_colours_of_women)
BETTER = made_material(160)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))


def lines(texts: tuple[str, ...]) -> bytes:
    return ("\n".join(texts) + "\n").encode()


def given(open_page: Open, **outputs: tuple[str, ...]) -> AppTest:
    """Open the page with the made-up set and outputs of systems."""
    files = {
        "set.en": lines(MATERIAL.sources),
        "set.de": lines(tuple(text for (text,) in MATERIAL.references)),
        **{f"hyp.{name}.txt": lines(texts) for name, texts in outputs.items()},
    }
    app = uploading(open_page("analyse", new="1"))
    sent = [(name, content, "text/plain") for name, content in files.items()]
    return app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(sent).run()


def test_themes_are_found_shown_and_saved(open_page: Open) -> None:
    app = given(open_page, one=MATERIAL.written[0].outputs)
    assert "Where the source has" not in shown(app)
    app = button(app, "Find themes").click().run()
    assert not app.exception and not app.error
    text = shown(app).replace("\\", "")
    assert "Where the source has “woman”, 0 % of the references' colours are found" in text
    assert "Too rare to test, in fewer than 16 examples" in text
    count = len(listed(app))
    app = keyed(app.button, "show themes 0").click().run()
    kept = state_of(app).row_filter
    assert kept is not None and len(listed(app)) == len(kept.places) < count
    app = keyed(app.button, "save themes 0").click().run()
    assert not app.error
    (made,) = open_note_store().slices.list_all(state_of(app).digest)
    assert made.examples == kept.places
    app = keyed(app.button, "show themes 0").click().run()
    assert len(listed(app)) == count


def test_themes_of_two_systems_are_two_lists(open_page: Open) -> None:
    systems = {"a": BETTER.written[0].outputs, "b": MATERIAL.written[0].outputs}
    app = button(given(open_page, **systems), "Find themes").click().run()
    assert not app.exception and not app.error
    titles = [one.value for one in app.subheader]
    assert any(title.endswith("where (2) is worse than (1)") for title in titles)
    assert "0 themes where (1) is worse than (2)" in titles


def test_themes_are_offered_again_when_outputs_change(open_page: Open) -> None:
    app = button(given(open_page, one=MATERIAL.written[0].outputs), "Find themes").click().run()
    assert state_of(app).themes
    sent = [("hyp.b.txt", lines(BETTER.written[0].outputs), "text/plain")]
    sent += [("set.en", lines(MATERIAL.sources), "text/plain")]
    sent += [("set.de", lines(tuple(text for (text,) in MATERIAL.references)), "text/plain")]
    app = app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(sent).run()
    assert button(app, "Find themes") and "Where the source has" not in shown(app)


class Losing(Translating):
    """A translator of the made-up set that loses colours if the source has "woman"."""

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        texts = dict(zip(MATERIAL.sources, MATERIAL.written[0].outputs, strict=True))
        made = fakes.trace(request.text, texts[request.text] or "x")
        return replace(made, request=request)


@pytest.mark.long
def test_themes_of_a_model_lead_to_its_attention(
    open_page: Open, use_backend: Callable[[Backend], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_into = []

    def found(theme: Theme, themes: Themes, material: Material, runner: Runner) -> Cause:
        looked_into.append(theme)
        return Cause(None, (), "Head 3 was looked at.")

    monkeypatch.setattr(theme_causes, "find_cause", found)
    use_backend(Losing())
    app = ran(given(open_page))
    app = button(app, "Find themes").click().run()
    assert not app.error and not app.exception
    app = button(app, "Look into attention").click().run()
    assert not app.error and "Head 3 was looked at" in shown(app)
    app.run()
    assert len(looked_into) == 1 and looked_into[0].conditions


@pytest.mark.long
def test_themes_survive_marked_errors_and_shared_links(open_page: Open) -> None:
    owner = button(given(open_page, one=MATERIAL.written[0].outputs), "Find themes").click().run()
    theme = "Where the source has “woman”, 0 % of the references' colours are found"
    assert theme in shown(owner)
    digest, output = state_of(owner).digest, MATERIAL.written[0].outputs[0]
    source = MATERIAL.sources[0]
    open_note_store().judgements.save(
        Judgement(digest, 0, "hyp.one.txt", "Ada", source, output, (), 50.0)
    )
    assert theme in shown(owner.run())
    button(owner, MAKE_LINK_LABELS[Mode.READ]).click().run()
    (token,) = parse_qs(urlsplit(owner.code[0].value).query)[SHARE_PARAM]
    guest = open_page("analyse", share=token)
    assert not guest.error and theme in shown(guest)


def test_themes_need_enough_examples(open_page: Open) -> None:
    app = open_page("analyse", new="1")
    app = uploading(app)
    sent = [
        ("a.en", b"A dog.\nA cat.\n", "text/plain"),
        ("a.de", b"Ein Hund.\nEine Katze.\n", "text/plain"),
        ("hyp.txt", b"Ein Hund.\nKatze.\n", "text/plain"),
    ]
    app = app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(sent).run()
    assert "Themes need at least 80 examples. This analysis has 2." in shown(app)
