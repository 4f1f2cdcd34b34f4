"""Compare the attention of two models on one sentence, in a table.

python examples/compare_models.py
"""

from __future__ import annotations

from areaviz.backend.local import LocalBackend
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.query import head_summary
from areaviz.trace.request import Request

MODELS = ("char-tiny-regular", "char-tiny-area")
SENTENCE = "A dog runs along the beach."


def main() -> None:
    """Print figures of the attention to the source for every layer, as means over heads."""
    backend = LocalBackend(CHECKPOINTS)
    print(f"{'model':20} layer  entropy  items an area  heaviest")
    for model in MODELS:
        trace = backend.trace(Request(model, SENTENCE))
        heads = head_summary(trace.maps["encoder-decoder"])
        means = zip(heads.entropy.mean(1), heads.area_size.mean(1), heads.peak.mean(1), strict=True)
        for layer, (bits, size, peak) in enumerate(means, 1):
            print(f"{model:20} {layer:5}  {bits:4.1f} bit  {size:13.2f}  {peak:8.0%}")
        print(f"{'':20} {trace.fields['target'].raw}")


if __name__ == "__main__":
    main()
