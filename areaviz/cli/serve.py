"""The commands `serve`, `status` and `jobs`, for the operator of an app or a model server.

The checks of settings come first. `serve` runs them before it starts anything.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from areaviz.backend.access import (
    EVERY_ADDRESS,
    compute_digest,
    is_loopback,
    read_token,
    write_token,
)
from areaviz.backend.backend import DEFAULT_CHECKPOINTS, Checkpoints, Device
from areaviz.backend.ray import Place, Scale, open_local, serve_backend
from areaviz.draw.labels import escape_controls
from areaviz.samples.paths import FOLDERS_SETTING, ROOT
from areaviz.shares import TABLE, keep_days, list_limits
from areaviz.trace.errors import BackendError, InputError

if TYPE_CHECKING:
    from areaviz.gateway.protocols import Connections
    from areaviz.gateway.serving import Command


# Checks of the operator's settings at startup, so that readers never meet a wrong setting.


_LIMIT_PREFIX = "AREAVIZ_LIMIT_"


def check_settings() -> None:
    """Check the limits, the budgets of memory and disk, and the retention period.

    Raises:
        InputError: a setting has a wrong value or names a limit that does not exist.
    """
    # Imported late, because it imports Streamlit.
    from areaviz.app.run import DISK_VARIABLE, MEMORY_VARIABLE, read_budget_bytes

    known = {limit.setting.removeprefix(_LIMIT_PREFIX) for limit in TABLE}
    for setting in os.environ:
        name = setting.removeprefix(_LIMIT_PREFIX)
        if setting.startswith(_LIMIT_PREFIX) and name not in known:
            raise InputError(
                f"There is no limit for the setting {setting}.{_make_advice(name, known)}"
            )
    list_limits()
    keep_days()
    for name in (MEMORY_VARIABLE, DISK_VARIABLE):
        read_budget_bytes(name)


def _make_advice(name: str, known: set[str]) -> str:
    """Return advice for a setting whose limit does not exist.

    Args:
        name: the name of the limit in the setting.
        known: the names of all limits. The advice names the most similar one, if there is one.
    """
    similar = difflib.get_close_matches(name, sorted(known), n=1)
    if similar:
        return f" Remove it, or use {_LIMIT_PREFIX}{similar[0]}."
    return " Remove it. The table of shares in docs/reliability.md lists all limits."


# `serve` starts the app, `serve models` a model server, and `serve token` writes a token.


# The setting that names the file for the page "Your own attention".
# `areaviz/app/files.py` reads it.
TRACE = "AREAVIZ_TRACE"
_NAME = re.compile(r"[A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+")
_ORIGIN = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?")

serve = typer.Typer(no_args_is_help=False)
Port = Annotated[int, typer.Option(min=1, max=65535, help="The port.")]
Host = Annotated[
    str,
    typer.Option(
        help=(
            "Address to listen on. Use 0.0.0.0, or an address of this machine, to admit"
            " other machines."
        )
    ),
]
Folders = Annotated[
    list[str] | None,
    typer.Option(
        help="Folder or hub name of a transformers model to show next to the app's own"
        " models. Repeatable."
    ),
]
TokenFile = Annotated[
    Path | None, typer.Option(help="The file with the access token. See: serve token.")
]


@serve.callback(invoke_without_command=True)
def app(
    context: typer.Context,
    port: Port = 8501,
    host: Host = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A host name under which users reach this machine. Repeatable."),
    ] = None,
    token_file: TokenFile = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            help=("A trace that the page Your own attention shows to every user. It may be large.")
        ),
    ] = None,
    model: Folders = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a reverse proxy in front of the app. Repeatable."),
    ] = None,
    base_path: Annotated[
        str, typer.Option(help="The path below which a proxy serves the app, such as /areaviz.")
    ] = "",
    allow_frame: Annotated[
        list[str] | None,
        typer.Option(
            help="An origin (https://NAME) that may embed the app in a frame. Repeatable."
        ),
    ] = None,
) -> None:
    """Start the app on http://127.0.0.1:8501, for this machine only.

    To admit other machines, give --host and --token-file. You can change the appearance in
    .streamlit/config.toml. Stop the app with Ctrl-C.
    """
    if context.invoked_subcommand is not None:
        return
    if not (ROOT / "app.py").exists():
        raise BackendError(
            f"{ROOT / 'app.py'} is missing. Start the app from a clone of the repository."
        )
    check_open(host, allow_host or [], token_file)
    check_origins(allow_frame or [])
    token = read_token(token_file) if token_file else ""
    # Imported here, so that an error in the options appears before Streamlit is imported.
    from areaviz.gateway.gateway import AppPlace
    from areaviz.gateway.protocols import check_base_path
    from areaviz.gateway.serving import serve_app

    check_settings()
    set_trace(trace)
    set_models(model or [])
    place = AppPlace(
        host,
        port,
        names=tuple(allow_host or ()),
        token=token,
        proxies=tuple(proxy or ()),
        framing=tuple(allow_frame or ()),
        base=check_base_path(base_path),
    )
    serve_app(place, ROOT, make_operator_commands)


@serve.command()
def models(
    port: Port = 8000,
    host: Host = "127.0.0.1",
    token_file: TokenFile = None,
    checkpoints: Checkpoints = DEFAULT_CHECKPOINTS,
    model: Folders = None,
    device: Device = "auto",
    replicas: Annotated[
        int, typer.Option(min=1, help="Number of copies of the models, or the minimum number.")
    ] = 1,
    most_replicas: Annotated[
        int | None, typer.Option(help="Maximum number of copies. They are added if requests wait.")
    ] = None,
    cpus: Annotated[float, typer.Option(min=0, help="Processors per copy.")] = 1.0,
    gpus: Annotated[
        float, typer.Option(min=0, help="GPUs per copy. 0.5 puts two copies on one GPU.")
    ] = 0.0,
    together: Annotated[int, typer.Option(min=1, help="Requests that a copy runs at once.")] = 16,
    waiting: Annotated[int, typer.Option(min=1, help="Requests that may wait for a copy.")] = 64,
    cluster: Annotated[
        str | None,
        typer.Option(
            help='Address of a Ray cluster, or "auto" on one of its nodes. Default: start Ray'
            " on this machine."
        ),
    ] = None,
) -> None:
    """Serve only the models, on Ray Serve, for apps with AREAVIZ_BACKEND=http://HOST:PORT.

    Every request needs the access token, even from this machine. See docs/scale.md. Stop the server
    with Ctrl-C.
    """
    if token_file is None:
        raise InputError(
            "The model server requires an access token, even on this machine. Create one with"
            " python -m areaviz serve token FILE and add --token-file FILE."
        )
    digest = compute_digest(read_token(token_file))
    scale = Scale(replicas, most_replicas, cpus, gpus, together, waiting)
    place = Place(host, port, cluster)
    opened = partial(open_local, checkpoints.resolve(), device, check_models(model or []))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), serve_backend(opened, digest, scale, place) as address:
        typer.echo(
            f"The models are served at {address}. Connect the app with: AREAVIZ_BACKEND={address}"
        )
        # Do not use `signal.pause`: it would not wake up for a signal that arrives just before it.
        while True:
            time.sleep(0.5)


@serve.command()
def token(
    file: Annotated[Path, typer.Argument(help="The file to write. It must not exist yet.")],
) -> None:
    """Write a new access token to a file that only you can read."""
    write_token(file)
    typer.echo(
        f"{file} contains a new access token. Give it to your users yourself, and serve with:"
        f" --token-file {file}"
    )


def check_open(host: str, names: list[str], token_file: Path | None) -> None:
    """Check that an app for other machines has an access token and the needed host names.

    Args:
        host: the address to listen on.
        names: host names under which users reach the app.
        token_file: the file with the access token, or None.

    Raises:
        InputError: the token or the names are missing, or a name is not valid.
    """
    if token_file is None and not is_loopback(host):
        raise InputError(
            f"Listening on {host} admits other machines, so it requires an access token."
            " Create one with python -m areaviz serve token FILE and add --token-file FILE."
        )
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(
                f'"{name}" is not a host name. Write it as in an address, without https:// and'
                " port."
            )
    if host in EVERY_ADDRESS and not names:
        raise InputError(
            f"Listening on {host} requires --allow-host NAME with the host name that users"
            " type. The option stops other websites from using the app through a user's browser."
        )


def set_trace(trace: Path | None) -> None:
    """Tell the app which stored trace or file of arrays to show.

    Raises:
        InputError: there is no such file.
    """
    if trace is None:
        return
    if not trace.is_file():
        raise InputError(
            f"The file {trace} does not exist. Give a trace that this app has saved, or an"
            " npz of arrays."
        )
    os.environ[TRACE] = str(trace.resolve())


def set_models(given: list[str]) -> None:
    """Tell the app which external models to show.

    Raises:
        InputError: a model cannot be shown.
    """
    if given:
        os.environ[FOLDERS_SETTING] = os.pathsep.join(check_models(given))


def check_models(given: list[str]) -> list[str]:
    """Check external models, print a line for each, and return them with absolute folder paths.

    Paths must be absolute, because the app runs in another folder.

    Raises:
        InputError: a model cannot be shown.
    """
    places = [str(Path(one).resolve()) if Path(one).is_dir() else one for one in given]
    for place in places:
        # Imported late, so that other commands do not wait for torch.
        from areaviz.adapters.folder import read_folder
        from areaviz.adapters.loading import count_free_bytes, count_weights, format_bytes
        from areaviz.models.base import choose_device

        found = read_folder(place)
        weights, free = (
            count_weights(found.path),
            format_bytes(count_free_bytes(choose_device("auto"))),
        )
        typer.echo(
            f"{found.card.title}: {weights.parameters:,} parameters, stored in {weights.kind}."
            f" It needs {weights.sizes}; {free} are free."
        )
    return places


def check_origins(origins: list[str]) -> None:
    """Check origins whose pages may show the app in a frame.

    Raises:
        InputError: a value is not of the form https://NAME or https://NAME:PORT.
    """
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise InputError(
                f'"{origin}" is not a valid origin. Use https://NAME or https://NAME:PORT,'
                " without a path."
            )


def make_operator_commands(connections: Connections) -> dict[str, Command]:
    """Return the operator's commands by name. `areaviz/gateway/serving.py` runs them."""
    from areaviz.app.run import describe_work, list_work_commands
    from areaviz.gateway.serving import process_stats

    started = time.monotonic()
    return {
        "status": lambda words: process_stats(started, connections) | describe_work(),
        **list_work_commands(),
    }


