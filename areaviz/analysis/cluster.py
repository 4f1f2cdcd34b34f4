"""Ray itself: started on this machine and ended, or that of a cluster, which stays as it is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from areaviz.data.places import ROOT
from areaviz.trace.errors import BackendError

# What is shared between processes of this machine: examples and rows, never weights.
STORE_BYTES = 256 * 2**20
# Ray's switches, as environment variables: for every Ray, and for one on this machine.
NO_REPORTS = {"RAY_USAGE_STATS_ENABLED": "0"}
HERE = {
    # all of Ray's processes listen on loopback alone, on any system
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # a busy machine starts slowly, and Ray Serve kills what is late
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "30",
}
# Options of `ray.init`.
QUIET: Mapping[str, Any] = {"log_to_driver": False, "logging_level": "warning"}


@contextmanager
def joined_ray(address: str | None, **options: Any) -> Iterator[None]:
    """Use Ray in the block.

    Where the process uses Ray already, that one is taken and left as it is.

    Args:
        address: of a cluster; None for Ray on this machine, on loopback, ended with the block.
        options: further ones of `ray.init`.

    Raises:
        BackendError: Ray is not installed, or does not start, or the cluster does not answer.
    """
    # Ray reads them when it is imported.
    os.environ.update(NO_REPORTS if address else NO_REPORTS | HERE)
    try:
        import ray
    except ImportError as error:
        raise BackendError(
            "Ray is not installed; install it with: pip install 'areaviz[serve]'."
        ) from error
    if ray.is_initialized():
        yield
        return
    with ExitStack() as stack:
        if address:
            settings = {**QUIET, "address": address, "namespace": "areaviz"}
        else:
            settings = _local_settings(stack.enter_context(_private_folder()))
        try:
            ray.init(**{**settings, **options})
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            reason = str(error)[:200]
            raise BackendError(
                f"Ray could not be started or reached ({reason}); look at its address."
            ) from error
        stack.callback(ray.shutdown)
        yield


def _local_settings(folder: str) -> dict[str, Any]:
    """Options of `ray.init` for Ray on this machine."""
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
def _private_folder() -> Iterator[str]:
    """A folder for Ray's files, logs and sockets, which no other user of this machine can open.

    Ray opens its own folder to everybody, so it gets one within this one, which is removed
    afterwards. The path must be short, because there are sockets in it; and Ray writes a token of
    its own into the home folder, which the mask keeps private.
    """
    mask = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory(
            prefix="areaviz-ray-", dir="/tmp", ignore_cleanup_errors=True
        ) as folder:
            yield folder
    finally:
        os.umask(mask)
