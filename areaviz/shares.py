"""Fair shares for users: the table of limits, and the counters that enforce it.

Read the table first. The visitors, the counters and the time for which work is kept follow.
"""

from __future__ import annotations

import ipaddress
import math
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum

from areaviz.trace.errors import BackendBusy, InputError

# The table of shares: how much of each limited resource a reader, an address or the app may use.
#
# Code, settings and documentation read this table. To add a limit, add a row here and use it with a
# counter of `areaviz/shares.py`:
#
#     waiting = Shares(QUESTIONS_WAITING)
#     with waiting.holding(visitor): ...
#
# The operator sets a limit with the environment variable that `Limit.setting` names.
# `tests/shares/test_limits.py` compares the table with docs/reliability.md.


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


# Visitors, whose use is limited by shares, and the error for a visitor without a share left.


@dataclass(frozen=True, slots=True)
class Visitor:
    """A reader and the network address of the reader's connection.

    Args:
        reader: the id in the cookie, or "" for a connection without a cookie.
        address: the address that `find_network` returns. It is "" if many readers share the address
            or if it is unknown. Only the reader's share then limits a visitor.
    """

    reader: str = ""
    address: str = ""

    def accounts(self) -> tuple[tuple[Scope, str], ...]:
        """Return the accounts to which the visitor's use is added: reader and network address."""
        own = (Scope.READER, self.reader) if self.reader else (Scope.ANONYMOUS, "")
        return (own, (Scope.ADDRESS, self.address)) if self.address else (own,)


class OverLimit(BackendBusy):
    """Error for a visitor who has used up a share.

    Args:
        limit: the row of the table.
        scope: the unit whose share is used up: the reader, the address, or all connections without
            a cookie.
    """

    def __init__(self, limit: Limit, scope: Scope) -> None:
        sentences = [limit.said(), limit.advice]
        if scope is Scope.ADDRESS:
            sentences.insert(1, ADDRESS_FACTOR.said())
        if scope is Scope.ANONYMOUS:
            sentences.insert(1, ANONYMOUS_FACTOR.said())
        super().__init__(" ".join(sentences))
        self.limit, self.scope = limit, scope


def get_limit_of_scope(limit: Limit, scope: Scope) -> float:
    """Return how much an account with this scope may use, in the unit of the limit."""
    if scope is Scope.ADDRESS:
        return limit.value() * ADDRESS_FACTOR.value()
    if scope is Scope.ANONYMOUS:
        return limit.value() * ANONYMOUS_FACTOR.value()
    return limit.value()


def find_network(client: str, proxies: Collection[str] = ()) -> str:
    """Return the address by which shares are counted.

    A provider assigns the first 64 bits of an IPv6 address to one customer, so only these count.

    Args:
        client: the address of the other side of a connection.
        proxies: addresses of proxies that the operator named.

    Returns:
        The address, or "" if it represents many readers. This is the case for this machine's own
        address, and for a proxy that did not state the address of its client.
    """
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return ""
    if client in proxies or address.is_loopback:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return find_network(str(address.ipv4_mapped), proxies)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return client


# Counters that enforce the table of shares. All of them are safe for several threads.
#
# `Shares` counts what visitors use at the moment, such as running questions. `Rates` counts what
# they use over time, such as messages per second.


_Account = tuple[Scope, str]


class Shares:
    """Amounts of one limited resource that visitors hold, counted for each reader and each address.

    Args:
        limit: a row of the table whose scope is the reader.
    """

    def __init__(self, limit: Limit) -> None:
        assert limit.scope is Scope.READER, limit.name
        self.limit = limit
        self._held: defaultdict[_Account, float] = defaultdict(float)
        self._lock = threading.Lock()

    def take(self, visitor: Visitor, amount: float = 1) -> None:
        """Add an amount to what a visitor holds. Every call needs a call of `release`.

        Raises:
            OverLimit: the reader or the address would hold more than its share. Nothing is added.
        """
        if full := self.try_take(visitor, amount):
            raise OverLimit(self.limit, full)

    def try_take(self, visitor: Visitor, amount: float = 1) -> Scope | None:
        """Add an amount as `take` does, but return the scope of a full share, or None."""
        with self._lock:
            for account in visitor.accounts():
                if self._held[account] + amount > get_limit_of_scope(self.limit, account[0]):
                    return account[0]
            for account in visitor.accounts():
                self._held[account] += amount
        return None

    def release(self, visitor: Visitor, amount: float = 1) -> None:
        """Subtract an amount that the visitor took."""
        with self._lock:
            for account in visitor.accounts():
                left = self._held[account] - amount
                # Sums of fractions may miss 0 by a rounding error.
                if left > 1e-9:
                    self._held[account] = left
                else:
                    del self._held[account]

    @contextmanager
    def holding(self, visitor: Visitor, amount: float = 1) -> Iterator[None]:
        """Hold an amount while the block runs.

        Raises:
            OverLimit: the reader or the address would hold more than its share. The block does not
                run.
        """
        self.take(visitor, amount)
        try:
            yield
        finally:
            self.release(visitor, amount)

    def held(self, visitor: Visitor) -> float:
        """Return the amount that the visitor's reader holds.

        All connections without a cookie count as one reader.
        """
        with self._lock:
            return self._held[visitor.accounts()[0]]

    def by_reader(self) -> dict[str, float]:
        """Return the amount that each reader holds, largest first.

        The key "" stands for all connections without a cookie.
        """
        with self._lock:
            readers = [(key, held) for (scope, key), held in self._held.items() if _is_own(scope)]
        return dict(sorted(readers, key=lambda item: item[1], reverse=True))

    def total(self) -> float:
        """Return the amount that all readers hold together."""
        return sum(self.by_reader().values())


