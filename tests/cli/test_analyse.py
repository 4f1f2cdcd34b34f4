"""`analyse` reads every kind of set, resumes a run, and writes a table that is safe to open."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

from areaviz.backend import local
from areaviz.cards.card import Card, write_card
from areaviz.cli import main
from areaviz.sets import jobs
from areaviz.sets.analyse import Given, read_given
from areaviz.sets.notes.notes import ErrorSpan, Judgement, Judgements
from areaviz.sets.retention import NOTES_SETTING, get_notes_address
from areaviz.sets.run import SETTING
from areaviz.sets.themes import causes
from areaviz.sets.themes.causes import Cause, Runner
from areaviz.sets.themes.conditions import Material
from areaviz.sets.themes.themes import Theme, Themes
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.analysis.themes.made import lose_colours_of_women, made_material
from tests.notes.test_store import fill, may_mount, small_disk
from tests.pages import folder
from tests.rated_files import WMT_2025, lines_of


class Backend:
    """A stand-in for the local backend that counts its requests."""

    asked = 0

    def __init__(self, checkpoints: Path, device: str, folders: Sequence[str] = ()) -> None:
        self.place = checkpoints, device

    def models(self) -> dict[str, Card]:
        return {name: folder.card(name, "area") for name in ("char-area", "char-regular")}

    def trace_together(self, requests: Sequence[Request]) -> list[Trace]:
        Backend.asked += len(requests)
        return [folder.trace(request) for request in requests]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    monkeypatch.setattr(local, "LocalBackend", Backend)
    monkeypatch.chdir(tmp_path)
    for name in ("char-area", "char-regular"):
        (tmp_path / "models" / name).mkdir(parents=True)
        write_card(folder.card(name, "area"), tmp_path / "models" / name / "card.json")
    monkeypatch.setattr(Backend, "asked", 0)
    (tmp_path / "a.en").write_text("A dog.\n=A cat.\n")
    (tmp_path / "a.de").write_text("Ein Hund.\nEine Katze.\n")
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(["analyse", *arguments, "--checkpoints", "models"])
    return int(done.value.code or 0)


def test_analyse_prints_and_writes_two_models(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        str(place / "a.en"),
        "--reference",
        str(place / "a.de"),
        "--model",
        "char-area",
        "--model",
        "char-regular",
    ]
    assert run(*asked, "--table", str(place / "t.csv")) == 0
    said = capsys.readouterr().out
    assert (
        "char-area: 2 examples in" in said
        and "char-regular: 2 examples in" in said
        and "corpus_chrf" in said
    )
    rows = list(csv.DictReader((place / "t.csv").open(encoding="utf-8-sig")))
    assert [row["text"] for row in rows] == ["A dog.", "'=A cat."] and "chrf_change" in rows[0]
    assert [row["number"] for row in rows] == ["1", "2"] and rows[0]["reference"] == "Ein Hund."
    assert Backend.asked == 4


def test_analyse_runs_only_missing_rows(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("Sentences", "--model", "char-area") == 0 and Backend.asked == 24
    assert run("Sentences", "--model", "char-area") == 0 and Backend.asked == 24
    assert run("Sentences", "--model", "char-area", "--beam", "3") == 0 and Backend.asked == 48, (
        "other options, other rows"
    )


def test_analyse_reads_table_and_picture_folder(place: Path) -> None:
    (place / "t.csv").write_text("text,reference\nA dog.,Ein Hund.\n")
    assert run(str(place / "t.csv"), "--model", "char-area") == 0 and Backend.asked == 1
    pictures = place / "pictures"
    pictures.mkdir()
    for name in "ab":
        Image.new("RGB", (8, 8)).save(pictures / f"{name}.png")
    assert read_given(Given(str(pictures))).dataset.files.keys() == {"a.png", "b.png"}
    (pictures / "t.csv").write_text(
        "picture,caption,boxes\na.png,A dog,dog 0 0 .5 1; dog .5 0 1 1\n"
    )
    (only,) = read_given(Given(str(pictures))).dataset.examples
    assert only.boxes == (("dog", (0, 0, 0.5, 1)), ("dog", (0.5, 0, 1, 1)))


def test_outputs_of_any_system_need_no_model(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "one.txt").write_text("Ein Hund.\nEin Katze.\n")
    (place / "two.txt").write_text("Ein Hund.\nEine Katze.\n")
    asked = [str(place / "a.en"), "--reference", str(place / "a.de"), "--by", "words"]
    asked += ["--outputs", str(place / "one.txt"), "--outputs", str(place / "two.txt")]
    assert run(*asked, "--table", str(place / "t.csv")) == 0 and Backend.asked == 0
    said = capsys.readouterr().out
    assert "one.txt:\n  examples: 2" in said and "corpus_chrf: 100" in said
    assert "bleu: 1 better, 1 as good, 0 worse" in said and "(approximate randomisation)" in said
    assert "Words that the second gets right more often: eine (0 to 1)" in said
    assert "F-measure of words" in said and "  1 (4 words): 0.75, 1\n" in said
    rows = list(csv.DictReader((place / "t.csv").open(encoding="utf-8-sig")))
    assert [row["output_1"] for row in rows] == ["Ein Hund.", "Eine Katze."]
    assert "confidence_0" not in rows[0] and "chrf_change" in rows[0]


def test_report_joins_scores_errors_and_corpus(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "one.txt").write_text("Ein Hund.\nEin Katze.\n")
    (place / "two.txt").write_text("Ein Hund.\nEine Katze.\n")
    (place / "one.comet.csv").write_text("COMET\n0.9\n0.4\n")
    (place / "two.comet.csv").write_text("COMET\n0.8\n0.95\n")
    (place / "train.de").write_text("Ein Hund und ein Hund.\n")
    marked = "one\td\t2\t2\tAda\t=A cat.\t<v>Ein</v> Katze.\tFluency/Grammar\tMinor\t{}\n"
    (place / "mqm.tsv").write_text(marked)
    asked = [str(place / "a.en"), "--reference", str(place / "a.de")]
    for option, names in {
        "outputs": ("one.txt", "two.txt"),
        "scores": ("one.comet.csv", "two.comet.csv"),
    }.items():
        for name in names:
            asked += [f"--{option}", str(place / name)]
    bare = [*asked, "--by", "words", "--corpus", str(place / "train.de")]
    assert run(*bare) == 0 and "their frequency in the corpus:\n  0 (2" in capsys.readouterr().out
    asked += ["--errors", str(place / "mqm.tsv"), "--by", "COMET"]
    assert run(*asked, "--report", str(place / "r.html")) == 0
    said = capsys.readouterr().out
    assert "COMET, mean: 0.65, 0.875" in said and "MQM, mean: 1, –" in said
    assert "COMET: 1 better, 0 as good, 1 worse" in said and "chrF by COMET:" in said
    html = (place / "r.html").read_text()
    assert "<mark" in html and "Fluency/Grammar" in html and "Which is better" in html


def test_three_systems_are_compared_with_the_baseline(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [str(place / "a.en"), "--reference", str(place / "a.de")]
    for name, text in {"one": "Ein\nKatze", "two": "Ein Hund.\nx", "three": "y\nz"}.items():
        (place / f"{name}.txt").write_text(f"{text}\n")
        asked += ["--outputs", str(place / f"{name}.txt")]
    assert run(*asked) == 0
    said = capsys.readouterr().out
    assert "two.txt vs one.txt:" in said and "three.txt vs one.txt:" in said
    assert run(*asked, "--baseline", "three.txt", "--report", str(place / "r.html")) == 0
    said = capsys.readouterr().out
    assert "one.txt vs three.txt:" in said and "three.txt vs" not in said
    html = (place / "r.html").read_text()
    assert "(2) two.txt compared with (3) three.txt" in html
    assert run(*asked, "--baseline", "four") == 1
    assert '"baseline" is "four"' in capsys.readouterr().err


def test_analyse_includes_errors_marked_in_the_app(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "one.txt").write_text("Ein Hund.\nEin Katze.\n")
    asked = [str(place / "a.en"), "--outputs", str(place / "one.txt")]
    assert run(*asked) == 0 and "MQM" not in capsys.readouterr().out
    assert not (place / "rows" / "notes.sqlite").exists(), "a store is not made to look into it"
    digest = read_given(Given(asked[0])).dataset.digest
    span = ErrorSpan("output", 0, 3, None, "Fluency/Grammar", "major")
    judgement = Judgement(digest, 1, "one.txt", "Ada", "=A cat.", "Ein Katze.", (span,))
    Judgements.open(get_notes_address()).save(judgement)
    assert run(*asked) == 0 and "MQM, mean: 5" in capsys.readouterr().out


def test_ratings_in_the_files_of_a_set_are_used(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "humeval.jsonl").write_bytes(lines_of(WMT_2025))
    asked = [str(place / "humeval.jsonl")]
    assert run(*asked, "--report", str(place / "r.html")) == 0
    said = capsys.readouterr()
    assert "MQM, mean: 0.5, 15" in said.out and "Judged, mean: 80, 47.75" in said.out
    assert '"humeval.jsonl" also contains ratings and marked errors.' in said.err
    assert ">Hund</mark>" in (place / "r.html").read_text()
    marked = "alpha\td\t1\t1\tAda\tThe dog runs.\tDer <v>Hund</v> rennt.\tStyle\tMajor\t{}\n"
    (place / "mqm.tsv").write_text(marked)
    assert run(*asked, "--errors", str(place / "mqm.tsv")) == 0
    said = capsys.readouterr()
    assert "MQM, mean: 5, –" in said.out
    assert 'The errors in "humeval.jsonl" are not used, because --errors names' in said.err


def test_model_joins_outputs_of_other_systems(place: Path) -> None:
    (place / "one.txt").write_text("Ein Hund.\nEin Katze.\n")
    asked = [str(place / "a.en"), "--outputs", str(place / "one.txt"), "--model", "char-area"]
    assert run(*asked) == 0 and Backend.asked == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{}/a.en"], "There is nothing to analyse. Give a --model or a file of --outputs"),
        (
            ["{}/a.en", "--outputs", "{}/short.txt"],
            '"short.txt" has 1 lines or rows, but "a.en" has 2. Give each file one line or row',
        ),
        (["{}/a.en", "--outputs", "{}/none.txt"], "none.txt"),
        (["{}/a.json", "--model", "char-area"], '"a.json" has no header'),
        (
            ["nowhere.en", "--model", "char-area"],
            "is not a file, folder or sample set. The sample sets are: Sentences",
        ),
        (
            ["Sentences", "--model", "none"],
            'Model "none" does not exist. Choose one of: char-area, char-regular',
        ),
        (
            ["{}/a.en", "--reference", "{}/a.en", "--model", "char-area"],
            'Two of the files are called "a.en"',
        ),
        (["{}", "--model", "char-area"], "has several tables (a.json, mqm.tsv, t.csv, u.tsv)"),
        (["{}/u.tsv", "--model", "char-area"], "A box is a word and four shares"),
        (["{}/mqm.tsv", "--model", "char-area"], '"mqm.tsv" contains errors that raters marked'),
        (
            ["{}/a.en", "--outputs", "{}/a.de", "--errors", "{}/u.tsv"],
            'Line 1 of "u.tsv" has 2 columns, but a TSV of Marot has',
        ),
        (
            ["{}/a.en", "--outputs", "{}/a.de", "--errors", "{}/a.json"],
            '"a.json" is not a file of marked errors',
        ),
        (
            ["{}/a.en", "--outputs", "{}/a.de", "--scores", "{}/a.de"],
            'Two of the files are called "a.de"',
        ),
        (
            ["{}/a.en", "--outputs", "{}/a.de", "--by", "COMET"],
            '"by" is "COMET" but must be one of: length, score, rarest, words',
        ),
        (
            ["{}/a.en", "--outputs", "{}/a.de", "--scores", "{}/t.csv"],
            '"t.csv" has no column of numbers',
        ),
        (
            ["{}/a.en", "--model", "char-area", "--report", "{}/none/r.html"],
            'none" for "r.html" does not exist. Create it.',
        ),
        (["{}/a.en", "--model", "char-area", "--table", "{}"], "is a folder. Give a file in it."),
        (
            ["{}/a.en", "--model", "char-area", "--column", "domain"],
            '--column is "domain". Write NAME=ROLE',
        ),
        (
            ["{}/a.en", "--model", "char-area", "--column", "domain=metadata"],
            'Column "domain" does not exist. The columns are: a.en.',
        ),
        (
            ["{}/a.en", "--model", "char-area", "--column", "a.en=text"],
            '"column role" is "text" but must be one of: source, reference',
        ),
        (
            ["{}/a.en", "--model", "char-area", "--where", "domain=x"],
            'the metadata column "domain" does not exist',
        ),
    ],
)
def test_analyse_reports_unusable_input_in_one_sentence(
    place: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "short.txt").write_text("Ein Hund.\n")
    (place / "a.json").write_text("{}")
    (place / "t.csv").write_text("text\nA dog.\n")
    head = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"
    (place / "mqm.tsv").write_text(f"{head}\na\td\t1\t1\tr\tx\ty\tStyle\tMinor\t{{}}\n")
    (place / "u.tsv").write_text("text\tboxes\nA dog.\tdog 0 0 2 1\n")
    assert run(*(one.format(place) for one in arguments)) == 1
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error
    assert Backend.asked == 0, "nothing runs before all arguments are checked"


def test_analyse_checks_the_notes_address_before_models_run(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(NOTES_SETTING, "nonsense://nowhere")
    assert run(str(place / "a.en"), "--model", "char-area") == 1
    assert Backend.asked == 0 and "Traceback" not in capsys.readouterr().err


def test_analyse_reads_outputs_scores_and_metadata_of_a_table(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "t.csv").write_text(
        "id,domain,year,source,reference,output_alpha,output_beta,comet_alpha,comet_beta\n"
        "1,street,2019,A dog runs.,Ein Hund rennt.,Ein Hund rennt.,Hund.,0.9,0.1\n"
        "2,garden,2020,A cat sits.,Eine Katze sitzt.,Katze.,Eine Katze sitzt.,0.2,0.8\n"
        "3,street,2021,A cow eats.,Eine Kuh frisst.,Eine Kuh frisst.,Kuh.,0.7,0.3\n"
    )
    asked = [str(place / "t.csv"), "--by", "domain", "--table", str(place / "r.csv")]
    assert run(*asked, "--report", str(place / "r.html")) == 0
    said = capsys.readouterr().out
    assert "alpha:\n  examples: 3" in said and "comet, mean: 0.6, 0.4" in said
    assert (
        "chrF by domain:\n  garden (1 examples): " in said and "  street (2 examples): 100" in said
    )
    rows = list(csv.DictReader((place / "r.csv").open(encoding="utf-8-sig")))
    assert [row["domain"] for row in rows] == ["street", "garden", "street"]
    assert [row["year"] for row in rows] == ["2019.0", "2020.0", "2021.0"]
    html = (place / "r.html").read_text()
    assert ">domain<" in html and ">garden<" in html
    assert run(asked[0], "--where", "domain=street") == 0
    assert "alpha:\n  examples: 2" in capsys.readouterr().out
    assert run(asked[0], "--column", "output_beta=ignore", "--column", "comet_beta=ignore") == 0
    told = capsys.readouterr()
    assert "beta:" not in told.out
    assert 'Columns that are not used: "output_beta", "comet_beta".' in told.err


def test_analyse_reads_the_table_that_it_wrote(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "t.csv").write_text(
        "text,reference,output_a,output_b,domain\nA dog,Ein Hund,Hund,Ein Hund,x\n"
        "A cat,Eine Katze,Eine Katze,Katze,y\n"
    )
    assert run(str(place / "t.csv"), "--table", str(place / "r.csv")) == 0
    capsys.readouterr()
    assert run(str(place / "r.csv"), "--table", str(place / "again.csv"), "--by", "domain") == 0
    assert "0:\n  examples: 2" in capsys.readouterr().out
    first, again = (
        list(csv.DictReader((place / name).open(encoding="utf-8-sig")))
        for name in ("r.csv", "again.csv")
    )
    for one, other in zip(first, again, strict=True):
        assert one.items() <= {**other, "name": one["name"]}.items()


def test_one_judged_system_is_not_compared(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "one.txt").write_text("Ein Hund.\nEin Katze.\n")
    marked = "one\td\t2\t2\tAda\t=A cat.\t<v>Ein</v> Katze.\tFluency\tMinor\t{}\n"
    (place / "mqm.tsv").write_text(marked)
    asked = [str(place / "a.en"), "--outputs", str(place / "one.txt"), "--outputs"]
    assert run(*asked, str(place / "a.de"), "--errors", str(place / "mqm.tsv")) == 0
    said = capsys.readouterr().out
    assert "MQM, mean: 1, –" in said and "nan" not in said and "  mqm:" not in said


def test_changed_pictures_are_run_again(place: Path) -> None:
    for shade in ("red", "blue"):
        Image.new("RGB", (4, 4), shade).save(place / "0.png")
        (place / "x.csv").write_text("text,picture\nA dog.,0.png\n")
        assert run(str(place / "x.csv"), "--model", "char-area") == 0
    assert Backend.asked == 2 and len(list((place / "rows").glob("*.jsonl"))) == 2


def test_themes_are_printed_and_in_the_report(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    material = made_material(160, damage=lose_colours_of_women)
    texts = {
        "m.en": material.sources,
        "m.de": [text for (text,) in material.references],
        "out.txt": material.written[0].outputs,
    }
    for name, some in texts.items():
        (place / name).write_text("\n".join(some) + "\n")
    asked = [str(place / "m.en"), "--reference", str(place / "m.de")]
    asked += ["--outputs", str(place / "out.txt"), "--themes", "--report", str(place / "r.html")]
    assert run(*asked) == 0
    said = capsys.readouterr().out
    statement = "Where the source has “woman”, 0 % of the references' colours are found"
    assert statement in said and "Too rare to test" in said
    html = unescape((place / "r.html").read_text())
    assert ">Themes</h2>" in html and statement in html
    assert run(*asked, "--causes") == 1 and "Give a --model" in capsys.readouterr().err
    assert run(str(place / "a.en"), "--outputs", str(place / "a.de"), "--themes") == 1
    refused = capsys.readouterr()
    assert "at least 80 examples" in refused.err and not refused.out


def test_causes_of_themes_are_printed_and_in_the_report(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    material = made_material(160, damage=lose_colours_of_women)
    texts = dict(zip(material.sources, material.written[0].outputs, strict=True))

    class Losing(Backend):
        def trace(self, request: Request) -> Trace:
            made = fakes.trace(request.text, texts[request.text] or "x")
            return replace(made, request=request)

        def trace_together(self, requests: Sequence[Request]) -> list[Trace]:
            return [self.trace(request) for request in requests]

    asked = []

    def found(theme: Theme, themes: Themes, material: Material, runner: Runner) -> Cause:
        asked.append(runner.trace(0).request.model)
        if len(asked) > 1:
            raise InputError("No attention here.")
        return Cause(None, (), "Head 3 differs.")

    monkeypatch.setattr(local, "LocalBackend", Losing)
    monkeypatch.setattr(jobs, "choose_process_count", lambda _: 1)
    monkeypatch.setattr(causes, "find_cause", found)
    (place / "m.en").write_text("\n".join(material.sources) + "\n")
    references = [text for (text,) in material.references]
    (place / "m.de").write_text("\n".join(references) + "\n")
    command = [str(place / "m.en"), "--reference", str(place / "m.de"), "--model", "char-area"]
    assert run(*command, "--causes", "--report", str(place / "r.html")) == 0
    said = capsys.readouterr()
    assert "Searching the attention for causes: Where the source has “woman”" in said.err
    assert set(asked) == {"char-area"} and len(asked) <= causes.MAX_THEMES
    html = unescape((place / "r.html").read_text())
    for sentence in ("Head 3 differs.", "No attention here.")[: len(asked)]:
        assert f"       {sentence}\n" in said.out and f"<li>{sentence}</li>" in html


@pytest.mark.skipif(
    "CI" not in os.environ and not may_mount(),
    reason="needs the right to mount a small file system",
)
@pytest.mark.parametrize("option", ["--table", "--report"])
def test_full_disk_leaves_the_old_file_of_an_analysis(
    place: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    with small_disk() as disk:
        written = disk / "old"
        written.write_bytes(b"from last week")
        fill(disk / "rest")
        asked = [str(place / "a.en"), "--reference", str(place / "a.de"), "--model", "char-area"]
        assert run(*asked, option, str(written)) == 1
        assert written.read_bytes() == b"from last week"
        assert {path.name for path in disk.iterdir()} == {"old", "rest"}
    said = capsys.readouterr().err
    assert "could not be written (No space left on device)" in said and "Traceback" not in said
