"""The models, by family: each entry loads a checkpoint and turns requests into traces."""

from areaviz.models.base import Family
from areaviz.models.captioning import NETWORKS as CAPTIONERS
from areaviz.models.captioning import CaptionModel
from areaviz.models.digits import NETWORKS, DigitReader
from areaviz.models.picture_translation import PictureTranslator
from areaviz.models.translation import Translator

MODELS: dict[str, Family] = {
    "transformer": Translator,
    **dict.fromkeys(CAPTIONERS, CaptionModel),
    "doubly": PictureTranslator,
    **dict.fromkeys(NETWORKS, DigitReader),
}
