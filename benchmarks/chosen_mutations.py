"""Make the changes of `chosen_mutations.toml` one at a time, and count those that tests notice.

    python -m benchmarks.chosen_mutations --write

Each change is a fault that a person could make: a wrong bound, sign or index. The file has changes
of all subpackages. Each is made in a copy of the repository, where the tests of the changed module
run. A change that no test notices shows that a test with a known right value is missing.
"""

from __future__ import annotations

import datetime
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutations import PACKAGE, ROOT, Mutation, copy_of_repository, is_noticed
from benchmarks.report import command, markdown, publish

CHOSEN = Path(__file__).with_name("chosen_mutations.toml")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A change, and the test files. A test in at least one of them must fail."""

    mutation: Mutation
    tests: tuple[Path, ...]


def chosen_mutations(path: Path = CHOSEN) -> Iterator[Chosen]:
    """Yield the changes of a file.

    Raises:
        ValueError: A module does not contain the text to change exactly once, or a test file is
            missing.
    """
    for one in tomllib.loads(path.read_text("utf-8"))["mutation"]:
        module = Path(PACKAGE, one["module"])
        source = (ROOT / module).read_text("utf-8")
        if source.count(one["before"]) != 1:
            raise ValueError(f"{module} must contain this text exactly once: {one['before']}")
        tests = tuple(ROOT / test for test in one["tests"])
        if not tests or not all(test.is_file() for test in tests):
            raise ValueError(f"A test file of {module} is missing: {one['tests']}")
        line = source[: source.index(one["before"])].count("\n") + 1
        changed = source.replace(one["before"], one["after"])
        yield Chosen(Mutation(module, line, one["before"], one["after"], changed), tests)


def tried(mutations: Iterable[Chosen]) -> Iterator[tuple[Mutation, bool]]:
    """Make each change in a copy of the repository, and yield whether a test noticed it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of_repository(Path(folder))
        for one in mutations:
            yield one.mutation, is_noticed(one.mutation, copy, one.tests)


def table(results: Sequence[tuple[Mutation, bool]]) -> str:
    """Return the results as Markdown, with the date and the commit."""
    show = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(show, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    noticed = sum(was_noticed for _, was_noticed in results)
    about = (
        f"{datetime.date.today():%d %B %Y}, commit {commit.strip()}:"
        f" tests noticed {noticed} of {len(results)} changes."
    )
    rows = []
    for one, was_noticed in results:
        texts = [f"`{text}`".replace("|", "\\|") for text in (one.before, one.after)]
        module = one.module.relative_to(PACKAGE)
        rows.append([str(module), *texts, "yes" if was_noticed else "no"])
    return markdown(about, ("module", "before", "after", "noticed"), rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Try the changes, print each result, and print or write the table."""
    options = command("Count the chosen changes that the tests notice.").parse_args(arguments)
    results = []
    for one, was_noticed in tried(chosen_mutations()):
        results.append((one, was_noticed))
        print("noticed" if was_noticed else "SURVIVED", f"{one.module}:{one.line}", flush=True)
    publish("mutations", table(results), options.write)


if __name__ == "__main__":
    main()
