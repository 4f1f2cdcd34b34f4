"""A report is one self-contained page with all figures, and all markup in it is its own."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from html import unescape

import pytest
from PIL import Image

from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.notes.notes import ErrorSpan, Judgement
from areaviz.sets.report import Report, report_page
from areaviz.sets.run import make_rows_from_outputs
from areaviz.sets.table import score_columns
from areaviz.trace.errors import InputError
from tests.drawing.test_markup import read

REFERENCES = ("Ein kleiner Hund rennt.", "Eine Katze schläft.", "Das ist gut.", "Es regnet heute.")
EXAMPLES = [Example(str(n + 1), f"text {n}", (one,)) for n, one in enumerate(REFERENCES)]
SET = Dataset("set<b>", tuple(EXAMPLES), {})
FIRST = ("Ein <script>Hund</script>.", "Eine Katze schläft.", "x", "Es regnet.")
SECOND = ("Ein kleiner Hund rennt.", "Eine Katze.", "y", "Es regnet heute.")
SPANS = (
    ErrorSpan("output", 4, 12, None, "Accuracy", "major", "what <i>"),
    ErrorSpan("output", 8, 16, None, "", "minor"),
    ErrorSpan("source", 0, 4, None, "Style", "critical"),
)
ADA = Judgement(SET.digest, 0, "one", "Ada", "text 0", FIRST[0], SPANS, 64.0)
BO = replace(ADA, rater="Bo", spans=SPANS[:1], score=70.0)


def report(outputs: tuple[tuple[str, ...], ...] = (FIRST, SECOND), **more: object) -> Report:
    runs = [make_rows_from_outputs(SET, one) for one in outputs]
    names = ["one", "two", "three"][: len(outputs)]
    scores = [score_columns({"COMET": (0.1, 0.2, 0.3, 0.4)}) for _ in outputs]
    made = Report(SET, names, names, runs, scores, (ADA, BO))
    return replace(made, **more)  # type: ignore[arg-type]


def test_report_contains_all_sections() -> None:
    html = report_page(report())
    text = read(html).text
    for part in (
        "The whole set",
        "Which is better",
        "Scores by bucket",
        "Errors that raters marked",
        "Both fail",
        "Krippendorff's alpha",
        "95 % interval",
        "COMET",
        "Words that (2) two gets right more often",
        "Ada, score 64, cost by MQM 31",
        "(2) two is better, by chrF",
    ):
        assert part in text, part
    # There is one bucket each of lengths and of rarest words, which needs no figure.
    assert html.count('<img class="figure"') == 1


def test_report_compares_every_further_system_with_the_baseline() -> None:
    text = read(report_page(report((FIRST, SECOND, REFERENCES), baseline=1))).text
    for part in (
        "(1) one compared with (2) two",
        "(3) three compared with (2) two",
        "Words that (3) three gets right more often than (2) two",
        "(3) three is better than (2) two, by chrF",
        "(2) two is better than (1) one, by chrF",
        "(3) three",
    ):
        assert part in text, part
    assert "compared with (1) one" not in text and "compared with (3) three" not in text
    # The third system has no failure, so there is no example on which all of them fail.
    assert "All fail" in text and "Both fail" not in text


def test_report_loads_and_runs_nothing() -> None:
    html = report_page(report())
    policy = unescape(html.partition("<title>")[0])
    assert "default-src 'none'" in policy and "script-src 'none'" in policy
    assert "<script" not in html and " style=" not in html
    addresses = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert addresses and all(one.startswith(("data:image/", "#part-")) for one in addresses)
    assert "set&lt;b&gt;" in html and "&lt;i&gt;" in html and "<i>" not in html
    for one in addresses:
        if one.startswith("data:image/svg"):
            assert b"<svg" in base64.b64decode(one.partition(",")[2])


def test_report_marks_worst_of_overlapping_errors() -> None:
    html = report_page(report((FIRST,)))
    marks = re.findall(r'<mark class="(\w+)" title="([^"]*)">([^<]*)</mark>', html)
    assert ("major", "major Accuracy", "&lt;scr") in marks
    assert ("major", "major Accuracy; minor", "ipt&gt;") in marks
    assert ("minor", "minor", "Hund") in marks
    assert ("critical", "critical Style", "text") in marks


def test_report_covers_chosen_examples_of_one_system() -> None:
    html = report_page(report((FIRST,), places=(0, 1), judgements=()))
    assert "2 examples of 4" in html and "Which is better" not in html
    assert "Errors that raters marked" not in html and "Worst by chrF" in html
    assert "Example 3" not in html
    with pytest.raises(InputError, match="no examples to report"):
        report_page(report(places=()))
    with pytest.raises(InputError, match="at most 8 systems, but there are 9"):
        report_page(report((FIRST,) * 9, systems="abcdefghi", titles="abcdefghi"))


def test_report_orders_examples_by_requested_metric() -> None:
    assert "by COMET" not in report_page(report())
    low = {"TER": (0.9, 0.1, 0.2, 0.3)}
    made = report((FIRST,), measure="score:TER", scores=[score_columns(low)], judgements=())
    worst = report_page(made).partition("Worst by TER")[2]
    assert worst.index("Example 1<") < worst.index("Example 4<") < worst.index("Example 2<")


def test_boxes_are_drawn_in_the_picture() -> None:
    content = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(content, "PNG")
    dataset = Dataset("p", (Example("1", "", (), "a.png"),), {"a.png": content.getvalue()})
    rows = make_rows_from_outputs(dataset, ["a red square"])
    span = ErrorSpan("picture", 0, 0, (0.25, 0.5, 0.75, 1.0), "Accuracy", "minor")
    judged = Judgement(dataset.digest, 0, "one", "Ada", "", "a red square", (span,))
    html = report_page(Report(dataset, ["one"], ["one"], [rows], [{}], [judged]))
    assert '<rect class="minor" x="0.2500" y="0.5000" width="0.5000" height="0.5000">' in html
    assert 'src="data:image/webp;base64,' in html and "in the picture" in html
