"""The models, by family: each entry loads a checkpoint and turns requests into traces."""

from areaviz.models.translation import Translator

MODELS = {"transformer": Translator}
