"""Which tests a suite collects: the checks that apply, and for a scheme that cannot be judged one test that says why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sgverify.checks.applicable_claims import pairs_of, questions_of
from sgverify.configuration import load_configuration
from sgverify.errors import UserError
from sgverify.schemes import find_scheme
from sgverify.strategies import configurations
from sgverify.subject.binding import make_subject
from sgverify.testing.collecting import Collected
from sgverify.testing.parametrize import labels_of
from sgverify.testing.scheme_tests import Suite
from tests.inner_run import run_inside

FEW = configurations(dims=[1], kinds=["full"])


def collected(schemes: Sequence[Any], config: Any = None, **options: Any) -> Collected:
    return Collected(schemes, labels_of(schemes, {}), Suite(config), **options)


def ids(pairs: Collected) -> list[str]:
    return [pair.id for pair in pairs]


@pytest.mark.by_default(
    "sgld-euler-config0", "sgld-euler-config1", "sghmc-aboba-config0", "sghmc-aboba-config2"
)
@pytest.mark.parametrize("config", [{}, {"gradient": {"kind": "iid"}}, {"target": {"name": "double-well"}}])
@pytest.mark.parametrize("scheme", ["sgld-euler", "sghmc-aboba"])
def test_what_applies_is_collected_as_verify_asks_it(scheme: str, config: dict[str, Any]) -> None:
    asked = pairs_of(make_subject(scheme, load_configuration(config)))
    assert ids(collected([scheme], config)) == [f"{scheme}-{claim.id}-{check}" for claim, check in asked]


def test_the_configuration_decides_what_applies() -> None:
    # The moments of the invariant law are computed on Gaussian targets alone.
    law = "sgld-euler-chen2015/theorem-4-covariance"
    assert law in ids(collected(["sgld-euler"]))
    assert law not in ids(collected(["sgld-euler"], {"target": {"name": "double-well"}}))
    # Lemma 8 speaks of splittings.
    assert not [name for name in ids(collected(["sgld-euler"])) if "lemma-8" in name]


def test_a_claim_that_is_named_is_collected_where_it_does_not_apply() -> None:
    assert ids(collected(["sgld-euler"], asked=["chen2015/lemma-8"])) == [
        "sgld-euler-chen2015/lemma-8-local-order"
    ]
    # Of a check that is named, the claims that apply.
    orders = ids(collected(["sgld-euler", "sghmc-aboba"], asked=["local-order"]))
    assert orders == [
        "sgld-euler-chen2015/lemma-12-local-order",
        "sghmc-aboba-chen2015/lemma-8-local-order",
    ]


def test_a_property_is_collected_where_it_may_apply_under_some_configuration() -> None:
    here = ids(collected(["sgld-euler"]))
    anywhere = ids(collected(["sgld-euler"], strategy=FEW))
    assert set(here) < set(anywhere)
    # What depends on the gradient or the schedule may apply under another configuration; what the scheme excludes may not.
    for config in ({"gradient": {"kind": "iid"}}, {"schedule": {"kind": "power"}}, {"target": {"dim": 3}}):
        if "target" in config:
            config = {"target": {"name": "gaussian", "dim": 3}}
        assert set(ids(collected(["sgld-euler"], config))) <= set(anywhere)
    assert not [name for name in anywhere if "lemma-8" in name or "swap" in name]


def test_of_a_composite_the_checks_go_to_its_rule_and_to_its_scheme() -> None:
    suite = Suite()
    names = ids(Collected(["resgld"], ["resgld"], suite))
    asked = questions_of(make_subject("resgld", load_configuration()))
    assert names == [f"resgld-{item.claim.id}-{item.quantity}" for item in asked]
    assert suite.part("resgld", "swap-balance").composite is not None
    assert suite.part("resgld", "local-order").composite is None


def test_a_scheme_that_cannot_be_judged_is_one_test_that_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("from sgverify import scheme\nraise RuntimeError('no such luck')\n")
    pairs = collected([f"{broken}:mine", "sgld-euler"], asked=["local-order"])
    assert len(pairs) == 2 and pairs[0].id.endswith("-subject")
    with pytest.raises(UserError, match=r"broken\.py:2 raised RuntimeError: no such luck"):
        pairs[0].values[1](f"{broken}:mine")
    # A configuration that one scheme refuses is the error of this scheme.
    schemes = ["sgld-euler", find_scheme("sghmc-aboba")]
    refused = collected(schemes, {"schedule": {"kind": "fixed", "alpha": 0.3}})
    assert ids(refused) == ["sgld-euler-subject", "sghmc-aboba-subject"]


SUITE = """
from sgverify import scheme, sqrt
from sgverify.schemes import langevin
from sgverify.testing import parametrize_with_checks

@parametrize_with_checks(["broken.py:mine", "test_mine.py:later", "sgld-euler"], checks=["sgverify/stated-order"])
def test_conforms(scheme, check):
    check(scheme)

@scheme(langevin, order=1)
def later(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(2*T*h)*noise()
"""


@pytest.mark.power  # 2.1 s
def test_a_broken_file_fails_one_test_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_mine.py").write_text(SUITE)
    (tmp_path / "broken.py").write_text(
        "from sgverify import scheme\nfrom sgverify.schemes import langevin\n\n@scheme(langevin)\ndef mine(theta, *, h, gard):\n"
        "    return theta - h*gard(theta)\n"
    )
    result = run_inside(tmp_path, capsys)
    result.assert_outcomes(failed=1, passed=2)
    # A scheme of the test module itself, defined below the decorator, is loaded when the tests are collected.
    result.stdout.fnmatch_lines(["*test_conforms?broken.py:mine-subject?*", "DefinitionError: *gard*"])
    assert "Traceback" not in result.stdout.str()
