"""Chat templates of a model folder end within their limits, however they are written."""

from __future__ import annotations

import json
import resource
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment
from PIL import Image

from areaviz.adapters import template_trial, texts
from areaviz.adapters.folder import MAX_PROMPT, _make_prompt
from areaviz.adapters.texts import escape_as_template, format_chat, make_chat_inputs, write_chat
from areaviz.trace.errors import InputError
from tests.adapters import small
from tests.sampled import sampled

CHAT = [{"role": "user", "content": "a dog"}, {"role": "assistant", "content": "the cat"}]
LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
DOUBLING = (
    '{% set n = namespace(x="ab") %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}'
)


def holder(template: str) -> SimpleNamespace:
    """Return an object with those parts of a tokenizer that templates need."""
    return SimpleNamespace(chat_template=template, special_tokens_map={"bos_token": "<s>"})


def test_write_chat_agrees_with_the_library() -> None:
    tokenizer = small.tokenizer()
    tokenizer.chat_template = (
        "{{ bos_token }}{% for one in messages %}{{ one.role }}: {{ one.content | tojson }}\n"
        "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
    )
    for has_prompt in (False, True):
        expected = tokenizer.apply_chat_template(
            CHAT, tokenize=False, add_generation_prompt=has_prompt
        )
        assert write_chat(tokenizer, CHAT, has_prompt) == expected


@pytest.mark.parametrize(
    "template",
    sampled(['{{ "x" * 10**10 }}', DOUBLING, '{{ "x" | center(3 * 10**9) }}'], DOUBLING),
    ids=["constant", "doubling", "filter"],
)
def test_template_using_much_memory_is_refused(template: str) -> None:
    # The peak covers all children so far, so an earlier test may have set it.
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with pytest.raises(InputError, match="takes more than 320 MiB of memory. Choose another"):
        format_chat(CHAT, holder(template))
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert kilobytes == before or kilobytes < 2**20, "no child took a gigabyte"


def test_template_with_endless_loops_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "TEMPLATE_SECONDS", 1)
    with pytest.raises(InputError, match="takes more than 1 seconds of processor time"):
        _make_prompt(holder(LOOPS), "What is this?")


def test_template_with_a_long_text_is_refused() -> None:
    with pytest.raises(InputError, match="writes more than 1,000,000 characters"):
        format_chat(CHAT, holder('{{ "x" * 1000001 }}'))
    assert MAX_PROMPT < 200_000
    with pytest.raises(InputError, match="has 200,000 characters"):
        _make_prompt(holder('{{ "x" * 200000 }}'), "What is this?")


def test_template_refusal_gives_its_reason() -> None:
    with pytest.raises(InputError, match=r"refuses these messages \(Roles must alternate"):
        format_chat(CHAT, holder('{{ raise_exception("Roles must alternate") }}'))


def test_written_texts_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = holder("{{ messages[0].content }} and no more")
    first = format_chat(CHAT, tokenizer)
    monkeypatch.setattr(texts, "make_trial_command", pytest.fail)
    assert format_chat(CHAT, tokenizer) == first == "a dog and no more"


def test_processor_gets_the_written_text() -> None:
    """The processor's own template would not end."""
    seen: list[str] = []

    def apply(chat: object, chat_template: str, **options: object) -> dict[str, object]:
        seen.append(ImmutableSandboxedEnvironment().from_string(chat_template).render())
        return {"input_ids": 1}

    picture = Image.new("RGB", (2, 2))
    chat = [{"role": "user", "content": [{"type": "image", "image": picture}]}]
    template = '{{ messages[0].content[0].type }} "{{ bos_token }}"'
    processor = SimpleNamespace(
        chat_template=template, apply_chat_template=apply, tokenizer=holder(template)
    )
    assert make_chat_inputs(chat, processor) == {"input_ids": 1}
    assert seen == ['image "<s>"']


@given(st.text())
def test_literal_writes_its_text(text: str) -> None:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    assert environment.from_string(escape_as_template(text)).render() == text


def test_trial_counts_its_limits_from_its_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits: dict[int, int] = {}
    options = {"chat_template": "{{ messages | length }}"}
    question: dict[str, object] = {"chat": CHAT, "options": options}
    question |= {"seconds": 5, "bytes": 1 << 28, "characters": 10}
    monkeypatch.setattr(
        template_trial.resource, "setrlimit", lambda kind, pair: limits.update({kind: pair[0]})
    )
    monkeypatch.setattr(
        template_trial.sys, "stdin", SimpleNamespace(read=lambda: json.dumps(question))
    )
    template_trial.main()
    assert json.loads(capsys.readouterr().out) == {"text": "2"}
    assert limits[resource.RLIMIT_DATA] == 1 << 28
    assert limits[resource.RLIMIT_CPU] >= 5
