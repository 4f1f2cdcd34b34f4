"""The static site: its files, its links, its limits and its refusals."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

from areaviz.cli.live import make_live_html
from areaviz.learn.questions import QUESTIONS
from areaviz.samples.paths import CHECKPOINTS
from areaviz.site.pages import PAGES, make_site
from areaviz.trace.errors import InputError

LIVE = "memory-stories"
page_of = partial(make_live_html, checkpoints=CHECKPOINTS)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "made"
    make_site(folder, CHECKPOINTS, page_of, (LIVE,))
    return folder


@pytest.mark.long
def test_pages_of_a_site_with_an_address_name_their_picture(tmp_path: Path, site: Path) -> None:
    make_site(tmp_path, CHECKPOINTS, page_of, (LIVE,), "https://example.org/areas/")
    text = (tmp_path / "index.html").read_text("utf-8")
    tags = dict(re.findall(r'<meta property="(og:\w+)" content="([^"]*)">', text))
    assert tags["og:image"] == "https://example.org/areas/share.png"
    assert tags["og:title"].endswith("areaviz")
    with Image.open(tmp_path / "share.png") as picture:
        assert picture.size == (1200, 630)
    # Pictures need an address, so a site without one has neither.
    assert "og:image" not in (site / "index.html").read_text("utf-8")
    assert not (site / "share.png").exists()


def html_files(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_site_has_every_page_of_the_registry_and_twelve_runs(site: Path) -> None:
    for page in PAGES:
        assert (site / f"{page.name}.html").is_file()
    assert len(list((site / "traces").iterdir())) == 12
    cards = {path.stem for path in (site / "cards").iterdir()}
    assert cards == {path.parent.name for path in CHECKPOINTS.glob("*/card.json")}
    assert [path.name for path in (site / "live").iterdir()] == [f"{LIVE}.html"]


def test_links_of_the_site_are_relative_and_lead_to_its_files(site: Path) -> None:
    for path in html_files(site):
        markup = re.sub(r"<(script|style|svg).*?</\1>", "", path.read_text("utf-8"), flags=re.S)
        for link in re.findall(r'<a [^>]*href="([^"]*)"', markup):
            target = unescape(link).partition("?")[0]
            assert (path.parent / target).resolve().is_file(), (path, link)


def test_pages_of_the_site_allow_no_connection(site: Path) -> None:
    for path in html_files(site):
        text = path.read_text("utf-8")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
        assert policy is not None
        assert "default-src" in policy[1] and "connect-src" not in policy[1], path


def test_readme_describes_a_static_space(site: Path) -> None:
    text = (site / "README.md").read_text("utf-8")
    assert text.startswith("---\n") and "\nsdk: static\n" in text
    assert "\napp_file: index.html\n" in text


def test_make_site_overwrites_only_an_older_site(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear reader")
    with pytest.raises(InputError, match="contains other files"):
        make_site(tmp_path, CHECKPOINTS, page_of, (LIVE,))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_make_site_refuses_models_that_are_unknown_or_do_not_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='no model "nobody"'):
        make_site(tmp_path / "a", CHECKPOINTS, page_of, ("nobody",))
    with pytest.raises(InputError, match="cannot run in a page"):
        make_site(tmp_path / "b", CHECKPOINTS, page_of, ("speech-hybrid",))


def test_teacher_plan_has_working_links_and_debate(site: Path) -> None:
    text = (site / "teach.html").read_text("utf-8")
    assert text.count('class="plan-row"') == 6
    assert 'href="lessons/1.html"' in text and 'href="index.html"' in text
    assert 'href="./' not in text
    assert "Is looking a reason?" in text


def test_every_question_of_the_registry_has_a_page_in_a_chain(site: Path) -> None:
    pages = {int(path.stem): path.read_text("utf-8") for path in (site / "lessons").iterdir()}
    assert pages.keys() == set(QUESTIONS)
    last = max(pages)
    assert '"next":"2.html"' in pages[1] and '"back":""' in pages[1]
    assert '"next":""' in pages[last] and f'"back":"{last - 1}.html"' in pages[last]


def test_tour_shows_five_stored_runs(site: Path) -> None:
    assert len(list((site / "tour").iterdir())) == 5
    text = (site / "tour.html").read_text("utf-8")
    assert text.count("tour/") == 5 and "**" not in text


def test_translated_pages_lead_to_each_other(site: Path) -> None:
    english = {path.relative_to(site).as_posix() for path in html_files(site)}
    german = {path.removeprefix("de/") for path in english if path.startswith("de/")}
    assert {"index.html", "teach.html", "tour/1.html", "lessons/13.html"} <= german <= english
    for path in german:
        there, here = (site / path).read_text("utf-8"), (site / "de" / path).read_text("utf-8")
        assert '<html lang="en">' in there and '<html lang="de">' in here
        up = "../" * path.count("/")
        assert f'href="{up}de/{path}?lang=de"' in there
        assert f'href="{up}../{path}?lang=en"' in here
    assert 'hreflang="de"' not in (site / "gallery.html").read_text("utf-8")
