"""The stored comparison that Analyse opens with: figures, sentences, and the way to the form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from areaviz.samples.paths import ANALYSIS
from areaviz.sets.app.opening import find_changed_words
from areaviz.sets.run import MODELS, SETTING, RowFile
from tests.pages.analysed import button, listed, state_of
from tests.pages.conftest import Open, shown

MOST_WORDS, WORDS_OF_CHART = 250, 30
"""The most words on opening, and the words that the chart adds in the browser."""


@pytest.fixture(autouse=True)
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    return tmp_path / "rows"


def changes() -> dict[int, float]:
    """Return the change of chrF for every sentence, from the stored files."""
    first, second = (RowFile.read(ANALYSIS / f"{model}.jsonl").rows for model in MODELS)
    return {at: second[at].measures["chrf"] - row.measures["chrf"] for at, row in first.items()}


def worst_first() -> list[int]:
    found = changes()
    return sorted(found, key=lambda at: found[at])


def output(model: str, at: int) -> str:
    return RowFile.read(ANALYSIS / f"{model}.jsonl").rows[at].output


def marked(app: AppTest) -> list[str]:
    """Return the paragraphs of the page without their markup."""
    signs = ("**", ":green-background[", ":red-background[", "]", "\\")
    found = []
    for element in app.markdown:
        text = element.value
        for sign in signs:
            text = text.replace(sign, "")
        found.append(" ".join(text.split()))
    return found


def test_opening_counts_worse_sentences(open_page: Open, rows: Path) -> None:
    app = open_page("analyse")
    assert not app.exception and not app.error
    change = np.array(list(changes().values()))
    worse, better = int((change < 0).sum()), int((change > 0).sum())
    assert worse > better
    sentence = f"Without attention, {worse} of {len(change)} translations get worse and {better}"
    assert sentence in shown(app)
    assert f"Mean change −{-change.mean():.1f} chrF" in shown(app)
    assert "Begun" not in shown(app) and not rows.exists()
    assert not app.get("file_uploader")
    assert [(one.key, one.value) for one in app.button_group] == [("analyse_part", None)]


def test_opening_shows_the_worst_sentence_in_full(open_page: Open) -> None:
    app, order = open_page("analyse"), worst_first()
    worst = order[0]
    assert f"Sentence {worst + 1}: −{-changes()[worst]:.1f} chrF" in marked(app)
    for label, model in zip("AB", MODELS, strict=True):
        assert f"{label}: {output(model, worst)}" in marked(app)
    assert app.query_params["example"] == str(worst + 1)
    button(app, "›").click().run()
    assert f"Sentence {order[1] + 1}: −{-changes()[order[1]]:.1f} chrF" in marked(app)
    button(app, "‹").click().run()
    assert f"B: {output(MODELS[1], worst)}" in marked(app) and button(app, "‹").disabled


def test_opening_follows_its_address(open_page: Open) -> None:
    app = open_page("analyse", example="24")
    assert "English: A brown horse stands behind a fence." in marked(app)
    assert not app.error and not state_of(app).is_new


def test_link_opens_this_sentence_and_this_tab(open_page: Open) -> None:
    app = open_page("analyse", example="3", part="length")
    (link,) = (element.value for element in app.code)
    assert link.endswith("?example=3&part=length")


def test_opening_names_the_scores_of_both_systems(open_page: Open) -> None:
    text = shown(open_page("analyse"))
    assert f"**A** {MODELS[0]}, BLEU 85.7" in text
    assert f"**B** {MODELS[1]}, BLEU 74.7" in text


def test_link_opens_only_a_known_tab(open_page: Open) -> None:
    app = open_page("analyse", part="rows")
    assert not app.error and len(listed(app)) == len(changes())
    assert app.query_params["part"] == "rows"
    app = open_page("analyse", part="nothing")
    assert not app.error and app.button_group(key="analyse_part").value is None
    assert "part" not in app.query_params
    app.button_group(key="analyse_part").set_value("words").run()
    assert "Wins are examples in which" in shown(app)


def test_opening_has_few_words(open_page: Open) -> None:
    app = open_page("analyse")
    said = [one.value for one in app.markdown if not one.value.startswith("<style")]
    said += [one.value for one in (*app.title, *app.header, *app.caption)]
    said += [one.label for one in app.button]
    said += [one.proto.label for one in app.get("page_link")]
    assert len(" ".join(said).split()) <= MOST_WORDS - WORDS_OF_CHART


def test_form_opens_as_a_state_of_the_page(open_page: Open) -> None:
    app = button(open_page("analyse"), "New analysis").click().run()
    assert not app.exception and not app.error
    assert app.query_params["new"] == "1" and app.button_group(key="analyse_source").value
    assert app.button_group(key="analyse_source").value == "Samples"
    assert "Without attention" not in shown(app)
    linked = open_page("analyse", new="1")
    assert linked.button_group(key="analyse_source").value == "Samples"
    back = button(linked, "Back to the stored analysis").click().run()
    assert "Without attention" in shown(back) and "new" not in back.query_params


def test_whole_analysis_opens_without_running_a_model(
    open_page: Open, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AREAVIZ_BACKEND", "local")
    app = open_page("analyse", set="Sentences", model=MODELS[0], compare=MODELS[1])
    assert not app.exception and not app.error
    assert len(listed(app)) == len(changes())
    assert not any(one.label.startswith(("Run", "Go on", "Delete the")) for one in app.button)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("Ein braunes Pferd steht.", "Ein brauner Hund steht.", "braunes Pferd → brauner Hund"),
        ("Ein Dach.", "Ein Dach eines Hauses.", "– → eines Hauses"),
        ("Ein Hund im Gras.", "Ein Hund.", "im Gras → –"),
        ("Ein Hund.", "Ein Hund.", "– → –"),
    ],
)
def test_changed_words_are_the_longest_run(first: str, second: str, words: str) -> None:
    assert find_changed_words(first, second) == words
