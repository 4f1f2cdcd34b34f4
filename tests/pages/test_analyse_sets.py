"""Analyse: which models are offered for a set, and what a reader's own files are taken for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.analysis.rows import SETTING
from areaviz.backend.base import Backend
from areaviz.ui.analyse import dataset_form
from tests.pages.analysed import uploading
from tests.pages.conftest import Open, shown
from tests.pages.pictured import Pictured, captioner

Use = Callable[[Backend], None]
GUESS = "what it says of other pictures is a guess"


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))


class BothKinds(Pictured):
    """A captioner of photographs, which comes first, and one of scenes."""

    def __init__(self) -> None:
        super().__init__()
        photo, scene = captioner("photo-area", "area"), captioner("scene-area", "area")
        self.cards = {
            "photo-area": replace(photo, recipe={"pictures": "photos"}, title="Photos"),
            "scene-area": replace(scene, recipe={"pictures": "scenes"}, title="Scenes"),
        }


def test_a_set_of_scenes_is_run_by_a_model_of_scenes(open_page: Open, use_backend: Use) -> None:
    use_backend(BothKinds())
    app = open_page("analyse")
    for _ in range(2):
        app.button_group(key="analyse_sample").set_value("Scenes to describe").run()
        assert app.selectbox(key="analyse_model").value == "scene-area" and GUESS not in warned(app)
        # A set that no model here can be run on lies between.
        app.button_group(key="analyse_sample").set_value("Sentences").run()
        assert "No model here takes such examples" in app.error[0].value


def test_a_model_that_has_never_seen_such_pictures_says_so(
    open_page: Open, use_backend: Use
) -> None:
    use_backend(BothKinds())
    app = open_page("analyse")
    app.button_group(key="analyse_sample").set_value("Scenes to describe").run()
    app.selectbox(key="analyse_model").set_value("photo-area").run()
    assert app.selectbox(key="analyse_model").value == "photo-area" and GUESS in warned(app)


def warned(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(one.value for one in app.warning)


def given(open_page: Open, *files: tuple[str, bytes]) -> AppTest:
    """The page with files of the reader's own."""
    app = uploading(open_page("analyse"))
    sent = [(name, content, "text/plain") for name, content in files]
    return app.file_uploader(key=dataset_form.FILES).set_value(sent).run()


def test_the_english_file_is_run_though_it_comes_second(open_page: Open) -> None:
    app = given(open_page, ("my.de.txt", b"Ein Hund.\n"), ("my.en.txt", b"A dog.\n"))
    sentences = next(one for one in app.selectbox if one.label == "Sentences to run")
    references = next(one for one in app.multiselect if one.label == "References")
    assert sentences.value == "my.en.txt" and references.value == ["my.de.txt"]
    assert "1 example, 1 with a reference" in shown(app)


@pytest.mark.parametrize("name", ["run.npz", "rows.json"])
def test_a_file_of_another_kind_is_refused_in_one_sentence(open_page: Open, name: str) -> None:
    app = given(open_page, (name, b"{}"))
    assert len(app.error) == 1 and "of which no examples are read here" in app.error[0].value


def test_the_page_says_which_files_it_takes(open_page: Open) -> None:
    app = given(open_page, ("sheet.csv", b"text;reference\r\nA dog.;Ein Hund.\r\n"))
    assert "1 example, 1 with a reference" in shown(app)
    assert "Texts with a sentence a line" in shown(app)
