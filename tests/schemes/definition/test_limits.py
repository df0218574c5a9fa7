"""What the face cannot express: every item of the list is refused, as the list says."""

from __future__ import annotations

import pytest

from sgverify.checks import verify
from sgverify.cli.listing import items_of
from sgverify.errors import DefinitionError
from sgverify.schemes import dot, dynamics, langevin, scheme, sqrt
from sgverify.schemes.definition.limits import LIMITS, Limit
from tests.tables import each_row

NAMES = {"dot": dot, "dynamics": dynamics, "langevin": langevin, "scheme": scheme, "sqrt": sqrt}


MADE = [limit for limit in LIMITS.values() if not limit.judged]
JUDGED = [limit for limit in LIMITS.values() if limit.judged]


@pytest.mark.parametrize("limit", JUDGED, ids=lambda limit: limit.name)
def test_what_is_refused_by_its_proof_leaves_the_order_open(limit: Limit) -> None:
    space = dict(NAMES)
    exec(compile(limit.source, "mine.py", "exec"), space)
    (found,) = verify(space["step"].named("step", order=1), checks=["local-order"])
    assert found.verdict == "inconclusive"
    assert limit.told in found.reason


@each_row("limit", MADE)
def test_every_item_is_refused_in_the_words_of_the_list(limit: Limit) -> None:
    with pytest.raises(DefinitionError) as refusal:
        exec(compile(limit.source, "mine.py", "exec"), dict(NAMES))
    assert limit.told
    assert limit.told in str(refusal.value)
    assert "mine.py:" in str(refusal.value)


def test_the_examples_are_right_but_for_what_is_refused() -> None:
    # The step that every example is made of is no reason to refuse it.
    body = "return theta - h*grad(theta) + sqrt(2*T*h)*noise()"
    exec(compile(Limit("euler", "", "", body, "").source, "mine.py", "exec"), dict(NAMES))


def test_the_list_is_printed() -> None:
    rows = items_of("face")
    assert [row["name"] for row in rows] == list(LIMITS)
    assert all(LIMITS[row["name"]].way_on in row["summary"] for row in rows)
