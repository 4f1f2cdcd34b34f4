"""The teacher's page: the plan of 45 minutes, and the page that shows it or an exercise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

import streamlit as st

from areaviz.app.frame import add_styles
from areaviz.app.home import load_hero_trace
from areaviz.app.page import VIEW, WHAT_IF, build_link_params
from areaviz.app.run import get_backend
from areaviz.app.texts import add_language, get_language, remove_language, sentence, show_errors
from areaviz.extensions import ExtensibleRegistry
from areaviz.learn.exercise import EXERCISE_PARAM, draw_exercise, draw_exercise_maker
from areaviz.learn.model_questions import (
    DEBATED_LAYER,
    HIDDEN_WORD,
    DebateRuns,
    get_output_text,
    run_debate,
)
from areaviz.learn.tour import format_percent, get_span_text, list_top_areas
from areaviz.texts.catalogue import message, use_decimal_mark
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.query import find_words
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.message import SITE, choose_first_focus

# The plan of 45 minutes: what a class does, links into the app, and folded answers.
#
# The plan is plain HTML, so that the page, its print and a static site show the same text. On paper
# the answers are left out and lines to write on appear.


SUMMED_ITEMS = (2, 3, 5, 6)
"""The items of lesson 3."""
LOST_ATTENTION: Mapping[str, Callable[[], tuple[str, ...]]] = ExtensibleRegistry(
    "lost_attention", {}
)
"""Functions that return the answer about translation without attention. The analysis of sets brings
one, which reads its stored rows.
"""
PLAN_STYLE = """
.plan { border-top: 1px solid #8886; }
.plan-row { display: grid; grid-template-columns: 92px minmax(0, 1.25fr) minmax(0, 1fr);
  gap: 4px 24px; padding: 10px 0; border-bottom: 1px solid #8886; }
.plan-row .plan-time { font: 600 18px/25px "Source Serif", serif; overflow-wrap: anywhere; }
.plan-row a { display: inline-block; min-height: 32px; line-height: 32px; margin-right: 20px; }
.plan-row details { border: 1px solid #8886; border-radius: 8px; padding: 4px 14px;
  align-self: start; }
.plan-row summary { font-weight: 600; min-height: 32px; line-height: 32px; cursor: pointer; }
.plan-lines { display: none; }
@media (max-width: 700px) { .plan-row { grid-template-columns: minmax(0, 1fr); } }
@media print {
  @page { margin: 14mm; }
  [data-testid="stHeader"], [data-testid="stToolbar"], [data-testid="stSidebar"],
  .st-key-tour_link, .st-key-exercise_maker, .plan-row details, .plan-row a, .st-key-plan_open
    { display: none !important; }
  html, body, #root, .stApp, [data-testid="stAppViewContainer"], [data-testid="stMain"] {
    position: static !important; overflow: visible !important; height: auto !important; }
  [data-testid="stMainBlockContainer"] { padding: 0 !important; max-width: none !important; }
  .plan-row { grid-template-columns: 80px 1fr; break-inside: avoid; }
  .plan-lines { display: block; grid-column: 2; height: 62px; margin-top: 8px;
    border-bottom: 1px solid #888; background: linear-gradient(#888, #888) 0 30px / 100% 1px
    no-repeat; print-color-adjust: exact; }
}
"""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One part of the lesson.

    Args:
        minutes: when it takes place.
        title: its name.
        task: what the class does.
        links: labels and addresses, relative to any page of the app.
        summary: the label of the folded answer.
        answer: the sentences of the answer.
    """

    minutes: str
    title: str
    task: str
    links: tuple[tuple[str, str], ...]
    summary: str
    answer: tuple[str, ...]


def build_plan_rows(
    hero: Trace, debate: DebateRuns | None, compared: Sequence[str]
) -> list[PlanRow]:
    """Return the parts of the lesson, with answers read from traces."""
    first = choose_first_focus(hero)
    text = hero.request.text
    word = hero.fields[hero.maps[SITE].query].labels[first.items[0]].strip()
    rows = [
        PlanRow(
            sentence("{start}–{end} min", start=0, end=5),
            sentence("A guess on the board."),
            sentence(
                "“{text}” Which English words would you look at to write “{word}”? Hands up.",
                text=text,
                word=word,
            ),
            ((sentence("Home, with the picture of this sentence"), "./"),),
            sentence("Answer"),
            (
                *describe_board(hero),
                sentence("A map of weights shows what a head takes. It does not show why."),
            ),
        ),
        _build_prediction_row(),
        PlanRow(
            sentence("{start}–{end} min", start=15, end=25),
            sentence("Own sentences."),
            sentence(
                "Find a word for which a head takes three words or more as one. Then find a word"
                " for which no head does. Keep the link."
            ),
            ((sentence("Translate"), "./translate"),),
            sentence("What to expect"),
            (describe_wide_areas(hero), describe_layers(hero)),
        ),
        PlanRow(
            sentence("{start}–{end} min", start=25, end=35),
            sentence("What if it could not look?"),
            sentence(
                "One of two translators has no attention. Find its funniest translation, and say"
                " what went missing."
            ),
            ((sentence("Analyse: with and without attention"), "./analyse"),),
            sentence("Answers"),
            tuple(compared),
        ),
    ]
    if debate is not None:
        rows.append(_build_debate_row(debate))
    rows.append(
        PlanRow(
            sentence("{start}–{end} min", start=42, end=45),
            sentence("One sentence each:"),
            sentence("attention is …, an area is …, attention does not tell …."),
            (),
            sentence("Good sentences"),
            (
                sentence(
                    "Attention is how much of each part of the input a model mixes into its next"
                    " step."
                ),
                sentence(
                    "An area is a run of neighbours, or a rectangle, that attention weighs as one."
                ),
                sentence(
                    "Attention does not tell whether the output would change without that part."
                ),
            ),
        )
    )
    return rows


def build_plan_html(rows: Sequence[PlanRow]) -> str:
    """Return the plan as HTML, with all text escaped."""
    found = []
    for row in rows:
        answer = "".join(f"<p>{escape(text)}</p>" for text in row.answer)
        found.append(
            f'<div class="plan-row"><div class="plan-time">{escape(row.minutes)}</div>'
            f"<div><strong>{escape(row.title)}</strong> {escape(row.task)}<br>"
            f"{_build_links(row.links)}</div>"
            f"<details><summary>{escape(row.summary)}</summary>{answer}</details>"
            '<div class="plan-lines"></div></div>'
        )
    return f'<div class="plan">{"".join(found)}</div>'


def describe_board(trace: Trace) -> tuple[str, ...]:
    """Return one sentence per head: the heaviest area for the word that the trace opens with."""
    first = choose_first_focus(trace)
    attention = trace.maps[first.site]
    memory = trace.fields[attention.memory]
    found = []
    for head, top in enumerate(list_top_areas(attention, first.layer, first.items[0]), 1):
        span, share = get_span_text(memory, top.area), format_percent(top)
        said = sentence("Head {head} takes “{span}” ({share}).", head=head, span=span, share=share)
        found.append(said)
    return (sentence("In layer {layer}:", layer=first.layer + 1), " ".join(found))


def describe_wide_areas(trace: Trace) -> str:
    """Say for how many words of a translation some head's heaviest area has three words."""
    first = choose_first_focus(trace)
    attention = trace.maps[first.site]
    query = trace.fields[attention.query]
    runs = [run for run in find_words(query) if query.labels[run[0]].strip().isalpha()]
    wide = 0
    for start, _ in runs:
        tops = list_top_areas(attention, first.layer, start)
        wide += any(top.area.width >= 3 for top in tops)
    return sentence(
        "In the sentence on Home, layer {layer}, a head takes three words or more for {wide} of the"
        " {count} German words.",
        layer=first.layer + 1,
        wide=wide,
        count=len(runs),
    )


def describe_layers(trace: Trace) -> str:
    """Say in which layers some head's heaviest area has several words."""
    attention = trace.maps[SITE]
    found = []
    for layer in range(attention.layers):
        tops_HQ = attention.weights[layer].argmax(-1)
        if (attention.grid.sizes()[tops_HQ] > 1).any():
            found.append(str(layer + 1))
    if not found:
        return sentence("In this sentence every head takes single words only.")
    return sentence(
        "In this sentence heads take several words as one in these layers: {layers}.",
        layers=", ".join(found),
    )


def _build_prediction_row() -> PlanRow:
    """Return the part in which pairs predict three numbers and check them in the lessons."""
    items = SUMMED_ITEMS
    spans, rectangles = AreaGrid(1, 8, 1, 5).count, AreaGrid(3, 4, 2, 2).count
    mean = use_decimal_mark(f"{sum(items) / len(items):g}", get_language())
    return PlanRow(
        sentence("{start}–{end} min", start=5, end=15),
        sentence("Pairs predict, then check."),
        sentence(
            "How many areas of up to 5 items do 8 items have? How many of up to 2 × 2 has a grid of"
            " 3 × 4? What are key and value of the items {items} as one? Write every guess down,"
            " then check it in the lesson.",
            items=", ".join(map(str, items)),
        ),
        tuple(
            (sentence("Lesson {number}", number=number), f"./how_areas_work?q={number}&deep=1")
            for number in (1, 2, 3)
        ),
        sentence("Answers"),
        (
            sentence(
                "{spans} spans, and {rectangles} rectangles.", spans=spans, rectangles=rectangles
            ),
            sentence(
                "The key is the mean, {mean}. The value is the sum, {sum}.",
                mean=mean,
                sum=sum(items),
            ),
        ),
    )


def _build_debate_row(debate: DebateRuns) -> PlanRow:
    """Return the part that asks whether looking is a reason."""
    attention = debate.plain.maps[SITE]
    focus = Focus(SITE, DEBATED_LAYER, items=(debate.item,), unit="word")
    runs = debate.banned, debate.hidden
    ban, hide = ({**build_link_params(one.request, focus), VIEW: WHAT_IF} for one in runs)
    return PlanRow(
        sentence("{start}–{end} min", start=35, end=42),
        sentence("Is looking a reason?"),
        sentence(
            "“{text}” Forbid every head to take “{span}” as one, and translate again. Then hide the"
            " word “{word}”. What changes?",
            text=debate.plain.request.text,
            span=debate.span,
            word=HIDDEN_WORD,
        ),
        (
            (sentence("With the area banned"), f"./translate?{urlencode(ban)}"),
            (sentence("With the word hidden"), f"./translate?{urlencode(hide)}"),
        ),
        sentence("For the debate"),
        (
            sentence(
                "To write “{word}”, {takers} of {heads} heads of layer {layer} take “{span}” as"
                " one.",
                word=debate.word,
                takers=debate.takers,
                heads=attention.heads,
                layer=DEBATED_LAYER + 1,
                span=debate.span,
            )
            + f" {_describe_ban(debate)}",
            sentence(
                "With “{word}” hidden it writes “{output}”",
                word=HIDDEN_WORD,
                output=get_output_text(debate.hidden),
            ),
            sentence("The model needs the word, but it can get it through another area."),
        ),
    )


def _describe_ban(debate: DebateRuns) -> str:
    """Say what the model writes without the area."""
    output = get_output_text(debate.banned)
    if output == get_output_text(debate.plain):
        return sentence("With that area banned everywhere, the translation stays the same.")
    return sentence("With that area banned everywhere, it writes “{output}”", output=output)


def _build_links(links: Sequence[tuple[str, str]]) -> str:
    """Return links as HTML."""
    made = []
    for label, to in links:
        address = escape(add_language(to))
        made.append(f'<a href="{address}" target="_self">{escape(label)}</a>')
    return "".join(made)


def describe_lost_attention() -> tuple[str, ...]:
    """Return the answer about translation without attention, () if no part of the app knows it."""
    return tuple(text for describe in LOST_ATTENTION.values() for text in describe())


def describe_without_attention(
    worse: int, better: int, count: int, worst: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the answer about translation without attention: counts, and the worst texts."""
    return (
        sentence(
            "Without attention, {worse} of {count} translations get worse and {better} better.",
            worse=worse,
            count=count,
            better=better,
        ),
        sentence(
            "The largest loss: “{text}” With attention: “{output_0}” Without: “{output_1}”", **worst
        ),
    )


# The content of the teacher's page: the plan with its answers, or the exercise of a link.


def draw_teach_page() -> None:
    """Draw the plan and the maker of exercises, or the exercise that the address names."""
    params = remove_language(st.query_params.to_dict())
    hero = load_hero_trace()
    if params.get(EXERCISE_PARAM) == "1":
        del params[EXERCISE_PARAM]
        draw_exercise(params, hero.request.model)
        return
    add_styles(PLAN_STYLE)
    st.markdown(
        sentence(
            "**Needs:** English, and German helps · **No accounts, no names** · **Works offline**"
            " on one laptop · Print this page for a sheet without the answers."
        )
    )
    with show_errors(message("computing the answers")):
        rows = build_plan_rows(hero, _get_debate_runs(hero), describe_lost_attention())
        st.markdown(build_plan_html(rows), unsafe_allow_html=True)
    with st.container(key="exercise_maker"):
        draw_exercise_maker(hero)


def _get_debate_runs(hero: Trace) -> DebateRuns | None:
    """Return the runs of the debate, None where no model can run."""
    try:
        with st.spinner(sentence("Computing the answers")):
            return _run_debate_once(hero.request.model)
    except (InputError, BackendError):
        return None


@st.cache_resource(show_spinner=False, max_entries=1)
def _run_debate_once(model: str) -> DebateRuns:
    """Return the three runs, computed once per process."""
    return run_debate(get_backend(), model)
