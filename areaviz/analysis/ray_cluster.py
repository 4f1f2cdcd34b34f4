"""Start Ray on this machine and stop it afterwards, or join a cluster and leave it running."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from areaviz.samples.paths import ROOT
from areaviz.trace.errors import BackendError

# Memory that processes on this machine share for examples and rows. Weights are never shared.
STORE_BYTES = 256 * 2**20
# Environment variables that configure Ray: on every machine, and for Ray on this machine only.
NO_REPORTS = {"RAY_USAGE_STATS_ENABLED": "0"}
HERE = {
    # All Ray processes listen only on loopback, on any operating system.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # Ray Serve kills processes that start slowly, which happens on a busy machine.
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "30",
}
# Options of `ray.init` that keep its log quiet.
QUIET: Mapping[str, Any] = {"log_to_driver": False, "logging_level": "warning"}


@contextmanager
def connect_to_ray(address: str | None, **options: Any) -> Iterator[None]:
    """Connect to Ray for the duration of the block.

    If the process already uses Ray, that connection is used and left open.

    Args:
        address: the address of a cluster. None starts Ray on this machine, on loopback, and stops
            it after the block.
        options: further options of `ray.init`.

    Raises:
        BackendError: Ray is not installed or does not start, or the cluster does not answer.
    """
    # Ray reads these variables when it is imported.
    os.environ.update(NO_REPORTS if address else NO_REPORTS | HERE)
    try:
        import ray
    except ImportError as error:
        raise BackendError(
            "Ray is not installed. Install it with: pip install 'areaviz[serve]'."
        ) from error
    if ray.is_initialized():
        yield
        return
    with ExitStack() as stack:
        if address:
            settings = {**QUIET, "address": address, "namespace": "areaviz"}
        else:
            settings = _make_local_settings(stack.enter_context(_create_private_folder()))
        try:
            ray.init(**{**settings, **options})
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            reason = str(error)[:200]
            raise BackendError(
                f"Ray could not be started or reached ({reason}). Check its address."
            ) from error
        stack.callback(ray.shutdown)
        yield


def _make_local_settings(folder: str) -> dict[str, Any]:
    """Return the `ray.init` options for Ray on this machine."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **QUIET,
        "address": "local",
        "include_dashboard": False,
        "object_store_memory": STORE_BYTES,
        "runtime_env": {"env_vars": {"PYTHONPATH": path}},
        "_temp_dir": f"{folder}/r",
    }


@contextmanager
def _create_private_folder() -> Iterator[str]:
    """Create a folder for Ray's files, logs and sockets that no other user of the machine can open.

    Ray makes its own folder readable for everyone, so it is placed inside this private folder,
    which is removed afterwards. The path must be short because it contains sockets. Ray also writes
    a token into the home folder. The umask keeps that file private.
    """
    mask = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory(
            prefix="areaviz-ray-", dir="/tmp", ignore_cleanup_errors=True
        ) as folder:
            yield folder
    finally:
        os.umask(mask)
