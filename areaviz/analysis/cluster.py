"""Ray itself: one on this machine alone, closed afterwards, or that of a cluster, which is left as
it is.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from areaviz.data.places import ROOT
from areaviz.trace.errors import BackendError

STORE_BYTES = 256 * 2**20
"""What is shared between processes of this machine: examples and rows, never weights."""
NO_REPORTS = {"RAY_USAGE_STATS_ENABLED": "0"}
HERE = {
    # all of Ray's processes listen on loopback alone, on any system
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # a busy machine starts slowly, and Ray Serve kills what is late
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "30",
}
"""Ray's switches on this machine."""


@contextmanager
def joined_ray(address: str | None, **options: Any) -> Iterator[None]:
    """Use Ray in the block: with an address that of a cluster, else one on this machine, on
    loopback, which is ended.

    Where the process uses Ray already, that one is taken and left as it is. options: further ones
    of `ray.init`.

    Raises:
        BackendError: Ray is not installed, or does not start, or the cluster does not answer.
    """
    os.environ.update(
        NO_REPORTS if address else {**NO_REPORTS, **HERE}
    )  # read when Ray is imported
    try:
        import ray
    except ImportError as error:
        raise BackendError(
            "Ray is not installed; install it with: pip install 'areaviz[serve]'."
        ) from error
    if ray.is_initialized():
        yield
        return
    private: AbstractContextManager[dict[str, str]] = (
        nullcontext({}) if address else _private_files()
    )
    with private as files:
        try:
            ray.init(**{**_options(address), **files, **options})
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            reason = str(error)[:200]
            raise BackendError(
                f"Ray could not be started or reached ({reason}); look at its address."
            ) from error
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _private_files() -> Iterator[dict[str, str]]:
    """Options that have Ray keep its files, logs and sockets where no other user of this machine
    can open them.

    Ray opens its own folder to everybody, so it gets one within a folder that is not; it is removed
    afterwards. A path must be short, because there are sockets in it; and a token of Ray's own is
    written into the home folder.
    """
    others = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory(
            prefix="areaviz-ray-", dir="/tmp", ignore_cleanup_errors=True
        ) as folder:
            yield {"_temp_dir": f"{folder}/r"}
    finally:
        os.umask(others)


def _options(address: str | None) -> Mapping[str, Any]:
    common = {"log_to_driver": False, "logging_level": "warning"}
    if address:
        return {**common, "address": address, "namespace": "areaviz"}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    workers = {"env_vars": {"PYTHONPATH": path}}
    return {
        **common,
        "address": "local",
        "include_dashboard": False,
        "object_store_memory": STORE_BYTES,
        "runtime_env": workers,
    }
