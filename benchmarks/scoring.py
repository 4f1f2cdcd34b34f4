"""Measure scoring for the page Analyse, compared with sacrebleu in the same run.

    python -m benchmarks.scoring [--sentences 5000]

Sentences are made of random words. Times are processor times, which hardly depend on other work of
the machine.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from areaviz.measures.references import score_sentences
from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.run import make_rows_from_outputs
from areaviz.sets.table import build_table, summarise_table

WORDS, SHORTEST, LONGEST, WRONG = 3000, 6, 20, 0.3


def main() -> None:
    """Print the seconds of each step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sentences", type=int, default=5000)
    count = parser.parse_args().sentences
    dataset, systems = made_dataset(random.Random(1), count)
    references = [example.references[0] for example in dataset.examples]
    bleu, chrf = BLEU(effective_order=True), CHRF()

    def one_by_one() -> None:
        for output, reference in zip(systems[0], references, strict=True):
            bleu.sentence_score(output, [reference])
            chrf.sentence_score(output, [reference])

    theirs, _ = timed(one_by_one)
    ours, _ = timed(lambda: score_sentences(systems[0], references))
    print(f"{count:,} sentences, BLEU and chrF: sacrebleu {theirs:.2f} s, ours {ours:.2f} s")
    seconds, runs = timed(lambda: [make_rows_from_outputs(dataset, outputs) for outputs in systems])
    print(f"Rows of two systems: {seconds:.2f} s")
    print(f"Their table: {timed(lambda: build_table(dataset, runs))[0]:.2f} s")
    print(f"Summary of one system: {timed(lambda: summarise_table(dataset, runs[0]))[0]:.2f} s")


def made_dataset(random_words: random.Random, count: int) -> tuple[Dataset, list[list[str]]]:
    """Return a dataset of made-up sentences with references, and the outputs of two systems."""

    def sentence() -> str:
        length = random_words.randint(SHORTEST, LONGEST)
        return " ".join(f"w{random_words.randrange(WORDS)}" for _ in range(length))

    def damaged(text: str) -> str:
        words = text.split()
        for place in range(len(words)):
            if random_words.random() < WRONG:
                words[place] = f"w{random_words.randrange(WORDS)}"
        return " ".join(words)

    examples = [Example(str(number), sentence(), (sentence(),)) for number in range(count)]
    systems = [[damaged(one.references[0]) for one in examples] for _ in range(2)]
    return Dataset("made up", tuple(examples), {}), systems


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of a call, and its result."""
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


if __name__ == "__main__":
    main()
