"""The models, by family: each entry loads a checkpoint and turns requests into traces."""

from areaviz.models.base import Family
from areaviz.models.digits import NETWORKS, DigitReader
from areaviz.models.writing import WRITERS, WritingModel

MODELS: dict[str, Family] = {
    **dict.fromkeys(WRITERS, WritingModel),
    **dict.fromkeys(NETWORKS, DigitReader),
}
