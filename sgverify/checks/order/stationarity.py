"""Check: does the dynamics leave its stated density invariant, by the Fokker-Planck equation, for every smooth potential?"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from sgverify.checks.concluding import proof_scope
from sgverify.checks.question import Question
from sgverify.claims import Claim
from sgverify.errors import NotExpandableError
from sgverify.evidence import EVERY, Evidence
from sgverify.exact.readings.formula import MATHEMATICS, define
from sgverify.exact.series.dimensions import Dimensions, Seen, over_dimensions
from sgverify.exact.stationarity.fokker_planck import Residual, stationarity_residual
from sgverify.rates.verdict import Judgement
from sgverify.schemes import Density, Dynamics
from sgverify.schemes.dynamics import make_density
from sgverify.schemes.numbers.constants import places_of
from sgverify.schemes.numbers.periods import Periods
from sgverify.subject.subject import Subject

LARGEST = 30
"""The largest dimension of the proof, which takes about a second."""


def check_stationarity(question: Question) -> Evidence:
    """-div(F rho) + sum_ij d_i d_j (a_ij rho) = 0, a = sigma sigma^T / 2, for the density that claim or dynamics states.

    If the left side is not zero, the certificate holds it divided by rho, and a point at which it does not vanish.

    Cannot see: errors of a step, since the equation is that of continuous time; and whether chains converge to the
    density.
    """
    subject = question.subject
    dynamics = subject.scheme.dynamics
    density = stated_density(question.claim, dynamics)
    if density is None:
        reason = f"the dynamics states no density; of `{dynamics.name}`: write @dynamics(..., density=f)"
        return question.unanswered(reason, "not-applicable", method="proof")
    try:
        if density is dynamics.density and not question.claim.values:
            residuals, examined = examine_stated(subject)
        else:
            residuals, examined = _examine(dynamics, density, subject.target.dim, dict(question.claim.values))
        if 1 not in residuals:
            return question.unanswered(f"Fokker-Planck cannot be read; {examined.why_not}", method="proof")
    except NotExpandableError as error:
        reason = f"Fokker-Planck cannot be read; `{dynamics.name}` uses {error}"
        return question.unanswered(reason, method="proof")
    found = [residuals[dim] for dim in sorted(residuals)]
    what = "printed density" if density is not dynamics.density else "density"
    return question.evidence(
        method="proof",
        judgement=_judge(found[0], examined, what),
        certificate=_certificate(found),
        scope=proof_scope(examined.extent, steps=EVERY),
    )


Examined = tuple[dict[int, Residual], Dimensions[Residual]]


MOST_KEPT = 16
"""The dynamics whose proofs are kept: most schemes are steps of a few."""

_KEPT: dict[tuple[int, int], tuple[Dynamics, Examined]] = {}
"""By the identity of the dynamics, which are held so that no others take it, and the dimension."""


def examine_stated(subject: Subject) -> Examined:
    """The residuals of Fokker-Planck by dimension for the density that the dynamics states, and the dimensions in which it holds.

    Raises `NotExpandableError` where dynamics or density cannot be read.
    """
    dynamics, dim = subject.scheme.dynamics, subject.target.dim
    assert dynamics.density is not None
    if (id(dynamics), dim) not in _KEPT:
        found = _examine(dynamics, dynamics.density, dim, {})
        if len(_KEPT) >= MOST_KEPT:
            _KEPT.clear()
        _KEPT[id(dynamics), dim] = dynamics, found
    return _KEPT[id(dynamics), dim][1]


def _examine(dynamics: Dynamics, density: Density, configured: int, values: Mapping[str, Any]) -> Examined:
    residuals: dict[int, Residual] = {}

    def look(dim: int, symbol: bool) -> Seen[Residual]:
        found = stationarity_residual(dynamics, density, dim, values, symbolic=symbol)
        if not symbol and places_of(dim) == range(dim):
            residuals[dim] = found
        return Seen(found, not found.zero, found.sums, found.crowd)

    examined = over_dimensions(
        look,
        Periods.of((*dynamics.constants, *density.constants)),
        1,
        1,
        configured,
        largest=4 if dynamics.riemannian else LARGEST,
        symbolic="dim" in (*dynamics.declaration.ingredients, *density.declaration.ingredients),
    )
    return residuals, examined


def stated_density(claim: Claim, dynamics: Dynamics) -> Density | None:
    """The density that the claim prints for this dynamics, else the density that the dynamics states; None if neither does."""
    printed = dict(claim.densities).get(dynamics.name)
    return dynamics.density if printed is None else printed_density(printed, dynamics)


def printed_density(text: str, dynamics: Dynamics) -> Density:
    """The density whose log rho is a text such as "-U(theta) + dot(p, p)/2", over the state of the dynamics."""
    names = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
    ingredients = sorted(names - set(dynamics.state) - set(MATHEMATICS))
    signature = ", ".join([*dynamics.state, *(["*", *ingredients] if ingredients else [])])
    source = f"def printed({signature}):\n    return {text}"
    function = define(source, "printed", f"<density of {dynamics.name}>")
    return make_density(function, dynamics.shapes, f"exp({text})")


def _judge(first: Residual, examined: Dimensions[Residual], what: str) -> Judgement:
    wrong = examined.wrong
    if wrong is not None and not wrong.decided:
        reason = f"what is left of Fokker-Planck is not told from 0; {wrong.text}, at any point"
        return Judgement("inconclusive", False, reason)
    at = "".join(f" at {name} = {value}" for name, value in first.fixed.items())
    grows = (
        "; and it is no density: it does not decay in every variable besides theta"
        if first.integrable is False
        else ""
    )
    if wrong is not None:
        holds = ", ".join(str(dim) for dim in examined.dims if dim != examined.dim)
        where = f"in dimension {examined.dim}" + (f" (it does in dimension {holds})" if holds else "")
        return Judgement(
            "violates",
            False,
            f"the {what} is not invariant; `{first.dynamics}` does not leave {_rho(wrong)} invariant{at} {where}: L* rho / rho = "
            f"{wrong.text}{grows}",
        )
    if grows:
        return Judgement(
            "violates", False, f"what solves Fokker-Planck is no density; {_rho(first)} solves it{at}{grows}"
        )
    dimensions = examined.extent.told or "every dimension"
    return Judgement(
        "conforms",
        True,
        f"the density is invariant for every smooth U; `{first.dynamics}` leaves {_rho(first)} invariant{at} in {dimensions}: "
        "L* rho = 0",
    )


def _rho(residual: Residual) -> str:
    """The text of rho: as its source prints it, else from its logarithm in coordinates."""
    return residual.density if residual.density.startswith("exp(") else f"exp({residual.log_density})"


def _certificate(found: list[Residual]) -> dict[str, Any]:
    return {
        "log_density": found[0].log_density,
        "residuals": {f"dimension {residual.dim}": residual.text for residual in found},
        "witnesses": {
            f"dimension {residual.dim}": residual.witness for residual in found if residual.witness
        },
        "is_a_density": found[0].integrable,
        "values": found[0].fixed,
        "proved_for": "every smooth potential, and every value of the parameters that are not set",
    }
