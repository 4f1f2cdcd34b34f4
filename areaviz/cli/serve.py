"""`python -m areaviz serve`: start the app; `serve models`: the models alone, on Ray Serve; `serve token`: a token."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from areaviz.backend.access import LOOPBACK_NAMES, digest_of, is_loopback, read_token, write_token
from areaviz.serving.on_ray import open_local, serving
from areaviz.serving.options import Place, Scale
from areaviz.trace.errors import BackendError, InputError

ROOT = Path(__file__).resolve().parents[2]
DIGEST = "AREAVIZ_APP_TOKEN_SHA256"
"""How the app learns of its token: as `areaviz/ui/admission.py` reads it."""
TRACE = "AREAVIZ_TRACE"
"""How the page Your tensors learns of a file to show: as `areaviz/ui/opened.py` reads it."""
EVERY_ADDRESS = ("0.0.0.0", "::")

serve = typer.Typer(no_args_is_help=False)
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port.")]
Host = Annotated[
    str, typer.Option(help="The address to listen at; other machines need 0.0.0.0 or one of this machine's.")
]
TokenFile = Annotated[Path | None, typer.Option(help="The file that holds the access token; see: serve token.")]


@serve.callback(invoke_without_command=True)
def app(
    context: typer.Context,
    port: Port = 8501,
    host: Host = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name by which readers reach this machine; can be given again.")
    ] = None,
    token_file: TokenFile = None,
    trace: Annotated[
        Path | None, typer.Option(help="A file that the page Your tensors shows to all; it may be large.")
    ] = None,
) -> None:
    """Start the app on http://127.0.0.1:8501, for this machine only.

    For other machines, name the address and a file with an access token. Looks and limits are set in
    .streamlit/config.toml. Stop it with Ctrl-C.
    """
    if context.invoked_subcommand is not None:
        return
    script = ROOT / "app.py"
    if not script.exists():
        raise BackendError(f"{script} is missing; start the app from a clone of the repository, where app.py lies.")
    check_open(host, token_file)
    options = ["--server.port", str(port), *_address(host, allow_host or [])]
    _set_token(token_file)
    set_trace(trace)
    # Streamlit finds its configuration in the working directory, and takes over this process: one process to stop.
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", str(script), *options])


@serve.command()
def models(
    port: Port = 8000,
    host: Host = "127.0.0.1",
    token_file: TokenFile = None,
    checkpoints: Annotated[Path, typer.Option(help="The folder of models.")] = ROOT / "checkpoints",
    device: Annotated[str, typer.Option(help="auto, cuda, mps or cpu.")] = "auto",
    replicas: Annotated[int, typer.Option(min=1, help="Copies of the models, or the fewest of them.")] = 1,
    most_replicas: Annotated[int | None, typer.Option(help="Add copies up to this many while requests wait.")] = None,
    cpus: Annotated[float, typer.Option(min=0, help="Processors of a copy.")] = 1.0,
    gpus: Annotated[float, typer.Option(min=0, help="GPUs of a copy; 0.5 puts two copies on one.")] = 0.0,
    together: Annotated[int, typer.Option(min=1, help="Requests a copy works on at once.")] = 16,
    waiting: Annotated[int, typer.Option(min=1, help="Requests that may wait for a copy.")] = 64,
    cluster: Annotated[
        str | None, typer.Option(help='A Ray cluster, "auto" on one of its nodes; else Ray here.')
    ] = None,
) -> None:
    """Serve the models without the app, on Ray Serve; the app connects by AREAVIZ_BACKEND=http://HOST:PORT.

    Every request wants the access token, on this machine too. docs/scale.md tells more. Stop it with Ctrl-C.
    """
    if token_file is None:
        raise InputError(
            "The server of models wants an access token, on this machine too; write one with "
            "python -m areaviz serve token FILE and add --token-file FILE."
        )
    digest = digest_of(read_token(token_file))
    scale, place = Scale(replicas, most_replicas, cpus, gpus, together, waiting), Place(host, port, cluster)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        suppress(KeyboardInterrupt),
        serving(partial(open_local, checkpoints.resolve(), device), digest, scale, place) as address,
    ):
        typer.echo(f"The models are served at {address}; connect the app with: AREAVIZ_BACKEND={address}")
        while True:  # not `signal.pause`, which sleeps on where the signal came just before it
            time.sleep(0.5)


@serve.command()
def token(file: Annotated[Path, typer.Argument(help="The file to write; it must not be there yet.")]) -> None:
    """Write a new access token to a file that only you can read."""
    write_token(file)
    typer.echo(f"{file} holds a new access token; pass it on by hand, and serve with: --token-file {file}")


def check_open(host: str, token_file: Path | None) -> None:
    """Refuse to listen beyond this machine without an access token; raises InputError."""
    if token_file is None and not is_loopback(host):
        raise InputError(
            f"Listening at {host}, beyond this machine, needs an access token; write one with "
            "python -m areaviz serve token FILE and add --token-file FILE."
        )


def _address(host: str, names: list[str]) -> list[str]:
    """Streamlit's options for the address and the names that a browser may ask for; none where it stays as set."""
    if host == "127.0.0.1" and not names:
        return []
    if host in EVERY_ADDRESS and not names:
        raise InputError(
            f"Listening at {host} needs the names by which readers reach this machine, so that no other website can "
            "use the app through their browsers; add --allow-host NAME."
        )
    allowed = [*LOOPBACK_NAMES, *names, *([] if host in EVERY_ADDRESS else [host])]
    pairs = [("--server.address", host), *(("--server.allowedHosts", name) for name in dict.fromkeys(allowed))]
    return [word for pair in pairs for word in pair]


def set_trace(trace: Path | None) -> None:
    """Name a stored trace, or a file of arrays, to the app; raises InputError where there is no such file."""
    if trace is not None:
        if not trace.is_file():
            raise InputError(f"There is no file {trace}; name a trace that this app has saved, or an npz of arrays.")
        os.environ[TRACE] = str(trace.resolve())


def _set_token(token_file: Path | None) -> None:
    """Hand the token's digest to the app; the token itself stays in its file."""
    os.environ.pop(DIGEST, None)
    if token_file is not None:
        os.environ[DIGEST] = digest_of(read_token(token_file))
