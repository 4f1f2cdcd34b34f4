"""Guessed roles, uncertain guesses, and the effect of a reader's choice."""

from __future__ import annotations

from itertools import permutations

import pytest

from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.dataset import read_set
from areaviz.sets.joined_files import open_files
from areaviz.sets.text_files import find_separator
from areaviz.trace.errors import InputError


def roles(header: str, row: str = "") -> dict[str, str]:
    """Return the role of each column of a CSV file; an uncertain role ends in a question mark."""
    cells = row or ",".join(f"text {n} of it" for n in range(header.count(",") + 1))
    columns = open_files({"x.csv": f"{header}\n{cells}\n".encode()}).columns
    return {one.name: one.given_role + ("" if one.is_sure else "?") for one in columns}


@pytest.mark.parametrize(
    ("header", "row", "found"),
    [
        ("source,translation", "", {"translation": "reference?"}),
        ("source,reference,translation", "a,b,c", {"translation": "output?"}),
        ("src,target,mt", "a,b,c", {"target": "reference?", "mt": "output"}),
        ("src,ref,target_a", "a,b,c", {"target_a": "output:a?"}),
        ("en,de", "a,b", {"en": "source?", "de": "reference?"}),
        ("src,ref1,ref2", "a,b,c", {"ref1": "reference", "ref2": "reference"}),
        (
            "src,src_lang,target_lang",
            "a,en,de",
            {"src_lang": "metadata", "target_lang": "metadata"},
        ),
        ("src,comet", "a,0.5", {"comet": "metadata?"}),
        ("src,mt,comet_score", "a,b,0.5", {"comet_score": "score:mt"}),
        ("src,mt,comet", "a,b,good", {"comet": "metadata"}),
        ("src,hyp_a,hyp_b,comet", "a,b,c,0.5", {"comet": "metadata?"}),
        ("src,hyp_a,hyp_b,comet kiwi", "a,b,c,0.5", {"comet kiwi": "metadata?"}),
        ("text,output_0,chrf_0,chrf_change", "a,b,50,1", {"chrf_0": "score:0"}),
        ("src,ref,alpha", "a b c,d e f,d e g", {"alpha": "output:alpha?"}),
        ("src,ref,note", "a b c,d e f,x y z", {"note": "metadata"}),
        ("name,id,text", "n,1,a", {"name": "id", "id": "metadata"}),
        ("text,empty", "a,", {"empty": "ignore"}),
    ],
)
def test_guess_of_a_column(header: str, row: str, found: dict[str, str]) -> None:
    assert found.items() <= roles(header, row).items()


@pytest.mark.parametrize(
    ("names", "source"),
    [
        (("my.de.txt", "my.en.txt"), "my.en.txt"),
        (("ref.txt", "src.txt"), "src.txt"),
        (("valid_source.txt", "valid_target.txt"), "valid_source.txt"),
        (("Test 2 EN.TXT", "Test 2 DE.TXT"), "Test 2 EN.TXT"),
    ],
)
def test_guess_of_the_source_file_in_any_order(names: tuple[str, ...], source: str) -> None:
    for order in permutations(names):
        columns = open_files({name: name.encode() for name in order}).columns
        assert [one.name for one in columns if one.role == "source"] == [source]


def test_guess_of_plain_files_in_any_order() -> None:
    files = {
        "my.de.txt": b"Ein Hund.\nEine Katze.\n",
        "my.en.txt": b"A dog.\nA cat.\n",
        "my.align.txt": b"0-0\n1-1\n",
        "output-a.txt": b"Hund.\nKatze.\n",
        "hyp_b.txt": b"Ein.\nEine.\n",
        "hyp_b.comet.csv": b"COMET\n0.5\n0.7\n",
        "domains.txt": b"x\ny\n",
        "train.de": b"Ein Hund und ein Hund.\n" * 9,
    }
    expected = read_set(files)
    assert expected.outputs == {"output-a.txt": ("Hund.", "Katze."), "hyp_b.txt": ("Ein.", "Eine.")}
    assert expected.scores == {"hyp_b.txt": {"COMET": (0.5, 0.7)}}
    assert expected.dataset.metadata == {"domains.txt": ("x", "y")}
    assert expected.corpus == "train.de" and expected.dataset.examples[1].sure == {(1, 1)}
    for order in list(permutations(files))[::997]:
        found = read_set({name: files[name] for name in order})
        assert found.dataset.digest == expected.dataset.digest
        assert found.scores == expected.scores and found.corpus == expected.corpus


