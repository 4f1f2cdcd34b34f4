"""Marot's TSV is imported and exported without loss; other files are refused in one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.notes import marot
from areaviz.sets.notes.marot import COLUMNS, MAX_LINES, parse_judgements, read_rows, to_marot
from areaviz.sets.notes.notes import ErrorSpan, Judgement
from areaviz.trace.errors import InputError

SOURCES = ("A dog runs.", "It rains.", "It rains.")
SET = Dataset("set", tuple(Example(str(n), text, ()) for n, text in enumerate(SOURCES)), {})
HEAD = "\t".join(COLUMNS)
ROWS = (
    "a\tdoc\t1\t7\tr1\tA dog runs.\tDie <v>Katze</v> rennt.\tAccuracy/Mistranslation\tMajor\t"
    '{"note": "not a dog", "target_spans": [[2, 2]], "timestamp": 1}',
    "a\tdoc\t1\t7\tr1\tA <v>dog</v> runs.\tDie Katze rennt.\tSource issue\tneutral\t{}",
    'a\tdoc\t1\t7\t\tA dog runs.\tDie Katze rennt.\t\t\t{"segment": {"metrics": {"BLEU": 1}}}',
    "a\tdoc\t1\t7\tr2\tA dog runs.\tDie Katze rennt.\tNo-error\tNo-error\t{}",
    "b\tdoc\t2\t8\tr1\tIt rains.\tEs regnet.\tOmission\tminor\tan older note",
    "b\tdoc\t3\t9\tr1\tIt rains.\t<v>Es</v> <v>schneit</v>.\tNon-translation!\tMajor\t{}",
    "b\tdoc\t3\t9\tr2\tIt rains.\tEs schneit.\tOther\tHOTW-test\t{}",
)
FILE = "\n".join([HEAD, *ROWS, ""]).encode()


def read(data: bytes = FILE, systems: tuple[str, ...] = ("a.txt",)) -> list[Judgement]:
    return parse_judgements(read_rows(data, "x.tsv"), SET, systems)


def test_lines_on_a_segment_are_one_judgement() -> None:
    first, bare, fine, omitted, broken, test = read()
    assert (first.example, first.model, first.rater) == (0, "a.txt", "r1")
    assert (first.source, first.output) == ("A dog runs.", "Die Katze rennt.")
    assert first.spans == (
        ErrorSpan("output", 4, 9, None, "Accuracy/Mistranslation", "major", "not a dog"),
        ErrorSpan("source", 2, 5, None, "Source issue", "neutral"),
    )
    assert not bare.rater and not bare.counts and bare.spans == ()
    assert fine.spans == () and fine.counts and fine.mqm == 0
    assert (omitted.example, broken.example, omitted.model) == (1, 2, "b")
    assert omitted.spans == (ErrorSpan("whole", 0, 0, None, "Omission", "minor", "an older note"),)
    assert (broken.spans[0].start, broken.spans[0].end, broken.mqm) == (0, 10, 25)
    assert test.spans[0].severity == "neutral" and test.mqm == 0


def test_unchanged_lines_are_written_as_read() -> None:
    assert to_marot(read(), "set") == FILE
    assert to_marot(reversed(read()), "set") == FILE, "in its own order"
    older = FILE.replace(b"\t{}\n", b"\n").replace(HEAD.encode(), b"system\tdoc\tdoc_id")
    lines = older.split(b"\n")[1:]
    assert to_marot(read(older), "set").split(b"\n")[1:] == lines


def test_changed_judgement_keeps_its_other_lines() -> None:
    first, *others = read()
    more = ErrorSpan("output", 10, 15, None, "Style", "minor", "too plain")
    changed = replace(first, spans=(*first.spans, more))
    lines = to_marot([changed, *others], "set").decode().split("\n")
    assert [line for line in lines if line in ROWS] == list(ROWS)
    (new,) = set(lines) - {HEAD, *ROWS, ""}
    assert new.startswith("a\tdoc\t1\t7\tr1\tA dog runs.\tDie Katze <v>rennt</v>.\tStyle\tMinor\t")
    assert [one.words() for one in read("\n".join(lines).encode())][0] == changed.words()


def test_equal_segments_are_separate_examples() -> None:
    """Check two documents with equal names and equal sources; one has a second rater."""
    head = "a\tdoc\t1\t{}\t{}\tIt rains.\t{}\tStyle\tminor\t{{}}"
    lines = [
        head.format("1", "r1", "Es <v>regnet</v>."),
        head.format("9", "r1", "Es <v>schneit</v>."),
        head.format("9", "r1", "<v>Es</v> schneit."),
        head.format("9", "r2", "Es <v>schneit</v>."),
    ]
    data = "\n".join([HEAD, *lines, ""]).encode()
    found = read(data)
    said = [(one.example, one.rater, one.output, len(one.spans)) for one in found]
    assert said == [
        (1, "r1", "Es regnet.", 1),
        (2, "r1", "Es schneit.", 2),
        (2, "r2", "Es schneit.", 1),
    ]
    assert to_marot(found, "set") == data
    # Without an overall number, the outputs distinguish the segments.
    assert [one.example for one in read(data.replace(b"\t9\t", b"\t1\t"))] == [1, 2, 2]


def test_overall_lines_are_not_segments() -> None:
    rows = [
        ROWS[0],
        ROWS[0].replace("\t7\tr1", "\t8\tr2"),
        ROWS[0].replace("a\tdoc\t1\t7", "b\tdoc\t1\t9"),
    ]
    assert {one.example for one in read("\n".join([HEAD, *rows, ""]).encode())} == {0}


def test_repeated_segments_that_the_set_lacks_are_refused() -> None:
    row = ROWS[0].replace("\t7\t", "\t9\t")
    with pytest.raises(InputError, match='Line 3 .* "A dog runs.", which this set has less often'):
        read("\n".join([HEAD, ROWS[0], row, ""]).encode())


OWN = Judgement(
    SET.digest,
    1,
    "a.txt",
    "Ada",
    "It rains.",
    "Es <v>\tregnet.",
    (
        ErrorSpan("source", 0, 2, None, "", "minor", "a\tnote"),
        ErrorSpan("picture", 0, 0, (0.1, 0.2, 0.5, 1.0), "Accuracy", "critical"),
        ErrorSpan("whole", 0, 0, None, "Omission", "major"),
    ),
    87.5,
)


def test_own_marks_are_exported_and_imported() -> None:
    plain = replace(OWN, output="Es regnet.", spans=(*OWN.spans, ErrorSpan("output", 0, 10)))
    fine = replace(plain, example=0, source=SOURCES[0], rater="Bo", spans=(), score=100.0)
    data = to_marot([plain, fine], "my set")
    assert b"\tmy set\t2\t2\tAda\t<v>It</v> rains.\tEs regnet.\tOther\tMinor\t" in data
    found = read(data)
    assert [one.words() for one in found] == [fine.words(), plain.words()]
    assert to_marot(found, "my set") == data
    fewer = replace(found[1], spans=found[1].spans[1:])
    (again,) = read(to_marot([fewer], "my set"))
    assert (again.score, again.spans) == (87.5, fewer.spans), "the score outlives its line"
    assert all(line.count("\t") == 9 for line in to_marot([OWN], "x").decode().split("\n")[:-1])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"segment\tscore\n1\t.5\n", 'Line 1 of "x.tsv" has 2 columns, but a TSV of Marot has'),
        (FILE + b"a\tb\n", 'Line 9 of "x.tsv" has 2 columns'),
        (HEAD.encode(), '"x.tsv" has no rows of Marot'),
        (b"\xff", "is not a UTF-8 text. Save it"),
        (
            FILE.replace(b"A dog runs.\tDie <v>Katze", b"A cat runs.\tDie <v>Katze"),
            'Line 2 has the source "A cat runs.", which is not in this set. Choose',
        ),
        (
            FILE + FILE.split(b"\n")[6].replace(b"\t3\t", b"\t4\t") + b"\n",
            'Line 9 has the source "It rains.", which this set has less often.',
        ),
        (
            FILE.replace(b"{}", b'{"areaviz": {"span": {"side": "whole", "severity": "grave"}}}'),
            'Line 2 cannot be imported: Error 2 has the severity "grave". Choose one of',
        ),
    ],
)
def test_file_of_another_format_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read(data)
    assert said in str(refused.value)


def line_with(**cells: str) -> bytes:
    """Return a line of a file with some cells replaced."""
    values = dict(zip(COLUMNS, ROWS[0].split("\t"), strict=True)) | cells
    return "\t".join(values.values()).encode()


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"target": "<v>" * 5_000_000}, "has 5,000,000 tags <v> and </v> in its target"),
        ({"source": "x" * 20_001}, "has 20,001 characters in its source, but the limit is 20,000"),
        ({"metadata": "x" * 200_001}, "has 200,001 characters in its metadata"),
        ({"rater": "x" * 101}, "has 101 characters in its rater, but the limit is 100"),
    ],
)
def test_long_cells_are_refused_before_they_are_read(
    cells: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        pytest.fail("a line is taken apart")

    monkeypatch.setattr(marot, "parse_judgements", refuse)
    data = FILE + line_with(**cells)
    with pytest.raises(InputError, match=f"Line 9 {said}"):
        marot.read_judgements("x.tsv", data, SET, ())


def test_longest_text_with_tags_is_read() -> None:
    target = f"<v>{'x' * 20_000}</v>"
    (row,) = read_rows(line_with(target=target), "x.tsv")
    assert row.cell("target") == target


def test_lines_of_one_judgement_are_bounded() -> None:
    lines = [line_with()] * (MAX_LINES + 1)
    with pytest.raises(
        InputError, match="Line 1 and 200 other lines mark one output for one rater"
    ):
        read(b"\n".join(lines))


def test_segments_of_different_sources_stay_apart() -> None:
    rows = [
        "a\tdoc\t1\t1\tr1\tA dog runs.\tEin <v>Hund</v>.\tOther\tMajor\t{}",
        "a\tdoc\t1\t1\tr1\tIt <v>rains</v>.\tEs regnet.\tOther\tMinor\t{}",
    ]
    first, second = read("\n".join(rows).encode())
    assert (first.example, first.source, len(first.spans)) == (0, "A dog runs.", 1)
    assert (second.example, second.source, len(second.spans)) == (1, "It rains.", 1)
