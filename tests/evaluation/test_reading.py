"""Figures of a language model: of one that knows nothing by hand; heads chosen on validation."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from areaviz.lab.measure import Options
from areaviz.lab.tasks.language_model import SPANS, evaluate_reading, measure_texts
from areaviz.models.generation import LanguageModel
from areaviz.models.language import SITE
from areaviz.models.tokenizer import shift_targets
from areaviz.trace.errors import InputError
from tests import tiny
from tests.models.test_language_model import language_model

TEXTS = ["A small dog runs.", "Two old friends drink tea.", "A dog"]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return language_model()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "multi30k" / "text"
    folder.mkdir(parents=True)
    for split in ("train", "val", "test_2016_flickr"):
        with gzip.open(folder / f"{split}.en.gz", "wt", encoding="utf-8") as lines:
            lines.write("".join(f"{text}\n" for text in [*TEXTS, *tiny.SENTENCES[:2]]))
    return tmp_path


def test_perplexity_is_computed_for_each_text_separately(model: LanguageModel) -> None:
    figures = measure_texts(model, TEXTS, TEXTS)
    nats = 0.0
    for text in TEXTS:
        ids = torch.tensor([model.tokenizer.ids(text)])
        likely = model.network(shift_targets(ids)).log_softmax(-1)[0]
        nats -= float(likely[torch.arange(ids.shape[1]), ids[0]].sum().detach())
    pieces = sum(len(model.tokenizer.ids(text)) for text in TEXTS)
    assert figures["pieces"] == pieces and figures["captions"] == 3
    assert figures["perplexity"] == pytest.approx(math.exp(nats / pieces), rel=1e-4)
    characters = sum(map(len, TEXTS))
    assert figures["bits_a_character"] == pytest.approx(nats / math.log(2) / characters, rel=1e-4)
    assert figures["of_bigram"] == figures["perplexity"] / figures["bigram"]


def test_longer_ngrams_predict_counted_texts_better(
    model: LanguageModel,
) -> None:
    figures = measure_texts(model, TEXTS, TEXTS)
    assert figures["trigram"] < figures["bigram"] < figures["unigram"] < figures["untrained"] * 10


def test_uniform_model_has_vocabulary_size_as_perplexity(
    model: LanguageModel,
) -> None:
    flat = model.make_untrained()
    torch.nn.init.zeros_(flat.network.get_parameter("embedding.weight"))
    figures = measure_texts(flat, TEXTS, TEXTS)
    assert figures["perplexity"] == pytest.approx(len(model.tokenizer), rel=1e-4)


def test_validation_measures_heads_and_chooses_opening(model: LanguageModel, corpus: Path) -> None:
    found = evaluate_reading(model, corpus, "val", Options(traces=4))
    heads = found.heads[SITE]
    assert len(heads["dependence"]) == 2 and heads["examples"] == 4
    assert set(found.opening) == {SITE} and set(found.attention) == {f"{SPANS}, val"}
    assert found.figures["captions"] == 5


def test_test_head_is_chosen_on_validation(model: LanguageModel, corpus: Path) -> None:
    found = evaluate_reading(model, corpus, "val", Options(traces=4))
    heads = dict(found.heads[SITE])
    # Pretend that only the second head of the first layer has spans on top, with good reason.
    heads["multi_share"] = [[0.0, 0.5], [0.0, 0.0]]
    heads["dependence"], heads["dependence_untrained"] = [[0.1, 2.0], [0.1, 0.1]], 1.0
    known = replace(model, card=replace(model.card, heads={SITE: heads}))
    tested = evaluate_reading(known, corpus, "test_2016_flickr", Options(traces=4, outputs=False))
    assert tested.figures == {} and tested.heads == {}
    spans = tested.attention[SPANS]
    assert (spans["layer"], spans["head"], spans["captions"]) == (0, 1, 4)
    assert spans["dependence_untrained"] == 1.0 and spans["dependence"] != 2.0
    assert tested.attention[SITE]["captions"] == 4


def test_missing_span_heads_are_reported(model: LanguageModel, corpus: Path) -> None:
    single = language_model(area_size=1, key_mode="mean")
    found = evaluate_reading(single, corpus, "val", Options(traces=3, outputs=False))
    assert found.attention[f"{SPANS}, val"] == {"multi_share": 0.0}
    assert found.opening[SITE].reading == "coverage"


def test_test_before_validation_is_refused(model: LanguageModel, corpus: Path) -> None:
    with pytest.raises(InputError, match='Measure the split "val" first'):
        evaluate_reading(model, corpus, "test_2016_flickr", Options())
    plain = evaluate_reading(model, corpus, "test_2016_flickr", Options(traces=0))
    assert plain.attention == {} and plain.figures["captions"] == 5
