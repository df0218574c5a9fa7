"""The reach of a whole answer, and what was not tested with the option that tests it: both read off the scopes of its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sgverify.checks.question import why_not_asked
from sgverify.checks.readings import why_no_law
from sgverify.checks.registry import CHECKS
from sgverify.claims import claims
from sgverify.evidence import Evidence, Extent, Scope
from sgverify.evidence.scope import Axis
from sgverify.report.answer import assumed
from sgverify.schemes import TorchStep
from sgverify.subject.subject import Subject
from sgverify.verdict.asking import Enquiry


@dataclass(frozen=True)
class Untried:
    """A setting that was not tried, and the option that tries it; `how` is "" where no option does."""

    what: str
    how: str = ""

    def __str__(self) -> str:
        return f"{self.what} ({self.how})" if self.how else self.what


ON_THE_STEP = ("local-order", "invariant-order", "own-loss", "stationarity")
"""The checks whose answers make the headline: the whole answer reaches what all of them reach."""

AT_MORE = ("pure-step", "long-run", "settings")
"""The checks of somebody's code that would show an error of the headline elsewhere, in steps in a row and at more settings."""

NOUNS: Mapping[Axis, str] = {
    "time": "step of a run",
    "shapes": "shape",
    "options": "option",
    "steps": "step size",
    "dimensions": "dimension",
    "temperatures": "T and D",
    "states": "state",
    "targets": "smooth potential",
    "dtypes": "dtype",
    "gradients": "gradient",
}
"""The axes in the order of an answer, the most important first, each with what stands after "every"."""

OF_CODE: Mapping[Axis, str] = {
    "time": "more than one step in a row",
    "shapes": "parameters of other shapes and groups",
    "options": "other options",
}
"""The axes of somebody's code that a definition has not, each with what was not tried where no answer examined it."""


def whole_scope(evidence: Sequence[Evidence]) -> Scope:
    """The scope of a whole answer: that of the answers on the step which pass, or of all that pass where none is on the step.

    Where somebody's code was tried elsewhere as well, that is its reach; what an answer holds is held.
    """
    passing = [item for item in evidence if item.outcome == "pass"]
    on_the_step = [item.scope for item in passing if item.check in ON_THE_STEP]
    extents = Scope().meet(*(on_the_step or [item.scope for item in passing])).extents
    for item in sorted(
        (item for item in passing if item.check in AT_MORE), key=lambda item: AT_MORE.index(item.check)
    ):
        for axis, extent in item.scope.extents.items():
            before = extents.get(axis)
            if before is None or (before.reach == extent.reach == "tried" and extent.told not in before.told):
                extents[axis] = extent
    return Scope(**extents)


FEW = 3
"""The most numbers that were tried which are told one by one."""


def reach_text(scope: Scope) -> str:
    """The extents of a scope in one line, that of the steps of a run first, and together the axes along which it holds for all."""
    extents = {axis: extent for axis in NOUNS if (extent := scope.extents.get(axis)) is not None}
    whole = [NOUNS[axis] for axis, extent in extents.items() if extent.reach == "every"]
    every = [f"every {', '.join(whole)}"] if whole else []
    tried = dict.fromkeys(_told(axis, extent) for axis, extent in extents.items() if extent.reach != "every")
    first = "time" not in extents or extents["time"].reach == "every"
    return "; ".join([*every, *tried] if first else [*tried, *every])


def _told(axis: Axis, extent: Extent) -> str:
    numbers = extent.values or ()
    if extent.reach != "tried" or len(numbers) <= FEW or axis not in ("dimensions", "temperatures"):
        return str(extent)
    return f"{len(numbers)} {axis}, {min(numbers):.3g} to {max(numbers):.3g}"


def untested(enquiry: Enquiry, evidence: Sequence[Evidence]) -> list[Untried]:
    """The settings that no evidence speaks of, the most consequential first."""
    return list(_untested(enquiry, evidence))


