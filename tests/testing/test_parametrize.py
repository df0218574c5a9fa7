"""`parametrize_with_checks`: every check a test; violations fail, refuted printed claims do not."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from sgverify import torch_step
from sgverify.errors import UserError
from sgverify.schemes import find_scheme, langevin
from sgverify.testing import parametrize_with_checks
from sgverify.testing.parametrize import labels_of
from sgverify.testing.scheme_tests import SchemeCheck, Suite
from tests.tables import each_row


@parametrize_with_checks(
    [find_scheme("sghmc-baoab"), "sgld-euler"],
    config={"steps": 50, "chains": 32, "sweep": {"lengths": [10, 100]}},
)
def test_the_catalogue_conforms(scheme: Any, check: SchemeCheck) -> None:
    check(scheme)


def test_a_printed_claim_that_no_scheme_fulfils_is_no_failure() -> None:
    suite = Suite({"gradient": {"kind": "iid"}})
    SchemeCheck("chen2015/theorem-4", "stationary-bias", suite)("sghmc-aboba")


def test_no_schemes_are_refused() -> None:
    with pytest.raises(UserError, match="at least one scheme"):
        parametrize_with_checks([])


@each_row(
    ("schemes", "given", "told"),
    [
        (["sgld-euler"], {"checks": []}, "checks=\\[\\]: names nothing"),
        (["sgld-euler"], {"checks": "dtype"}, "expected a list of ids; write \\['dtype'\\]"),
        (["sgld-euler"], {"configurations": []}, "configurations=\\[\\]: expected a strategy"),
        (["sgld-euler", "nosuch"], {}, "unknown scheme 'nosuch'"),
        ("sgld-euler", {}, "write \\['sgld-euler'\\]"),
        (find_scheme("sgld-euler"), {}, "write \\[sgld-euler\\]"),
        (7, {}, "schemes=7: expected a list"),
    ],
)
def test_what_is_no_list_or_names_nothing_is_refused_at_once(schemes: Any, given: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        parametrize_with_checks(schemes, **given)


def test_two_schemes_of_one_name_have_tests_of_their_own_names() -> None:
    def step(theta: Any, *, h: Any, grad: Any) -> Any:
        return theta - h * grad(theta)

    first, second, third = (torch_step(langevin)(step) for _ in range(3))
    namespace = {"__file__": "test_x.py", "slow": first, "fast": second}
    assert labels_of([first, second, "sgld-euler"], namespace) == ["slow", "fast", "sgld-euler"]
    assert labels_of([first, third, third], namespace) == ["slow", "step", "step-2"]


@pytest.mark.power  # 2.4 s
def test_without_pytest_it_is_imported_and_collecting_loads_no_torch() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "import sgverify.testing, sgverify.strategies\n"
        "from sgverify.testing.collecting import Collected\n"
        "from sgverify.testing.scheme_tests import Suite\n"
        "for config in ({}, {'gradient': {'kind': 'iid'}}, {'target': {'name': 'double-well'}}):\n"
        "    for name in ('sgld-euler', 'sghmc-aboba'):\n"
        "        assert len(Collected([name], [name], Suite(config)).tests_of(name, name)) > 10\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False", done.stderr
