"""Impossible scales are refused before anything starts; Ray Serve gets the valid ones."""

from __future__ import annotations

from typing import Any

import pytest

from areaviz.backend.ray import Scale, make_application
from areaviz.trace.errors import InputError
from tests.server.models import FakeModels


@pytest.mark.parametrize(
    "options",
    [
        {"replicas": 0},
        {"replicas": 3, "most_replicas": 2},
        {"cpus": -1},
        {"gpus": -0.5},
        {"gpus": 1.5},
        {"together": 0},
        {"waiting": 0},
    ],
)
def test_impossible_scale_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="[.]$"):
        Scale(**options)


@pytest.mark.parametrize(
    "scale", [Scale(), Scale(2, 5, gpus=0.5), Scale(3, gpus=2, together=4, waiting=7)]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
def test_ray_serve_gets_the_options(scale: Scale) -> None:
    made = make_application(FakeModels, "digest", scale)._bound_deployment
    config = made._deployment_config
    assert (config.max_ongoing_requests, config.max_queued_requests) == (
        scale.together,
        scale.waiting,
    )
    assert (
        made.ray_actor_options["num_gpus"] == scale.gpus
        and made.ray_actor_options["num_cpus"] == scale.cpus
    )
    grows = config.autoscaling_config
    if scale.most_replicas is None:
        assert grows is None and config.num_replicas == scale.replicas
    else:
        assert (grows.min_replicas, grows.max_replicas) == (scale.replicas, scale.most_replicas)