def test_scores_belong_to_system_in_file_name_or_next() -> None:
    files = {
        "s.en": b"A\n",
        **{f"{name}.hyp.txt": b"x\n" for name in ("a", "b", "ab")},
        "b.hyp.comet.txt": b"1\n",
        "scores.csv": b"TER\n2\n",
        "ab.hyp.bleurt.csv": b"BLEURT\n3\n",
    }
    assert read_set(files).scores == {
        "b.hyp.txt": {"comet": (1.0,)},
        "a.hyp.txt": {"TER": (2.0,)},
        "ab.hyp.txt": {"BLEURT": (3.0,)},
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("COMET\n0.5\ngood\n", 'Line 3 of "s.score.csv" has "good" as its COMET'),
        ("note\nfine\ngood\n", '"s.score.csv" has no column of numbers'),
        ("COMET\n0.5\n", '"s.score.csv" has 1 lines or rows, but "s.en" has 2'),
    ],
)
def test_non_numeric_scores_are_refused(content: str, said: str) -> None:
    files = {"s.en": b"A\nB\n", "h.txt": b"x\ny\n", "s.score.csv": content.encode()}
    with pytest.raises(InputError) as refused:
        read_set(files, {"h.txt": "output", "s.score.csv": "score"})
    assert said in str(refused.value)


def test_chosen_role_overrides_guess() -> None:
    files = {"x.csv": b"source,reference,translation,quality\nA,B,C,0.5\n"}
    found = read_set(files, {"translation": "reference", "quality": "ignore"})
    assert found.dataset.examples[0].references == ("B", "C") and not found.outputs
    named = read_set(files, {"translation": "output:my system", "quality": "score:my system"})
    assert named.scores == {"my system": {"quality": (0.5,)}}
    for chosen, said in {
        "score": 'Column "none" does not exist',
        "metadata:x": "names a system, but only an output or a score",
    }.items():
        with pytest.raises(InputError, match=said):
            read_set(files, {("none" if chosen == "score" else "quality"): chosen})


def test_single_role_cannot_have_two_columns() -> None:
    files = {"x.csv": b"source,other,mt\nA,B,C\n"}
    with pytest.raises(InputError, match='Two columns have the role "source"'):
        read_set(files, {"source": "source", "other": "source"})
    with pytest.raises(InputError, match='Two columns are outputs of the system "mt"'):
        read_set(files, {"other": "output:mt"})


def test_tables_with_equal_ids_are_aligned() -> None:
    files = {
        "set.csv": b"id,source\na,A\nb,B\n",
        "meta.csv": b"id,domain\nb,garden\na,street\n",
    }
    assert read_set(files).dataset.metadata["domain"] == ("street", "garden")
    files["meta.csv"] = b"id,domain\nb,garden\nc,street\n"
    with pytest.raises(InputError, match='"meta.csv" has no row with the id "a" of "set.csv"'):
        read_set(files)


@pytest.mark.parametrize(
    ("header", "usual", "found"),
    [
        ("text;reference", ",", ";"),
        ("text,reference", ",", ","),
        ('"text";"reference"', ",", ";"),
        ("text\treference", ",", "\t"),
        ("text", ",", ","),
        ("text", "\t", "\t"),
        ("a;b", ",", ";"),
    ],
)
def test_find_separator_reads_header(header: str, usual: str, found: str) -> None:
    assert find_separator(header, {"text", "reference"}, usual) == found


def test_sample_sets_name_their_kind_of_pictures() -> None:
    kinds = {name: make().kind for name, make in SAMPLE_SETS.items() if make().kind}
    assert kinds == {
        "Scenes to describe": "scenes",
        "Scenes with a sentence": "scenes",
        "Digits among clutter": "cluttered",
    }
