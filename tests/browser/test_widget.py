"""The widget's script in a real browser, with a fake model of a notebook."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import areaviz
from areaviz.page.content import format_focus
from areaviz.page.widget import AttentionWidget
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes

FOCUS = Focus("encoder-decoder", 1, items=(4,))
NOTEBOOK = """<!doctype html><meta charset="utf-8"><title>Notebook</title>
<style>section { display: none } .panel { color: red }</style>
<div id="grid"></div><div id="cell"></div>
<script>
const array = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const bytes = (text) => new DataView(array(text).buffer);
class Model {
  constructor(state) { Object.assign(this, { state, listeners: {} }); }
  get(name) { return this.state[name]; }
  set(name, value) { this.state[name] = value; }
  save_changes() { fromBrowser(JSON.stringify({ state: { focus: this.state.focus } })); }
  send(content) { fromBrowser(JSON.stringify({ content })); }
  on(name, listener) { (this.listeners[name] ??= []).push(listener); }
  off(name, gone) { this.listeners[name] = this.listeners[name].filter((one) => one !== gone); }
  tell(name, ...given) { for (const listener of this.listeners[name] ?? []) listener(...given); }
}
async function start(state, script) {
  for (const one of state._carried) one.data = bytes(one.data);
  globalThis.model = new Model(state);
  const module = await import(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  globalThis.close = await module.default.render({ model, el: document.getElementById('cell') });
}
</script>"""

Show = Callable[[Trace, Focus], AttentionWidget]


@pytest.fixture
def show(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Show a widget in a page, and exchange messages between the two."""
    file = tmp_path / "notebook.html"
    file.write_text(NOTEBOOK, "utf-8")
    messages: list[str] = []
    made: list[AttentionWidget] = []

    def to_browser(content: Any, buffers: list[bytes]) -> None:
        data = [base64.b64encode(one).decode() for one in buffers]
        messages.append(json.dumps([content, data]))

    def from_browser(text: str) -> list[str]:
        told = json.loads(text)
        if "state" in told:
            made[0].set_state(told["state"])
        else:
            made[0]._handle_custom_msg(told["content"], [])
        answers, messages[:] = list(messages), []
        return answers

    def start(trace: Trace, focus: Focus) -> AttentionWidget:
        widget = areaviz.show(trace, focus, widget=True)
        assert isinstance(widget, AttentionWidget)
        made.append(widget)
        monkeypatch.setattr(widget, "send", to_browser)
        state = widget.get_state()
        for one in state["_carried"]:
            one["data"] = base64.b64encode(one["data"]).decode()
        names = ("focus", "_style", "_body", "_told", "_carried", "_height")
        page.expose_function("toPython", from_browser)
        page.goto(file.as_uri())
        page.evaluate("""() => { globalThis.fromBrowser = async (text) => {
          for (const answer of await toPython(text)) {
            const [content, data] = JSON.parse(answer);
            model.tell('msg:custom', content, data.map(bytes));
          }
        }; }""")
        page.evaluate(
            "([state, script]) => start(state, script)",
            [{name: state[name] for name in names}, state["_esm"]],
        )
        return widget

    return start


def shown(page: Page, kind: str = "ribbon") -> Locator:
    found = page.locator(f".{kind}[data-ready]")
    expect(found).to_have_count(1)
    return found


def choose(page: Page, text: str, panel: str = "ribbon") -> None:
    page.locator(f"#cell #{panel} .choices").get_by_text(text, exact=True).click()


@pytest.mark.long
def test_layer_is_sent_over_the_channel(page: Page, show: Show) -> None:
    widget = show(fakes.trace(layers=3), FOCUS)
    expect(shown(page).locator(".caption")).to_contain_text("layer 2 of 3")
    choose(page, "1")
    expect(page.locator('[data-shown="encoder-decoder, layer 1"]')).to_have_count(1)
    expect(page.locator(".ribbon .caption")).to_contain_text("layer 1 of 3")
    assert widget.focus is not None and widget.focus.layer == 0 and widget.focus.items == (4,)


def test_locked_items_become_the_focus(page: Page, show: Show) -> None:
    widget = show(fakes.trace(), FOCUS)
    ribbon = shown(page)
    ribbon.locator("#query-8").click()
    ribbon.get_by_role("button", name="Head 2").click()
    page.wait_for_function("() => model.get('focus').selection.head === 1")
    assert widget.focus == Focus("encoder-decoder", 1, head=1, items=(8,))


@pytest.mark.long
def test_focus_set_in_python_is_shown(page: Page, show: Show) -> None:
    widget = show(fakes.trace(), FOCUS)
    shown(page)
    widget.focus = Focus("encoder self", 0, items=(3,))
    told = format_focus(widget.focus)
    page.evaluate("focus => { model.set('focus', focus); model.tell('change:focus'); }", told)
    expect(page.locator('[data-shown="encoder self, layer 1"]')).to_have_count(1)
    expect(page.locator(".ribbon #query-3")).to_have_attribute("aria-selected", "true")
    assert widget.focus == Focus("encoder self", 0, items=(3,))


@pytest.mark.long
def test_picture_reacts_to_hover(page: Page, show: Show) -> None:
    widget = show(fakes.caption_trace(), Focus("encoder-decoder", 1, items=(2,)))
    grid = shown(page, "grid")
    grid.locator("[data-kind=text] #query-1").click()
    page.wait_for_function("() => model.get('focus').selection.items[0] === 1")
    assert widget.focus is not None and widget.focus.items == (1,)
    expect(grid.locator(".say")).to_contain_text("most to row")


@pytest.mark.long
def test_notebook_without_kernel_names_cell_to_run(page: Page, show: Show) -> None:
    show(fakes.trace(layers=3), FOCUS)
    shown(page)
    page.clock.install()
    page.evaluate("() => { globalThis.fromBrowser = () => {}; }")
    choose(page, "1")
    page.clock.fast_forward(30_000)
    said = 'areaviz.show(trace, areaviz.Focus("encoder-decoder", layer=0))'
    expect(page.get_by_role("status").first).to_contain_text(said)


@pytest.mark.long
def test_closed_view_receives_nothing(page: Page, show: Show) -> None:
    show(fakes.trace(), FOCUS)
    shown(page)
    page.evaluate("() => globalThis.close()")
    assert page.evaluate("() => Object.values(model.listeners).flat().length") == 0
