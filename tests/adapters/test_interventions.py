"""Interventions on external models, compared with slow references; impossible ones are refused.

Shapes: B examples, H heads, Q queries, N items, D width of a head.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from areaviz.adapters import transformers_models as transformers_models
from areaviz.adapters.interventions import InterventionHook
from areaviz.adapters.run import Options
from areaviz.trace.changes import Change, Gate, Hide, Share, Weigh
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from tests.adapters import small

CROSS, ENCODER, DECODER = "encoder-decoder", "encoder self", "decoder self"
IDS, TARGET = [5, 6, 7, 8, 3], [6, 9, 10, 3]


def run(model: Any, changes: tuple[Change, ...] = (), target: Any = None) -> Trace:
    options = Options(target=target, steps=6, changes=changes)
    return transformers_models.attend_transformers(model, IDS, options)


def weights(trace: Trace, site: str) -> Any:
    return np.stack([trace.maps[site].weights[layer] for layer in range(trace.maps[site].layers)])


@pytest.mark.parametrize("given", [TARGET, None], ids=["given", "written"])
def test_banned_item_passes_its_share_to_remaining_items(given: Any) -> None:
    model = small.marian()
    plain = run(model, target=given)
    after = run(model, (Weigh(CROSS, (1,), layer=0),), given)
    banned = weights(after, CROSS)
    assert not banned[0, ..., 1].any() and banned[1, ..., 1].any()
    np.testing.assert_allclose(banned.sum(-1), 1, atol=1e-5)
    # The first layer reads unchanged input, so the rest of each row is only renormalised.
    expected = np.delete(weights(plain, CROSS)[0, :, 0], 1, -1)
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(np.delete(banned[0, :, 0], 1, -1), expected, atol=1e-5)
    assert not np.array_equal(plain.output.probabilities, after.output.probabilities)


def test_changed_writing_agrees_with_changed_reading() -> None:
    model, changes = small.marian(), (Weigh(ENCODER, (1, 2), factor=50.0), Gate(CROSS))
    written = run(model, changes)
    ids = [int(label) for label in written.fields["target"].labels]
    assert ids != [int(label) for label in run(model).fields["target"].labels]
    read = run(model, changes, ids)
    np.testing.assert_allclose(written.output.probabilities, read.output.probabilities, atol=1e-5)
    # Each written token is the most probable one.
    for label, best in zip(read.fields["target"].labels, read.output.alternatives, strict=True):
        assert best[0][0] == label


def test_hidden_items_are_banned_at_every_site() -> None:
    after = run(small.marian(), (Hide("source", (2,)),), TARGET)
    for site in (CROSS, ENCODER):
        assert not weights(after, site)[..., 2].any()
    assert weights(after, DECODER)[..., 2].any()


def test_single_query_changes_with_given_output() -> None:
    model, change = small.marian(), Weigh(CROSS, (0,), query=2)
    after = weights(run(model, (change,), TARGET), CROSS)
    assert not after[:, :, 2, 0].any() and after[:, :, 1, 0].all()
    with pytest.raises(InputError, match="requires a given output"):
        run(model, (change,))


def test_attend_leaves_model_unchanged() -> None:
    model = small.marian()
    before = [run(model, target=TARGET), model.config._attn_implementation]
    run(model, (Gate(CROSS),), TARGET)
    after = [run(model, target=TARGET), model.config._attn_implementation]
    np.testing.assert_array_equal(before[0].output.probabilities, after[0].output.probabilities)
    assert before[1] == after[1]


def test_factor_of_one_keeps_weights() -> None:
    model = small.marian()
    plain, after = run(model, target=TARGET), run(model, (Weigh(CROSS, (1,), factor=1),), TARGET)
    np.testing.assert_allclose(weights(after, CROSS), weights(plain, CROSS), atol=1e-6)
    np.testing.assert_allclose(after.output.probabilities, plain.output.probabilities, atol=1e-5)


@pytest.mark.parametrize("make", [small.gpt2, lambda: small.bert("BertForMaskedLM")])
def test_decoders_and_encoders_can_be_changed(make: Any) -> None:
    model = make()
    plain = transformers_models.attend_transformers(model, IDS, Options())
    [site] = [site for site in plain.maps if plain.maps[site].derived == ""]
    after = transformers_models.attend_transformers(
        model, IDS, Options(changes=(Weigh(site, (1,)),))
    )
    assert not weights(after, site)[:, :, 2:, 1].any()
    assert not np.array_equal(plain.output.probabilities, after.output.probabilities)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (Weigh("elsewhere", (1,)), 'no site "elsewhere"'),
        (Weigh(CROSS, (7,)), "item 8, but there are 5 items"),
        (Gate(CROSS, layer=3), "layer 4, but there are 3 layers"),
        (Gate(CROSS, head=2), "head 3, but there are 2 heads"),
        (Hide("target", (1,)), 'Items of "target" cannot be hidden'),
        (Share(CROSS, 2.0), "does not allow a change of its scores"),
    ],
)
def test_change_of_missing_part_is_refused(change: Change, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        run(small.marian(), (change,), TARGET)


def test_layers_that_share_weights_are_changed_together() -> None:
    import transformers

    torch.manual_seed(0)
    sizes = {**small.SIZES, "embedding_size": 8, "vocab_size": 13}
    model = small.sharp(transformers.AlbertModel(transformers.AlbertConfig(**sizes)))
    site = ENCODER
    after = transformers_models.attend_transformers(
        model, IDS, Options(changes=(Weigh(site, (1,)),))
    )
    assert not weights(after, site)[..., 1].any()
    with pytest.raises(InputError, match="can only be changed together"):
        transformers_models.attend_transformers(
            model, IDS, Options(changes=(Weigh(site, (1,), layer=1),))
        )


class Layer(nn.Module):
    pass


def changed(changes: tuple[Any, ...], apart: float = 0.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return random weights and values, and the output and the weights after the changes.

    The sizes are B = 1, H = 2, Q = 3, N = 4 and D = 5.
    """
    torch.manual_seed(0)
    given, value = torch.rand(1, 2, 3, 4).softmax(-1), torch.rand(1, 2, 4, 5)
    output = (given @ value).transpose(1, 2) + apart
    layer = Layer()
    found, after = InterventionHook({layer: ("s", 0)}, changes)(
        layer, given.clone(), value, output.clone()
    )
    return given, value, found, after


def test_weights_and_output_follow_the_slow_reference() -> None:
    given, value, found, after = changed((Weigh("s", (1,), factor=3.0, head=1), Gate("s", head=0)))
    for query in range(3):
        row = given[0, 1, query].clone()
        row[1] *= 3
        row /= row.sum()
        torch.testing.assert_close(after[0, 1, query], row)
        torch.testing.assert_close(found[0, query, 1], row @ value[0, 1])
        torch.testing.assert_close(found[0, query, 0], torch.zeros(5))
    torch.testing.assert_close(after[0, 0], given[0, 0])


def test_query_without_items_gets_zeros() -> None:
    _, _, found, after = changed((Weigh("s", (0, 1, 2, 3)),))
    assert not after.any() and not found.any()


def test_layers_that_do_more_than_mixing_are_refused() -> None:
    with pytest.raises(InputError, match="do more than mix values"):
        changed((Weigh("s", (1,)),), apart=1.0)
