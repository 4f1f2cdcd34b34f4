"""The tables of trained key variants: the networks that each table compares, and its explanation.

A form is a way to make the keys of areas. The runs of a table are recipes of `configs/table`. Their
figures are in `checkpoints/tables`, and `areaviz.evaluation.key_forms` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from areaviz.cards.tasks import AREA_ATTENTION, LSTMS, Published
from areaviz.measures.heads import WANTED
from areaviz.samples.paths import FORMS

TITLES: Mapping[str, str] = {
    "regular": "regular attention",
    "convolution": "regular attention, convolution of width 5",
    "mean": "areas, mean keys (Eq. 3, 4)",
    "features": "areas, features (Eq. 9, 4)",
    "boundary": "areas, boundary keys",
    "convolution-boundary": "convolution and boundary keys",
}
"""Every form that a table may have, in the order of its rows."""
SPANS: Mapping[str, str] = {
    "encoder self": "Encoder self: spans on top (before training)",
    "encoder-decoder": "Encoder-decoder: spans on top (before training)",
}
"""The column of each site."""


@dataclass(frozen=True, slots=True)
class FormTable:
    """One table of forms: networks that differ only in their keys."""

    # The file that `areaviz heads --into` fills.
    path: Path
    # Prefix of the names of the table's runs.
    pair: str
    # Forms, as keys of `TITLES`. A form without a run is an empty row.
    forms: tuple[str, ...]
    # Explanation of the table for its readers.
    about: str
    # Results of the paper for such a network. None without any.
    paper: Published | None = None
    # True if spans are compared with words. They are not if items are parts of words.
    words: bool = False
    # Sites of the networks, as keys of `SPANS`.
    sites: tuple[str, ...] = tuple(WANTED)
    # Seeds with which every form is trained.
    seeds: tuple[int, ...] = (1, 2, 3)
    # True if the outputs on validation are scored with BLEU.
    bleu: bool = False
    # A model of this release with the same kind of network and regular attention, whose card has
    # the baselines of the alignment error. "" for a table without this error.
    twin: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column headings, no two of which are equal."""
        found = ["Form", "Seeds", "Validation loss", "Against regular"]
        for number, site in enumerate(self.sites):
            found.append(SPANS[site])
            if self.words:
                found.append("a word, times chance (before training)" + " " * number)
        if not self.words:
            found.append("Alignment error, %")
        if self.bleu:
            found.append("BLEU")
        if self.paper is not None:
            found.append("The paper's BLEU, other data")
        return tuple(found)

    def get_paper_bleu(self, form: str) -> str:
        """Return the paper's BLEU of a form, with its significance, or "" if the paper has none."""
        if self.paper is None:
            return ""
        sign = "p < 0.05" if self.paper.area_sign else "not significant"
        reported = {
            "regular": f"{self.paper.regular:.2f}",
            "mean": f"{self.paper.area:.2f} ({sign})",
        }
        return reported.get(form, "")


LETTERS_TABLE = FormTable(
    FORMS / "letters.json",
    "letters",
    tuple(TITLES),
    "The character network (Tiny) in six forms that differ only in their keys, trained for 3,000"
    " steps each. Validation loss is cross-entropy per character, and lower is better. The table"
    " has the mean over seeds, the smallest and the largest value. Against regular: the mean and"
    " the ends of the differences from regular attention with the same seed. Spans on top: the"
    " share of queries whose heaviest area has two or more characters, in one head that depends on"
    " its query. A dash means that no span wins. The value in brackets is that of the same head"
    " before training. Spans win there as well, so their share says nothing by itself. The paper's"
    " column is the BLEU of its Tiny network for characters, English to German, on other data. The"
    " paper tested the difference of 6.90 and 8.20 and claims no significance for it.",
    AREA_ATTENTION["character", "Tiny"],
    words=True,
)
SUBWORDS_TABLE = FormTable(
    FORMS / "subwords.json",
    "tokens",
    ("regular", "convolution", "mean", "boundary", "convolution-boundary"),
    "The same network over 5,000 subwords, 1,500 steps each. Alignment error: the error of the"
    " head, or of the mean of a layer's heads, that agrees best with words linked by hand. It is"
    " measured on the 20 validation captions that choose it. The paper has no network of this size"
    " for subwords on such data. These runs are short. They compare forms and do not translate"
    " well.",
    twin="token-regular",
)
LSTM_TABLE = FormTable(
    FORMS / "lstm.json",
    "lstm-4-heads",
    ("regular", "convolution", "mean", "boundary"),
    "LSTMs over 5,000 subwords, 256 cells and 4 heads, 1,000 steps each, that attend to items or to"
    " areas of at most two items. Validation loss is cross-entropy per subword. BLEU is measured on"
    " the validation sentences with beam 4 and their best length penalty. The paper's column is the"
    " BLEU of LSTMs of this size, English to German, on other data.",
    LSTMS["token", "256 cells, 4 heads"],
    sites=("encoder-decoder",),
    bleu=True,
    twin="lstm-regular",
)
LSTM_1_HEAD_TABLE = FormTable(
    FORMS / "lstm.json",
    "lstm-1-head",
    ("regular", "mean", "boundary"),
    "The same LSTMs with a single head, one seed each.",
    LSTMS["token", "256 cells, 1 head"],
    sites=("encoder-decoder",),
    seeds=(1,),
    bleu=True,
    twin="lstm-regular",
)
LSTM_LETTERS_TABLE = FormTable(
    FORMS / "lstm.json",
    "lstm-letters",
    ("regular", "mean", "boundary"),
    "The LSTMs with 4 heads over characters, one seed and 1,000 steps each. Validation loss is"
    " cross-entropy per character.",
    LSTMS["character", "256 cells, 4 heads"],
    sites=("encoder-decoder",),
    seeds=(1,),
    bleu=True,
    twin="lstm-regular",
)
FORM_TABLES: Mapping[str, FormTable] = {
    "forms": LETTERS_TABLE,
    "subword forms": SUBWORDS_TABLE,
    "LSTM forms": LSTM_TABLE,
    "LSTM forms, one head": LSTM_1_HEAD_TABLE,
    "LSTM forms, letters": LSTM_LETTERS_TABLE,
}
"""Each table by the name in its markers in docs/findings.md, in the order of the tables."""
