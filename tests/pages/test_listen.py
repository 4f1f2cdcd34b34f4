"""Listen: recordings are transcribed, switches change the request, and own sounds are checked."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from streamlit.testing.v1 import AppTest

from areaviz.app.input import UPLOAD_SOURCE
from areaviz.app.tasks import add_gold_times, describe_transcript
from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.lab.sentences import run_tokenizer
from areaviz.media.sounds import DecodedSound, encode_flac
from areaviz.models.generation import GenerationModel
from areaviz.models.speech import ListenerConfig, SpeechRecognizer
from areaviz.samples.own_media import SOUND_SAMPLES, get_sound_sample
from areaviz.trace.changes import Hide, Share, format_changes, parse_changes
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.views.sound.sound import find_spoken_intervals
from tests import fakes
from tests.pages import folder
from tests.pages.conftest import Open, errors, open_tab, shown
from tests.sampled import sampled
from tests.test_bad_input import BAD

Use = Callable[[Backend], None]
FIRST, OTHER = "digits-plain", "digits-fast"
SITE = "encoder-decoder"


class Listeners:
    """A backend with an untrained listener."""

    def __init__(self, folder_of_tokens: Path) -> None:
        texts = ["0123456789"] * 4
        tokenizer = run_tokenizer(folder_of_tokens / "tokens.model", texts, 32, "character")
        torch.manual_seed(1)
        config = ListenerConfig(len(tokenizer), width=8)
        card = replace(folder.card("listener", "item-wise soft"), title="A listener")
        card = replace(card, task="speech", family="listener", config=asdict(config))
        self.run = GenerationModel(card, tokenizer, SpeechRecognizer(config).eval())
        self.asked: list[Request] = []

    def models(self) -> dict[str, Card]:
        return {"listener": self.run.card}

    def problems(self) -> tuple[str, ...]:
        return ()

    def trace(self, request: Request, *_: object, **__: object) -> Trace:
        request = request.checked()
        self.asked.append(request)
        return self.run.trace([request])[0]


@pytest.fixture
def backend(tmp_path: Path, use_backend: Use) -> Listeners:
    made = Listeners(tmp_path)
    use_backend(made)  # type: ignore[arg-type]
    return made


def test_page_opens_with_recording_and_transcript(open_page: Open, backend: Listeners) -> None:
    app = open_page("listen")
    assert not app.exception and not app.error
    assert backend.asked == [Request("listener", "", sound=get_sound_sample(FIRST))]
    text = shown(app)
    assert "said: 3 1 4 1 5 9 2" in text
    assert app.selectbox(key="listen_sample").value == FIRST
    assert app.query_params["sound"] == FIRST and "view" not in app.query_params
    # The player, and the two components that every page has.
    assert app.get("bidi_component")


def test_player_content_is_not_repeated_below(open_page: Open, backend: Listeners) -> None:
    app = open_page("listen", view="listening")
    assert not app.exception and not app.error
    assert app.button_group(key="listen_view").options == ["Output probabilities"]
    # The player explains its marks itself.
    assert not any(
        "A good alignment looks like a staircase" in caption.help for caption in app.caption
    )
    # Its files are below the player, and the lines to copy name an existing view.
    assert "view='listening'" in "".join(code.value for code in app.code)


@pytest.mark.long
def test_switches_are_part_of_the_request_and_of_the_link(
    open_page: Open, backend: Listeners
) -> None:
    app = open_page("listen")
    app.segmented_control(key="listen_sharpness").set_value(2.0).run()
    app.toggle(key="listen_is_smooth").set_value(True).run()
    app.segmented_control(key="listen_window").set_value(20).run()
    assert not app.exception and not app.error
    wanted = Share(SITE, 2.0, True, 20)
    assert backend.asked[-1].changes == (wanted,)
    # The unchanged run is shown next to it, and does not run again.
    assert [one.changes for one in backend.asked].count(()) == 1
    text = shown(app)
    assert "Smoothed, scores times 2, a window of 20 items each way" in text
    assert "As trained" in text and text.count("Heard: ") == 2
    assert parse_changes(app.query_params["changes"]) == (wanted,)
    again = open_page("listen", **dict(app.query_params))
    assert backend.asked[-1].changes == (wanted,)
    assert again.segmented_control(key="listen_window").value == 20
    again.segmented_control(key="listen_window").set_value(0).run()
    again.toggle(key="listen_is_smooth").set_value(False).run()
    again.segmented_control(key="listen_sharpness").set_value(1.0).run()
    assert not again.error and "changes" not in again.query_params


def act(app: AppTest, used: Any) -> AppTest:
    """Use a widget, and return the page; the tab of the panel stays open."""
    open_tab(app, "listen", "what_if")
    app = used.run()
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    return act(app, next(button for button in app.button if button.label == label).click())


def test_hidden_moment_reruns_the_sound(open_page: Open, backend: Listeners) -> None:
    app = open_page("listen")
    app = act(app, app)
    kinds = app.segmented_control(key="listen_kind_of_change")
    assert kinds.options == ["Hide a moment", "Weigh an area", "Switch heads off"]
    app = act(app, kinds.set_value("hide"))
    assert next(one for one in app.button if one.label == "Add this change").disabled
    app = act(app, app.slider(key="listen_seconds").set_value((0.5, 1.0)))
    app = press(app, "Add this change")
    # Items have 0.04 s each: the 13th begins before 0.5 s, the 25th ends at 1 s.
    hidden = Hide("sound", tuple(range(12, 25)))
    assert "Hidden: 0.48 to 1.00 s" in shown(app) and len(backend.asked) == 1
    app = press(app, "Decode again")
    assert [one.changes for one in backend.asked[1:]] == [(hidden,), (hidden,)]
    assert parse_changes(app.query_params["changes"]) == (hidden,)
    assert "Mean probability of the original output" in shown(app)
    again = open_page("listen", **dict(app.query_params))
    assert not again.error and "Hidden: 0.48 to 1.00 s" in shown(again)


def test_switches_and_changes_can_be_combined(open_page: Open, backend: Listeners) -> None:
    both = Share(SITE, 2.0), Hide("sound", (3, 4))
    app = open_page("listen", changes=format_changes(both))
    assert not app.exception and not app.error
    assert app.segmented_control(key="listen_sharpness").value == 2.0
    assert backend.asked[0].changes == both[:1] and backend.asked[-1].changes == both
    assert parse_changes(app.query_params["changes"]) == both
    # The switch is reset, and the hidden moment stays.
    app.segmented_control(key="listen_sharpness").set_value(1.0).run()
    assert not app.exception and parse_changes(app.query_params["changes"]) == both[1:]


def test_link_with_unswitchable_scores_becomes_a_change(
    open_page: Open, backend: Listeners
) -> None:
    odd = Share(SITE, 3.0)
    app = open_page("listen", changes=format_changes((odd,)))
    assert not app.exception and not app.error
    assert app.segmented_control(key="listen_sharpness").value == 1.0
    assert backend.asked[0].changes == () and backend.asked[-1].changes == (odd,)
    assert "Softmax, scores times 3" in shown(app)


def test_changes_belong_to_their_sound(open_page: Open, backend: Listeners) -> None:
    hidden = (Hide("sound", (3, 4)),)
    app = open_page("listen", sound=FIRST, changes=format_changes(hidden))
    assert any(one.changes == hidden for one in backend.asked)
    app.selectbox(key="listen_sample").set_value(OTHER).run()
    assert not app.exception and "changes" not in app.query_params
    assert not any(one.changes for one in backend.asked if one.sound == get_sound_sample(OTHER))


def test_moments_end_with_the_sound(open_page: Open, backend: Listeners) -> None:
    app = open_page("listen", sound="digits-long")
    app = act(app, app)
    app = act(app, app.segmented_control(key="listen_kind_of_change").set_value("hide"))
    app = act(app, app.slider(key="listen_seconds").set_value((5.0, 8.0)))
    app = act(app, app.selectbox(key="listen_sample").set_value("digits-fast"))
    slider = app.slider(key="listen_seconds")
    assert slider.max <= get_sound_sample("digits-fast").seconds and slider.value[1] <= slider.max


@pytest.mark.long
def test_chosen_recording_is_in_the_link(open_page: Open, backend: Listeners) -> None:
    app = open_page("listen")
    app.selectbox(key="listen_sample").set_value(OTHER).run()
    assert backend.asked[-1].sound == get_sound_sample(OTHER)
    again = open_page("listen", **dict(app.query_params))
    assert again.selectbox(key="listen_sample").value == OTHER


@pytest.mark.parametrize(
    ("name", "sentence"),
    sampled(
        [("nothing", "which is not here"), ("yours-1234", "is not stored"), ("<b>", "is not here")],
        ("<b>", "is not here"),
        many=True,
    ),
)
def test_link_to_missing_sound_keeps_page(
    open_page: Open, backend: Listeners, name: str, sentence: str
) -> None:
    app = open_page("listen", sound=name)
    assert not app.exception and sentence in shown(app)
    assert backend.asked[-1].sound == get_sound_sample(FIRST)


def test_own_sound_is_heard_and_refused_sound_ignored(open_page: Open, backend: Listeners) -> None:
    app = open_page("listen")
    app.segmented_control(key="listen_source").set_value(UPLOAD_SOURCE).run()
    assert "the sample stays" in shown(app)
    own = fakes.sound("yours-1", 1.0)
    uploader = app.get("file_uploader")[0]
    uploader.set_value(("digits.flac", encode_flac(own), "audio/flac")).run()
    assert not app.exception and not app.error, shown(app)
    assert backend.asked[-1].sound is not None and backend.asked[-1].sound.pcm == own.pcm
    assert "Heard:" in shown(app) and "said:" not in shown(app)
    assert "It knows nothing." in shown(app), "what the model was trained for"
    uploader = app.get("file_uploader")[0]
    uploader.set_value(("digits.wav", b"no sound", "audio/wav")).run()
    assert "is not a WAV, FLAC, Ogg, MP3 or AIFF recording" in shown(app)
    assert backend.asked[-1].sound is not None and backend.asked[-1].sound.pcm == own.pcm


def test_bad_sound_gives_one_sentence_and_keeps_the_last(
    open_page: Open, backend: Listeners
) -> None:
    app = open_page("listen")
    app.segmented_control(key="listen_source").set_value(UPLOAD_SOURCE).run()
    own = fakes.sound("yours-1", 1.0)
    app.get("file_uploader")[0].set_value(("digits.flac", encode_flac(own), "audio/flac")).run()
    asked = len(backend.asked)
    wrong = [bad for bad in BAD.values() if bad.option == "--sound"]
    assert len(wrong) >= 6
    for bad in wrong:
        app.get("file_uploader")[0].set_value(("bad.wav", bad.content(), "audio/wav")).run()
        assert not app.exception and [bad.says in said for said in errors(app)] == [True]
        assert "Heard:" in shown(app) and len(backend.asked) == asked


def test_stereo_file_reports_mixing_and_resampling(open_page: Open, backend: Listeners) -> None:
    app = open_page("listen")
    app.segmented_control(key="listen_source").set_value(UPLOAD_SOURCE).run()
    file = io.BytesIO()
    soundfile.write(
        file, np.tile(np.sin(np.arange(44_100) * 0.1)[:, None], 2), 44_100, "PCM_16", format="WAV"
    )
    app.get("file_uploader")[0].set_value(("stereo.wav", file.getvalue(), "audio/wav")).run()
    assert not app.exception and not app.error
    assert "You hear the mean of its 2 channels." in shown(app)
    assert backend.asked[-1].sound is not None and backend.asked[-1].sound.seconds == 1


def test_conclusions_count_wrong_digits() -> None:
    sample = SOUND_SAMPLES[FIRST]
    trace = fakes.sound_trace(sample.text)
    assert describe_transcript(trace) == "Heard: **3 1 4 1 5 9 2**"
    named = replace(trace, request=replace(trace.request, sound=get_sound_sample(FIRST)))
    assert "every digit right" in describe_transcript(named)
    assert len(find_spoken_intervals(add_gold_times(named))) == 7 and add_gold_times(trace) is trace
    other = replace(fakes.sound_trace("314152"), request=named.request)
    assert describe_transcript(other).endswith("said: 3 1 4 1 5 9 2, 1 mistake.")
    assert "nothing" in describe_transcript(replace(fakes.sound_trace(" "), request=named.request))


def test_decoded_sound_notes_its_changes() -> None:
    assert DecodedSound(fakes.sound(), ("a", "b")).notes == ("a", "b")
