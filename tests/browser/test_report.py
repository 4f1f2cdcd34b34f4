"""The report of two output files in a real browser: it is complete, and requests nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from areaviz.cli import main

WRITTEN = {
    "my.en": "A dog runs.\nA cat sleeps.\nIt rains.\n",
    "my.de": "Ein Hund rennt.\nEine Katze schläft heute.\nEs regnet.\n",
    "one.txt": "Ein Hund.\nEine Katze schläft heute.\n<b>x</b>\n",
    "two.txt": "Ein Hund rennt.\nEine Kuh.\ny\n",
    "one.comet.txt": "0.4\n0.9\n0.1\n",
    "two.comet.txt": "0.9\n0.5\n0.2\n",
    "mqm.tsv": "one\td\t1\t1\tAda\tA dog runs.\tEin <v>Hund</v>.\tAccuracy\tMajor\t{}\n"
    "one\td\t1\t1\tBo\tA dog runs.\tEin Hund.\tNo-error\tNo-error\t{}\n",
}


@pytest.fixture
def report(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """Write the report with the command line and open it.

    Requests for other files fail the test.
    """
    monkeypatch.setenv("AREAVIZ_ANALYSES", str(tmp_path / "rows"))
    for name, content in WRITTEN.items():
        (tmp_path / name).write_text(content, "utf-8")
    file, asked = tmp_path / "report.html", []
    options = {"reference": ["my.de"], "errors": ["mqm.tsv"], "outputs": ["one.txt", "two.txt"]}
    options["scores"] = ["one.comet.txt", "two.comet.txt"]
    arguments = ["analyse", str(tmp_path / "my.en"), "--report", str(file)]
    for option, names in options.items():
        for name in names:
            arguments += [f"--{option}", str(tmp_path / name)]
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert not done.value.code

    def only_the_file(route: Route) -> None:
        if route.request.url != file.as_uri():
            asked.append(route.request.url)
        route.continue_()

    page.route("**/*", only_the_file)
    page.goto(file.as_uri())
    yield page
    assert asked == [], "The report requested other files."


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 800, 400])
def test_report_fits_any_width(report: Page, width: int) -> None:
    report.set_viewport_size({"width": width, "height": 900})
    expect(report.get_by_role("heading", name="Analysis of my.en")).to_be_visible()
    assert report.evaluate("document.documentElement.scrollWidth") <= width
    for picture in report.locator("img.figure").all():
        assert picture.evaluate("one => one.naturalWidth") > 0


def test_errors_are_marked_and_both_fail_opens(report: Page) -> None:
    mark = report.locator("mark.major").first
    expect(mark).to_have_text("Hund")
    assert mark.evaluate("one => getComputedStyle(one).borderBottomStyle") == "double"
    details = report.locator("details", has_text="words of the reference: 1 of")
    details.locator("summary").click()
    expect(details.get_by_text("<b>x</b>", exact=True)).to_be_visible()
    report.get_by_role("link", name="Which is better").click()
    expect(report.get_by_role("heading", name="Which is better")).to_be_in_viewport()


@pytest.mark.long
def test_report_is_accessible(report: Page) -> None:
    found = Axe().run(report).response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []
