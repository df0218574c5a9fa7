"""A setting that changes nothing is refused where it is a mistake, and told where it may speak of other questions."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import sgverify
from sgverify.configuration import GradientTable, ScheduleTable, load_configuration
from sgverify.configuration.model import SCHEDULE_KINDS
from sgverify.errors import ConfigurationError
from sgverify.gradients import READERS
from sgverify.subject.binding import make_subject, refuse_unused
from tests.conftest import LogCapture
from tests.tables import each_row

VALUES: dict[str, Any] = {
    **{"batch": 50, "refresh": 3, "covariance": 2.0},
    **{
        "scale": 0.1,
        "alpha": 0.4,
        "cycles": 3,
        "low": 0.01,
        "threshold": 0.5,
        "shape": "linear",
        "decay": 0.9,
        "after": 3,
    },
}
TABLES = {"gradient": (GradientTable, READERS), "schedule": (ScheduleTable, SCHEDULE_KINDS)}


def ask(question: str, scheme: str = "sghmc-aboba", **settings: Any) -> None:
    refuse_unused(make_subject(scheme, load_configuration(settings)), question)


def kinds(table: type) -> tuple[str, ...]:
    return get_args(table.model_fields["kind"].annotation)  # type: ignore[attr-defined]


@each_row(
    ("table", "key", "kind"),
    [(name, key, kind) for name, (model, keys) in TABLES.items() for key in keys for kind in kinds(model)],
)
def test_a_key_goes_with_the_kinds_that_read_it(table: str, key: str, kind: str) -> None:
    settings = {table: {"kind": kind, key: VALUES[key]}}
    if kind in TABLES[table][1][key] or key == "batch":
        ask("verify", **settings)
        return
    with pytest.raises(ConfigurationError, match=rf"{table}\.{key}=.* has no effect.*kind='{kind}'"):
        ask("verify", **settings)


@each_row(
    ("question", "settings"),
    [
        ("mse", {"gradient": {"batch": 50}}),
        # Also where it is the default: who writes it thinks of minibatches.
        ("mse", {"gradient": {"batch": 10}}),
        ("sample", {"gradient": {"batch": 32}}),
        ("stationary-bias", {"schedule": {"alpha": 0.3}}),
        ("sample", {"schedule": {"scale": 0.3}}),
        ("bias", {"schedule": {"alpha": 0.3, "step": 0.1}}),
        ("verify", {"schedule": {"cycles": 3}}),
        ("verify", {"device": "nonsense"}),
        ("verify", {"metric": "1 + theta**2"}),
    ],
)
def test_what_has_no_effect_is_refused(question: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        ask(question, **settings)


@pytest.mark.parametrize(
    ("question", "settings"),
    [
        # The claims of `verify`, and the rates in L, bring schedules along.
        ("verify", {"schedule": {"alpha": 0.3, "scale": 0.1, "step": 0.1}}),
        ("bias", {"schedule": {"alpha": 0.3, "scale": 0.1}}),
        ("mse", {"gradient": {"kind": "iid", "batch": 50}}),
        ("verify", {"gradient": {"scale": 0.5, "clip": 3.0}}),
        ("sample", {"schedule": {"kind": "horizon", "step": 0.1}}),
        # What evidence writes down of its configuration.
        ("verify", load_configuration().as_dict()),
    ],
)
def test_what_has_an_effect_is_taken(question: str, settings: dict[str, Any], caplog: LogCapture) -> None:
    ask(question, **settings)
    assert not caplog.records


@pytest.mark.parametrize(
    ("question", "scheme", "settings", "says"),
    [
        ("verify", "sgld-euler", {"friction": 3.0}, "friction=3.0"),
        # A table for several kinds, as a loop over them has it.
        ("verify", "sgld-euler", {"gradient": {"kind": "full", "batch": 5}}, "gradient.batch=5"),
        ("verify", "sgld-euler", {"start_momentum": "stationary"}, "no momentum"),
        ("stationary-bias", "sghmc-aboba", {"sweep": {"lengths": [10, 100]}}, "sweep.lengths=[10, 100]"),
        ("sample", "sghmc-aboba", {"level": 0.02}, "level=0.02"),
        ("verify", "sghmc-aboba", {"test_function": "theta - theta"}, "a constant"),
        ("verify", "resgld", {"exchange": {"momentum": "kept"}}, "exchange.momentum='kept'"),
    ],
)
def test_what_others_may_read_is_told(
    question: str, scheme: str, settings: dict[str, Any], says: str, caplog: LogCapture
) -> None:
    ask(question, scheme, **settings)
    (record,) = caplog.records
    assert says in record.getMessage() and "has no effect" in record.getMessage()


def test_the_questions_ask() -> None:
    wrong = {"gradient": {"batch": 50}}
    for question in (
        lambda: sgverify.verify("sghmc-aboba", checks=["local-order"], **wrong),
        lambda: sgverify.rate("sghmc-aboba", quantity="mse", **wrong),
        lambda: sgverify.sample("sghmc-aboba", steps=10, chains=2, **wrong),
    ):
        with pytest.raises(ConfigurationError, match="gradient.batch=50 has no effect"):
            question()


def test_a_schedule_that_a_claim_brings_leaves_keys_of_others_out() -> None:
    given = load_configuration(schedule={"alpha": 0.3, "step": 0.1})
    fixed = given.on_schedule("fixed").schedule
    assert fixed.model_dump(exclude_unset=True) == {"kind": "fixed", "step": 0.1}
    falling = given.on_schedule("horizon").schedule
    assert falling.model_dump(exclude_unset=True) == {"kind": "horizon", "alpha": 0.3, "step": 0.1}


def test_an_exact_rate_tells_that_nothing_was_sampled(caplog: LogCapture) -> None:
    sgverify.rate("sghmc-aboba", quantity="local-order", seed=3, dtype="float32")
    (record,) = caplog.records
    assert record.getMessage().startswith("warning: seed, dtype: no effect")


@pytest.mark.parametrize("key", ["epoch", "until"])
def test_epochs_are_refused_where_nothing_changes_along_a_run(key: str, caplog: LogCapture) -> None:
    told = rf"annealing\.{key}=3 has no effect: nothing changes along the run"
    with pytest.raises(ConfigurationError, match=told):
        ask("sample", annealing={key: 3})
    # F belongs to chains that swap.
    with pytest.raises(ConfigurationError, match=told):
        ask("sample", scheme="resgld", annealing={key: 3})
    ask("sample", annealing={key: 3, "cooling": 1.1})
    ask("sample", scheme="resgld", annealing={key: 3, "correction": 1.1})
    assert not caplog.records
    # A grid that compares says that nothing changes.
    ask("sample", annealing={key: 3, "cooling": 1.0})
    assert f"annealing.{key}=3 has no effect" in caplog.text


def test_an_annealed_schedule_has_epochs_without_an_end() -> None:
    ask("sample", annealing={"epoch": 3}, schedule={"kind": "annealed"})
    with pytest.raises(ConfigurationError, match=r"annealing\.until=3 has no effect"):
        ask("sample", annealing={"until": 3}, schedule={"kind": "annealed"})