def _untested(enquiry: Enquiry, evidence: Sequence[Evidence]) -> Iterator[Untried]:
    subject = enquiry.subject
    c = subject.configuration
    if enquiry.selected:
        yield Untried("the other claims and checks", "leave --checks out")
    else:
        yield from _undecidable()
    if isinstance(subject.scheme, TorchStep) and subject.scheme.own_loss is not None:
        yield from _of_own_loss(subject.scheme)
        return
    if c.target.loader is not None:
        yield Untried("its rates on this network, which a Gaussian decides", "leave --loss and --loader out")
    if enquiry.minibatches is None:
        full = c.gradient.kind == "full"
        if full and subject.target.size is not None:
            yield Untried("minibatches", "--set gradient.kind=iid")
        elif full:
            yield Untried("gradient noise", "--set gradient.kind=additive")
        elif not enquiry.selected:
            yield Untried("full gradients", "--set gradient.kind=full")
    elif enquiry.without_minibatches:
        yield Untried(f"minibatches: {enquiry.without_minibatches}")
    if isinstance(subject.scheme, TorchStep):
        yield from (Untried(what, how) for what, how in subject.scheme.untried)
    yield from (Untried(what) for item in evidence for what in item.certificate.get("not_tried", ()))
    if isinstance(subject.scheme, TorchStep) and not subject.scheme.chains and not subject.scheme.conventions:
        yield Untried("many chains in one tensor", "torch_step(..., chains=True)")
    if isinstance(subject.scheme, TorchStep) and subject.scheme.memory and why_no_law(subject) is not None:
        yield Untried("the lag of its memory, which is taken at rest, as for h -> 0")
    yield from _positive(subject)
    if subject.target.quadratic:
        yield Untried("rates beyond Gaussians", "--set target.name=double-well")
    if subject.target.dim == 1 and not subject.black_box and not subject.scheme.dynamics.positive:
        yield Untried("rates in dimension > 1", "--set target.name=gaussian --set target.dim=2")
    scope = whole_scope(evidence)
    if isinstance(subject.scheme, TorchStep):
        yield from (Untried(what) for axis, what in OF_CODE.items() if axis not in scope.extents)
    if scope.temperatures is None or not scope.temperatures.beyond((c.temperature,)):
        yield Untried("other temperatures and frictions", "--set temperature=0.5")
    if not subject.black_box:
        yield Untried("float32")
    elif c.dtype == "float64":
        yield Untried("float32", "--set dtype=float32")
    assumptions = list(assumed(evidence))
    if assumptions:
        yield Untried(f"assumed: {assumptions[0]}")


def _positive(subject: Subject) -> Iterator[Untried]:
    """The checks that dynamics on theta > 0 leave out, because they take other states."""
    if not subject.scheme.dynamics.positive:
        return
    out = [
        check.name
        for check in CHECKS.values()
        if not (check.positive or (check.positive_states and subject.target.positive))
        and why_not_asked(subject, check) is None
    ]
    yield Untried(f"what takes states off theta > 0: {', '.join(out)}")


def _undecidable() -> Iterator[Untried]:
    """The checks of other distributions that are broken, and the claims that no check decides."""
    for name, error in CHECKS.installed.refused.items():
        yield Untried(f"{name}: {error}")
    known = {*CHECKS}
    for claim in claims().values():
        for quantity in claim.quantities:
            if quantity not in known:
                yield Untried(f"{claim.id}: no check is called {quantity!r}")


def _of_own_loss(step: TorchStep) -> Iterator[Untried]:
    """What is open about code with its own loss, which runs on no other target."""
    assert step.own_loss is not None
    if step.own_loss.density is None:
        yield Untried("the prior and N/n", "--set adapter.density=FILE:NAME")
    yield from (Untried(what, how) for what, how in step.untried)
    yield Untried("its bias at a step size, and orders of h beyond the first")
    yield Untried("states other than those from which it is called")
    yield Untried("other densities than its own")