class Rates:
    """The use of one limited resource over time, by the token bucket algorithm.

    A visitor has a share per second. Unused shares can be saved and used at once in a burst.

    Args:
        limit: a row of the table whose scope is the reader, with the share per second.
        burst_seconds: number of seconds whose share a visitor can save.
        clock: function that returns the time in seconds and never goes back.
    """

    def __init__(
        self, limit: Limit, burst_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        assert limit.scope is Scope.READER, limit.name
        self.limit, self._burst_seconds, self._clock = limit, burst_seconds, clock
        # The amount that is used and not yet refilled, and the time at which it was computed.
        self._used: dict[_Account, tuple[float, float]] = {}
        self._lock = threading.Lock()
        self._swept = clock()

    def use(self, visitor: Visitor, amount: float = 1) -> None:
        """Record that a visitor uses an amount.

        Raises:
            OverLimit: the reader or the address has not saved enough. Nothing is recorded.
        """
        if full := self.try_use(visitor, amount):
            raise OverLimit(self.limit, full)

    def try_use(self, visitor: Visitor, amount: float = 1) -> Scope | None:
        """Record an amount as `use` does, but return the scope of a used-up share, or None."""
        with self._lock:
            now = self._clock()
            self._sweep(now)
            for account in visitor.accounts():
                most = get_limit_of_scope(self.limit, account[0]) * self._burst_seconds
                if self._still_used(account, now) + amount > most:
                    return account[0]
            for account in visitor.accounts():
                self._used[account] = self._still_used(account, now) + amount, now
        return None

    def charge(self, visitor: Visitor, amount: float = 1) -> float:
        """Record an amount that was already used.

        Returns:
            Seconds to wait before the next use, or 0 if the visitor is within the saved share.
        """
        with self._lock:
            now, wait = self._clock(), 0.0
            self._sweep(now)
            for account in visitor.accounts():
                share = get_limit_of_scope(self.limit, account[0])
                used = self._still_used(account, now) + amount
                self._used[account] = used, now
                wait = max(wait, used / share - self._burst_seconds)
        return wait

    def __len__(self) -> int:
        return len(self._used)

    def _still_used(self, account: _Account, now: float) -> float:
        used, when = self._used.get(account, (0.0, now))
        return max(0.0, used - (now - when) * get_limit_of_scope(self.limit, account[0]))

    def _sweep(self, now: float) -> None:
        """Remove accounts whose share is full again, so that past visitors use no memory."""
        if now - self._swept < self._burst_seconds:
            return
        self._swept = now
        for account in list(self._used):
            if not self._still_used(account, now):
                del self._used[account]


def _is_own(scope: Scope) -> bool:
    return scope in (Scope.READER, Scope.ANONYMOUS)


# The operator's setting for how long the app keeps its users' work.


# Environment variable with a number of days. Notes, slices, ratings and analyses that are unchanged
# for so long are removed. Without it, nothing is removed.
DAYS = "AREAVIZ_KEEP_DAYS"
MAX_DAYS = 36_500


def keep_days() -> float | None:
    """Return the retention period in days, or None for no limit.

    Raises:
        InputError: the environment variable is not a number.
    """
    given = os.environ.get(DAYS, "").strip()
    if not given:
        return None
    with suppress(ValueError):
        days = float(given)
        if 0 < days <= MAX_DAYS:
            return days
    raise InputError(
        f'{DAYS} is "{given[:40]}" but must be a number of days up to {MAX_DAYS:,}. Correct'
        " the setting."
    )
