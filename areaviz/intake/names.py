"""Guesses of the role of a column from its name alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from areaviz.data.metadata import parse_numbers
from areaviz.intake.columns import (
    BOXES,
    FACTS,
    FILE,
    ID,
    LINKS,
    METADATA,
    OUTPUT,
    REFERENCE,
    SCORE,
    SOURCE,
    SYSTEM,
    Column,
)

EITHER, LANGUAGE = "either", "language"
"""Preliminary roles: a column that is a reference or an output, and a text in some language."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    SOURCE: (
        *("source", "src", "text", "sentence", "input", "story", "points", "source_text"),
        *("src_text", "source_segment", "original"),
    ),
    REFERENCE: (
        *("reference", "references", "ref", "refs", "ref_text", "reference_text", "gold"),
        *("post_edit", "pe", "target_reference", "caption", "captions", "human_translation"),
    ),
    OUTPUT: (
        *("output", "outputs", "hyp", "hyps", "hypothesis", "hypotheses", "mt", "pred"),
        *("prediction", "predictions", "system_output", "model_output", "machine_translation"),
        *("mt_text", "generated", "generated_text", "response", "completion"),
    ),
    EITHER: (
        *("translation", "translations", "target", "targets", "tgt", "target_text", "tgt_text"),
        *("target_segment", "answer", "tree"),
    ),
    SYSTEM: ("system", "sys", "sysid", "system_id", "model"),
    ID: (
        *("name", "id", "segment_id", "seg_id", "globalsegid", "docsegid", "number", "index"),
        *("line", "segment"),
    ),
    FILE: ("file", "filename", "picture", "image", "sound", "audio", "clip", "video"),
    LINKS: ("links", "alignment", "alignments", "gold_links"),
    BOXES: ("boxes",),
    FACTS: ("facts",),
}
NAMED_ROLES: Mapping[str, str] = {name: role for role, names in _NAMES.items() for name in names}
"""Maps the whole name of a column, in lower case, to its role."""
RANKS: Mapping[str, int] = {name: n for n, name in enumerate(NAMED_ROLES)}
"""Maps names of columns to their priority. The column with the smallest number gets the role."""
# Roles by the first or last word of names such as "output_alpha" or "my reference".
_WORDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("output", "outputs", "hyp", "mt", "pred", "prediction", "hypothesis"),
        OUTPUT,
    ),
    **dict.fromkeys(("ref", "refs", "reference", "references", "gold"), REFERENCE),
    **dict.fromkeys(("src", "source"), SOURCE),
    **dict.fromkeys(("translation", "target", "tgt", "targets"), EITHER),
}
_METRICS = frozenset(
    (
        *("comet", "xcomet", "cometkiwi", "bleurt", "metricx", "bleu", "sentbleu", "chrf", "ter"),
        *("da", "esa", "score", "scores", "mqm", "bertscore", "bartscore", "meteor", "rouge"),
        *("spbleu", "wer", "cer", "gemba", "yisi", "prism"),
    )
)
_GENERIC = frozenset(("score", "scores"))
# Words that follow "source" or "output" in the name of a column that only describes a text, such as
# "source_lang".
_ABOUT = frozenset(
    (
        *("lang", "language", "locale", "id", "ids", "doc", "document", "file", "filename", "url"),
        *("domain", "length", "len", "tokens", "words", "chars", "type", "date", "time", "system"),
        *("path", "name", "count", "error", "errors"),
    )
)
_LANGUAGES = frozenset(
    (
        *("ar", "bg", "bn", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "gu", "he"),
        *("hi", "hr", "hu", "id", "is", "it", "ja", "kk", "km", "ko", "lt", "lv", "nl", "no", "pl"),
        *("ps", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "sw", "ta", "th", "tr", "uk", "ur", "vi"),
        *("xh", "zh", "zu", "eng", "deu", "ger", "fra", "fre", "ces", "rus", "zho", "jpn", "spa"),
        *("english", "german", "french", "czech", "russian", "chinese", "japanese", "spanish"),
    )
)
_LANGUAGE = re.compile(r"(?:translation|text|sentence)[._](\w+)|(\w+)")


