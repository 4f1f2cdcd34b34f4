"""Question 13: is attention a reason for the output?

The translator runs with an area banned, and with a word hidden.
"""

from __future__ import annotations

from areaviz.app.run import get_backend
from areaviz.cards.tasks import TASKS
from areaviz.lessons.ask.question_parts import (
    QuestionData,
    Texts,
    list_word_items,
    list_word_texts,
    make_bar,
)
from areaviz.show.message import SITE
from areaviz.trace.record import Trace
from areaviz.ui.teach.debate_runs import (
    DEBATED_LAYER,
    HIDDEN_WORD,
    DebateRuns,
    get_output_text,
    run_debate,
)


def load_changed_runs() -> DebateRuns:
    """Return the translation unchanged, with an area banned, and with a word hidden."""
    return run_debate(get_backend(), TASKS["translation"].opens)


def make_question(texts: Texts) -> QuestionData:
    """Ask what a translator writes if it must not attend to an area that many heads attend to.

    Raises:
        ValueError: The ban changes the output, or hiding the word does not change it.
    """
    found = load_changed_runs()
    plain, hidden = get_output_text(found.plain), get_output_text(found.hidden)
    if get_output_text(found.banned) != plain or hidden == plain:
        raise ValueError("The ban must keep the output, and hiding the word must change it.")
    options = [plain, hidden, texts["nothing"]]
    words = {
        "text": found.plain.request.text,
        "word": found.word,
        "span": found.span,
        "takers": found.takers,
        "heads": found.plain.maps[SITE].heads,
        "layer": DEBATED_LAYER + 1,
        "hidden_word": HIDDEN_WORD,
        "hidden": hidden,
        "sure": f"{100 * _get_probability(found.plain, found.item):.0f}",
        "banned_sure": f"{100 * _get_probability(found.banned, found.item):.0f}",
    }
    after = [
        make_bar(texts["as_it_is"].format(**words), _get_probability(found.plain, found.item), 2),
        make_bar(texts["with_ban"].format(**words), _get_probability(found.banned, found.item), 2),
    ]
    runs = {"nothing": found.plain, "ban": found.banned, "hide": found.hidden}
    deep = [
        {"name": texts[f"deep_{name}"].format(**words), "words": _list_pieces(trace)}
        for name, trace in runs.items()
    ]
    read = found.plain.fields[found.plain.maps[SITE].memory]
    within = set(range(found.area.left, found.area.left + found.area.width))
    banned = [place for place, items in enumerate(list_word_items(read)) if within & set(items)]
    numbers = {
        "read": list_word_texts(read),
        "banned": [banned[0], banned[-1]],
        "captions": [texts["read"], texts["written"]],
        "after": after,
        "answer": 0,
        "options": options,
    }
    return QuestionData(numbers, words, {"runs": deep})


def _get_probability(trace: Trace, item: int) -> float:
    """Return the probability of an output item."""
    return float(trace.output.probabilities[item])


def _list_pieces(trace: Trace) -> list[list[object]]:
    """Return the tokens of an output, each with its probability."""
    labels = trace.fields[trace.output.field].labels
    sure = trace.output.probabilities.tolist()
    return [[label.strip(), one] for label, one in zip(labels, sure, strict=True)]
