"""Which lines are printed while answers come in? Three groups, one line a finding, failures before their consequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sgverify.checks.check import Matter
from sgverify.errors import COLUMNS, filled
from sgverify.evidence import Evidence
from sgverify.verdict.findings import (
    MATTERS,
    Finding,
    cause_of,
    consequences,
    findings_of,
    matter_of,
)


@dataclass
class Lines:
    """The lines of an answer in the making.

    Answers on one quantity wait for one another, so that equal findings make one line. Findings about the paper wait for the end.
    With `everything`, consequences and claims that do not apply have lines too. `asked` is the name of the scheme; evidence
    on another one, the scheme inside a composite, is labelled with its name.
    """

    asked: str
    width: int = COLUMNS
    everything: bool = False
    _waiting: list[Evidence] = field(default_factory=list)
    _paper: list[Evidence] = field(default_factory=list)
    _shown: list[Finding] = field(default_factory=list)
    _folded: int = 0
    _matter: Matter | None = None

    def tell(self, evidence: Sequence[Evidence]) -> Iterator[str]:
        """The lines that further answers complete."""
        for item in evidence:
            if matter_of(item) == "paper":
                self._paper.append(item)
                continue
            if self._waiting and _quantity(item) != _quantity(self._waiting[0]):
                yield from self._settled()
            self._waiting.append(item)

    def end(self) -> Iterator[str]:
        """The lines that are left when all answers are in."""
        yield from self._settled()
        self._waiting, self._paper = self._paper, []
        yield from self._settled()
        yield from self._left_out()

    def _settled(self) -> Iterator[str]:
        for finding in findings_of(self._waiting):
            item = finding.first
            if item.outcome == "not-applicable" and not self.everything:
                continue
            if matter_of(item) != self._matter:
                yield from self._left_out()
                self._matter = matter_of(item)
                yield MATTERS[self._matter]
            if not self.everything and cause_of(finding, self._shown):
                self._folded += len(finding.evidence)
                continue
            self._shown.append(finding)
            inside = item.scheme if item.scheme != self.asked else ""
            yield from finding.line(self.width, inside=inside, gradients=True).splitlines()
        self._waiting = []

    def _left_out(self) -> Iterator[str]:
        if self._folded:
            yield f"      {consequences(self._folded)}; --all shows {'them' if self._folded > 1 else 'it'}"
        self._folded = 0


def introduced(scheme: str, step: object) -> str:
    """The first line of an answer: the scheme, its dynamics, and the order that it states."""
    inner = getattr(step, "scheme", step)
    dynamics = getattr(inner, "dynamics", None)
    order = getattr(inner, "order", None)
    said = [f"a step of {dynamics.name}"] if dynamics is not None else []
    orders = [f"stated order {order}"] if order else []
    invariant = getattr(inner, "invariant_order", None)
    orders += [f"stated order {invariant} of its invariant law"] if invariant else []
    said += orders or ["no order stated"]
    return filled(f"{scheme}: {', '.join(said)}", rest="    ")


def _quantity(item: Evidence) -> tuple[str, str, str]:
    return matter_of(item), item.check, item.scheme