def guess_role_by_name(column: Column) -> Column:
    """Return a column in the role that its name suggests, or as metadata without a suggestion.

    The role can be `EITHER` or `LANGUAGE`, which the other columns decide later. A score's name
    contains a metric, and the rest of the name is the system.
    """
    if column.role != METADATA:
        return column
    whole = column.name.strip().lower()
    parts = [part for part in re.split(r"[\W_]+", column.name) if part]
    if score := _make_score_column(column, parts):
        return score
    key = re.sub(r"[\s\-.]+", "_", whole)
    if key in NAMED_ROLES and whole not in _LANGUAGES - {"id"}:
        role = NAMED_ROLES[key]
        return replace(column, role=role, is_sure=role != EITHER)
    if _is_language(whole):
        return replace(column, role=LANGUAGE, is_sure=False)
    return _guess_role_by_words(column, parts)


def _is_language(name: str) -> bool:
    found = _LANGUAGE.fullmatch(name)
    if not found:
        return False
    code = found[1] or found[2]
    # In "en_US", "eng_Latn" and "zh-Hans", the language comes first.
    return re.split(r"[_-]", code)[0] in _LANGUAGES and (len(code) <= 8 or "_" not in code)


def _make_score_column(column: Column, parts: list[str]) -> Column | None:
    """Return the column as a score if its name has a metric and its cells are numbers."""
    metrics = [part for part in parts if find_metric_in(part)]
    if not metrics or parse_numbers(column.texts) is None:
        return None
    # In "comet_score" the metric is COMET, because "score" is a general word.
    special = [part for part in metrics if find_metric_in(part) not in _GENERIC] or metrics
    rest = [part for part in parts if part not in metrics]
    if len(metrics) == len(parts):
        return replace(column, role=SCORE, metric=column.name)
    return replace(column, role=SCORE, system=_join_parts(column.name, rest), metric=special[0])


def find_metric_in(part: str) -> str:
    """Return the metric in a part of a name, such as "comet" in "comet22", or "" for none."""
    found = part.lower().rstrip("0123456789")
    found = found.removesuffix("qe") if found.removesuffix("qe") in _METRICS else found
    return found if found in _METRICS else ""


def _join_parts(name: str, parts: list[str]) -> str:
    """Return the section of a name from the first to the last of the given parts.

    If a metric separates the parts, they are joined by a dot instead.
    """
    found = name[name.find(parts[0]) : name.rfind(parts[-1]) + len(parts[-1])]
    inside = [part for part in re.split(r"[\W_]+", found) if part]
    return found if inside == parts else ".".join(parts)


def _guess_role_by_words(column: Column, parts: list[str]) -> Column:
    """Return a column in the role that the first or last word of its name suggests.

    Examples are "output_alpha", "alpha (mt)" and "ref 2".
    """
    if len(parts) < 2:
        lone = column.name.strip().lower()
        if re.fullmatch(r"ref[a-d]?\d*|reference\d+|caption\d+", lone):
            return replace(column, role=REFERENCE)
        if found := re.fullmatch(r"(?:output|hyp|mt|pred)(\d+)", lone):
            return replace(column, role=OUTPUT, system=found[1])
        return column
    if parts[-1].lower() in _ABOUT or parts[0].lower() in _ABOUT:
        return column
    for at, rest in ((0, parts[1:]), (-1, parts[:-1])):
        role = _WORDS.get(parts[at].lower(), "")
        if role == OUTPUT:
            return replace(column, role=OUTPUT, system=_join_parts(column.name, rest))
        if role == EITHER:
            system = _join_parts(column.name, rest)
            return replace(column, role=OUTPUT, system=system, is_sure=False)
        if role:
            return replace(column, role=role, is_sure=at == 0)
    return column
