"""Turns of analyses: those that are watched first, in the order they came, and who is stopped
leaves the line.
"""

from __future__ import annotations

import threading
import time

import pytest

from areaviz.analysis.turns import Stopped, Turns


class Line:
    """Threads that wait for a turn, one behind the other, and note who got it."""

    def __init__(self, turns: Turns) -> None:
        self.turns, self.order, self.threads = turns, list[str](), list[threading.Thread]()
        self.stop = threading.Event()
        self.stopped = list[str]()

    def join(self, name: str, watched: bool) -> None:
        before = len(self.turns._waiting)
        self.threads.append(threading.Thread(target=self._wait, args=(name, watched)))
        self.threads[-1].start()
        while len(self.turns._waiting) == before:
            time.sleep(0.001)

    def end(self) -> None:
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()

    def _wait(self, name: str, watched: bool) -> None:
        try:
            with self.turns.turn(lambda: watched, self.stop):
                self.order.append(name)
        except Stopped:
            self.stopped.append(name)


def test_watched_ones_go_first_and_each_kind_in_the_order_it_came() -> None:
    turns = Turns(1)
    line = Line(turns)
    with turns.turn(lambda: True, threading.Event()):
        for name, watched in (
            ("left 1", False),
            ("seen 1", True),
            ("left 2", False),
            ("seen 2", True),
        ):
            line.join(name, watched)
        assert line.order == []
    line.end()
    assert line.order == ["seen 1", "seen 2", "left 1", "left 2"]


def test_who_is_stopped_leaves_the_line_and_takes_no_turn_along() -> None:
    turns = Turns(1)
    line = Line(turns)
    with turns.turn(lambda: True, threading.Event()):
        line.join("a", True)
        line.join("b", True)
        line.stop.set()
        line.end()
    assert sorted(line.stopped) == ["a", "b"] and line.order == []
    with turns.turn(lambda: True, threading.Event()):
        line.order.append("free again")
    with pytest.raises(Stopped), turns.turn(lambda: True, line.stop):
        pass
    assert line.order == ["free again"]


def test_a_turn_is_given_back_where_the_run_fails() -> None:
    turns = Turns(1)
    for _ in range(2):
        with pytest.raises(RuntimeError), turns.turn(lambda: True, threading.Event()):
            raise RuntimeError
