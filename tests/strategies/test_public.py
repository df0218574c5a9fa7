"""`sgverify.strategies` is public: every name says what it draws and with which options, and a user's test of it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify import strategies
from sgverify.configuration import TargetTable
from sgverify.errors import ConfigurationError
from sgverify.strategies.scalars import whole
from sgverify.targets.observable import parse_observable
from tests.inner_run import run_inside
from tests.tables import each_row

PUBLIC = {name: getattr(strategies, name) for name in strategies.__all__}


@each_row("name", PUBLIC)
def test_every_public_name_says_what_it_draws(name: str) -> None:
    text = " ".join((inspect.getdoc(PUBLIC[name]) or "").split())
    assert "Raises `ConfigurationError`" in text
    assert "hrinks to" in text or ">>> find(" in text
    for option, parameter in inspect.signature(PUBLIC[name]).parameters.items():
        assert f"`{option}`" in text or f"`{option}=" in text, option
        # Options are keywords, and composite draws take no argument of their own.
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


def test_the_public_names_are_the_strategies_of_the_rooms_files() -> None:
    """Whatever returns a strategy by a public name of a file is public, but for the helpers that a file keeps to itself."""
    helpers = {"columns", "landscape"}
    found = set()
    for path in Path(strategies.__file__).parent.glob("*.py"):
        module = (
            inspect.importlib.import_module(f"sgverify.strategies.{path.stem}")
            if path.stem != "__init__"
            else strategies
        )  # type: ignore[attr-defined]
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                returned = str(inspect.signature(value).return_annotation)
                found |= {name} if returned.startswith("SearchStrategy") else set()
    # `decimals` is wrapped by its cache.
    assert found | {"decimals"} == set(PUBLIC) | helpers
    assert strategies.__all__ == sorted(strategies.__all__)


USED = """
import sgverify
from hypothesis import given, settings
from sgverify import scheme, sqrt
from sgverify.schemes import langevin
from sgverify.strategies import configurations, exponents, schedules, schemes, targets, temperatures


@scheme(langevin, order=1)
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2*T*h)*noise()
    guess = theta - h*grad(theta) + kick
    return theta - h/2*(grad(theta) + grad(guess)) + kick


@settings(max_examples=2, deadline=None)
@given(configuration=configurations(scheme=heun, dims=[1, 2], kinds=["full", "iid"]))
def test_the_order_holds_everywhere(configuration):
    assert sgverify.verify(heun, configuration, checks=["local-order"]).passed


@settings(max_examples=2, deadline=None)
@given(one=schemes(), temperature=temperatures(low=2.0, high=3.0))
def test_the_catalogue_keeps_its_order(one, temperature):
    assert sgverify.verify(one, checks=["sgverify/stated-order"], temperature=temperature).outcome != "fail"


@settings(max_examples=2, deadline=None)
@given(schedule=schedules(kinds=["power"], alphas=exponents(low=0.3)), target=targets(data=True))
def test_parts_make_a_configuration(schedule, target):
    found = sgverify.rate(heun, quantity="local-order", schedule=schedule.model_dump(exclude_unset=True),
                          target=target.model_dump(exclude_unset=True))
    assert found.outcome == "pass"


@given(configuration=configurations(dims=[1], kinds=["full"]))
def test_that_fails(configuration):
    assert configuration.temperature == 1.0
