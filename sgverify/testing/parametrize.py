"""Every applicable check as a test of its own, for pytest suites of schemes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hypothesis.strategies import SearchStrategy

from sgverify.checks.registry import CHECKS
from sgverify.checks.verify_and_rate import Source
from sgverify.claims import claims
from sgverify.configuration import Configuration
from sgverify.errors import UnknownNameError, UserError
from sgverify.schemes.adapting import is_taken
from sgverify.schemes.loading import load_step
from sgverify.testing.collecting import Collected
from sgverify.testing.places import places_for
from sgverify.testing.property import MOST_EXAMPLES
from sgverify.testing.references import name_of, reference_of
from sgverify.testing.scheme_tests import Given, Reasons, Suite
from sgverify.testing.scheme_tests import expected_failures as expected_failures_of

MARK = "sgverify"
"""The marker of these tests: `pytest -m sgverify` runs them alone, `-m "not sgverify"` the others."""


def parametrize_with_checks(
    schemes: Iterable[Any],
    *,
    config: Source = None,
    checks: Sequence[str] | None = None,
    configurations: SearchStrategy[Configuration] | None = None,
    max_examples: int = MOST_EXAMPLES,
    expected_failures: Reasons | None = None,
) -> Callable[[Any], Any]:
    """Decorate a test of two arguments, `scheme` and `check`, whose body is `check(scheme)`.

        @parametrize_with_checks([sgverify.find_scheme("sghmc-aboba"), mine, MySGLD])
        def test_conforms(scheme, check):
            check(scheme)

    An entry is whatever `sgverify.verify` judges: a definition, torch code, an optimizer's class, a JAX function, or a reference.

    One test for each scheme and each pair of claim and quantity that applies to it, as `sgverify verify` asks them; with nothing
    settled a test is skipped with the reason. `config` is a file, a mapping or a `Configuration`. `checks` holds ids of claims
    or checks: a claim that is named there is collected even where it does not apply, and so is a check that no claim asks for;
    their tests are skipped with the reason. With `configurations`, a strategy such as
    `sgverify.strategies.configurations(dims=[1, 2])`, each test judges under the rows of the regression file and then
    `max_examples` generated configurations, and fails with a minimal one; every claim that may apply to the scheme under some
    configuration has a test.

    `expected_failures` is `{key: reason}`, or `{scheme: {key: reason}}` for one scheme by its name in the ids of the tests. A key
    is a claim, a check, or both as `claim-check`; the narrowest one counts. A test that is named is an xfail where it
    violates, and fails where it passes or does not apply: remove the entry then. Where it is undecided it is skipped. For
    violations without reasons there is a baseline (`pytest --sgverify-baseline FILE`), which holds those under `config`.

    The order and the names of the tests depend on the arguments alone, so that any number of workers collects the same.
    A file or module that cannot be loaded, a broken definition in it, or a configuration that a scheme refuses is the error of
    one test; the other schemes are tested. Raises `UserError` for an empty list, an entry that is no scheme and a
    regression file that cannot be read; `UnknownNameError` for a name that is in no catalogue.
    """
    import pytest

    namespace = sys._getframe(1).f_globals
    schemes, asked = listed_schemes(schemes), listed_checks(checks)
    check_strategy(configurations)
    if config is not None and configurations is not None:
        raise UserError(
            f"config={config!r}: one configuration beside a strategy for whole ones; expected one of the two; leave one out"
        )
    for scheme in schemes:
        if isinstance(scheme, str) and ":" not in scheme:
            load_step(scheme)
    if configurations is not None and (regressions := places_for(namespace).regressions):
        # A row that cannot be read fails the module once, not each of its tests.
        regressions.rows()
    labels = labels_of(schemes, namespace)
    pairs = Collected(
        schemes, labels, Suite(config, namespace), asked, configurations, max_examples,
        expected_failures_of(expected_failures, labels),
    )  # fmt: skip
    mark = getattr(pytest.mark, MARK)

    def decorate(test: Any) -> Any:
        return mark(pytest.mark.parametrize(("scheme", "check"), pairs)(test))

    return decorate


def listed_schemes(schemes: Iterable[Any]) -> list[Any]:
    """The schemes as a list; raises `UserError` for one that stands alone, for none and for an entry of another kind."""
    if isinstance(schemes, (Given, type)) or callable(schemes):
        shown = repr(schemes) if isinstance(schemes, str) else name_of(schemes)
        raise UserError(f"schemes={shown}: expected a list; write [{shown}]")
    try:
        found = list(schemes)
    except TypeError:
        raise UserError(
            f"schemes={schemes!r}: expected a list of schemes or references such as ['sghmc-aboba']"
        ) from None
    if not found:
        raise UserError("schemes=[]: expected at least one scheme or reference; give some")
    for scheme in found:
        if not isinstance(scheme, Given) and not is_taken(scheme):
            raise UserError(
                f"schemes: {scheme!r} is a {type(scheme).__name__}; expected a Scheme, an optimizer's class, torch or JAX code, "
                "or a reference such as 'sghmc-aboba' or 'mine.py:heun'"
            )
    return found


def listed_checks(checks: Sequence[str] | None) -> list[str]:
    """The ids as a list, empty for all; raises `UserError` for a string, an empty list and an unknown id."""
    if checks is None:
        return []
    if isinstance(checks, str):
        raise UserError(f"checks={checks!r}: expected a list of ids; write [{checks!r}]")
    found = list(checks)
    if not found:
        raise UserError(
            f"checks={checks!r}: names nothing; give ids from `sgverify list checks`, or leave it out for all"
        )
    for name in found:
        if name not in claims() and name not in CHECKS:
            raise UnknownNameError("check or claim", name, [*claims(), *CHECKS])
    return found


def check_strategy(configurations: SearchStrategy[Any] | None) -> None:
    """Raises `UserError` where `configurations` is neither a strategy nor None."""
    if configurations is not None and not isinstance(configurations, SearchStrategy):
        raise UserError(
            f"configurations={configurations!r}: expected a strategy such as sgverify.strategies.configurations(dims=[1, 2]); "
            "leave it out to judge under `config`"
        )


def labels_of(schemes: Sequence[Any], namespace: Mapping[str, Any]) -> list[str]:
    """How tests call each scheme: by its name, by its attribute where a name is shared, and numbered where that is too.

    >>> labels_of(["sgld-euler", "sgld-euler"], {})
    ['sgld-euler', 'sgld-euler-2']
    """
    names = [name_of(scheme) for scheme in schemes]
    shared = Counter(names)
    labels = [
        reference_of(scheme, namespace).rpartition(":")[2] if shared[name] > 1 else name
        for name, scheme in zip(names, schemes, strict=True)
    ]
    taken: set[str] = set()
    for place, label in enumerate(labels):
        number = 1
        while labels[place] in taken:
            number += 1
            labels[place] = f"{label}-{number}"
        taken.add(labels[place])
    return labels
