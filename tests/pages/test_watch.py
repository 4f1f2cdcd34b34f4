"""Watch: clips are described, words and frames chosen, and own clips read or refused."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from areaviz.app.input import UPLOAD_SOURCE
from areaviz.app.tasks import add_gold_frames, describe_clip
from areaviz.backend.backend import Backend
from areaviz.lab.sentences import run_tokenizer
from areaviz.media.clips import decode_clip, encode_gif
from areaviz.models.clips import VideoCaptioner, WatcherConfig
from areaviz.models.generation import GenerationModel
from areaviz.samples.own_media import CLIP_SAMPLES, get_clip_sample
from areaviz.trace.changes import Hide, format_changes
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.strip.strip import find_frame_attention
from tests import fakes
from tests.messages import header_of
from tests.pages import folder
from tests.pages.conftest import Open, errors, open_tab, shown, with_tab
from tests.sampled import sampled
from tests.test_bad_input import BAD
from tests.trace.test_clip import clip_trace

Use = Callable[[Backend], None]
FIRST, OTHER = "three-left-grows", "five-turns-down"
HIDDEN = (Hide("clip", (1,)),)
OWN = "the two grows"
"""The output for a reader's own clip."""


class Watchers(fakes.FakeBackend):
    """A backend of two watchers with attention and one without.

    They are untrained, so their outputs are given: the actions of the app's clips.
    """

    def __init__(self, path: Path) -> None:
        texts = [sample.text for sample in CLIP_SAMPLES.values()] * 2
        tokenizer = run_tokenizer(path / "tokens.model", texts, 40)
        self.runs: dict[str, GenerationModel] = {}
        options: dict[str, dict[str, Any]] = {
            "watcher": {"area_size": 2},
            "other": {"encoder": "frames"},
            "blind": {"attends": False},
        }
        for seed, (name, more) in enumerate(options.items()):
            torch.manual_seed(seed)
            config = WatcherConfig(len(tokenizer), frames=8, side=16, width=16, **more)
            mechanism = config.mechanism if config.attends else "none"
            card = replace(folder.card(name, mechanism), title=f"Clips, {config.about}")
            card = replace(card, task="video", family="watcher", level="word", size="")
            card = replace(card, pair=name, config=asdict(config))
            self.runs[name] = GenerationModel(card, tokenizer, VideoCaptioner(config).eval())
        super().__init__({name: run.card for name, run in self.runs.items()})
        self.asked: list[Request] = []

    def trace(self, request: Request, *_: object, **__: object) -> Trace:
        request = request.checked()
        self.asked.append(request)
        sample = CLIP_SAMPLES.get(request.clip.name if request.clip else "")
        given = request.target or (sample.text if sample else OWN)
        made = self.runs[request.model].trace([replace(request, target=given)])[0]
        return replace(made, request=request)


@pytest.fixture
def backend(tmp_path: Path, use_backend: Use) -> Watchers:
    made = Watchers(tmp_path)
    use_backend(made)
    return made


def strips(app: AppTest) -> list[dict[str, Any]]:
    """Return the data that the page's film strips got."""
    found = app.get("bidi_component")
    return [
        header_of(one.proto.bytes) for one in found if one.proto.component_name.endswith("strip")
    ]


def act(app: AppTest, used: Any) -> AppTest:
    """Use a widget, and return the page; the tab of the panel stays open."""
    open_tab(app, "watch", "what_if")
    app = used.run()
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    return act(app, next(button for button in app.button if button.label == label).click())


