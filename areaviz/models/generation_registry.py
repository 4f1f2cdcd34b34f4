"""The registry of networks that generate a sequence, by the family of their card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from areaviz.models.birnn import Birnn, BirnnConfig
from areaviz.models.captioner import CaptionerConfig, CaptionTransformer
from areaviz.models.doubly_attentive import DoublyAttentiveTransformer, TwoMemoriesConfig
from areaviz.models.lstm import LstmConfig, LstmTranslator
from areaviz.models.network import GenerationNetwork
from areaviz.models.recurrent_text_decoder import (
    RecurrentTextDecoder,
    RecurrentTextDecoderConfig,
)
from areaviz.models.show_attend_tell import ShowAttendTell, TellerConfig
from areaviz.models.speech_recognizer import ListenerConfig, SpeechRecognizer
from areaviz.models.text_decoder import TextDecoder, TextDecoderConfig
from areaviz.models.transformer import Transformer, TransformerConfig
from areaviz.models.video_captioner import VideoCaptioner, WatcherConfig

GENERATION_NETWORKS: Mapping[str, tuple[Any, Callable[[Any], GenerationNetwork]]] = {
    "transformer": (TransformerConfig, Transformer),
    "captioner": (CaptionerConfig, CaptionTransformer),
    "teller": (TellerConfig, ShowAttendTell),
    "birnn": (BirnnConfig, Birnn),
    "lstm": (LstmConfig, LstmTranslator),
    "listener": (ListenerConfig, SpeechRecognizer),
    "watcher": (WatcherConfig, VideoCaptioner),
    "doubly": (TwoMemoriesConfig, DoublyAttentiveTransformer),
    "text decoder": (TextDecoderConfig, TextDecoder),
    "recurrent text decoder": (RecurrentTextDecoderConfig, RecurrentTextDecoder),
}
"""Options and class of every generating network, by family."""
