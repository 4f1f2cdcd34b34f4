"""Recordings for external models: every input format, truncation and padding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
import transformers

import areaviz
from areaviz.adapters.sound import read_samples
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from tests.adapters import small
from tests.adapters.architectures import ARCHITECTURES
from tests.adapters.library import eager

RATE = 16_000


def sine(seconds: float, rate: int = RATE) -> np.ndarray[Any, np.dtype[np.float32]]:
    values: np.ndarray[Any, np.dtype[np.float32]] = np.sin(np.arange(int(seconds * rate)) * 0.05)
    return (0.4 * values).astype(np.float32)


@pytest.fixture(scope="module")
def whisper() -> Any:
    """Return a Whisper model for 2 seconds of sound, so that tests are quick."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "encoder_layers": 1,
        "decoder_layers": 1,
        "d_model": 16,
        "vocab_size": 13,
    }
    heads: dict[str, Any] = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    more: dict[str, Any] = {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "num_mel_bins": 16}
    config = transformers.WhisperConfig(
        **sizes,
        **heads,
        **more,
        max_source_positions=100,
        max_target_positions=8,
        decoder_start_token_id=3,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return small.sharp(transformers.WhisperForConditionalGeneration(config))


_EXTRACTOR: Any = transformers.WhisperFeatureExtractor
PROCESSOR = _EXTRACTOR(feature_size=16, chunk_length=2)


def heard(model: Any, inputs: object, **more: Any) -> Trace:
    return areaviz.attend(model, inputs, target=[5, 6], processor=PROCESSOR, area_size=1, **more)


def test_cut_recording_is_reported(whisper: Any) -> None:
    trace = heard(whisper, sine(3))
    assert trace.details["recording"].startswith("only the first 2 s of 3.0 s are heard")
    assert len(trace.fields["source"]) == 100 and "padding" not in trace.details
    assert "recording" not in heard(whisper, sine(2)).details


def test_padding_of_whisper_is_left_out(whisper: Any) -> None:
    trace = heard(whisper, sine(0.5))
    features = PROCESSOR(sine(0.5), sampling_rate=RATE, return_tensors="pt")["input_features"]
    own = eager(whisper, input_features=features, decoder_input_ids=torch.tensor([[3, 5]]))
    assert len(trace.fields["source"]) == 25
    assert trace.fields["source"].labels[-1] == "0.48s"
    for site, layers in (
        ("encoder-decoder", own.cross_attentions),
        ("encoder self", own.encoder_attentions),
    ):
        rows = slice(None, 25) if site == "encoder self" else slice(None)
        within = layers[0][0, :, rows, :25].numpy()
        shares = within / within.sum(-1, keepdims=True)
        np.testing.assert_allclose(trace.maps[site].weights[0], shares, atol=1e-5)
    assert "silence added" in trace.details["padding"]


def test_padding_of_a_processors_spectrum_is_left_out(whisper: Any) -> None:
    """A spectrum does not record its length, but added silence is a run of equal steps."""
    read = PROCESSOR(sine(0.5), sampling_rate=RATE, return_tensors="pt")
    assert len(heard(whisper, dict(read)).fields["source"]) == pytest.approx(25, abs=2)
    masked = PROCESSOR(
        sine(0.5), sampling_rate=RATE, return_tensors="pt", return_attention_mask=True
    )
    assert len(heard(whisper, dict(masked)).fields["source"]) == 25


@pytest.mark.parametrize("axis", [0, 1])
def test_stereo_is_not_read_as_a_batch(whisper: Any, axis: int) -> None:
    both = np.stack([sine(1), 0 * sine(1)], axis)
    trace = heard(whisper, both)
    assert trace.details["channels"] == "the mean of 2 channels is heard"
    plain = heard(whisper, sine(1) / 2)
    np.testing.assert_allclose(
        trace.maps["encoder self"].weights, plain.maps["encoder self"].weights, atol=1e-5
    )


def test_files_rows_of_data_sets_and_whole_numbers_are_recordings(
    whisper: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    soundfile.write(tmp_path / "a.wav", sine(1), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "b.mp3", sine(1), RATE)
    plain = heard(whisper, sine(1)).maps["encoder self"].weights
    whole = np.round(sine(1) * 32767).astype(np.int16)
    row = {"array": sine(1), "sampling_rate": RATE}
    for given in (tmp_path / "a.wav", "~/a.wav", row, whole, sine(1).tolist()):
        found = heard(whisper, given).maps["encoder self"].weights
        np.testing.assert_allclose(found, plain, atol=1e-3)
    assert len(heard(whisper, str(tmp_path / "b.mp3")).fields["source"]) == 50


def test_recording_is_resampled_to_the_model_rate() -> None:
    found = read_samples({"array": sine(1, 8000), "sampling_rate": 8000}, RATE)
    assert len(found.values_N) == RATE and found.seconds == 1


def test_batch_of_samples_is_read_by_number() -> None:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "conv_dim": (8,),
        "conv_kernel": (10,),
        "conv_stride": (160,),
        "vocab_size": 13,
    }
    config = transformers.Wav2Vec2Config(
        **small.SIZES, **sizes, num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2
    )
    model = small.sharp(transformers.Wav2Vec2ForCTC(config))
    batch = torch.tensor(np.stack([sine(0.2), sine(0.2)[::-1].copy()]))
    second = areaviz.attend(model, batch, example=1, area_size=1)
    alone = areaviz.attend(model, batch[1], area_size=1)
    np.testing.assert_allclose(
        second.maps["encoder self"].weights, alone.maps["encoder self"].weights, atol=1e-5
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("speech.wav", 'File "speech.wav" does not exist'),
        (np.zeros((20, 30)), "must be one row of samples"),
        (np.zeros(0), "must be one row of samples"),
        ({"words": [1]}, "Pass them, or a recording"),
        (object(), "must be a recording"),
        ({"array": [0.0] * 400, "sampling_rate": 0}, "sampling_rate. is 0 but must be"),
        ({"array": [0.0] * 400, "sampling_rate": None}, "sampling_rate. is None but"),
        ({"array": [0.0] * 400, "sampling_rate": "16k"}, "sampling_rate. is '16k' but"),
        ({"array": [0.0] * 400, "sampling_rate": float("nan")}, "sampling_rate. is nan but"),
        ({"array": [0.0] * 400, "sampling_rate": 10**12}, "between 1000 and 384000"),
    ],
)
def test_invalid_recording_is_refused(whisper: Any, given: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        heard(whisper, given)


@pytest.mark.parametrize("family", ["Wav2Vec2Model", "HubertModel", "WavLMModel"])
@pytest.mark.parametrize("more", [{}, {"sites": ["decoder self"]}])
def test_too_short_recording_is_refused(family: str, more: Any) -> None:
    model = next(one for one in ARCHITECTURES if one.name == family).model()
    with pytest.raises(InputError, match="too short for this model"):
        areaviz.attend(model, np.zeros(1, np.float32), **more)


def test_failing_processor_is_named(whisper: Any) -> None:
    def fail(*given: Any, **named: Any) -> None:
        raise ZeroDivisionError("division by zero")

    model, _ = whisper if isinstance(whisper, tuple) else (whisper, None)
    with pytest.raises(InputError, match=r"processor cannot read this input \(division by zero\)"):
        areaviz.attend(model, sine(1), processor=fail)


def test_samples_without_a_processor_are_refused(whisper: Any) -> None:
    with pytest.raises(InputError, match="Pass the processor"):
        areaviz.attend(whisper, "speech.wav", target=[5])
