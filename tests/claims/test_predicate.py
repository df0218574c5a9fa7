from __future__ import annotations

import pytest

from sgverify.claims import FACTS, Predicate
from sgverify.errors import DefinitionError
from tests.tables import each_row


def read(**table):
    return Predicate.from_table(table, "card x")


@each_row(
    "tests, holding, failing",
    [
        ({"equals": True}, [True], [False, None]),
        ({"equals": "iid"}, ["iid"], ["full", None]),
        ({"one_of": ["full", "iid"]}, ["full", "iid"], ["additive", None]),
        ({"at_least": 2}, [2, 3], [1, None]),
        ({"at_most": 2}, [1, 2], [3, None]),
        ({"above": 0, "below": 1}, [0.5, "1/3"], [0, 1, -1, 2, None]),
        ({"above": 0.1}, [0.2], [0.1, "1/10"]),
    ],
)
def test_each_test_holds_where_it_should_and_nowhere_else(tests, holding, failing):
    predicate = read(fact="schedule.alpha", **tests)
    assert all(predicate.holds({"schedule.alpha": value}) for value in holding)
    assert not any(predicate.holds({"schedule.alpha": value}) for value in failing)


def test_a_fact_that_was_not_given_is_an_error_and_not_a_no():
    with pytest.raises(ValueError, match="scheme\\.order"):
        read(fact="scheme.order", at_least=1).holds({})


def test_it_says_what_it_wants():
    assert str(read(fact="schedule.alpha", above=0, below=1)) == "schedule.alpha is above 0 and is below 1"
    assert str(read(fact="gradient.unbiased", equals=True)) == "gradient.unbiased is true"


@each_row(
    "table, says",
    [
        ({"fact": "scheme.ordre", "at_least": 1}, "did you mean 'scheme.order'"),
        ({"at_least": 1}, "unknown fact None"),
        ({"fact": "scheme.order", "atleast": 1}, "did you mean 'at_least'"),
        ({"fact": "scheme.order"}, "nothing is asked"),
        ({"fact": "scheme.name", "one_of": "sgld"}, "expected a list"),
    ],
)
def test_malformed_predicates_are_refused_by_place(table, says):
    with pytest.raises(DefinitionError, match="card x") as error:
        Predicate.from_table(table, "card x")
    assert says in str(error.value)


def test_every_fact_is_explained():
    assert all(FACTS.values())
