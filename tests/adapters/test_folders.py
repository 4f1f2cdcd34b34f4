"""A `transformers` folder used as a model: its card, its traces, and what is rejected."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import areaviz
from areaviz.adapters import loading as weights_module
from areaviz.adapters.folder import FolderModel, read_folder
from areaviz.adapters.loading import INDEX, SINGLE_FILE
from areaviz.adapters.texts import Texts
from areaviz.backend.local import LocalBackend
from areaviz.trace.areas import Area
from areaviz.trace.changes import Hide, Weigh
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests import fakes, marian
from tests.adapters import seeing, small

CPU = torch.device("cpu")


def load(folder: Path) -> FolderModel:
    found = read_folder(str(folder))
    return FolderModel.load(found.path, found.card, CPU)


@pytest.fixture(scope="module")
def translator(marian_folder: Path) -> FolderModel:
    return load(marian_folder)


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    folder = tmp_path / "a bert"
    small.bert("BertForMaskedLM").save_pretrained(folder)
    small.tokenizer().save_pretrained(folder)
    return folder


def test_card_describes_the_configuration(marian_folder: Path) -> None:
    card = read_folder(str(marian_folder), {"small-marian"}).card
    assert (card.name, card.family, card.task) == ("small-marian-2", "transformers", "translation")
    assert card.title == "small-marian (MarianMTModel)"
    stored = load_file(marian_folder / SINGLE_FILE).values()
    assert card.parameters == sum(array.size for array in stored)
    assert card.config["d_model"] == 48 and "0.4 MB" in card.config["weights"]
    assert card.recipe["source"] == "en"
    assert "target" in card.can and "areas" not in card.can


def test_translation_trace_equals_trace_of_attend(
    translator: FolderModel, marian_folder: Path
) -> None:
    request = Request("small-marian", marian.SENTENCE)
    [trace] = translator.trace([request])
    validate(trace)
    assert trace.request == request
    assert trace.fields["target"].raw == marian.GERMAN
    expected = areaviz.attend(marian_folder, marian.SENTENCE)
    assert list(trace.maps) == list(expected.maps)
    for site, attention in trace.maps.items():
        np.testing.assert_array_equal(attention.weights[0], expected.maps[site].weights[0])


def test_attribution_is_recorded_on_demand(translator: FolderModel) -> None:
    [trace] = translator.trace([Request("m", marian.SENTENCE, attribution=True)])
    shares = trace.maps["encoder-decoder gradient"].weights[0, 0]
    np.testing.assert_allclose(shares.sum(-1), 1, atol=1e-4)


def test_given_output_is_read(translator: FolderModel) -> None:
    [trace] = translator.trace([Request("m", marian.SENTENCE, target="eine Katze singt.")])
    assert trace.fields["target"].raw == "eine Katze singt."


def test_beam_output_is_at_least_as_probable_as_greedy(translator: FolderModel) -> None:
    greedy, beam = Request("m", "a thin bird waits here."), Request("m", "a thin bird waits here.")
    beam = Request("m", greedy.text, "beam", 4)
    likely = []
    for request in (greedy, beam):
        [trace] = translator.trace([request])
        likely.append(np.log(trace.output.probabilities).mean())
    assert likely[1] >= likely[0] - 1e-6


def test_progress_reports_steps_and_can_end_the_run(translator: FolderModel) -> None:
    told: list[tuple[int, int]] = []
    translator.trace([Request("m", marian.SENTENCE)], lambda *step: told.append(step))
    assert len(told) > 5 and told == sorted(told)

    def stop(done: int, most: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        translator.trace([Request("m", marian.SENTENCE)], stop)


def test_encoder_card_has_reading_task(bert: Path) -> None:
    card = read_folder(str(bert)).card
    assert (card.name, card.task) == ("a-bert", "reading")


def test_text_model_refuses_picture(translator: FolderModel) -> None:
    with pytest.raises(InputError, match="reads only texts. Leave the picture out"):
        translator.trace([Request("m", marian.SENTENCE, picture=fakes.picture())])


def test_wrong_kind_of_input_is_refused_before_loading(
    marian_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = LocalBackend(tmp_path, "cpu", [str(marian_folder)])
    monkeypatch.setattr(FolderModel, "load", lambda *given: pytest.fail("it was loaded"))
    with pytest.raises(InputError, match="reads only texts"):
        backend.trace(Request("small-marian", marian.SENTENCE, picture=fakes.picture()))


@pytest.mark.parametrize("place", ["/no/such folder", "../nothing/at/all"])
def test_path_without_folder_is_refused(place: str) -> None:
    with pytest.raises(InputError, match="is neither a folder nor"):
        read_folder(place)


def test_folder_without_model_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no config\.json"):
        read_folder(str(tmp_path))
    (tmp_path / "config.json").write_text('{"model_type": "no such thing"}')
    (tmp_path / SINGLE_FILE).write_bytes(b"\0")
    with pytest.raises(InputError, match=r"config\.json of .* cannot be read|are damaged"):
        read_folder(str(tmp_path))


def test_damaged_weights_are_refused_before_they_are_loaded(bert: Path) -> None:
    whole = (bert / SINGLE_FILE).read_bytes()
    (bert / SINGLE_FILE).write_bytes(whole[:-100])
    with pytest.raises(InputError, match=r"weights model\.safetensors of a bert are damaged"):
        read_folder(str(bert))


@pytest.mark.parametrize(
    ("index", "sentence"),
    [
        ({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}, "lacks 1 of 2 files"),
        ({"weight_map": {"a": "one.bin"}}, "names weights that are not safetensors"),
        ({"weight_map": ["one.safetensors"]}, "is damaged"),
        ([], "is damaged"),
    ],
)
def test_missing_parts_are_named(bert: Path, index: Any, sentence: str) -> None:
    (bert / SINGLE_FILE).rename(bert / "one.safetensors")
    (bert / INDEX).write_text(json.dumps(index))
    with pytest.raises(InputError, match=sentence):
        read_folder(str(bert))


def test_weights_larger_than_the_memory_are_not_loaded(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights_module, "count_free_bytes", lambda device: 1000)
    refusal = "needs .* MB of memory in float32, but 0.0 MB are free. Use a smaller"
    with pytest.raises(InputError, match=refusal):
        load(bert)
    needed = weights_module.count_weights(bert).needed
    monkeypatch.setattr(weights_module, "count_free_bytes", lambda device: int(0.6 * needed))
    with pytest.raises(InputError, match="In bfloat16 it needs"):
        load(bert)


def test_card_states_required_memory(bert: Path) -> None:
    about = weights_module.count_weights(bert)
    whole, half = (weights_module.format_bytes(round(1.2 * about.parameters * n)) for n in (4, 2))
    assert about.kind == "float32"
    assert f"{whole} of memory in float32, {half} in bfloat16" in read_folder(str(bert)).card.limits


def test_folder_without_tokenizer_is_refused(tmp_path: Path) -> None:
    small.bert().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="has no tokenizer"):
        load(tmp_path)


def test_tokenizer_of_a_different_model_is_refused(bert: Path, marian_folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (bert / name).unlink(missing_ok=True)
    for path in marian_folder.iterdir():
        if path.name not in ("config.json", SINGLE_FILE, "generation_config.json"):
            shutil.copy(path, bert)
    with pytest.raises(InputError, match="belongs to another model|no tokenizer"):
        load(bert)


def test_model_kind_without_page_is_refused(tmp_path: Path) -> None:
    small.vit("ViTModel").save_pretrained(tmp_path)
    with pytest.raises(InputError, match="a ViTModel, which no page shows"):
        read_folder(str(tmp_path))


def test_too_many_tokens_are_refused_before_anything_runs(translator: FolderModel) -> None:
    with pytest.raises(InputError, match="but the model takes at most 64"):
        translator.trace([Request("m", "dog " * 80)])
    with pytest.raises(InputError, match="the limit is 4,096"):
        Request("m", "dog " * 100_000).checked()


@pytest.fixture
def describer(tmp_path: Path) -> Path:
    folder = tmp_path / "describer"
    small.captioner().save_pretrained(folder)
    small.tokenizer().save_pretrained(folder)
    return folder


def test_captioner_requires_a_picture(describer: Path) -> None:
    model, picture = load(describer), fakes.picture()
    assert model.card.task == "caption" and "target" in model.card.can
    request = Request("describer", "", picture=picture)
    [trace] = model.trace([request])
    validate(trace)
    assert trace.request == request and trace.maps["encoder-decoder"].memory == "picture"
    with pytest.raises(InputError, match="describes pictures. Give it one"):
        model.trace([Request("describer", "a dog")])


def test_banned_cells_are_counted_after_the_class_token(describer: Path) -> None:
    model, picture = load(describer), fakes.picture()
    request = Request("describer", "", picture=picture, target="a small dog")
    banned = Weigh("encoder-decoder", areas=(Area(1, 2, 1, 1),), layer=0)
    after = model.trace([replace(request, changes=(banned,))])[0].maps["encoder-decoder"]
    cell = after.grid.index(Area(1, 2, 1, 1))
    assert not after.weights[0][..., cell].any() and after.weights[1][..., cell].all()
    hidden = model.trace([replace(request, changes=(Hide("picture", (cell,)),))])[0]
    for site in ("encoder-decoder", "encoder self"):
        assert not hidden.maps[site].weights[0][..., cell].any()


def test_picture_classifier_names_the_class(tmp_path: Path) -> None:
    small.vit(id2label={0: "cat", 1: "dog"}, label2id={"cat": 0, "dog": 1}).save_pretrained(
        tmp_path
    )
    model = load(tmp_path)
    [trace] = model.trace([Request("m", "", picture=fakes.picture())])
    assert trace.fields["target"].raw in ("cat", "dog") and "target" not in model.card.can


def test_vision_language_model_describes_and_answers(tmp_path: Path) -> None:
    model = load(seeing.folder(tmp_path / "seer"))
    assert model.card.question == "Describe the picture."
    assert model.card.task == "caption" and model.card.can == {"target", "attribution"}
    request = Request("seer", "", picture=fakes.picture())
    [trace] = model.trace([request])
    validate(trace)
    assert trace.fields["history"].raw.startswith("describe the picture.")
    looks = trace.maps["encoder-decoder"]
    assert (looks.grid.height, looks.grid.width, looks.memory) == (4, 4, "picture")
    # The trace shows the picture as the processor cut it, under the user's name for it.
    seen = trace.request.picture
    assert seen and (seen.name, seen.width, seen.height) == (fakes.picture().name, 32, 32)
    [answer] = model.trace([replace(request, text="a dog", target="small cat")])
    assert answer.fields["history"].raw == "a dog small cat"


def test_folder_without_processor_is_refused(tmp_path: Path) -> None:
    folder = seeing.folder(tmp_path / "seer")
    for name in ("processor_config.json", "preprocessor_config.json"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(InputError, match="has no processor that reads pictures"):
        load(folder).trace([Request("seer", "", picture=fakes.picture())])


def test_unknown_token_shows_its_number() -> None:
    texts = Texts(small.tokenizer())
    assert texts.label(len(small.WORDS) + 4) == f"⟨{len(small.WORDS) + 4}⟩"
    assert texts.read([5, len(small.WORDS)]).field.labels == ("a", f"⟨{len(small.WORDS)}⟩")