# `status` and `jobs`: the activity of an app on this machine, for its operator.


AppPort = Annotated[int, typer.Option(min=1, max=65535, help="The port of the app.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
jobs = typer.Typer(no_args_is_help=False)


def status(port: AppPort = 8501, as_json: AsJson = False) -> None:
    """Show the visitors, questions, analyses and memory of an app on this machine, and its limits.

    Each reader is shown as a short digest of the id in their cookie. To change a limit, set the
    environment variable AREAVIZ_LIMIT_NAME, with the name in capitals, before you start the app.
    """
    found = _ask(port, "status")
    typer.echo(json.dumps(found, indent=2) if as_json else format_values(found))


@jobs.callback(invoke_without_command=True)
def list_jobs(context: typer.Context, port: AppPort = 8501, as_json: AsJson = False) -> None:
    """List the analyses of an app on this machine.

    The columns are number, progress, start, whether it is watched, and title.
    """
    if context.invoked_subcommand is not None:
        return  # typer also runs this function before `stop`.
    found = _ask(port, "jobs")
    lines = "\n".join(map(format_job, found)) or "No analysis is running."
    typer.echo(json.dumps(found, indent=2) if as_json else lines)


@jobs.command()
def stop(
    number: Annotated[int, typer.Argument(min=1, help="The number in the list.")],
    port: AppPort = 8501,
) -> None:
    """Stop an analysis. The app keeps its results so far and informs its reader."""
    typer.echo(f"Stopped: {format_job(_ask(port, 'jobs stop', str(number)))}")


def _ask(port: int, *words: str) -> Any:
    """Return the app's answer to a command."""
    # Imported late, because it imports the app's server.
    from areaviz.gateway.serving import send_command

    return send_command(port, *words)


def format_values(figures: Mapping[str, Any]) -> str:
    """Return one line per value, with the values aligned in one column."""
    widest = max(len(name) for name in figures)
    lines = []
    for name, value in figures.items():
        lines.append(f"{name.replace('_', ' '):{widest}}  {_format_value(value)}")
    return "\n".join(lines)


def _format_value(value: object) -> str:
    match value:
        case None:
            return "not known"
        case list():
            return "; ".join(map(_format_value, value)) or "none"
        case dict():
            parts = [
                f"{name.replace('_', ' ')} {_format_value(one)}" for name, one in value.items()
            ]
            return ", ".join(parts) or "none"
        case int() | float():
            return f"{value:,.10g}"
    return str(value)


def format_job(entry: Mapping[str, Any]) -> str:
    """Format one analysis as a line.

    Its title comes from a reader, so control characters in it are replaced with visible codes.
    """
    progress = f"{entry['done']:,} of {entry['of']:,}" if entry["of"] else "starting"
    watched = "watched" if entry["watched"] else "not watched"
    title = " ".join(escape_controls(entry["title"]).split())
    return f"{entry['number']:3}  {progress}  since {entry['begun']}  {watched}  {title}"
