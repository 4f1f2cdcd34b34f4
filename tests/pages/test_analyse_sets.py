"""Analyse: models that are offered for a set, and the roles of a reader's own files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from areaviz.backend.backend import Backend
from areaviz.media.clips import encode_gif
from areaviz.media.sounds import encode_flac
from areaviz.sets.app import form
from areaviz.sets.run import SETTING
from tests import fakes
from tests.pages.analysed import button, listed, opened_first, ran, uploading
from tests.pages.conftest import Open, shown
from tests.pages.pictured import Pictured, captioner
from tests.pages.test_listen import Listeners
from tests.pages.test_watch import OWN, Watchers

Use = Callable[[Backend], None]
GUESS = "what it says of other pictures is a guess"


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))


class BothKinds(Pictured):
    """A backend with two captioners: first of photographs, then of scenes."""

    def __init__(self) -> None:
        super().__init__()
        photo, scene = captioner("photo-area", "area"), captioner("scene-area", "area")
        self.cards = {
            "photo-area": replace(photo, recipe={"pictures": "photos"}, title="Photos"),
            "scene-area": replace(scene, recipe={"pictures": "scenes"}, title="Scenes"),
        }


def test_set_of_scenes_is_run_by_scene_model(open_page: Open, use_backend: Use) -> None:
    use_backend(BothKinds())
    app = open_page("analyse", new="1")
    for _ in range(2):
        app.button_group(key="analyse_sample").set_value("Scenes to describe").run()
        assert app.selectbox(key="analyse_model").value == "scene-area" and GUESS not in warned(app)
        # Choose a set in between that no model here can run.
        app.button_group(key="analyse_sample").set_value("Sentences").run()
        assert "No model here takes such examples" in app.error[0].value


def test_model_warns_about_unfamiliar_pictures(open_page: Open, use_backend: Use) -> None:
    use_backend(BothKinds())
    app = open_page("analyse", new="1")
    app.button_group(key="analyse_sample").set_value("Scenes to describe").run()
    app.selectbox(key="analyse_model").set_value("photo-area").run()
    assert app.selectbox(key="analyse_model").value == "photo-area" and GUESS in warned(app)


def test_cluttered_digits_offer_only_models_trained_on_clutter(
    open_page: Open, use_backend: Use
) -> None:
    backend = Pictured()
    pairs = replace(backend.cards["location-wise-hard"], name="pairs", title="Two digits")
    backend.cards["pairs"] = replace(pairs, config={"kind": "pairs"})
    use_backend(backend)
    app = open_page("analyse", new="1")
    app.button_group(key="analyse_sample").set_value("Digits among clutter").run()
    offered = app.selectbox(key="analyse_model").options
    assert not app.exception and len(offered) == 4 and "Two digits" not in offered


def warned(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(one.value for one in app.warning)


def given(open_page: Open, *files: tuple[str, bytes]) -> AppTest:
    """Open the page with the reader's own files."""
    app = uploading(open_page("analyse", new="1"))
    sent = [(name, content, "text/plain") for name, content in files]
    return app.file_uploader(key=form.FILES_KEY_PREFIX).set_value(sent).run()


def test_english_file_is_run_even_if_second(open_page: Open) -> None:
    app = given(open_page, ("my.de.txt", b"Ein Hund.\n"), ("my.en.txt", b"A dog.\n"))
    roles = {one.label: one.value for one in app.selectbox if one.label.startswith("Role of")}
    assert roles == {"Role of my.en.txt": "source", "Role of my.de.txt": "reference"}
    assert "1 example, 1 with a reference" in shown(app)


def role(app: AppTest, column: str) -> Selectbox[str]:
    return next(one for one in app.selectbox if one.label == f"Role of {column}")


def test_column_chooser_changes_a_role_and_keeps_it(open_page: Open) -> None:
    table = b"source,reference,translation,domain\nA dog.,Ein Hund.,Hund.,street\n"
    app = given(open_page, ("t.csv", table))
    assert role(app, "translation").value == "output" and "please check" in shown(app)
    assert "outputs of 1 system" in shown(app) and "metadata: domain" in shown(app)
    role(app, "translation").set_value("reference").run()
    assert "outputs of" not in shown(app) and "please check" not in shown(app)
    role(app, "domain").set_value("ignore").run()
    assert not app.error and 'not used: "domain"' in shown(app)
    assert role(app, "translation").value == "reference"
    button(app, "Undo all choices").click().run()
    assert "outputs of 1 system" in shown(app) and "metadata: domain" in shown(app)


