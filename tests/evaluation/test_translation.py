"""A translator's card: validation chooses length penalty and heads, the test set measures them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from areaviz.cards.card import Card, read_card, write_card
from areaviz.lab import heads
from areaviz.lab.measure import Options, evaluate_checkpoint
from areaviz.lab.tasks import translation as module
from areaviz.lab.tasks.translation import THIRDS, compute_gains_by_length
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests.models.test_recurrent import model as recurrent
from tests.sets import read_lines
from tests.tiny import SENTENCES, checkpoint

TEST = "test_2016_flickr"
PAIRS = list(zip(SENTENCES[:2], SENTENCES[2:], strict=True))


def linked() -> Dataset:
    lines = {"s": SENTENCES[0].encode(), "t": SENTENCES[2].encode(), "l": b"0-0 1-1 2-2 3p3 6-6"}
    return read_lines("s", lines, ("t",), "l")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkpoint with boundary keys, whose spans sometimes win, and four sentences."""
    folder = checkpoint(tmp_path, key_mode="boundary", seed=1)
    monkeypatch.setattr(heads, "read_split", lambda *_: PAIRS)
    for one in (heads, module):
        monkeypatch.setattr(one, "read_linked", lambda *_: linked())
    monkeypatch.setattr(heads, "read_split", lambda *_: PAIRS)
    return folder


def measured(run: Path, split: str, **options: int | bool) -> Card:
    return evaluate_checkpoint(run, run, split, Options(**options), "cpu")[0]  # type: ignore[arg-type]


def test_validation_measures_heads_with_their_baselines(
    run: Path,
) -> None:
    card = measured(run, "val", beam=2)
    assert set(card.heads) == {"encoder self", "decoder self", "encoder-decoder"}
    for figures in card.heads.values():
        shares = figures["dependence_share"]
        assert [len(row) for row in shares] == [2, 2] and 0 <= min(shares[0]) <= 1
        assert 0 < figures["dependence_untrained"] < figures["dependence_diagonal"]
        assert figures["examples"] == 2
    assert 0 <= card.heads["encoder-decoder"]["aer"][1][1] <= 1
    assert set(card.opening) == set(card.heads)
    assert card == read_card(run / "card.json")


def test_best_validation_penalty_is_used_for_decoding(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outputs_by_penalty(
        model: GenerationModel, requests: list[Request], penalties: tuple[float, ...]
    ) -> list[list[str]]:
        good = [target for _, target in PAIRS]
        return [good if penalty == 1.4 else ["ein", "zwei"] for penalty in penalties]

    with monkeypatch.context() as patched:
        patched.setattr(GenerationModel, "generate_outputs_by_penalty", outputs_by_penalty)
        card = measured(run, "val", beam=2, traces=0)
    assert card.length_penalty == card.figures["val"]["length_penalty"] == 1.4
    assert card.figures["val"]["bleu"] == pytest.approx(100)
    assert GenerationModel.load(run, card, torch.device("cpu")).length_penalty == 1.4


def test_test_set_uses_heads_chosen_on_validation(run: Path) -> None:
    measured(run, "val", beam=2)
    card = measured(run, TEST, beam=2)
    assert card.figures[TEST]["length_penalty"] == card.length_penalty
    for site in ("encoder self", "encoder-decoder"):
        chosen, found = card.attention[f"{site}, spans, val"], card.attention[f"{site}, spans"]
        assert chosen.get("layer") == found.get("layer") and chosen.get("head") == found.get("head")
        assert 0 <= found["multi_share"] <= 1
    links, best = card.attention["word links"], card.attention["best alignment"]
    assert 0 <= links["aer"] <= 1
    assert best["best_diagonal"] == links["aer_diagonal"]
    assert 0 <= card.attention["linked words"]["best_pair"] <= 1


def test_test_set_before_validation_is_refused(run: Path) -> None:
    with pytest.raises(InputError, match='Measure the split "val" first'):
        measured(run, TEST)
    measured(run, "val", outputs=False)
    with pytest.raises(InputError, match='Measure the split "val" first'):
        measured(run, TEST)
    assert measured(run, TEST, outputs=False).attention["word links"]["sentences"] == 1


def test_attention_alone_keeps_the_written_figures(run: Path) -> None:
    card = read_card(run / "card.json")
    figures, attention = {"val": {"bleu": 12.0}}, {"encoder self": {"an older measure": 0.5}}
    write_card(replace(card, figures=figures, attention=attention), run / "card.json")
    measured(run, "val", outputs=False)
    card = measured(run, TEST, outputs=False)
    assert card.figures == figures and card.length_penalty is None
    assert card.attention["encoder self"]["an older measure"] == 0.5
    assert "multi_share" in card.attention["encoder self"]


def test_heads_without_areas_have_no_spans(tmp_path: Path, run: Path) -> None:
    folder = checkpoint(tmp_path, "regular", area_size=1)
    measured(folder, "val", outputs=False)
    card = measured(folder, TEST, outputs=False)
    assert card.attention["encoder self, spans"]["multi_share"] == 0
    assert set(card.attention["linked words"]) == {"best_pair", "best_pair_whole", "multi_share"}


@pytest.mark.parametrize("form", ["additive", "mean", "none"])
def test_model_with_fewer_sites_is_measured_there(form: str, tmp_path: Path, run: Path) -> None:
    folder = tmp_path / form
    folder.mkdir()
    write_card(recurrent(form, folder).card, folder / "card.json")
    measured(folder, "val", beam=2)
    card = measured(folder, TEST, beam=2)
    attends = form != "none"
    assert set(card.heads) == ({"encoder-decoder"} if attends else set())
    # Two sentences make only two of the thirds.
    assert {f"bleu_{third}" for third in THIRDS[:2]} <= set(card.figures[TEST])
    assert ("word links" in card.attention) == ("encoder-decoder" in card.attention) == attends
    if attends:
        assert 0 <= card.attention["word links"]["aer"] <= 1


def test_card_gets_gains_over_other_model_by_length(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = list(zip(SENTENCES, reversed(SENTENCES), strict=True))
    monkeypatch.setattr(heads, "read_split", lambda *_: pairs)
    one, other = checkpoint(tmp_path, "one"), checkpoint(tmp_path, "other")
    references = [target for _, target in pairs]
    outputs = {"a": references, "b": ["Hund"] * len(pairs)}
    for name, lines in outputs.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = tmp_path / "a", tmp_path / "b"
    note = module.state_difference(one, other, "val", *files, tmp_path)
    gains = compute_gains_by_length(outputs["a"], outputs["b"], references, SENTENCES)
    figures = read_card(one / "card.json").figures["val"]
    assert figures == {f"over other, {part}": gain for part, gain in gains.items()}
    assert not read_card(other / "card.json").figures
    assert note in read_card(other / "card.json").notes
