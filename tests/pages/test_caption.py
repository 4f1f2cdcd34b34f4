"""Caption: a picture is described at once, compared and linked; errors are one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import Backend
from areaviz.cards.card import Opening
from tests.pages.conftest import Open, drawn_texts, shown, with_tab
from tests.pages.pictured import Pictured
from tests.sampled import sampled

Use = Callable[[Backend], None]


def opened(open_page: Open, use_backend: Use, **params: str) -> tuple[AppTest, Pictured]:
    backend = Pictured()
    use_backend(backend)
    return open_page("caption", **params), backend


def test_first_picture_is_described_at_once(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    assert not app.exception and not app.error
    assert "a small red circle" in drawn_texts(app)
    assert [(request.model, request.text) for request in backend.asked] == [("scene-area", "")]
    assert (
        backend.asked[0].picture is not None
        and app.query_params["picture"] == backend.asked[0].picture.name
    )


@pytest.mark.parametrize("is_clone", [True, False])
def test_page_without_captioner_gives_advice(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, is_clone: bool
) -> None:
    # All stored traces are those of translators.
    monkeypatch.setattr("areaviz.samples.paths.IS_CLONE", is_clone)
    app = open_page("caption")
    wanted = {
        True: "restore the folder from the repository.",
        False: "fetch the models of this release: set AREAVIZ_MODELS_ADDRESS, then areaviz data get"
        " models.",
    }
    said = f"No installed model supports this page. To get one, {wanted[is_clone]}"
    assert [error.value.replace("\\", "") for error in app.error] == [said] and not app.exception


def test_two_models_are_compared_on_the_same_picture(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend)
    app = with_tab(app, "compare")
    app.selectbox(key="caption_compare").set_value("scene-regular").run()
    assert not app.exception and not app.error
    assert "a large blue ring" in drawn_texts(app)
    assert backend.asked[-1].picture == backend.asked[0].picture


def test_model_without_attention_shows_its_output(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(open_page, use_backend, model="scene-none", picture="scene-1")
    assert not app.exception and not app.error
    assert "a plain sentence" in shown(app) and "no attention to show" in shown(app)
    assert "encodes the whole picture once" in shown(app)
    assert [chart.key for chart in app.get("plotly_chart")] == ["chart_blind_0"]
    assert app.query_params["model"] == "scene-none"
    app = with_tab(app, "compare")
    app.selectbox(key="caption_compare").set_value("scene-regular").run()
    assert not app.exception and not app.error
    assert "a large blue ring" in drawn_texts(app) and app.get("plotly_chart")
    assert (app.query_params["model"], app.query_params["compare"]) == (
        "scene-none",
        "scene-regular",
    )


@pytest.mark.long
def test_picture_or_link_selects_fitting_model(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    for name, pictures in (
        ("scene-area", "photos"),
        ("scene-regular", "scenes"),
        ("scene-none", "scenes"),
    ):
        backend.cards[name] = replace(backend.cards[name], recipe={"pictures": pictures})
    use_backend(backend)
    assert open_page("caption").query_params["model"] == "scene-regular", (
        "the first sample is a scene"
    )
    app = open_page("caption", picture="astronaut")
    assert backend.asked[-1].model == "scene-area" and "is a guess" not in shown(app)
    open_page("caption", picture="scene-1")
    assert backend.asked[-1].model == "scene-regular"
    app = open_page("caption", picture="scene-1", model="scene-area")
    assert app.query_params["model"] == "scene-area" and "has seen photographs alone" in shown(app)
    app = open_page("caption", model="scene-area")
    assert app.session_state["caption"].whole_address["picture"] == "photographer"


@pytest.mark.parametrize(
    ("fixed", "warned"),
    sampled(
        [(0.1, False), (0.34, False), (0.36, True), (0.45, True)],
        (0.34, False),
        (0.36, True),
        many=True,
    ),
)
def test_maps_no_better_than_fixed_places_give_warning(
    open_page: Open, use_backend: Use, fixed: float, warned: bool
) -> None:
    backend = Pictured()
    quality = {
        "encoder-decoder, test": {"pointing": 0.4, "pointing_position": fixed, "words": 1200.0}
    }
    for name in ("scene-area", "scene-regular", "scene-none"):
        backend.cards[name] = replace(
            backend.cards[name], attention=quality, recipe={"pictures": "photos"}
        )
    use_backend(backend)
    app = open_page("caption")
    assert not app.exception
    told = [
        warning.value.replace("\\", "")
        for warning in app.warning
        if "do not show where it found a word" in warning.value
    ]
    assert bool(told) == warned
    if warned:
        assert (
            "Over 1,200 words of held-out photos" in told[0] and f"do so for {fixed:.0%}" in told[0]
        )


def test_page_opens_at_best_pointing_layer(open_page: Open, use_backend: Use) -> None:
    backend = Pictured()
    card = backend.cards["scene-area"]
    opening = {"encoder-decoder": Opening("coverage", 1, 3, pointing_head=(1, 3))}
    backend.cards["scene-area"] = replace(card, opening=opening)
    use_backend(backend)
    assert open_page("caption").query_params["layer"] == "2"
    assert (
        "layer"
        not in open_page(
            "caption", model="scene-area", picture="scene-1", site="encoder self"
        ).query_params
    )


def test_single_cells_have_no_largest_area(open_page: Open, use_backend: Use) -> None:
    app, backend = opened(open_page, use_backend, model="scene-none", area="3", picture="scene-1")
    assert not app.exception and not app.error
    assert backend.asked[0].area_size is None


def test_link_restores_picture_site_and_items(open_page: Open, use_backend: Use) -> None:
    params = {"picture": "scene-1", "site": "encoder self", "items": "3"}
    app, backend = opened(open_page, use_backend, model="scene-area", **params)
    assert not app.exception and not app.error
    assert backend.asked[0].picture is not None and backend.asked[0].picture.name == "scene-1"
    assert {name: app.query_params[name] for name in params} == params


def test_link_to_upload_reports_missing_picture(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(open_page, use_backend, model="scene-area", picture="upload-0123456789ab")
    assert not app.exception
    assert len(app.error) == 1 and "upload" in app.error[0].value
    assert "a small red circle" in drawn_texts(app), "a sample stands in"


def test_impossible_picture_name_gives_one_sentence(open_page: Open, use_backend: Use) -> None:
    app, _ = opened(open_page, use_backend, model="scene-area", picture="../../etc/passwd")
    assert not app.exception and len(app.error) == 1
    assert "cannot exist" in app.error[0].value


def test_every_site_of_a_caption_can_be_shown(open_page: Open, use_backend: Use) -> None:
    for site in ("encoder-decoder", "encoder self", "decoder self"):
        app, _ = opened(open_page, use_backend, model="scene-area", picture="scene-1", site=site)
        assert not app.exception and not app.error, site
        assert app.query_params["site"] == site