def test_page_opens_with_clip_and_description(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch")
    assert not app.exception and not app.error
    assert backend.asked == [Request("watcher", "", clip=get_clip_sample(FIRST))]
    text = shown(app)
    assert f"Seen: **{CLIP_SAMPLES[FIRST].text}**, which is right." in text
    assert app.selectbox(key="watch_sample").value == FIRST
    assert app.query_params["clip"] == FIRST and "view" not in app.query_params
    assert not app.get("plotly_chart") and not app.get("image")
    (strip,) = strips(app)
    assert " ".join(strip["words"][:-1]) == CLIP_SAMPLES[FIRST].text and strip["items"] == []
    assert len(strip["frames"]) == len(strip["numbers"]) == 8


def test_link_restores_clip_and_words(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch", clip=OTHER, site="encoder-decoder", items="2,4")
    assert not app.exception and not app.error
    assert backend.asked == [Request("watcher", "", clip=get_clip_sample(OTHER))]
    assert app.selectbox(key="watch_sample").value == OTHER
    assert [strip["items"] for strip in strips(app)] == [[1, 3]]
    again = open_page("watch", **dict(app.query_params))
    assert again.query_params == app.query_params
    assert [strip["items"] for strip in strips(again)] == [[1, 3]]


@pytest.mark.long
def test_attribution_is_next_to_attention_to_frames(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch")
    app = with_tab(app, "attribution")
    (switch,) = [one for one in app.toggle if one.label == "Compare with attribution"]
    app = switch.set_value(True).run()
    assert not app.exception and not app.error
    assert backend.asked[-1].attribution and app.query_params["attribution"] == "1"
    sites = app.session_state["watch"].site
    assert sites == "encoder-decoder" and "Agreement with this map" in shown(app)
    again = open_page("watch", clip=FIRST, attribution="1", site="encoder-decoder gradient")
    assert not again.exception and not again.error
    assert "This is an attribution map, not attention" in shown(again)


@pytest.mark.long
def test_chosen_clip_is_in_the_link(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch", clip=FIRST, site="encoder-decoder", items="2")
    app.selectbox(key="watch_sample").set_value(OTHER).run()
    assert not app.exception and backend.asked[-1].clip == get_clip_sample(OTHER)
    assert app.query_params["clip"] == OTHER
    assert strips(app)[0]["items"] == [] and "items" not in app.query_params
    again = open_page("watch", **dict(app.query_params))
    assert again.selectbox(key="watch_sample").value == OTHER


@pytest.mark.parametrize(
    ("name", "sentence"),
    sampled(
        [("nothing", "which is not here"), ("yours-1234", "is not stored"), ("<b>", "is not here")],
        ("<b>", "is not here"),
        many=True,
    ),
)
def test_link_to_missing_clip_keeps_page(
    open_page: Open, backend: Watchers, name: str, sentence: str
) -> None:
    app = open_page("watch", clip=name)
    assert not app.exception and sentence in shown(app)
    assert backend.asked[-1].clip == get_clip_sample(FIRST)


def test_own_clip_is_watched_and_refused_clip_ignored(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch", site="encoder-decoder", items="3")
    app.segmented_control(key="watch_source").set_value(UPLOAD_SOURCE).run()
    assert "the sample stays" in shown(app) and app.query_params["items"] == "3"
    content = encode_gif(fakes.clip())
    own = decode_clip(content, "yours").clip
    app.get("file_uploader")[0].set_value(("mine.gif", content, "image/gif")).run()
    assert not app.exception and not app.error, shown(app)
    assert backend.asked[-1] == Request("watcher", "", clip=own)
    assert f"Seen: **{OWN}**" in shown(app) and "which is right" not in shown(app)
    assert "Yours, 6 frames of 10 × 8 pixels" in shown(app)
    assert "below 0.5. It knows nothing." not in shown(app), "it is said once, of its own"
    assert "It knows nothing." in shown(app), "what the model was trained for"
    # Another sentence has other words, so the choice of words is reset.
    assert app.query_params["clip"] == own.name and "items" not in app.query_params
    count = len(backend.asked)
    app.get("file_uploader")[0].set_value(("bad.gif", b"no clip", "image/gif")).run()
    assert not app.exception and len(app.error) == 1
    assert "is not a GIF, WebP or animated PNG file" in shown(app)
    assert len(backend.asked) == count and app.query_params["clip"] == own.name
    # The next clip replaces it, and the sentence is removed.
    long = io.BytesIO(encode_gif(fakes.clip(frames=7, seed=3)))
    app.get("file_uploader")[0].set_value(("more.gif", long.getvalue(), "image/gif")).run()
    assert not app.error and backend.asked[-1].clip is not None
    assert backend.asked[-1].clip.frames == 7


def test_bad_clip_gives_one_sentence_and_keeps_the_last(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch")
    app.segmented_control(key="watch_source").set_value(UPLOAD_SOURCE).run()
    assert "Of a recorded video (MP4, WebM) make a GIF first" in shown(app)
    app.get("file_uploader")[0].set_value(("mine.gif", encode_gif(fakes.clip()), "image/gif")).run()
    asked = len(backend.asked)
    wrong = [bad for bad in BAD.values() if bad.option == "--clip"]
    assert len(wrong) >= 4
    for bad in wrong:
        app.get("file_uploader")[0].set_value(("bad.gif", bad.content(), "image/gif")).run()
        assert not app.exception and [bad.says in said for said in errors(app)] == [True]
        assert f"Seen: **{OWN}**" in shown(app) and len(backend.asked) == asked


def test_hidden_frame_reruns_the_clip(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch")
    open_tab(app, "watch", "what_if")
    app = app.run()
    kinds = app.segmented_control(key="watch_kind_of_change")
    assert kinds.options == ["Hide frames", "Weigh an area", "Switch heads off"]
    app = act(app, kinds.set_value("hide"))
    assert "The model sees the previous frame in its place" in shown(app)
    assert app.button_group(key="watch_words").options[1] == "frame 3"
    app = act(app, app.button_group(key="watch_words").set_value([1]))
    app = press(app, "Add this change")
    assert "Hidden: frame 3" in shown(app) and len(backend.asked) == 1
    app = press(app, "Decode again")
    asked = backend.asked[0]
    assert backend.asked[1:] == [
        replace(asked, changes=HIDDEN),
        replace(asked, changes=HIDDEN, target=CLIP_SAMPLES[FIRST].text),
    ]
    assert app.query_params["changes"] == format_changes(HIDDEN)
    assert "Mean probability of the original output" in shown(app)
    again = open_page("watch", **dict(app.query_params))
    assert not again.exception and "Hidden: frame 3" in shown(again)


def test_chosen_copy_of_a_repeated_frame_is_hidden(open_page: Open, backend: Watchers) -> None:
    """Check a clip of two frames, of which eight are watched, so four have the same name."""
    app = open_page("watch")
    app = act(app, app.segmented_control(key="watch_source").set_value(UPLOAD_SOURCE))
    file = ("two.gif", encode_gif(fakes.clip(frames=2)), "image/gif")
    app = act(app, app.get("file_uploader")[0].set_value(file))
    app = act(app, app.segmented_control(key="watch_kind_of_change").set_value("hide"))
    app = act(app, app.button_group(key="watch_words").set_value([0, 5]))
    app = press(press(app, "Add this change"), "Decode again")
    assert backend.asked[-1].changes == (Hide("clip", (0, 5)),)


def test_changes_belong_to_their_clip(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch", clip=FIRST, changes=format_changes(HIDDEN))
    assert any(request.changes == HIDDEN for request in backend.asked)
    app = act(app, app.selectbox(key="watch_sample").set_value(OTHER))
    assert "changes" not in app.query_params
    assert not any(one.changes for one in backend.asked if one.clip == get_clip_sample(OTHER))
    app = act(app, app.selectbox(key="watch_sample").set_value(FIRST))
    assert app.query_params["changes"] == format_changes(HIDDEN)


def test_linked_changes_wait_for_their_clip(open_page: Open, backend: Watchers) -> None:
    content = encode_gif(fakes.clip())
    name = decode_clip(content, "yours").clip.name
    app = open_page("watch", clip=name, changes=format_changes(HIDDEN))
    assert not app.exception and "Upload it again" in shown(app)
    assert backend.asked and not any(request.changes for request in backend.asked)
    app = act(app, app.segmented_control(key="watch_source").set_value(UPLOAD_SOURCE))
    uploader = app.get("file_uploader")[0]
    app = act(app, uploader.set_value(("mine.gif", content, "image/gif")))
    assert app.query_params["clip"] == name
    assert any(request.changes == HIDDEN for request in backend.asked)


@pytest.mark.long
def test_two_models_are_side_by_side(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch", clip=OTHER)
    app = with_tab(app, "compare")
    app.selectbox(key="watch_compare").set_value("other").run()
    assert not app.exception and not app.error
    clip = get_clip_sample(OTHER)
    assert backend.asked[-2:] == [Request(name, "", clip=clip) for name in ("watcher", "other")]
    assert shown(app).count("Seen:") >= 2 and app.query_params["compare"] == "other"
    assert len(strips(app)) == 2
    again = open_page("watch", **dict(app.query_params))
    assert not again.error and backend.asked[-1].model == "other"


def test_model_without_attention_shows_no_strip(open_page: Open, backend: Watchers) -> None:
    app = open_page("watch")
    app.selectbox(key="watch_model").set_value("blind").run()
    assert not app.exception and not app.error
    assert backend.asked[-1] == Request("blind", "", clip=get_clip_sample(FIRST))
    assert "no attention to show" in shown(app)
    assert "encodes the whole clip once" in shown(app)
    assert "Seen:" in shown(app) and not strips(app)
    assert app.query_params["model"] == "blind" and app.query_params["clip"] == FIRST


@pytest.mark.long
def test_decoding_is_part_of_the_request_and_of_the_link(
    open_page: Open, backend: Watchers
) -> None:
    app = open_page("watch")
    app.segmented_control(key="watch_method").set_value("beam").run()
    app.select_slider(key="watch_area_size").set_value(1).run()
    wanted = Request("watcher", "", "beam", 4, 1, clip=get_clip_sample(FIRST))
    assert not app.exception and backend.asked[-1] == wanted
    open_page("watch", **dict(app.query_params))
    assert backend.asked[-1] == wanted


def test_conclusions_describe_the_event() -> None:
    sample = CLIP_SAMPLES[FIRST]
    seen = clip_trace(sample.text)
    assert describe_clip(seen) == f"Seen: **{sample.text}**."
    named = replace(seen, request=replace(seen.request, clip=get_clip_sample(FIRST)))
    assert describe_clip(named) == f"Seen: **{sample.text}**, which is right."
    wrong = replace(clip_trace("the two grows"), request=named.request)
    assert describe_clip(wrong) == f"Seen: **the two grows**, but what happens is: {sample.text}."
    assert describe_clip(replace(clip_trace(" "), request=named.request)).startswith(
        "Seen: **nothing"
    )
    assert "**\\*" in describe_clip(clip_trace("*x*"))


def test_frames_of_sample_clips_are_known() -> None:
    seen = clip_trace("31", get_clip_sample(FIRST))
    assert find_frame_attention(seen, Focus("encoder-decoder")).actions == ()
    # The actions are in frames 2 to 6 and 10 to 14, counted from one.
    known = find_frame_attention(add_gold_frames(seen), Focus("encoder-decoder"))
    assert known.actions == CLIP_SAMPLES[FIRST].windows == ((1, 6), (9, 14))
    own = clip_trace("31")
    assert (
        add_gold_frames(own) is own
        and add_gold_frames(fakes.trace()).details == fakes.trace().details
    )
