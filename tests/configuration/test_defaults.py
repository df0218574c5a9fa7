"""The configuration is the one that the contract prints, key by key."""

from __future__ import annotations

import tomllib

import pytest
from pydantic import ValidationError

from sgverify.configuration import Configuration, known_keys, load_configuration

# As published; the keys in comments there are open here.
PUBLISHED = """
temperature = 1.0
friction = 2.0
steps = 10000
chains = 256
seed = 0
start = 2.0
start_momentum = "zero"
dtype = "float64"
device = "cpu"
burn_in = 0
thinning = 1
test_function = "theta**2"

[target]
name = "gaussian-mean"

[gradient]
kind = "full"
batch = 10
covariance = 1.0
scale = 1.0

[schedule]
kind = "fixed"

[sweep]
"""


def test_the_defaults_are_the_published_ones() -> None:
    assert load_configuration().as_dict() == tomllib.loads(PUBLISHED)
    assert load_configuration() == Configuration() == load_configuration(tomllib.loads(PUBLISHED))


def test_every_published_key_is_known_and_no_other() -> None:
    assert set(known_keys(Configuration)) == {
        *("temperature", "friction", "steps", "chains", "seed", "start", "start_momentum", "dtype", "device"),
        *(
            "burn_in",
            "thinning",
            "test_function",
            "metric",
            "proof_dim",
            "level",
            "resample_momentum",
            "how_large",
        ),
        *(f"target.{key}" for key in ("name", "dim", "precision", "mean", "size", "data_seed", "data")),
        *(f"target.{key}" for key in ("shape", "rate", "alpha", "beta", "concentration")),
        *(
            f"target.{key}"
            for key in ("prior_precision", "prior_mean", "noise_precision", "degrees_of_freedom")
        ),
        *(f"target.{key}" for key in ("height", "width", "tilt", "strength", "weights", "means", "scales")),
        *(
            f"target.{key}"
            for key in ("phi", "sigma", "confinement", "file", "columns", "key", "sha256", "loader")
        ),
        *(f"target.{key}" for key in ("mode", "whiten", "standardise", "intercept", "names")),
        "target.averages",
        *(f"adapter.{key}" for key in ("dynamics", "map", "state", "gradient", "density", "order")),
        *(f"gradient.{key}" for key in ("kind", "batch", "covariance", "scale", "clip", "refresh")),
        *(f"schedule.{key}" for key in ("kind", "step", "scale", "alpha")),
        *(f"schedule.{key}" for key in ("cycles", "low", "threshold", "shape", "decay", "after")),
        *(f"annealing.{key}" for key in ("epoch", "cooling", "correction", "until")),
        *(f"sweep.{key}" for key in ("steps", "lengths")),
        *(
            f"exchange.{key}"
            for key in ("ladder", "step_factors", "correction", "every", "intensity", "energies")
        ),
        *(f"exchange.{key}" for key in ("variance", "repeats", "smoothing", "refresh", "momentum")),
        *(f"partition.{key}" for key in ("preset", "low", "high", "bins", "edges", "zeta", "scale", "alpha")),
        *(f"partition.{key}" for key in ("offset", "weights", "temperature")),
    }


def test_a_configuration_is_frozen() -> None:
    configuration = load_configuration()
    with pytest.raises(ValidationError, match="frozen"):
        configuration.seed = 1
    with pytest.raises(ValidationError, match="frozen"):
        configuration.target.name = "gaussian"
