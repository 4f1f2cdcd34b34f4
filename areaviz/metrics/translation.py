"""Translation quality by sacrebleu, so that the figures are comparable with published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from areaviz.metrics.overlap import score_corpus


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same sentences, scores 0..100."""

    baseline: float
    system: float
    # Half the width of the 95 % confidence interval of the system's own score.
    interval: float
    # Probability of a difference at least as large in either direction, if the systems are equally
    # good.
    p_value: float
    # Signature of sacrebleu, with seed and number of resamples.
    signature: str

    @property
    def difference(self) -> float:
        """The score of the system minus that of the baseline."""
        return self.system - self.baseline


def score_translations(
    hypotheses: Sequence[str], references: Sequence[str]
) -> dict[str, float | int | str]:
    """Compute corpus scores of one system against one reference per sentence.

    - bleu: cased BLEU with 13a tokens, 0..100.
    - bleu_lowercase: BLEU of the lower-cased text, 0..100.
    - chrf: chrF2, 0..100.
    - NAME_signature: the signature of sacrebleu for each score.
    - length_ratio: tokens in the hypotheses divided by tokens in the references.
    - sentences: number of sentences.

    Raises:
        ValueError: There are no sentences, or the numbers of hypotheses and references differ.
    """
    _check(hypotheses, references)
    bleu, lowercase, chrf = BLEU(), BLEU(lowercase=True), CHRF()
    cased = bleu.corpus_score(hypotheses, [references])
    return {
        "bleu": cased.score,
        "bleu_signature": str(bleu.get_signature()),
        "bleu_lowercase": lowercase.corpus_score(hypotheses, [references]).score,
        "bleu_lowercase_signature": str(lowercase.get_signature()),
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "chrf_signature": str(chrf.get_signature()),
        "length_ratio": cased.sys_len / cased.ref_len,
        "sentences": len(hypotheses),
    }


def compute_bleu_and_chrf(
    hypotheses: Sequence[str], references: Sequence[str | Sequence[str]]
) -> tuple[float, float]:
    """Compute the corpus BLEU (cased, 13a tokens) and chrF2 of one system, each 0..100.

    Args:
        hypotheses: Outputs of the system.
        references: For each hypothesis its reference, or all of its references, at least one.
            sacrebleu clips n-grams against the references together. For BLEU it takes the reference
            whose length is closest, for chrF the best one.

    Raises:
        ValueError: There are no sentences, or the numbers of hypotheses and references differ.
    """
    _check(hypotheses, references)
    streams = _transpose_references(references)
    if len(streams) == 1:
        return score_corpus(hypotheses, streams[0])
    bleu = BLEU().corpus_score(hypotheses, streams)
    return bleu.score, CHRF().corpus_score(hypotheses, streams).score


def compare_systems(
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str | Sequence[str]],
    resamples: int = 1000,
) -> dict[str, Comparison]:
    """Test two systems by approximate randomisation, for "bleu" (cased, 13a) and "chrf".

    Each draw swaps the translations of about half of the sentences. The p-value is two-sided: the
    share of draws with a difference at least as large in either direction (Riezler & Maxwell 2005).
    sacrebleu's paired bootstrap counts only one direction, so its p-values are about half of these.
    The seed is sacrebleu's, 12345 unless SACREBLEU_SEED is set, and is part of the signature.

    Raises:
        ValueError: There are no sentences, or the numbers of hypotheses and references differ.
    """
    _check(system, references)
    _check(baseline, references)
    test = PairedTest(
        [("baseline", baseline), ("system", system)],
        {"bleu": BLEU(), "chrf": CHRF()},
        _transpose_references(references),
        test_type="ar",
        n_samples=resamples,
        n_ar_confidence=resamples,
    )
    signatures, results = test()
    changed = sum(one != other for one, other in zip(system, baseline, strict=True))
    found = {}
    for name, key in (("bleu", "BLEU"), ("chrf", "chrF2")):
        one, other = (result for result in results[key] if isinstance(result, Result))
        # sacrebleu counts only larger differences. The observed difference itself occurs if all
        # differing sentences are swapped, or none.
        p_value = min(1.0, float(other.p_value or 0.0) + 2.0 ** (1 - changed))
        if one.score == other.score:
            p_value = 1.0
        found[name] = Comparison(
            one.score, other.score, float(other.ci or 0.0), p_value, str(signatures[key])
        )
    return found


def _transpose_references(references: Sequence[str | Sequence[str]]) -> Any:
    """Return all first references, all second ones and so on, as sacrebleu takes them.

    A sentence with fewer references has None in the later streams, which sacrebleu leaves out.
    """
    given = [(one,) if isinstance(one, str) else one for one in references]
    most = max(map(len, given))
    return [[one[at] if at < len(one) else None for one in given] for at in range(most)]


def _check(hypotheses: Sequence[str], references: Sequence[str | Sequence[str]]) -> None:
    if not references or len(hypotheses) != len(references):
        raise ValueError(
            f"Scores need one reference for each translation, got {len(hypotheses)} translations "
            f"and {len(references)} references."
        )
