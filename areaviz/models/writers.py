"""The registry of networks that generate a sequence, by the family of their card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from areaviz.models.birnn import Birnn, BirnnConfig
from areaviz.models.captioner import CaptionerConfig, CaptionTransformer
from areaviz.models.listener import Listener, ListenerConfig
from areaviz.models.lstm import LstmConfig, LstmTranslator
from areaviz.models.network import WritingNetwork
from areaviz.models.show_attend_tell import ShowAttendTell, TellerConfig
from areaviz.models.text_decoder import TextDecoder, TextDecoderConfig
from areaviz.models.transformer import Transformer, TransformerConfig
from areaviz.models.two_memories import TwoMemoriesConfig, TwoMemoriesTransformer
from areaviz.models.watcher import Watcher, WatcherConfig

WRITERS: Mapping[str, tuple[Any, Callable[[Any], WritingNetwork]]] = {
    "transformer": (TransformerConfig, Transformer),
    "captioner": (CaptionerConfig, CaptionTransformer),
    "teller": (TellerConfig, ShowAttendTell),
    "birnn": (BirnnConfig, Birnn),
    "lstm": (LstmConfig, LstmTranslator),
    "listener": (ListenerConfig, Listener),
    "watcher": (WatcherConfig, Watcher),
    "doubly": (TwoMemoriesConfig, TwoMemoriesTransformer),
    "text decoder": (TextDecoderConfig, TextDecoder),
}
"""Options and class of every generating network, by family."""
