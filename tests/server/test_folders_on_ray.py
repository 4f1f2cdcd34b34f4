"""External models on a local Ray Serve: a translator, and one that reads texts and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from areaviz.adapters.loading import import_transformers
from areaviz.backend.local import LocalBackend
from areaviz.backend.ray import Scale, open_local
from areaviz.backend.remote import RemoteBackend
from areaviz.trace.changes import Weigh
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from tests import fakes, marian
from tests.server.models import TOKEN
from tests.server.ray_server import served

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")]
ASKED = Request("small-marian", marian.SENTENCE)


@pytest.fixture(scope="module")
def folders(marian_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    import_transformers()
    from tests.adapters import seeing

    seer = seeing.folder(tmp_path_factory.mktemp("folders") / "seer")
    return str(marian_folder), str(seer)


@pytest.fixture(scope="module")
def there(
    folders: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RemoteBackend]:
    opened = partial(open_local, tmp_path_factory.mktemp("ours"), "cpu", folders)
    with served(opened, Scale(cpus=0.5)) as address:
        yield RemoteBackend(address, TOKEN, answer_seconds=60)


@pytest.fixture(scope="module")
def here(folders: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> LocalBackend:
    return LocalBackend(tmp_path_factory.mktemp("ours"), "cpu", folders)


@pytest.mark.parametrize(
    "request_",
    [
        ASKED,
        replace(ASKED, changes=(Weigh("encoder-decoder", items=(1,)),)),
        Request("seer", "a dog", picture=fakes.picture("seen", 64, 48)),
    ],
)
def test_server_runs_models_from_folders(
    request_: Request, there: RemoteBackend, here: LocalBackend
) -> None:
    assert there.models() == here.models() and there.problems() == ()
    found, own = there.trace(request_), here.trace(request_)
    assert {name: field.raw for name, field in found.fields.items()} == {
        name: field.raw for name, field in own.fields.items()
    }
    assert found.maps.keys() == own.maps.keys()
    for site, attention in own.maps.items():
        # Another process may add in another order. This can change a half-precision number by one
        # step.
        there_LHQA, here_LHQA = found.maps[site].weights, attention.weights
        np.testing.assert_allclose(np.asarray(there_LHQA), np.asarray(here_LHQA), atol=4e-3)


def test_server_refuses_too_long_input(there: RemoteBackend) -> None:
    with pytest.raises(InputError, match="at most 64"):
        there.trace(replace(ASKED, text="dog " * 80))
    with pytest.raises(InputError, match="reads only texts"):
        there.trace(replace(ASKED, picture=fakes.picture()))
