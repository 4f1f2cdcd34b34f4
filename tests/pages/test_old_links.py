"""Links of earlier versions open the same views, with the shipped models.

The links are those of docs/, and one for each parameter that `areaviz/trace/request.py` of commit
16775fe wrote. They are literal, because a test that generated them with the current code would
pass even if pages misread older links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.trace.request import from_params, to_params
from tests.pages.conftest import APP, bring_cookies, drawn_texts, errors, shown
from tests.sampled import sampled

TEXT = "A small dog runs across the wet grass."
TRANSLATE = "translate?model=token-boundary&text=A+small+dog+runs+across+the+wet+grass."
FINDINGS = APP.parent / "docs" / "findings.md"
HEADER_BYTES = 4
"""Bytes of the length of the header, with which a message to a component begins."""


@dataclass(frozen=True)
class Expected:
    """The state that a link must open.

    Args:
        tabs: the open tabs below the result.
        controls: values of controls, by their labels.
        selection: values of the ribbon's selection, which its menu More shows.
        state: values of the page's state.
        picture: the name of the chosen sample picture.
        says: a text on the page.
        drawn: a text that a ribbon draws.
    """

    tabs: tuple[str, ...] = ()
    controls: Mapping[str, object] = field(default_factory=dict)
    selection: Mapping[str, object] = field(default_factory=dict)
    state: Mapping[str, object] = field(default_factory=dict)
    picture: str = ""
    says: str = ""
    drawn: str = ""


LINKS: Mapping[str, tuple[str, Expected]] = {
    "model": (
        "translate?model=token-regular&text=A+small+dog+runs+across+the+wet+grass.",
        Expected(controls={"Model": "token-regular"}),
    ),
    "text": (TRANSLATE, Expected(controls={"English text": TEXT}, drawn=TEXT)),
    "method": (f"{TRANSLATE}&method=beam", Expected(controls={"Decoding": "beam"})),
    "beam": (f"{TRANSLATE}&method=beam&beam=2", Expected(controls={"Beam width": 2})),
    "area": (f"{TRANSLATE}&area=2", Expected(controls={"Largest area": 2})),
    "seed": (
        "four_ways?model=ram-cluttered&seed=3&picture=digit-3&sample=1",
        Expected(state={"seed": 3}),
    ),
    "sample": (
        "four_ways?model=ram-cluttered&picture=digit-3&sample=1",
        Expected(controls={"Let the hard models choose at random": True}),
    ),
    "picture": (
        "caption?model=scene-captions-boundary&picture=scene-20",
        Expected(picture="scene-20"),
    ),
    "sound": (
        "listen?model=speech-hybrid&sound=digits-long",
        Expected(state={"sample": "digits-long"}),
    ),
    "clip": (
        "watch?model=video-both&clip=five-turns-down",
        Expected(state={"sample": "five-turns-down"}),
    ),
    "target": (
        "read?model=language-model-boundary"
        "&text=A+man+in+a+yellow+jacket+repairs+the+roof+of+a+barn.&target=",
        Expected(
            controls={"Mode": False}, drawn="A man in a yellow jacket repairs the roof of a barn."
        ),
    ),
    "changes": (
        f"{TRANSLATE}&changes=hide%3Asource%3Aitems%3D3",
        Expected(tabs=("what_if",), says="Remove"),
    ),
    "attribution": (
        f"{TRANSLATE}&attribution=1",
        Expected(tabs=("attribution",), controls={"Compare with attribution": True}),
    ),
    "site": (
        f"{TRANSLATE}&site=encoder+self&items=5",
        Expected(controls={"Attention type": "encoder self"}, selection={"items": [4]}),
    ),
    "layer": (
        f"{TRANSLATE}&site=encoder-decoder&layer=2&items=5",
        Expected(controls={"Layer": 1}, selection={"items": [4]}),
    ),
    "head": (
        f"{TRANSLATE}&site=encoder-decoder&head=3&items=5",
        Expected(selection={"head": 2, "items": [4]}),
    ),
    "side": (
        f"{TRANSLATE}&site=encoder-decoder&side=memory&items=5",
        Expected(selection={"side": "memory", "items": [4]}),
    ),
    "items": (
        f"{TRANSLATE}&site=encoder-decoder&items=5-6%2C8",
        Expected(selection={"side": "query", "items": [4, 5, 7]}),
    ),
    "unit": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&unit=word",
        Expected(selection={"unit": "word"}),
    ),
    "areas": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&areas=several",
        Expected(selection={"areas": "several"}),
    ),
    "read": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&read=coverage",
        Expected(selection={"reading": "coverage"}),
    ),
    "mass": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&read=densest&mass=70",
        Expected(selection={"reading": "densest", "mass": 70}),
    ),
    "against": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&against=average",
        Expected(selection={"against": "average"}),
    ),
    # Parameters that pages add to those of `areaviz/trace/request.py`.
    "view": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&view=pyramid",
        Expected(tabs=("view",), controls={"View": "pyramid"}),
    ),
    "compare": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&compare=token-regular",
        Expected(tabs=("compare",), controls={"Compare with": "token-regular"}),
    ),
    "why": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&head=1&why=1-5-1-2",
        Expected(tabs=("why",)),
    ),
    "foil": (
        f"{TRANSLATE}&site=encoder-decoder&items=5&foil=3.Katze",
        Expected(tabs=("what_if",)),
    ),
    "swap": (
        "translate_picture?model=scene-translation"
        "&text=a+large+black+key+right+of+a+small+white+diamond"
        "&picture=scene-34&hide=9&swap=scene-20",
        Expected(tabs=("what_if",), says="Another picture"),
    ),
    "all": (
        f"{TRANSLATE}&changes=hide%3Asource%3Aitems%3D3&site=encoder-decoder&items=5"
        "&view=pyramid&compare=token-regular",
        Expected(tabs=("view", "compare", "what_if"), controls={"View": "pyramid"}),
    ),
}


@pytest.fixture
def _local_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pages run the shipped models."""
    monkeypatch.setenv("AREAVIZ_BACKEND", "local")
    bring_cookies(monkeypatch, {})


