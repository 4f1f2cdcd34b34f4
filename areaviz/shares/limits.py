"""The table of shares: how much of each limited resource a reader, an address or the app may use.

Code, settings and documentation read this table. To add a limit, add a row here and use it with a
counter of `areaviz/shares/counters.py`:

    waiting = Shares(QUESTIONS_WAITING)
    with waiting.holding(visitor): ...

The operator sets a limit with the environment variable that `Limit.setting` names.
`tests/shares/test_limits.py` compares the table with docs/reliability.md.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from enum import StrEnum

from areaviz.trace.errors import InputError


class Scope(StrEnum):
    """The unit that a limit applies to."""

    # One reader, named by the id in the cookie.
    READER = "reader"
    # All readers at one network address together.
    ADDRESS = "address"
    # All connections without a cookie together.
    ANONYMOUS = "connections without a cookie"
    # All readers of the app together.
    APP = "app"
    # One message, upload or import, regardless of its sender.
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Limit:
    """One row of the table.

    Args:
        name: the name in lower case with underscores. The name of the setting contains it.
        default: the limit if the operator does not set one, above 0.
        scope: the unit that the limit applies to.
        sentence: the rule, with "{limit}" in place of the number. It is shown in refusals and in
            the documentation.
        advice: what a refused reader can do, as a sentence.
    """

    name: str
    default: float
    scope: Scope
    sentence: str
    advice: str = "Try again in a moment."

    @property
    def setting(self) -> str:
        """The environment variable with which the operator sets the limit."""
        return f"AREAVIZ_LIMIT_{self.name.upper()}"

    def value(self) -> float:
        """Return the limit in force, which is the operator's setting or the default.

        Raises:
            InputError: the setting is not a number above 0.
        """
        given = os.environ.get(self.setting, "")
        if not given:
            return self.default
        try:
            value = float(given)
        except ValueError:
            value = math.nan
        if not (value > 0 and math.isfinite(value)):
            raise InputError(
                f'The setting {self.setting} is "{given}". It must be a number above 0.'
            )
        return value

    def said(self) -> str:
        """Return the rule with the limit in force."""
        return self.sentence.format(limit=f"{self.value():,.10g}")

    def refusal(self) -> str:
        """Return the rule and the advice, to show to a reader who is refused."""
        return f"{self.said()} {self.advice}"


ADDRESS_FACTOR = Limit(
    "address_factor",
    4,
    Scope.ADDRESS,
    "All readers at one network address together may use {limit} times the share of one reader.",
)
ANONYMOUS_FACTOR = Limit(
    "anonymous_factor",
    1,
    Scope.ANONYMOUS,
    "All connections without a cookie together may use {limit} times the share of one reader.",
)
UPLOADS_AT_ONCE = Limit(
    "uploads_at_once",
    6,
    Scope.READER,
    "A reader may upload {limit} files at the same time.",
    "Wait until one of your files has arrived, then choose the next one.",
)
UPLOADED_MEGABYTES = Limit(
    "uploaded_megabytes",
    224,
    Scope.READER,
    "A reader's uploaded files may have {limit} MB together while the pages are open.",
    "Remove a file or close a page, then choose the file again.",
)
UPLOADED_MEGABYTES_ALL = Limit(
    "uploaded_megabytes_all",
    512,
    Scope.APP,
    "The uploaded files of all readers may have {limit} MB together.",
    "Try again in a few minutes.",
)
MESSAGE_KILOBYTES = Limit(
    "message_kilobytes",
    1000,
    Scope.EACH,
    "A page may send {limit} kB at once.",
    "Shorten what you entered, or upload it as a file.",
)
MESSAGE_WIDGETS = Limit(
    "message_widgets",
    2000,
    Scope.EACH,
    "A page may send the states of {limit} inputs at once.",
    "Reload the page.",
)
MESSAGE_VALUES = Limit(
    "message_values",
    20_000,
    Scope.EACH,
    "A page may send {limit} values at once.",
    "Reload the page.",
)
FIRST_MESSAGE_SECONDS = Limit(
    "first_message_seconds",
    30,
    Scope.EACH,
    "A page that connects must send its first message within {limit} seconds.",
    "Reload the page.",
)
HEAD_SECONDS = Limit(
    "head_seconds",
    10,
    Scope.EACH,
    "The head of a request must arrive within {limit} seconds.",
    "Send the request again.",
)
MESSAGES_PER_SECOND = Limit(
    "messages_per_second",
    50,
    Scope.READER,
    "A reader's pages may send {limit} messages per second on average.",
    "Wait a few seconds, then continue.",
)
MESSAGE_KILOBYTES_PER_SECOND = Limit(
    "message_kilobytes_per_second",
    1000,
    Scope.READER,
    "A reader's pages may send {limit} kB of messages per second on average.",
    "Wait a few seconds, then continue.",
)
RERUNS_PER_SECOND = Limit(
    "reruns_per_second",
    5,
    Scope.READER,
    "A reader's pages may run {limit} times per second on average.",
    "Wait a few seconds, then continue.",
)
RECORDS_ON_EXAMPLE = Limit(
    "records_on_example",
    500,
    Scope.READER,
    "A reader may keep {limit} notes and {limit} judgements on one example.",
    "Remove some of yours, or import fewer.",
)
RECORDS_ON_SET = Limit(
    "records_on_set",
    50_000,
    Scope.READER,
    "A reader may keep {limit} notes and {limit} judgements on one set.",
    "Remove some of yours, or import fewer.",
)
RECORDS_KEPT = Limit(
    "records_kept",
    100_000,
    Scope.READER,
    "A reader may keep {limit} notes and {limit} judgements in all.",
    "Remove some of yours, or import fewer.",
)
TAGS_ON_SET = Limit(
    "tags_on_set",
    100,
    Scope.READER,
    "A reader may use {limit} different tags for the notes on one set.",
    "Use a tag that you used before.",
)
IMPORTS_KEPT = Limit(
    "imports_kept",
    50,
    Scope.READER,
    "A reader may keep {limit} imports of notes and {limit} imports of judgements.",
    "Undo an earlier import first.",
)
SLICES_ON_SET = Limit(
    "slices_on_set",
    100,
    Scope.READER,
    "A reader may keep {limit} slices of one set.",
    "Remove one of yours first.",
)
QUESTIONS_AT_ONCE = Limit(
    "questions_at_once",
    3,
    Scope.READER,
    "A reader may have {limit} questions running or waiting.",
    "Wait for one of your answers, then ask again.",
)
QUESTIONS_WAITING = Limit(
    "questions_waiting",
    4096,
    Scope.APP,
    "{limit} questions of all readers may wait, one for each connection that the server accepts.",
)
QUESTION_SECONDS = Limit(
    "question_seconds",
    5,
    Scope.EACH,
    "One question may take {limit} seconds of computation.",
    "Shorten the text or choose a smaller beam.",
)
ANALYSES_AT_ONCE = Limit(
    "analyses_at_once",
    2,
    Scope.READER,
    "A reader may have {limit} analyses running.",
    "Wait for one of your analyses, or stop it.",
)
ANALYSES_RUNNING = Limit(
    "analyses_running",
    16,
    Scope.APP,
    "{limit} analyses of all readers may run at the same time.",
    "Wait for one of them to end.",
)
BUDGET_PERCENT = Limit(
    "budget_percent",
    25,
    Scope.READER,
    "A reader may use {limit} % of the memory, and of the disk space, for attention.",
    "Close pages that you no longer need, or choose a smaller file or text.",
)
KEPT_MEGABYTES = Limit(
    "kept_megabytes",
    400,
    Scope.READER,
    "The app keeps {limit} MB of a reader's own sets. The sets opened longest ago are removed"
    " first.",
    "Choose the files again when you need them.",
)
ALL_KEPT_MEGABYTES = Limit(
    "all_kept_megabytes",
    2000,
    Scope.APP,
    "The app keeps {limit} MB of all readers' own sets. The reader with the most MB loses sets"
    " first.",
)
ANALYSES_LISTED = Limit(
    "analyses_listed",
    50,
    Scope.READER,
    "The app lists the {limit} analyses that a reader opened last.",
)

SHARED_LINKS = Limit(
    "shared_links",
    50,
    Scope.READER,
    "A reader may share {limit} analyses by links.",
    "Withdraw a link that nobody needs any more.",
)
SHARED_LINKS_ALL = Limit(
    "shared_links_all",
    2000,
    Scope.APP,
    "All readers together may share {limit} analyses by links.",
    "Try again later.",
)
VISITORS_LISTED = Limit(
    "visitors_listed",
    1000,
    Scope.EACH,
    "A link that shares an analysis lists the first {limit} readers who opened it.",
)

TABLE: tuple[Limit, ...] = (
    ADDRESS_FACTOR,
    ANONYMOUS_FACTOR,
    UPLOADS_AT_ONCE,
    UPLOADED_MEGABYTES,
    UPLOADED_MEGABYTES_ALL,
    MESSAGE_KILOBYTES,
    MESSAGE_WIDGETS,
    MESSAGE_VALUES,
    FIRST_MESSAGE_SECONDS,
    HEAD_SECONDS,
    MESSAGES_PER_SECOND,
    MESSAGE_KILOBYTES_PER_SECOND,
    RERUNS_PER_SECOND,
    RECORDS_ON_EXAMPLE,
    RECORDS_ON_SET,
    RECORDS_KEPT,
    TAGS_ON_SET,
    IMPORTS_KEPT,
    SLICES_ON_SET,
    QUESTIONS_AT_ONCE,
    QUESTIONS_WAITING,
    QUESTION_SECONDS,
    ANALYSES_AT_ONCE,
    ANALYSES_RUNNING,
    BUDGET_PERCENT,
    KEPT_MEGABYTES,
    ALL_KEPT_MEGABYTES,
    ANALYSES_LISTED,
    SHARED_LINKS,
    SHARED_LINKS_ALL,
    VISITORS_LISTED,
)


def list_limits() -> dict[str, float]:
    """Return every limit in force by name, for the operator.

    Raises:
        InputError: a setting is not a number above 0.
    """
    return {limit.name: limit.value() for limit in TABLE}


def render_limits_table() -> str:
    """Return the table of default limits as Markdown, for the documentation."""
    lines = ["| limit | default | applies to | rule | setting |", "| - | - | - | - | - |"]
    for row in TABLE:
        number = f"{row.default:,.10g}"
        rule = row.sentence.format(limit=number)
        lines.append(f"| {row.name} | {number} | {row.scope} | {rule} | `{row.setting}` |")
    return "\n".join(lines)
