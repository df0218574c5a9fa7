"""What was not tested, and how can it be tested? Read off the settings that the evidence was found under."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sgverify.checks.readings import why_no_law
from sgverify.checks.registry import CHECKS
from sgverify.claims import claims
from sgverify.evidence import Evidence
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
    if subject.target.quadratic:
        yield Untried("rates beyond Gaussians", "--set target.name=double-well")
    if subject.target.dim == 1 and not subject.black_box:
        yield Untried("rates in dimension > 1", "--set target.name=gaussian --set target.dim=2")
    if not _for_every_temperature(subject, evidence):
        yield Untried("other temperatures and frictions", "--set temperature=0.5")
    if not subject.black_box:
        yield Untried("float32")
    elif c.dtype == "float64":
        yield Untried("float32", "--set dtype=float32")
    assumptions = list(assumed(evidence))
    if assumptions:
        yield Untried(f"assumed: {assumptions[0]}")


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
    yield Untried("states other than the few from which it is called, such as those far out")
    yield Untried("other densities than its own")


def _for_every_temperature(subject: Subject, evidence: Sequence[Evidence]) -> bool:
    """Did a check speak of temperatures and frictions other than the configured ones?"""
    return any(
        item.outcome == "pass"
        and (item.check == "settings" or (item.check == "local-order" and item.method == "proof"))
        for item in evidence
    )


__all__ = ["Untried", "untested"]
