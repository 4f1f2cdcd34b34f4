"""Small files with rated outputs, each in the format of a tool that writes such files."""

from __future__ import annotations

import json
from typing import Any

# One segment with two raters, one segment without a rating, and one with a missing word.
WMT_2025: list[dict[str, Any]] = [
    {
        "scores": {
            "alpha": {
                "human1": 90,
                "annotator1": "ann1",
                "errors1": [{"start_i": 4, "end_i": 7, "severity": "minor"}],
                "times1": [1.5, 9.0],
                "human2": 70,
                "annotator2": "ann2",
                "errors2": [],
            },
            "beta": {"human1": 40, "annotator1": "ann1", "errors1": []},
        },
        "src_text": "The dog runs.",
        "tgt_text": {"alpha": "Der Hund rennt.", "beta": "Die Katze rennt."},
        "doc_id": "en-de_DE_#_news_#_paper.1_#_0",
    },
    {
        "scores": {},
        "src_text": "It rains.",
        "tgt_text": {"alpha": "Es regnet.", "beta": "Es schneit."},
        "doc_id": "en-de_DE_#_news_#_paper.1_#_1",
    },
    {
        "scores": {
            "beta": {
                "human1": 55.5,
                "annotator1": "ann2",
                "errors1": [
                    {"start_i": "missing", "end_i": "missing", "severity": "major"},
                    {"start_i": 0, "end_i": 1, "severity": "critical", "error_type": "Style"},
                ],
            }
        },
        "src_text": "It rains.",
        "tgt_text": {"beta": "Es regnet."},
        "doc_id": "en-de_DE_#_chat_#_talk_#_0",
    },
]
WMT_2024: list[dict[str, Any]] = [
    {
        "langs": "en-de",
        "line_id": 7,
        "src": "The dog runs.",
        "tgt": "Der Hund rennt.",
        "doc_id": "test_1",
        "domain": "news",
        "esa_spans": [{"start_i": 4, "end_i": 7, "severity": "minor", "error_type": None}],
        "esa_score": "66",
        "system": "alpha",
        "annotator": rater,
        "speech_info": None,
    }
    for rater in ("ann1", "ann2")
]
ITEMS: list[dict[str, Any]] = [
    {
        "item_id": "doc_1_#_0",
        "src": "The dog runs.",
        "ref": "Der Hund läuft.",
        "tgt": {"alpha": "Der 🐕 rennt.", "beta": "Die\nKatze rennt."},
        "instructions": "Rate it.",
        "domain": "news",
        "error_spans": {
            "alpha": [{"start_i": 4, "end_i": 5, "severity": "minor", "category": None}],
            "beta": [{"start_i": 3, "end_i": 7, "severity": "major", "category": None}],
        },
    },
    {"item_id": "doc_1_#_1", "src": "It rains.", "tgt": {"alpha": "Es regnet.", "beta": "Ja."}},
]
CAMPAIGN: dict[str, Any] = {
    "info": {"assignment": "task-based", "protocol": "ESA"},
    "campaign_id": "demo",
    "data": [[ITEMS], [ITEMS]],
    "data_welcome": [[{"text": "Your language?", "form": "string"}]],
}
ANNOTATIONS: list[dict[str, Any]] = [
    {"user_id": "ada", "item_i": "welcome_0", "annotation": [None], "item": [ITEMS[0]]},
    {
        "user_id": "ada",
        "item_i": 0,
        "item": ITEMS,
        "annotation": [
            {
                "alpha": {
                    "score": 80,
                    "error_spans": [{"start_i": 4, "end_i": 5, "severity": "minor"}],
                    "textfield": "Use a word.",
                },
                "beta": {"score": 20, "error_spans": [], "textfield": None},
            },
            None,
        ],
        "actions": [{"time": 1.0, "action": "load"}],
    },
    {
        "user_id": "bo",
        "item_i": 0,
        "item": ITEMS,
        "annotation": [
            {"beta": {"score": 30, "error_spans": [{"start_i": 3, "end_i": 7, "severity": None}]}},
            {"alpha": {"score": 100, "error_spans": [{"start_i": 10, "end_i": 10}]}},
        ],
    },
    {
        "user_id": "ada",
        "item_i": 0,
        "item": ITEMS,
        "annotation": [{"alpha": {"score": 85, "error_spans": []}}, None],
    },
]
COMET: dict[str, Any] = {
    "out/hyp.a.txt": [
        {
            "src": "The dog runs.",
            "mt": "Der Hund rennt.",
            "ref": "Der Hund läuft.",
            "COMET": 0.875,
            "errors": [
                {"text": "Hund", "confidence": 0.41609, "severity": "minor", "start": 3, "end": 8},
                {"text": "rennt", "confidence": 0.9, "severity": "critical", "start": 8, "end": 13},
            ],
        },
        {"src": "It rains.", "mt": "Es regnet.", "ref": "Es regnet.", "COMET": 1.0, "errors": []},
    ],
    "out\\hyp.b.txt": [
        {"src": "The dog runs.", "mt": "Katze", "ref": "Der Hund läuft.", "COMET": 0.25},
        {"src": "It rains.", "mt": "Es regnet.", "ref": "Es regnet.", "COMET": 0.5},
    ],
}


def lines_of(entries: list[dict[str, Any]]) -> bytes:
    """Return JSON Lines."""
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in entries).encode()


def json_of(value: object) -> bytes:
    """Return JSON over several lines."""
    return json.dumps(value, ensure_ascii=False, indent=1).encode()
