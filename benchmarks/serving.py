"""Measure what a request costs in this process and through Ray Serve, in one run on one machine.

    python -m benchmarks.serving [--write]

A model is asked in three ways: in this process; over HTTP to a server in this process (the protocol
without Ray); over HTTP to Ray Serve with two replicas. The ways alternate with each sentence, so
other work of the machine affects all of them. New sentences run the model. Repeated sentences are
answered from the cache.
"""

from __future__ import annotations

import argparse
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from areaviz.backend import wire
from areaviz.backend.access import compute_digest, read_token, write_token
from areaviz.backend.backend import Backend, CachedBackend
from areaviz.backend.ray import Place, Scale, open_local, serve_backend
from areaviz.backend.remote import RemoteBackend
from areaviz.backend.server import Api
from areaviz.samples.paths import CHECKPOINTS, ROOT
from areaviz.trace import file
from areaviz.trace.request import Request
from benchmarks.report import markdown, percentile, processor, write_section

MODEL = "char-tiny-area"
ROUNDS, AT_ONCE = 30, 8
NOUNS = ("dog", "man", "woman", "child", "boy", "girl")
VERBS = ("runs", "sits", "plays", "stands", "sleeps")
Ways = Mapping[str, Backend]


def sentences(start: str) -> list[str]:
    """Return sentences of similar length."""
    return [f"{start} {noun} {verb} in the garden." for noun in NOUNS for verb in VERBS][:ROUNDS]


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def one_by_one(ways: Ways, texts: Sequence[str]) -> dict[str, list[float]]:
    """Return the seconds of every sentence for each way. The ways alternate."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for text in texts:
        for name, backend in ways.items():
            taken[name].append(seconds(partial(backend.trace, Request(MODEL, text))))
    return taken


def at_once(backend: Backend, texts: Sequence[str]) -> float:
    """Return sentences per second for several concurrent requests."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return len(texts) / seconds(
            lambda: list(pool.map(lambda text: backend.trace(Request(MODEL, text)), texts))
        )


def rows(ways: Ways) -> list[list[str]]:
    """Return one row per way."""
    for backend in ways.values():
        backend.trace(Request(MODEL, "The model is loaded first."))
    new, again = one_by_one(ways, sentences("A small")), one_by_one(ways, sentences("A small"))
    found = []
    for number, (name, backend) in enumerate(ways.items()):
        rate = at_once(backend, sentences(f"The {'very ' * number}old"))
        found.append([name, *_quantiles(new[name]), *_quantiles(again[name]), f"{rate:.1f}"])
    return found


def _quantiles(taken: Sequence[float]) -> tuple[str, str]:
    milliseconds = [1000 * one for one in taken]
    return percentile(milliseconds, 50), percentile(milliseconds, 95)


@contextmanager
def in_process_server(backend: Backend, digest: str) -> Iterator[str]:
    """Serve the answers with Python's own HTTP server, and yield its address."""
    api = Api(backend, digest)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = api.answer(self.command, self.path, self.headers.get("Authorization", ""), body)
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content)

        do_GET = do_POST = _answer

        def log_message(self, *_: object) -> None:
            """Do nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def main() -> None:
    """Measure and print, and with --write put the table into docs/scale.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "token"
        write_token(path)
        token, open_models = read_token(path), partial(open_local, CHECKPOINTS, "cpu")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            place = Place(port=probe.getsockname()[1])
        near = stack.enter_context(
            in_process_server(CachedBackend(open_models()), compute_digest(token))
        )
        began = time.perf_counter()
        far = stack.enter_context(
            serve_backend(open_models, compute_digest(token), Scale(replicas=2), place)
        )
        started = time.perf_counter() - began
        here = CachedBackend(open_models())
        ways: dict[str, Backend] = {
            "in this process": here,
            "over HTTP, server in this process": RemoteBackend(near, token),
            "over HTTP, Ray Serve, two replicas": RemoteBackend(far, token),
        }
        measured = rows(ways)
        size = len(file.trace_to_bytes(here.trace(Request(MODEL, sentences("A small")[0]))))
    columns = [
        "way",
        "new p50 ms",
        "new p95 ms",
        "again p50 ms",
        "again p95 ms",
        f"{AT_ONCE} at once, sentences/s",
    ]
    about = (
        f"Measured on {processor()}: `{MODEL}`, greedy, {ROUNDS} sentences of about 35 letters. We"
        " measured the ways alternately, with one thread each. One such trace has"
        f" {size / 1024:,.0f} KiB. Maps above {wire.INLINE_BYTES // 1024:,} KiB are sent without"
        f" their weights. Ray and its replicas took {started:.0f} s to start."
    )
    text = markdown(about, columns, measured)
    print(text)
    if options.write:
        write_section("serving", text, ROOT / "docs" / "scale.md")


if __name__ == "__main__":
    main()
