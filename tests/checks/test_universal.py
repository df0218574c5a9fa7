"""Whether a scheme's averaged defect is the one that gradient noise alone leaves behind every scheme of order two."""

from __future__ import annotations

import pytest

from sgverify.checks import make_subject, verify
from sgverify.checks.universal import universal_defect
from sgverify.configuration import load_configuration
from sgverify.schemes import find_scheme
from tests.checks.schemes import WEAK, nose, two_noises, unreadable

NOISY = {"target": {"data": [0.1, 0.5, 1.0, 0.2]}, "gradient": {"kind": "iid", "batch": 2}}


@pytest.mark.parametrize(
    ("scheme", "universal"),
    [
        (find_scheme("sghmc-aboba"), True),
        (find_scheme("sghmc-obabo"), True),
        (find_scheme("sgld-euler"), False),
        (WEAK, False),
        (nose, False),
        (two_noises, True),
        (unreadable, False),
    ],
)
def test_universal_defect(scheme, universal: bool) -> None:
    assert universal_defect(make_subject(scheme, load_configuration(None))) is universal


def test_the_noise_refutes_the_theorem_for_several_minibatches_a_step_too() -> None:
    for scheme in (find_scheme("sghmc-aboba"), two_noises):
        found = verify(scheme, checks=["stationary-bias"], **NOISY)
        assert [(item.verdict, item.refuted) for item in found] == [("violates", True), ("conforms", False)]


def test_a_wrong_scheme_is_not_excused_by_the_noise() -> None:
    found = verify(WEAK, checks=["stationary-bias"], **NOISY)
    assert [(item.verdict, item.refuted) for item in found] == [("violates", False)]