def opened(link: str) -> AppTest:
    """Open a link in a new session, and check that there is no error."""
    page, _, query = link.partition("?")
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.query_params.update(dict(parse_qsl(query, keep_blank_values=True)))
    app = app.switch_page(f"pages/{page}.py").run()
    assert not app.exception and errors(app) == []
    return app


def open_tabs(app: AppTest) -> set[str]:
    """Return the tabs below the result that are open."""
    rows = [one for one in app.segmented_control if one.label == "Further views of this result"]
    return set(rows[0].value or ())


def value_of(app: AppTest, label: str) -> object:
    """Return the value of the first control with a label."""
    kinds = ("selectbox", "segmented_control", "number_input", "select_slider", "toggle")
    for kind in (*kinds, "text_input", "text_area"):
        for control in app.get(kind):
            if control.label == label:
                return control.value
    raise AssertionError(f"The page has no control “{label}”.")


def selection_of(app: AppTest) -> dict[str, Any]:
    """Return the selection that the page gives to its first ribbon."""
    for element in app.get("bidi_component"):
        if element.proto.component_name == "areaviz.ribbon":
            message = element.proto.bytes
            end = HEADER_BYTES + int.from_bytes(message[:HEADER_BYTES], "little")
            selection: dict[str, Any] = json.loads(message[HEADER_BYTES:end])["selection"]
            return selection
    raise AssertionError("The page has no ribbon.")


def chosen_picture(app: AppTest) -> str:
    """Return the name of the selected sample picture."""
    for element in app.get("bidi_component"):
        if element.proto.component_name == "areaviz.thumbnails":
            chosen: str = json.loads(element.proto.json)["chosen"]
            return chosen
    return ""


@pytest.mark.usefixtures("_local_models")
@pytest.mark.parametrize("name", sampled(LINKS, *list(LINKS)[::5]))
def test_old_link_opens_its_view(name: str) -> None:
    link, expected = LINKS[name]
    app = opened(link)
    assert open_tabs(app) == set(expected.tabs)
    for label, value in expected.controls.items():
        assert value_of(app, label) == value, label
    if expected.selection:
        selection = selection_of(app)
        assert {key: selection[key] for key in expected.selection} == expected.selection
    for key, value in expected.state.items():
        assert getattr(app.session_state[link.partition("?")[0]], key) == value, key
    assert chosen_picture(app) == expected.picture or not expected.picture
    texts = drawn_texts(app)
    assert not expected.drawn or expected.drawn in texts
    labels = [button.label for button in app.button]
    assert not expected.says or expected.says in labels or expected.says in shown(app)


def test_old_links_cover_every_parameter() -> None:
    written: set[str] = set()
    for link, _ in LINKS.values():
        params = dict(parse_qsl(link.partition("?")[2], keep_blank_values=True))
        request, focus = from_params(params)
        written |= params.keys() & {*to_params(request, focus), "picture", "sound", "clip"}
    assert len(written) == 12 + 11, sorted(written)


def _links_of_docs() -> list[str]:
    found: list[str] = []
    for path in sorted(Path(FINDINGS.parent).glob("*.md")):
        found += re.findall(r"http://127\.0\.0\.1:8501/([a-z_]+\?[^)\s`]+)", path.read_text())
    return found


@pytest.mark.usefixtures("_local_models")
@pytest.mark.parametrize("link", sampled(_links_of_docs(), *_links_of_docs()[:2]))
def test_link_of_docs_opens_its_view(link: str) -> None:
    """Check that every view, layer and comparison that the findings link to is visible."""
    params = dict(parse_qsl(link.partition("?")[2]))
    app = opened(link)
    assert open_tabs(app) == {"view", "compare"} & params.keys()
    assert value_of(app, "View") == params["view"]
    assert value_of(app, "English text") == params["text"]
    assert value_of(app, "Layer") == int(params["layer"]) - 1
    if "compare" in params:
        assert value_of(app, "Compare with") == params["compare"]
    if "items" in params:
        assert selection_of(app)["items"] == [int(params["items"]) - 1]
