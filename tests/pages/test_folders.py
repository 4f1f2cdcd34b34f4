"""External models on the pages Read, Translate and Models, from folders of `transformers`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from areaviz.adapters.loading import import_transformers
from areaviz.backend.backend import Backend, CachedBackend
from areaviz.backend.local import LocalBackend
from areaviz.measures.faithfulness import find_output_words
from areaviz.samples.paths import FOLDERS_SETTING
from areaviz.trace.request import Request
from tests import marian
from tests.pages.conftest import Open, drawn_texts, shown

TEXT = "a small dog runs."


@pytest.fixture(scope="module")
def folders(marian_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Write a translator, a decoder, an encoder, and a model that reads texts and pictures."""
    import_transformers()
    from tests.adapters import seeing, small

    found = [str(marian_folder)]
    for name, make in (("decoder", small.gpt2), ("encoder", small.bert)):
        folder = tmp_path_factory.mktemp("folders") / name
        make().save_pretrained(folder)
        small.tokenizer().save_pretrained(folder)
        found.append(str(folder))
    found.append(str(seeing.folder(tmp_path_factory.mktemp("folders") / "seer")))
    return tuple(found)


@pytest.fixture(scope="module")
def backend(folders: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Backend:
    return CachedBackend(LocalBackend(tmp_path_factory.mktemp("ours"), "cpu", folders))


@pytest.fixture(autouse=True)
def served(
    backend: Backend,
    folders: tuple[str, ...],
    use_backend: Callable[[Backend], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(FOLDERS_SETTING, ":".join(folders))
    use_backend(backend)


def test_translator_appears_on_translate(open_page: Open) -> None:
    app = open_page("translate", model="small-marian", text=marian.SENTENCE)
    assert not app.exception and not app.error
    assert marian.GERMAN in drawn_texts(app)
    # Its derived areas have only one size.
    assert "Largest area" not in [slider.label for slider in app.select_slider]


@pytest.mark.long
def test_decoder_reads_and_continues_text(open_page: Open) -> None:
    app = open_page("read", model="decoder", text=TEXT)
    assert not app.exception and not app.error
    assert TEXT in shown(app) and "Decoding" not in [one.label for one in app.button_group]
    app = open_page("read", model="decoder", text=TEXT, writes="1")
    assert not app.exception and not app.error
    assert TEXT in shown(app) and app.query_params["writes"] in ("1", ["1"])


def test_encoder_reads_and_never_writes(open_page: Open) -> None:
    app = open_page("read", model="encoder", text=TEXT, compare="decoder")
    assert not app.exception and not app.error
    assert "Tokens" not in shown(app) and len(app.text_area) == 1


@pytest.mark.long
def test_question_about_a_picture_is_answered(open_page: Open) -> None:
    app = open_page("caption", model="seer", picture="scene-34", text="a dog")
    assert not app.exception and not app.error
    [question] = [one for one in app.text_input if one.label == "Question"]
    assert question.value == "a dog" and question.placeholder == "Describe the picture."
    assert app.query_params["text"] in ("a dog", ["a dog"])
    assert "a dog" in shown(app)
    question.set_value("a cat").run()
    assert not app.exception and app.query_params["text"] in ("a cat", ["a cat"])


def test_ban_changes_reading_of_a_decoder(open_page: Open) -> None:
    change = "weigh:decoder self:items=1"
    app = open_page("read", model="decoder", text=TEXT, changes=change)
    assert not app.exception and not app.error
    assert "Mean probability of the original output" in shown(app)


def test_read_word_is_compared_with_an_alternative(open_page: Open, backend: Backend) -> None:
    """Check that the word and an alternative have the probabilities of the trace."""
    trace = backend.trace(Request("decoder", TEXT, target=""))
    words = find_output_words(trace.fields["target"])
    first, last = words[1]
    label, likely = next(
        (label, p)
        for label, p in trace.output.alternatives[first]
        if label.isalpha() and label != trace.fields["target"].labels[first]
    )
    # Its text begins with a symbol without a probability, so all items count one higher.
    app = open_page("read", model="decoder", text=TEXT, foil=f"{first + 1}.{label}")
    assert not app.exception and not app.error and last == first + 1
    table = app.table[0].value
    assert float(str(table.iloc[0, 1])) == pytest.approx(
        trace.output.probabilities[first], abs=1e-3
    )
    assert float(str(table.iloc[0, 2])) == pytest.approx(likely, abs=1e-3)


def test_cards_of_folders_show_known_facts(open_page: Open) -> None:
    app = open_page("models")
    assert not app.exception and not app.error
    tasks = app.button_group(key="models_task").options
    assert any(task.startswith("Language models") for task in tasks)
    app = open_page("model", model="decoder")
    said = shown(app)
    assert not app.exception and not app.error
    assert "An external model" in said
    assert "Trained on" not in said
