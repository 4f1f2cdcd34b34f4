"""Faulty or oversized folders give one sentence on the page.

The sentence comes before any model runs, and uses words of the page. The earlier result stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers
from streamlit.testing.v1 import AppTest

from areaviz.adapters import loading
from areaviz.adapters import transformers_models as transformers_models
from areaviz.adapters.loading import SINGLE_FILE, import_transformers
from areaviz.backend.backend import CachedBackend
from areaviz.backend.local import LocalBackend
from areaviz.samples.paths import FOLDERS_SETTING
from areaviz.trace import errors as limits
from tests import marian
from tests.adapters.test_bad_folders import GIGA, LONG, WRONG, no_folder, of_size
from tests.pages.conftest import Open, errors, shown

TEXT = "a small dog runs."
Serve = Callable[..., None]
# Names of Python arguments, which pages must not show.
ARGUMENT = re.compile(r"\w=|areaviz\.|docs/")


@pytest.fixture
def serve(
    use_backend: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Serve:
    """Make the app run the models of these folders, on a machine of 8 GB."""
    monkeypatch.setattr(loading, "count_free_bytes", lambda device: 8 * GIGA)

    def served(*folders: str) -> None:
        monkeypatch.setenv(FOLDERS_SETTING, ":".join(folders))
        use_backend(CachedBackend(LocalBackend(tmp_path / "ours", "cpu", folders)))

    return served


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """Write a small GPT-2 with a tokenizer."""
    import_transformers()
    from tests.adapters import small

    small.gpt2().save_pretrained(tmp_path / "reader")
    small.tokenizer().save_pretrained(tmp_path / "reader")
    return tmp_path / "reader"


@pytest.fixture
def captioner(tmp_path: Path) -> Path:
    """Write a small model that describes pictures."""
    import_transformers()
    from tests.adapters import small

    small.captioner().save_pretrained(tmp_path / "captioner")
    small.tokenizer().save_pretrained(tmp_path / "captioner")
    return tmp_path / "captioner"


def said(app: AppTest, words: str) -> str:
    """Return the page's only error."""
    assert not app.exception
    [sentence] = errors(app)
    assert re.search(words, sentence), sentence
    assert not ARGUMENT.search(sentence) and sentence.count(". ") <= 2, sentence
    return sentence


def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if weights are loaded or a model runs from here on."""

    def refuse(*given: Any, **named: Any) -> Any:
        pytest.fail("it was begun")

    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", refuse)
    monkeypatch.setattr(transformers.PreTrainedModel, "__call__", refuse)


@pytest.mark.parametrize("kind", WRONG)
def test_unusable_folder_is_reported_on_page(
    kind: str, reader: Path, serve: Serve, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil, words = WRONG[kind]
    serve(spoil(reader))
    never(monkeypatch)
    app = open_page("read", model=reader.name, text=TEXT)
    assert not app.exception
    assert any(re.search(words, sentence) for sentence in errors(app)), errors(app)


def test_bad_folder_leaves_remaining_models(reader: Path, serve: Serve, open_page: Open) -> None:
    serve(no_folder(reader), str(reader))
    app = open_page("read", model="reader", text=TEXT)
    said(app, "is neither a folder nor .* Check the path")
    assert TEXT in shown(app) and app.session_state["result"].traces


def test_too_large_new_weights_keep_earlier_result(
    reader: Path, serve: Serve, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.adapters import small

    large = tmp_path / "large"
    small.bert("BertForMaskedLM").save_pretrained(large)
    small.tokenizer().save_pretrained(large)
    of_size(large / SINGLE_FILE, 20 * GIGA)
    serve(str(reader), str(large))
    app = open_page("read", model="reader", text=TEXT)
    [before] = app.session_state["result"].traces
    never(monkeypatch)
    app = app.selectbox(key="read_model").set_value("large").run()
    said(app, r"needs 24\.0 GB of memory in bfloat16, but 8\.0 GB are free. ")
    assert app.session_state["result"].traces == (before,)
    assert "The result below is from your previous input" in shown(app)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LONG, "has 400,000 characters, but the limit is 4,096"),
        (LONG[:4000], r"has 1,\d+ tokens but the model takes at most 32. Shorten it"),
    ],
)
def test_too_long_text_keeps_earlier_result(
    text: str,
    words: str,
    reader: Path,
    serve: Serve,
    open_page: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve(str(reader))
    app = open_page("read", model="reader", text=TEXT)
    [before] = app.session_state["result"].traces
    never(monkeypatch)
    app = app.text_area(key="read_text").set_value(text).run()
    said(app, words)
    assert app.session_state["result"].traces == (before,) and TEXT in shown(app)


def test_too_large_attention_gives_advice_for_the_page(
    reader: Path, serve: Serve, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(str(reader))
    app = open_page("read", model="reader", text="a dog")
    never(monkeypatch)
    monkeypatch.setattr(limits, "MAX_ATTENDED_BYTES", 1)
    app = app.text_area(key="read_text").set_value(TEXT).run()
    advised = said(app, r"A layer of the attention \(4 heads, .* the limit is ")
    assert advised.endswith(". Shorten the text or choose another model.")
    assert "a dog" in shown(app)


@pytest.mark.long
def test_translator_gives_the_same_advice(
    marian_folder: Path, serve: Serve, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(str(marian_folder))
    monkeypatch.setattr(limits, "MAX_ATTENDED_BYTES", 1)
    app = open_page("translate", model="small-marian", text=marian.SENTENCE)
    assert said(app, "A layer of the").endswith(". Shorten the text or choose another model.")


def test_too_large_picture_gives_advice_about_pictures(
    captioner: Path, serve: Serve, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(str(captioner))
    monkeypatch.setattr(limits, "MAX_ATTENDED_BYTES", 1)
    monkeypatch.setattr(
        transformers_models, "generate_tokens", lambda *given: pytest.fail("it runs")
    )
    app = open_page("caption", model="captioner", picture="scene-34")
    assert said(app, "A layer of the").endswith("MiB. Choose another model.")


def test_picture_is_refused_by_text_models(reader: Path, serve: Serve, open_page: Open) -> None:
    serve(str(reader))
    app = open_page("caption", model="reader", picture="scene-34")
    said(app, "No installed model supports this page")
