"""Readers and addresses cannot exceed their shares, however many cookies they send."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from areaviz.shares import Limit, OverLimit, Rates, Scope, Shares, Visitor

TWO = Limit("things", 2, Scope.READER, "A reader may hold {limit} things.", "Put one down.")
ANNA, BORIS = Visitor("a" * 32, "203.0.113.1"), Visitor("b" * 32, "203.0.113.2")


def fresh(number: int, address: str) -> Visitor:
    return Visitor(f"{number:032x}", address)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_take_refuses_more_than_a_users_share() -> None:
    shares = Shares(TWO)
    shares.take(ANNA)
    shares.take(ANNA)
    with pytest.raises(OverLimit, match="A reader may hold 2 things. Put one down."):
        shares.take(ANNA)
    shares.take(BORIS)
    shares.release(ANNA)
    shares.take(ANNA)
    assert shares.by_reader() == {ANNA.reader: 2, BORIS.reader: 1}
    assert shares.total() == 3


def test_fresh_cookies_share_four_times_a_readers_share() -> None:
    shares = Shares(TWO)
    taken = [shares.try_take(fresh(number, "203.0.113.1")) for number in range(20)]
    assert taken == [None] * 8 + [Scope.ADDRESS] * 12
    assert shares.try_take(BORIS) is None


def test_connections_without_cookie_share_one_share() -> None:
    shares = Shares(TWO)
    taken = [shares.try_take(Visitor("", f"203.0.113.{number}")) for number in range(5)]
    assert taken == [None] * 2 + [Scope.ANONYMOUS] * 3
    assert shares.try_take(ANNA) is None


def test_shared_address_is_not_limited() -> None:
    shares = Shares(TWO)
    assert {shares.try_take(fresh(number, "")) for number in range(100)} == {None}


def test_refused_take_changes_no_account() -> None:
    shares = Shares(TWO)
    for number in range(8):
        shares.take(fresh(number, ANNA.address))
    assert shares.try_take(ANNA) is Scope.ADDRESS
    assert shares.held(ANNA) == 0


def test_holding_releases_after_an_error() -> None:
    shares = Shares(TWO)
    with pytest.raises(KeyError), shares.holding(ANNA, 1.7):
        assert shares.held(ANNA) == 1.7
        raise KeyError
    assert shares.by_reader() == {}


def test_released_fractions_sum_to_zero() -> None:
    shares = Shares(TWO)
    for amount in (0.1, 0.2, 0.3):
        shares.take(ANNA, amount)
    for amount in (0.3, 0.2, 0.1):
        shares.release(ANNA, amount)
    assert shares.by_reader() == {}


def test_address_factor_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_LIMIT_ADDRESS_FACTOR", "1")
    monkeypatch.setenv("AREAVIZ_LIMIT_ANONYMOUS_FACTOR", "0.5")
    shares = Shares(TWO)
    taken = [shares.try_take(fresh(number, "203.0.113.1")) for number in range(3)]
    assert taken == [None, None, Scope.ADDRESS]
    assert [shares.try_take(Visitor()) for _ in range(2)] == [None, Scope.ANONYMOUS]


def test_threads_never_exceed_a_share() -> None:
    limit = Limit("things", 500, Scope.READER, "A reader may hold {limit} things.")
    shares = Shares(limit)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: shares.try_take(ANNA), range(2000)))
    assert taken.count(None) == 500
    assert shares.held(ANNA) == 500


def test_rate_allows_a_burst_then_the_average() -> None:
    clock = Clock()
    rates = Rates(TWO, burst_seconds=5, clock=clock)
    assert [rates.try_use(ANNA) for _ in range(11)] == [None] * 10 + [Scope.READER]
    clock.now += 1.0
    assert [rates.try_use(ANNA) for _ in range(3)] == [None, None, Scope.READER]
    with pytest.raises(OverLimit, match="A reader may hold 2 things"):
        rates.use(ANNA)
    rates.use(BORIS, 10)


def test_rate_of_fresh_cookies_is_bounded_by_the_address() -> None:
    rates = Rates(TWO, burst_seconds=1, clock=Clock())
    used = [rates.try_use(fresh(number, "203.0.113.1")) for number in range(20)]
    assert used == [None] * 8 + [Scope.ADDRESS] * 12


def test_rate_forgets_visitors_who_are_idle() -> None:
    clock = Clock()
    rates = Rates(TWO, burst_seconds=5, clock=clock)
    for number in range(1000):
        rates.use(fresh(number, ""))
    assert len(rates) == 1000
    clock.now += 6
    rates.use(ANNA)
    assert len(rates) == 2  # Anna and her address


def test_charge_returns_the_waiting_time() -> None:
    clock = Clock()
    rates = Rates(TWO, burst_seconds=5, clock=clock)
    assert rates.charge(ANNA, 10) == 0
    assert rates.charge(ANNA, 4) == 2
    assert rates.charge(BORIS) == 0
    clock.now += 2
    assert rates.charge(ANNA, 0) == 0
    assert rates.charge(ANNA, 2) == 1


def test_charge_of_fresh_cookies_waits_for_the_address() -> None:
    rates = Rates(TWO, burst_seconds=1, clock=Clock())
    waits = [rates.charge(fresh(number, "203.0.113.1"), 2) for number in range(6)]
    assert waits == [0, 0, 0, 0, 0.25, 0.5]
