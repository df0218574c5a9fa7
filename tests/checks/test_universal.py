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
        (two_noises, False),
        (unreadable, False),
    ],
)
def test_universal_defect(scheme, universal: bool) -> None:
    assert universal_defect(make_subject(scheme, load_configuration(None))) is universal


def test_a_defect_of_the_schemes_own_does_not_refute_the_theorem() -> None:
    """Two minibatches a step leave half the noise: of order one as well, but not for the reason all share."""
    for scheme, refuted in ((find_scheme("sghmc-aboba"), True), (two_noises, False)):
        found = verify(scheme, checks=["stationary-bias"], **NOISY)
        assert (found[0].verdict, found[0].refuted, len(found)) == ("violates", refuted, 1 + refuted)