def test_metadata_filters_the_table_and_sorts_into_buckets(open_page: Open) -> None:
    rows = "".join(f"A dog {n}.,Ein Hund {n}.,Hund {n}.,{'ab'[n % 2]},{n}\n" for n in range(6))
    app = given(open_page, ("t.csv", f"source,reference,mt,domain,year\n{rows}".encode()))
    assert not app.exception and len(listed(app)) == 6
    assert list(listed(app)["domain"])[:2] != ["", ""] and "year" in listed(app).columns
    app.selectbox(key="analyse_filter_column").set_value("meta:domain").run()
    app.multiselect(key="analyse_filter_values").set_value(["a"]).run()
    assert not app.exception and list(listed(app)["domain"]) == ["a", "a", "a"]


def test_column_chooser_stays_when_no_column_is_a_source(open_page: Open) -> None:
    app = given(open_page, ("t.csv", b"words,mt\nA dog.,Ein Hund.\n"))
    assert "no column is a source" in app.error[0].value
    role(app, "words").set_value("source").run()
    assert not app.error and "1 example" in shown(app)


@pytest.mark.parametrize(
    ("name", "said"), [("run.npz", "cannot be read"), ("rows.json", "has no header")]
)
def test_file_of_wrong_kind_is_refused(open_page: Open, name: str, said: str) -> None:
    app = given(open_page, (name, b"{}"))
    assert len(app.error) == 1 and said in app.error[0].value


@pytest.mark.long
def test_sounds_with_references_are_run_by_a_listener(
    open_page: Open, use_backend: Use, tmp_path: Path
) -> None:
    use_backend(Listeners(tmp_path))  # type: ignore[arg-type]
    heard = encode_flac(fakes.sound("s", 1.0))
    files = (
        ("set.csv", b"sound,reference\na.flac,3 1 4\nb.flac,42\nc.flac,5\n"),
        ("a.flac", heard),
        ("b.flac", heard),
        ("c.flac", b"no sound"),
    )
    app = given(open_page, *files)
    assert not app.error and "3 examples, 3 with references, 3 sounds" in shown(app)
    app = ran(app)
    assert not app.exception and not app.error
    table = listed(app)
    assert table["Example"].tolist() == ["1", "2", "3"]
    assert "is not a WAV, FLAC, Ogg, MP3 or AIFF recording" in table["Not run"][2]
    assert "Error" in table and "BLEU" not in table and "Source" not in table
    app = opened_first(app)
    assert not app.exception and not app.error
    assert "3 1 4" in [one.value for one in app.markdown]
    # The player of the sound, which shows when the model listened.
    assert any(one.proto.component_name.endswith("hearing") for one in app.get("bidi_component"))


def test_unusable_set_gives_reason_for_each_example(
    open_page: Open, use_backend: Use, tmp_path: Path
) -> None:
    use_backend(Listeners(tmp_path))  # type: ignore[arg-type]
    app = ran(given(open_page, ("a.wav", b"no sound"), ("b.flac", b"")))
    assert not app.exception and not app.error
    why = listed(app)["Not run"].tolist()
    assert "is not a WAV, FLAC, Ogg, MP3 or AIFF recording" in why[0] and "is empty" in why[1]


def test_clips_are_run_by_a_watcher(open_page: Open, use_backend: Use, tmp_path: Path) -> None:
    use_backend(Watchers(tmp_path))
    clips = [(f"{n}.gif", encode_gif(fakes.clip(seed=n))) for n in range(2)]
    app = ran(given(open_page, *clips))
    assert not app.exception and not app.error
    assert "2 examples, no references, 2 clips" in shown(app)
    table = listed(app)
    assert table["Output"].tolist() == [OWN, OWN]
    app = opened_first(app)
    assert not app.exception and not app.error
    drawn = [one.proto.component_name for one in app.get("bidi_component")]
    assert len([name for name in drawn if name.endswith("strip")]) == 1


def test_files_of_two_kinds_are_refused(open_page: Open) -> None:
    app = given(open_page, ("a.wav", b"x"), ("b.png", b"y"))
    assert len(app.error) == 1 and "all files of a set must be of one kind" in app.error[0].value


@pytest.mark.parametrize(
    ("name", "count"), [("Spoken digits", "40 sounds"), ("Moving digits", "40 clips")]
)
def test_app_has_sets_of_sounds_and_clips(
    open_page: Open, use_backend: Use, tmp_path: Path, name: str, count: str
) -> None:
    use_backend(Listeners(tmp_path) if name == "Spoken digits" else Watchers(tmp_path))  # type: ignore[arg-type]
    app = open_page("analyse", new="1")
    app.button_group(key="analyse_sample").set_value(name).run()
    assert not app.exception and not app.error and count in shown(app)


def test_page_lists_accepted_files(open_page: Open) -> None:
    app = given(open_page, ("sheet.csv", b"text;reference\r\nA dog.;Ein Hund.\r\n"))
    assert "1 example, 1 with a reference" in shown(app)
    assert "texts with one example per line" in shown(app)
