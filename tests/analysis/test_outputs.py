"""Imported outputs are measured like a model's own outputs."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.measures.references import compute_bleu_and_chrf
from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.measures import compute_metrics, score_output
from areaviz.sets.run import hash_outputs, make_rows_from_outputs
from areaviz.sets.table import build_table, format_table_as_csv, summarise_table, with_changes
from tests import fakes

REFERENCES = ("Ein kleiner Hund rennt.", "Eine Katze schläft.", "Das ist gut.")
SET = Dataset("set", tuple(Example(str(n), "x", (text,)) for n, text in enumerate(REFERENCES)), {})
WRITTEN = ("Ein Hund rennt.", "Eine Katze schläft.", "")


def test_outputs_are_measured_without_a_model() -> None:
    rows = make_rows_from_outputs(SET, WRITTEN)
    assert [row.output for row in rows.values()] == list(WRITTEN)
    assert rows[1].measures["bleu"] == pytest.approx(100) and rows[2].measures["length"] == 0
    whole = summarise_table(SET, rows)
    wanted = compute_bleu_and_chrf(list(WRITTEN), list(REFERENCES))
    assert (whole["corpus_bleu"], whole["corpus_chrf"]) == wanted


def test_model_output_and_its_file_have_equal_scores() -> None:
    trace = fakes.trace("A small dog.", "Ein kleiner Hund.")
    example = Example("1", "A small dog.", ("Ein kleiner Hund rennt.",))
    of_model, of_file = compute_metrics(trace, example), score_output("Ein kleiner Hund.", example)
    assert {name: of_model[name] for name in of_file} == pytest.approx(of_file)


def test_outputs_without_references_have_lengths() -> None:
    bare = Dataset("set", (Example("1", "x"),), {})
    assert make_rows_from_outputs(bare, ["two words"])[0].measures == {"length": 2.0}


def test_outputs_digest_covers_all_lines() -> None:
    assert hash_outputs(["ab", "c"]) != hash_outputs(["a", "bc"]) != hash_outputs(["abc"])
    hash_outputs(["\ud800"])


def test_table_opens_in_a_spreadsheet() -> None:
    written = ("=1+1", "größer", "\ud800")
    table = build_table(SET, [make_rows_from_outputs(SET, written)])
    content = format_table_as_csv(table)
    assert content.startswith(b"\xef\xbb\xbfnumber,name,text,file,reference,output_0")
    lines = content.decode("utf-8-sig").split("\r\n")
    assert lines[1].startswith("1,0,x,,Ein kleiner Hund rennt.,'=1+1,") and "größer" in lines[2]
    assert np.isfinite(float(lines[1].rsplit(",", 1)[1]))


def test_table_csv_names_runs_of_a_change() -> None:
    runs = [make_rows_from_outputs(SET, [word] * 3) for word in ("ein", "Ein Hund", "größer")]
    table = with_changes(build_table(SET, runs), 2, 1)
    header = format_table_as_csv(table, (2, 1)).decode("utf-8-sig").partition("\r\n")[0].split(",")
    assert "chrf_change_2_1" in header and "bleu_change_2_1" in header
    assert not [name for name in header if name.endswith("_change")]
    pair = build_table(SET, runs[:2])
    assert "chrf_change" in format_table_as_csv(pair).decode("utf-8-sig").partition("\r\n")[
        0
    ].split(",")