"""


@pytest.mark.power  # 3.3 s
def test_a_users_properties_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_mine.py").write_text(USED)
    result = run_inside(tmp_path, capsys, "-q")
    result.assert_outcomes(passed=3, failed=1)
    # The example of the failure is the simplest temperature that is not 1.
    result.stdout.fnmatch_lines(["E *assert 2.0 == 1.0"])


BARE = TargetTable(name="gaussian")


@each_row(
    ("make", "told"),
    [
        (lambda: strategies.targets(dims=2), r"dims=2: expected a list; write \[2\]"),
        (lambda: strategies.configurations(dims=2), r"dims=2: expected a list; write \[2\]"),
        (lambda: strategies.configurations(kinds="iid"), r"kinds='iid': expected a list; write \['iid'\]"),
        (lambda: strategies.configurations(dtypes="float32"), r"dtypes='float32': expected a list"),
        (lambda: strategies.targets(names="gaussian"), r"names='gaussian': expected a list"),
        (lambda: strategies.targets(names=["normal"]), "'normal' is none of its values; expected some of gaussian"),
        (lambda: strategies.targets(dims=[0, 1]), r"dims=\[0, 1\]: expected whole numbers of at least 1; change 0"),
        (lambda: strategies.targets(dims=[1.5]), "change 1.5"),
        (lambda: strategies.targets(sizes=[2]), "at least 3, which asymmetric data take; change 2"),
        (lambda: strategies.datasets(dim=True), "dim=.True.: expected whole numbers"),
        (lambda: strategies.schedules(kinds="fixed"), r"write \['fixed'\]"),
        (lambda: strategies.schemes(dynamics="kinetic"), r"write \['kinetic'\]"),
        (lambda: strategies.gradients(target=BARE, kinds="additive"), r"write \['additive'\]"),
        (lambda: strategies.exchanges(replicas=1), "at least 2, the colder and the hotter one"),
        (lambda: strategies.eigenvalues(dim=0), "expected whole numbers of at least 1"),
        (lambda: strategies.eigenvalues(dim=1, condition=2.0), "one eigenvalue has the condition 1"),
        (lambda: strategies.precisions(dim=2, shape="round"), "'round' is none of its values"),
        (lambda: strategies.targets(dims=[]), r"dims=\[\]: expected at least one value"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_message(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        make()


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    import numpy

    assert whole("dims", numpy.arange(2, 4), 1) == (2, 3)


DRAWN: list[tuple[SearchStrategy[float], float, float]] = [
    (strategies.temperatures(), 0.25, 4.0),
    (strategies.frictions(), 0.25, 6.0),
    (strategies.exponents(), 0.05, 0.95),
]


@settings(max_examples=20)
@given(st.data())
def test_what_is_drawn_lies_within_the_documented_bounds(data: st.DataObject) -> None:
    for strategy, low, high in DRAWN:
        value = data.draw(strategy)
        assert low <= value <= high and value == round(value, 2)
    values = data.draw(strategies.eigenvalues(dim=3))
    assert 0.25 <= values[0] <= 4 and values[0] <= min(values) and max(values) == values[1] <= 100 * values[0]
    table = data.draw(strategies.exchanges(replicas=4))
    steps = [hot / cold for cold, hot in zip(table.ladder, table.ladder[1:], strict=False)]
    assert table.ladder[0] == 1 and 1 <= len(steps) <= 3 and all(1.49 < step < 4.01 for step in steps)
    text = data.draw(strategies.observables(dim=2, state=("theta", "p")))
    terms = parse_observable(text, 2, ("theta", "p")).terms
    assert 1 <= len(terms) <= 4 and all(-5 <= value <= 2 for value in terms.values())
    found = data.draw(strategies.configurations(averaging=True))
    assert -3 <= found.start <= 3 and 0 <= found.burn_in <= 20 and 1 <= found.thinning <= 5
    cycles = data.draw(strategies.schedules(kinds=["cyclical"], limit=2.0))
    assert 1 <= cycles.cycles <= 5 and cycles.low in (0.0, 0.1)


def test_the_bounds_of_temperatures_and_frictions_are_those_that_configurations_name() -> None:
    (low, high), (least, most) = (
        (parameters["low"].default, parameters["high"].default)
        for parameters in (
            inspect.signature(strategies.temperatures).parameters,
            inspect.signature(strategies.frictions).parameters,
        )
    )
    text = inspect.getdoc(strategies.configurations) or ""
    assert f"T in [{low:g}, {high:g}] and D in [{least:g}, {most:g}], never 1" in text


def test_a_fixed_schedule_is_the_simplest() -> None:
    assert find(strategies.schedules(), lambda _: True).kind == "fixed"
    assert find(strategies.precisions(dim=2), lambda _: True) == 1.0
    assert find(strategies.precisions(dim=2, condition=2.0), lambda _: True) == [1.0, 2.0]
