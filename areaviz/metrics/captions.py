"""Caption quality against several references: BLEU by sacrebleu, ROUGE-L and CIDEr-D, as COCO's
script defines them.

No kept library computes the last two without Java or a captioning model's dependencies, so they are
here, in `rouge.py` and `cider.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from areaviz.metrics.cider import cider_d
from areaviz.metrics.rouge import rouge_l

_WORD = re.compile(r"\w+(?:-\w+)*|'(?:s|re|ve|ll|d|m|t)\b")


def caption_words(text: str) -> list[str]:
    """The words that are compared: lower-cased, without punctuation, "man's" as "man" and "'s".

    Near to what COCO's script has from the Penn Treebank tokenizer, which needs Java: words with
    hyphens stay whole there and here, but "don't" is "don" and "'t" here, and signs such as $ or %
    are dropped.
    """
    return _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def caption_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, float | int | str]:
    """Scores of one caption a picture against all of that picture's references, which may differ in
    number.

    bleu_1..bleu_4: of the corpus, without smoothing, each caption measured against the reference
    nearest in length (Papineni et al. 2002), 0..100, with sacrebleu's signature under
    bleu_signature. COCO's script gives the same; only where not a single n-gram of the corpus fits
    it gives next to nothing and sacrebleu 0.
    rouge_l: mean over pictures, 0..100. cider_d: mean over pictures, 0..10, see `cider_d`.
    length_ratio: words produced for each one of the nearest references. captions: how many.

    Raises:
        ValueError: when there is no caption, or a picture lacks its caption or its references.
    """
    _check(hypotheses, references)
    made = [caption_words(text) for text in hypotheses]
    wanted = [[caption_words(text) for text in texts] for texts in references]
    rouge = [rouge_l(words, captions) for words, captions in zip(made, wanted, strict=True)]
    return {
        **_bleu(made, wanted),
        "rouge_l": 100 * float(np.mean(rouge)),
        "cider_d": float(np.mean(cider_d(made, wanted))),
        "captions": len(hypotheses),
    }


def _bleu(
    made: Sequence[Sequence[str]], wanted: Sequence[Sequence[Sequence[str]]]
) -> dict[str, float | str]:
    """BLEU of every order, its signature, and the ratio of lengths."""
    lines = [" ".join(words) for words in made]
    streams = list(zip_longest(*([" ".join(words) for words in captions] for captions in wanted)))
    metrics = [
        BLEU(True, tokenize="none", smooth_method="none", max_ngram_order=n) for n in (1, 2, 3, 4)
    ]
    scores = [metric.corpus_score(lines, streams) for metric in metrics]
    named: dict[str, float | str] = {
        f"bleu_{order}": score.score for order, score in enumerate(scores, 1)
    }
    ratio = scores[0].sys_len / scores[0].ref_len if scores[0].ref_len else float("nan")
    return named | {"bleu_signature": str(metrics[-1].get_signature()), "length_ratio": ratio}


def _check(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if not hypotheses or len(hypotheses) != len(references) or not all(references):
        lacking = sum(not texts for texts in references)
        raise ValueError(
            f"Scores need a caption and its references for every picture, got {len(hypotheses)}"
            f" captions, references for {len(references)} pictures, {lacking} of them empty."
        )
