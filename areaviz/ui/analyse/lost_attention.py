"""The answer of the teacher's page about translation without attention."""

from __future__ import annotations

from areaviz.analysis.model_comparison import count_wins
from areaviz.analysis.stored_analysis import MODELS, SET
from areaviz.learn.teach import describe_without_attention
from areaviz.samples.paths import ANALYSIS
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.ui.analyse.opening_sentence import CHRF_CHANGE_COLUMN
from areaviz.ui.analyse.stored_data import build_examples_table, read_stored_rows


def describe_lost_attention() -> tuple[str, ...]:
    """Return what the stored analysis says about translation without attention."""
    dataset = SAMPLE_SETS[SET]()
    runs = tuple(read_stored_rows(ANALYSIS / f"{model}.jsonl", dataset) for model in MODELS)
    table = build_examples_table(runs).sort_values([CHRF_CHANGE_COLUMN, "chrf_1"], kind="stable")
    better, _, worse = count_wins(table[CHRF_CHANGE_COLUMN].to_numpy(float), "high")
    worst = {name: str(table.iloc[0][name]) for name in ("text", "output_0", "output_1")}
    return describe_without_attention(worse, better, len(table), worst)
