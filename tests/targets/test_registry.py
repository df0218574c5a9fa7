"""From a configuration to a target, and what is refused on the way."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError, UnknownNameError
from sgverify.targets import TARGETS, build_target
from tests.tables import each_row


def build(**keys: Any) -> Any:
    return build_target(SimpleNamespace(**keys))


def test_every_target_builds_from_its_name_alone() -> None:
    for name, kind in TARGETS.items():
        target = build(name=name)
        assert (target.name, target.dim, target.size) == (
            name,
            (kind.dims or (1,))[0],
            None if kind.data is None else kind.data.size,
        )
        assert kind.summary and kind.source


def test_the_configuration_is_what_it_is_made_for() -> None:
    target = build_target(
        load_configuration({"target": {"dim": 2, "size": 50, "prior_precision": [1, 2]}}).target
    )
    assert (target.name, target.dim, target.size) == ("gaussian-mean", 2, 50)
    assert target.precision == ((51, 0), (0, 52))


def test_the_seed_of_the_data_counts() -> None:
    assert not np.array_equal(build(data_seed=1).data, build(data_seed=2).data)
    assert np.array_equal(build(data_seed=0).data, build().data)


@each_row(
    ("keys", "dim"),
    [
        ({"data": [[1, 2, 3]]}, 3),
        ({"data": [1, 2, 3]}, 1),
        ({"prior_mean": [0, 1]}, 2),
        ({"noise_precision": [[1, 0], [0, 1]]}, 2),
        ({"name": "gaussian", "precision": [1, 2, 3]}, 3),
        ({"name": "gaussian", "mean": [1, 2]}, 2),
        ({"dim": 4}, 4),
    ],
)
def test_the_dimension_is_that_of_the_lists_where_it_is_not_given(keys: dict[str, Any], dim: int) -> None:
    assert build(**keys).dim == dim


@each_row(
    ("keys", "message"),
    [
        (
            {"name": "gaussian", "size": 10},
            "target.size=10 does not belong to target.name='gaussian'.*'gaussian-mean'",
        ),
        ({"name": "gaussian", "data": [1.0]}, "target.data=\\[1.0\\] does not belong"),
        ({"name": "gaussian", "prior_mean": 0}, "target.prior_mean=0 does not belong"),
        (
            {"precision": 2.0},
            "target.precision=2.0 does not belong to target.name='gaussian-mean'.*to 'gaussian'",
        ),
        ({"dim": 0}, "target.dim=0: expected a whole number from 1"),
        ({"dim": 1.5}, "target.dim=1.5"),
        ({"dim": True}, "target.dim=True"),
        ({"dim": 10**9}, "target.dim=1000000000"),
        ({"size": 0}, "target.size=0"),
        ({"data_seed": -1}, "target.data_seed=-1"),
        ({"data": []}, "is empty"),
        ({"data": [1.0, 2.0], "size": 3}, "target.size=3, but target.data holds 2"),
        ({"data": [1.0, 2.0], "data_seed": 3}, "target.data_seed=3 has no effect"),
        ({"data": [[1.0, 2.0]], "dim": 3}, "expected 3 numbers"),
        ({"dim": 2, "prior_mean": [1, 2, 3]}, "target.prior_mean=.*expected 2 numbers"),
        ({"dim": 2, "noise_precision": [[1, 2], [2, 1]]}, "target.noise_precision=.*not positive definite"),
        ({"name": "gaussian", "precision": 0}, "target.precision=0: expected a positive"),
        ({"name": "gaussian", "precision": [], "dim": 1}, "target.precision=\\[\\] has length 0"),
        ({"name": "gaussian", "precision": []}, "target.dim=0"),
    ],
)
def test_mistakes_are_refused_with_one_clear_message(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build(**keys)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown target 'gausian'; did you mean 'gaussian'"):
        build(name="gausian")
    with pytest.raises(UnknownNameError, match="known: .*double-well, .*gaussian, gaussian-mean"):
        build(name="zzz")


def test_size_may_repeat_what_the_data_say() -> None:
    assert build(data=[1.0, 2.0], size=2).size == 2


def test_one_category_is_no_simplex() -> None:
    given = load_configuration({"target": {"name": "dirichlet-multinomial", "concentration": [1.0]}}).target
    with pytest.raises(ConfigurationError, match="concentration.* has 1 categories; expected two or more"):
        build_target(given)


@pytest.mark.parametrize("short", ["linear", "logistic", "poisson", "robust"])
def test_a_model_of_data_has_a_short_name(short: str) -> None:
    table = load_configuration({"target": {"name": short, "data": [[0.5, 1.0], [-1.0, 0.0]]}}).target
    assert table.name == f"{short}-regression"
    assert build_target(table).name == build(name=short).name == f"{short}-regression"
    with pytest.raises(UnknownNameError, match=f"did you mean '{short}'"):
        build(name=f"{short}x")
