"""Reading and writing attributions of Inseq."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from areaviz.trace.arrays import from_arrays
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.inseq import load_inseq, save_inseq
from areaviz.trace.query import item_shares
from tests import fakes

SOURCE, TARGET = ["▁A", "▁dog", "</s>"], ["▁Ein", "▁Hund"]


def instance(name: str, **attributes: Any) -> dict[str, Any]:
    return {"__instance_type__": ["inseq.data.attribution", name], "attributes": attributes}


def tokens(labels: list[str]) -> list[dict[str, Any]]:
    return [instance("TokenWithId", token=one, id=7) for one in labels]


def lists(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"__ndarray__": values.tolist(), "dtype": "float32", "shape": list(values.shape)}


def packed(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    data = base64.b64encode(gzip.compress(values.tobytes())).decode()
    entry = {"__ndarray__": f"b64.gz:{data}", "dtype": str(values.dtype), "Corder": True}
    return {**entry, "shape": list(values.shape)}


def safetensors(values: np.ndarray[Any, Any]) -> str:
    """Encode values as Inseq 0.7 does, with the safetensors library."""
    return base64.b64encode(save({"attribution": values})).decode()


def file(path: Path, values: Any, **more: Any) -> Path:
    sequence = instance(
        "FeatureAttributionSequenceOutput",
        source=tokens(SOURCE),
        target=tokens(TARGET),
        source_attributions=values,
        **more,
    )
    info = {"attribution_method": "saliency"}
    whole = instance("FeatureAttributionOutput", sequence_attributions=[sequence], info=info)
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


@pytest.mark.parametrize("stored", [lists, packed, safetensors])
def test_attributions_become_shares_of_magnitudes(stored: Any, tmp_path: Path) -> None:
    values = np.array([[1, -1], [-3, 1], [0, 0]], np.float32)
    trace = load_inseq(file(tmp_path / "a.json", stored(values)))
    validate(trace)
    found = trace.maps["encoder-decoder"].weights
    np.testing.assert_allclose(found[0, 0], [[0.25, 0.75, 0], [0.5, 0.5, 0]])
    assert trace.fields["source"].labels == tuple(SOURCE)
    assert trace.details["attribution"] == "saliency"


def test_gradients_reduce_to_norms_and_heads_stay_separate(tmp_path: Path) -> None:
    gradients = np.zeros((3, 2, 2), np.float32)
    gradients[0, :, :] = [3, 4]
    gradients[1, :, 0] = 5
    found = load_inseq(file(tmp_path / "a.json", lists(gradients))).maps["encoder-decoder"]
    np.testing.assert_allclose(found.weights[0, 0], [[0.5, 0.5, 0], [0.5, 0.5, 0]])
    attention = np.random.default_rng(0).random((3, 2, 4, 5)).astype(np.float32)
    many = load_inseq(file(tmp_path / "b.json", packed(attention))).maps["encoder-decoder"]
    assert (many.layers, many.heads) == (4, 5)
    expected = attention[:, 1, 2, 3] / attention[:, 1, 2, 3].sum()
    np.testing.assert_allclose(many.weights[2, 3, 1], expected, rtol=1e-5)


def test_prefix_is_read_with_its_probabilities(tmp_path: Path) -> None:
    within = np.array([[np.nan, 1], [np.nan, np.nan]], np.float32)
    scores = {"probability": lists(np.array([0.5, 0.25], np.float32))}
    path = file(tmp_path / "a.json", None, target_attributions=lists(within), step_scores=scores)
    trace = load_inseq(path)
    np.testing.assert_allclose(trace.maps["decoder self"].weights[0, 0], [[0, 0], [1, 0]])
    assert trace.output.probabilities.tolist() == [0.5, 0.25]
    compressed = tmp_path / "a.json.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert load_inseq(compressed).fields["target"].labels == tuple(TARGET)


def test_trace_survives_round_trip_through_inseq(tmp_path: Path) -> None:
    trace = fakes.trace()
    again = load_inseq(save_inseq(trace, tmp_path / "a.json"))
    for site in ("encoder-decoder", "decoder self"):
        before, after = trace.maps[site], again.maps[site]
        mean = np.mean([item_shares(before, layer, None) for layer in range(before.layers)], 0)
        if site == "decoder self":
            # Inseq has no start symbol, so the shares are taken over the remaining tokens.
            mean = np.pad(mean[:, 1:], ((0, 0), (0, 1)))
            mean /= np.maximum(mean.sum(-1, keepdims=True), 1e-9)
        np.testing.assert_allclose(after.weights[0, 0], mean, atol=1e-5)
    np.testing.assert_allclose(again.output.probabilities, trace.output.probabilities)


def test_invalid_attribution_is_refused(tmp_path: Path) -> None:
    wrong = {
        "a.json": "[1, 2]",
        "b.json": "no JSON",
        "c.json": json.dumps({"attributes": {"sequence_attributions": [{"attributes": {}}]}}),
        "d.json": json.dumps(instance("FeatureAttributionOutput", sequence_attributions=[])),
    }
    for name, content in wrong.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match="not an attribution that Inseq saved"):
            load_inseq(tmp_path / name)
    values = file(tmp_path / "e.json", lists(np.ones((9, 9), np.float32)))
    with pytest.raises(InputError, match="not an attribution"):
        load_inseq(values)
    with pytest.raises(InputError, match="does not exist"):
        load_inseq(tmp_path / "nothing.json")
    with pytest.raises(InputError, match="there is no number 3"):
        load_inseq(file(tmp_path / "f.json", lists(np.ones((3, 2), np.float32))), example=3)
    with pytest.raises(InputError, match="needs a map"):
        save_inseq(from_arrays(np.ones((1, 1, 2, 1), np.float32)), "x")


@pytest.mark.parametrize("given", [None, 7, b"a.json", "", "\0", object()])
def test_invalid_path_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="A path is needed"):
        load_inseq(given)
    with pytest.raises(InputError, match="A path is needed"):
        save_inseq(fakes.trace(), given)


def test_wrong_arguments_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert save_inseq(fakes.trace(), "~/a.json") == tmp_path / "a.json"
    number: Any = "first"
    with pytest.raises(InputError, match="there is no number 'first'"):
        load_inseq("~/a.json", number)
    with pytest.raises(InputError, match="The layer must be a whole number"):
        save_inseq(fakes.trace(), tmp_path / "b.json", number)
    no_trace: Any = None
    with pytest.raises(InputError, match="A trace is needed"):
        save_inseq(no_trace, tmp_path / "b.json")
