"""From a recipe and a corpus to a checkpoint that translates and has measured figures."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from areaviz.cards.card import read_card
from areaviz.lab.measure import Options, evaluate_checkpoint
from areaviz.lab.tasks.translation import TranslationConfig, compute_length_limit
from areaviz.lab.train import train_recipe
from areaviz.models.base import choose_device, compute_digests
from areaviz.models.generation import GenerationModel
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests.evaluation.test_translation import linked
from tests.tiny import SENTENCES

PAIRS = list(zip(SENTENCES[:2], SENTENCES[2:], strict=True)) * 3


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "multi30k" / "text"
    folder.mkdir(parents=True)
    for split in ("train", "val", "test_2016_flickr"):
        for side, language in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in PAIRS)
            (folder / f"{split}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path / "data"


@pytest.mark.parametrize("level", ["character", "token"])
def test_recipe_becomes_a_measured_checkpoint(
    corpus: Path, tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The captions with links are from the real corpus.
    for module in ("tasks.translation", "heads"):
        monkeypatch.setattr(f"areaviz.lab.{module}.read_linked", lambda *_: linked())
    options = {"layers": 1, "width": 16, "filter": 16, "heads": 2, "area_size": 3}
    config = TranslationConfig(
        name="tiny",
        level=level,
        vocabulary=60,
        steps=3,
        batch_tokens=200,
        peak_rate=1e-3,
        warmup=1,
        validate_every=3,
        model=options,
    )
    folder = train_recipe(config, corpus, tmp_path / "runs", "cpu")
    card = read_card(folder / "card.json")
    assert (card.level, card.mechanism, card.config["area_size"], len(card.history)) == (
        level,
        "area",
        3,
        1,
    )
    assert card.files == compute_digests(folder) and len(card.files) == 2
    words = GenerationModel.load(folder, card, choose_device("cpu")).tokenizer
    assert card.trained_length == max(len(words.tokens(source)) for source, _ in PAIRS)
    with pytest.raises(InputError, match='Measure the split "val" first'):
        evaluate_checkpoint(folder, corpus, "test_2016_flickr", Options(2, 2), "cpu")
    evaluate_checkpoint(folder, corpus, "val", Options(2, 2), "cpu")
    measured, hypotheses = evaluate_checkpoint(
        folder, corpus, "test_2016_flickr", Options(2, 2), "cpu"
    )
    assert measured == read_card(folder / "card.json")
    assert measured.figures["test_2016_flickr"]["sentences"] == len(hypotheses) == len(PAIRS)
    assert "encoder self" in measured.attention
    model = GenerationModel.load(folder, measured, choose_device("cpu"))
    requests = [Request("tiny", source, "beam", 2) for source, _ in PAIRS]
    assert model.generate_outputs(requests) == hypotheses


def test_no_reference_exceeds_the_length_limit() -> None:
    pairs = [
        ([1] * source, [1] * target) for source, target in ((3, 9), (10, 12), (40, 45), (8, 7))
    ]
    limit = compute_length_limit(pairs)
    assert all(
        len(target) <= limit["ratio"] * len(source) + limit["extra"] for source, target in pairs
    )


@pytest.mark.long
def test_training_needs_few_packages_besides_torch() -> None:
    """Check the imports: training and measuring need none of the packages of the app.

    Pillow and typer are not in the list. Every installation of areaviz has them.
    """
    absent = (
        "streamlit",
        "plotly",
        "matplotlib",
        "pooch",
        "tqdm",
        "tensorboard",
        "rich",
    )
    program = (
        "import sys\n"
        "sys.dont_write_bytecode = True\n"
        f"sys.modules.update(dict.fromkeys({absent!r}))\n"
        "import areaviz.lab.train, areaviz.lab.measure\n"
        "from pkgutil import resolve_name\n"
        "from areaviz.lab.tasks import EVALUATIONS\n"
        "from areaviz.lab.tasks import TRAININGS\n"
        "for path in (*TRAININGS.values(), *EVALUATIONS.values()):\n"
        "    assert resolve_name(path)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])
