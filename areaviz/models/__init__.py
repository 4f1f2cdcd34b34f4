"""The models, by family: each entry loads a checkpoint and turns requests into traces."""

from areaviz.models.answering import AnsweringModel
from areaviz.models.base import Family
from areaviz.models.digits import NETWORKS, DigitReader
from areaviz.models.pointing import PointingModel
from areaviz.models.writing import WRITERS, WritingModel

MODELS: dict[str, Family] = {
    **dict.fromkeys(WRITERS, WritingModel),
    **dict.fromkeys(NETWORKS, DigitReader),
    "pointer": PointingModel,
    "memory": AnsweringModel,
}
