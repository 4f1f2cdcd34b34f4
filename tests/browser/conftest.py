"""Fixtures for tests in a real browser: `app` serves any Streamlit script, `page` opens it.

    def test_something(app, page):
        page.goto(app("app.py", AREAVIZ_DEMO="1"))

Without a system browser these tests are skipped, and the summary says so in one line. If CI or
AREAVIZ_BROWSER=1 is set, they fail instead. An error on the browser's console fails its test.

No test is repeated after a failure. Tests wait for a condition, such as `settled`, and never for a
fixed time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from tests.browser.server import ARGUMENTS, Server, browser_path

MISSING = (
    "no Chromium found: install one with `apt-get install chromium`, or put `chromium` on the PATH"
)
NOT_COMPARED = "did not compare screenshots"
LEFT_OUT = pytest.StashKey[int]()
HERE = Path(__file__).parent
PATIENCE = 60_000  # ms; pages are slow on a busy machine
ASKED = "data-test-asked"
MARK_QUESTIONS = f"""(() => {{
  const send = WebSocket.prototype.send, heard = new WeakSet();
  const forget = () => document.documentElement.removeAttribute('{ASKED}');
  let timer;
  WebSocket.prototype.send = function (data) {{
    document.documentElement.setAttribute('{ASKED}', '');
    if (!heard.has(this)) this.addEventListener('message', forget);
    heard.add(this);
    clearTimeout(timer);
    timer = setTimeout(forget, 5000);
    return send.call(this, data);
  }};
}})()"""
"""Marks the page from a message to the server until its answer begins, for at most 5 seconds.

The limit is for messages that have no answer.
"""

App = Callable[..., str]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and skip them if there is no browser and none is required."""
    mine = [item for item in items if HERE in item.path.parents]
    for item in mine:
        item.add_marker("browser")
    if mine and browser_path() is None and not _insisted():
        config.stash[LEFT_OUT] = len(mine)
        config.hook.pytest_deselected(items=mine)
        items[:] = [item for item in items if item not in mine]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Write one line about skipped tests, and one for every reason why a test did not compare."""
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{count} browser tests were left out, {MISSING}.")
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        said = str(report.longrepr[-1]) if isinstance(report.longrepr, tuple) else ""
        if NOT_COMPARED in said:
            reasons[said.removeprefix("Skipped: ")] += 1
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} tests {reason}.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the page's content at the time of the failure to the report of a failed test."""
    report = yield
    page = getattr(item, "funcargs", {}).get("page")
    if report.when == "call" and report.failed and isinstance(page, Page):
        try:
            said = page.locator("body").aria_snapshot(timeout=5000)
        except Error as error:
            said = f"The page could not be read: {error}"
        report.sections.append((f"The page {page.url}", said))
    return report


def _insisted() -> bool:
    return "CI" in os.environ or os.environ.get("AREAVIZ_BROWSER") == "1"


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Return a function that serves a script and returns its address.

    Call it as `app(script, *options, **environment)`. Each script is started once per session.
    """
    running: dict[tuple[object, ...], Server] = {}
    logs = tmp_path_factory.mktemp("servers")

    def serve(script: str, *options: str, **environment: str) -> str:
        key = (script, options, *sorted(environment.items()))
        if key not in running:
            server = Server(script, logs / f"{len(running)}.log", environment, options)
            running[key] = server
        return running[key].wait()

    yield serve
    for server in running.values():
        server.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the system's browser without a window."""
    path = browser_path()
    if path is None:
        pytest.fail(f"Browser tests are insisted on, but {MISSING}.", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


def _is_ours(message: ConsoleMessage) -> bool:
    """Return whether an error is ours.

    Streamlit causes other errors: a page that opens from a link searches for its server's address.
    """
    return message.type == "error" and "/_stcore/" not in message.location["url"]


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Open a new session of 1280 x 900 px with reduced motion; a console error fails the test."""
    yield from _page(chromium, _is_ours)


@pytest.fixture
def unknown_page(chromium: Browser) -> Iterator[Page]:
    """Open a page like `page` for a reader who has to sign in.

    The console reports the sign-in form's status 401, which is not counted as an error.
    """
    yield from _page(
        chromium, lambda message: _is_ours(message) and "status of 401" not in message.text
    )


@pytest.fixture
def strict_page(chromium: Browser) -> Iterator[Page]:
    """Open a page like `page` for hosts with a strict policy, whose console reports violations."""
    yield from _page(
        chromium,
        lambda message: _is_ours(message) and "Content Security Policy" not in message.text,
    )


def _page(chromium: Browser, is_error: Callable[[ConsoleMessage], bool]) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.add_init_script(MARK_QUESTIONS)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    fresh = context.new_page()
    errors: list[str] = []
    fresh.on("console", lambda message: errors.append(message.text) if is_error(message) else None)
    fresh.on("pageerror", lambda error: errors.append(str(error)))
    yield fresh
    context.close()
    assert not errors, f"The browser's console shows errors: {errors}"


def settled(page: Page) -> None:
    """Wait until the script has ended, because parts that were drawn earlier may be drawn again.

    The run that an interaction causes starts when the server answers its message. An interaction
    sends its message within a moment, and this moment is longer on a busy machine.
    """
    app, html = page.locator('[data-testid="stApp"]'), page.locator("html")
    state, idle = "data-test-script-state", "notRunning"
    has_rested = False
    while not has_rested:
        expect(html).not_to_have_attribute(ASKED, "")
        expect(app).to_have_attribute(state, idle)
        page.wait_for_timeout(300)
        is_asked = html.get_attribute(ASKED) is not None
        has_rested = not is_asked and app.get_attribute(state) == idle


def open_options(page: Page, path: str) -> Locator:
    """Open the menu with the options of a page, and return its content."""
    settled(page)
    page.locator(f".st-key-{path}_options button").first.click()
    menu = page.get_by_test_id("stPopoverBody")
    expect(menu).to_be_visible()
    return menu


def open_tab(page: Page, title: str, name: str) -> Locator:
    """Open a tab below a result, and return its content."""
    settled(page)
    page.locator(".st-key-tabs").get_by_role("button", name=title, exact=True).click()
    content = page.locator(f".st-key-tab_{name}")
    expect(content).to_be_visible()
    settled(page)
    return content
