"""The answer in one block of a dozen lines: the outcome, the finding, the cause and the mend, the settings, what is open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING

from sgverify.advice.diagnosis.model import Diagnosis
from sgverify.claims import claims
from sgverify.errors import COLUMNS, printable
from sgverify.evidence import Evidence, whole_outcome
from sgverify.evidence.crash import Crash
from sgverify.report.wording import exponent_text
from sgverify.schemes.dynamics import langevin
from sgverify.schemes.tempering import TOLD
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.momentum_unit import told_unit
from sgverify.subject.subject import Subject
from sgverify.verdict.findings import (
    RATES,
    clauses,
    consequences,
    findings_of,
    folded,
    gradient_of,
    place_in_lines,
    said,
)
from sgverify.verdict.untested import Untried, reach_text, whole_scope

if TYPE_CHECKING:
    from sgverify.advice.size.model import HowLarge

MOST_LINES = 12
"""The most lines of a block, but for a scope or a failure."""
ONE_LINE = ("paper",)
"""The rows that take no second line: the others say what a user acts on."""
WHOLE = ("found", "holds for", "contracts", "cause", "mend", "", "no effect")
"""The rows that are shown whole: a verdict with its scope, and why it is none and what mends it, whatever else is said."""
LISTS = ("called with", "settings", "paper", "not tested")
"""The rows that are lists, of which items are left out where they do not fit."""
WITHOUT_MINIBATCHES = ("full", "additive")
"""The gradient estimators that draw no data."""
UNBOUNDED = 10_000
"""Columns of a row that no line ends: more than any row has."""

LAWS = frozenset(("local-order", "invariant-order", "stationarity", "settings"))
"""The checks that show the law of a step."""

_LABEL = 12


@dataclass(frozen=True)
class ClosingBlock:
    """The whole answer about one scheme, before its lines are laid out; `sizes` stand beside the gradient that each is under."""

    scheme: str
    evidence: tuple[Evidence, ...]
    subject: Subject | None = None
    untested: tuple[Untried, ...] = ()
    diagnosis: Diagnosis | Crash | None = None
    sizes: tuple[tuple[str, HowLarge | Crash], ...] = ()
    contraction: str | None = None

    @property
    def outcome(self) -> str:
        """PASS, FAIL or UNDECIDED."""
        return whole_outcome(self.evidence).upper()

    @property
    def finding(self) -> str:
        """The first line of the block after outcome and scheme, in full."""
        return "; ".join(self._found()) or self._held

    def rows(self) -> list[tuple[str, str]]:
        """The labelled rows under the first line, in full: no line ends them. A row without a label goes with the one before."""
        return list(self._rows())

    def text(self, width: int = COLUMNS) -> str:
        """The block: `MOST_LINES` lines of at most `width` columns, more where they are narrow and for a scope or a failure."""
        return "\n".join(map(printable, self.lines(width)))

    def lines(self, width: int = COLUMNS) -> list[str]:
        """The lines of the block: one for each row, and of the lines that are left the most to the first rows."""
        indent = " " * (len(self.outcome) + 2)
        rows = [("found", indent, f"{self.outcome}  {self.scheme}: {self.finding}")]
        rows += [(label, " " * (_LABEL + 2), f"  {label:<{_LABEL}}{text}") for label, text in self._rows()]
        wrapped = [_wrapped(text, width, hanging) for _, hanging, text in rows]
        kept = sum(len(parts) - 1 for (label, *_), parts in zip(rows, wrapped, strict=True) if label in WHOLE)
        passed = any(label == "holds for" for label, *_ in rows)
        if passed and kept and len(rows) + kept > MOST_LINES:
            # What is sampled comes before a note on a paper.
            shown = [pair for pair in zip(rows, wrapped, strict=True) if pair[0][0] != "paper"]
            rows, wrapped = [row for row, _ in shown], [parts for _, parts in shown]
        left = MOST_LINES - len(rows)
        lines: list[str] = []
        for (label, hanging, text), parts in zip(rows, wrapped, strict=True):
            # One further line of a size is its number to the end; what is assumed is folded then.
            most = 1 if label == "how large" else UNBOUNDED
            more = min(max(left - kept, 0), len(parts) - 1, most) if label not in ONE_LINE else 0
            if label in WHOLE:
                more = len(parts) - 1
                kept -= more
            left -= more
            if label in LISTS:
                listed = (few(text, width, hanging, most) for most in range(more + 1, len(parts) + 1))
                lines += next(filter(None, listed), "\n".join(parts)).split("\n")
                continue
            rest = text if not more else hanging + " ".join(" ".join(parts[more:]).split())
            ended = clauses(rest, width)
            lines += [*parts[:more], ended] if ended else parts
        return lines

    def _found(self) -> Iterator[str]:
        """The proved orders, the constant of the stationary bias, and what decides a failure."""
        told = sorted(self.evidence, key=lambda item: place_in_lines(item.check))
        decisive = [item for item in folded(findings_of(told)) if item.first.outcome == "fail"]
        for finding in decisive[:1]:
            yield f"{finding.first.check}: {said(finding.first)}"
            others = len(decisive) - 1
            if finding.folded or others:
                more = [consequences(finding.folded)] * bool(finding.folded)
                more += [f"{others} more {'failure' if others == 1 else 'failures'}"] * bool(others)
                yield " and ".join(more)
        if decisive:
            return
        open_ = [item for item in self.evidence if item.outcome == "undecided"]
        # Where code cannot be called twice nothing else can be asked of it: the way on stands there.
        open_.sort(key=lambda item: "sources" not in item.certificate)
        order = self._of("local-order")
        # A step whose law is right, and whose rates are not read on this target, is told as what it is.
        holds = order is not None and order.outcome == "pass" and all(item.check in RATES for item in open_)
        undecided = ""
        if open_:
            noun = "rates" if holds else "answers"
            many = f"{len(open_)} {noun} are undecided, the first is " if len(open_) > 1 else ""
            undecided = f"{many}{open_[0].check}: {open_[0].reason.partition('; ')[0]}"
        if undecided and not holds:
            yield undecided
        samples, _, of_what = ("" if open_ and not holds else self._sampled(order)).partition("; ")
        if samples:
            yield f"samples {samples}"
        if order is not None and order.outcome == "pass":
            how = {"proof": "proved", "quadrature": "measured"}.get(order.method, "found")
            yield f"order {exponent_text(order.found.exponent)} {how}{self._averaged(order)}"
            if "step" in order.certificate:
                yield f"its step is {order.certificate['step']}"
            own = order.certificate.get("dynamics")
            if own is not None and not ("of size" in own and samples):
                # The first component alone; --explain has all of them.
                first = str(own).partition(", that of ")[0].replace("that of", "the drift of", 1)
                yield f"of another dynamics, with the same invariant density: {first}"
        law = self._of("invariant-order")
        if law is not None and law.outcome == "pass":
            how = "proved, with full gradients" if law.method == "proof" else "found"
            where = ", on Gaussian targets" if law.certificate.get("judged_by") else ""
            if law.found.exponent is None:
                # Bounded from below, as by the sizes of a bias that is seen to vanish: the stated order is what holds.
                yield f"the stated order {exponent_text(law.predicted.exponent)} of the invariant law holds{where}"
            else:
                yield f"order {exponent_text(law.found.exponent)} of the invariant law {how}{where}"
        own = self._of("own-loss")
        if own is not None and own.outcome == "pass":
            yield "to first order in h one call follows the dynamics of its density"
        if of_what:
            yield of_what
        if undecided and holds:
            yield undecided
        for observable, constants in self._constants().items():
            listed = ", ".join(f"{constant} ({kind})" for kind, constant in constants.items())
            yield f"bias of {observable} ~ {listed}"
        if not any(item.outcome in ("pass", "undecided") for item in self.evidence):
            refuted = any(item.outcome == "refuted" for item in self.evidence)
            yield (
                "all that was asked is refuted as printed, which speaks of the paper and not of the scheme"
                if refuted
                else "nothing that was asked applies to this scheme"
            )

    def _sampled(self, order: Evidence | None) -> str:
        """The density that torch code samples, and by which scheme; "" where no answer tells."""
        step = self.subject.scheme if self.subject is not None else None
        passed = {item.check for item in self.evidence if item.outcome == "pass"}
        if not isinstance(step, TorchStep) or step.own_loss is not None or not passed & LAWS:
            return ""
        if step.samples or not step.dynamics.usual or "T" not in step.dynamics.parameters:
            return step.samples
        density = "exp(-U)" if TOLD in step.conventions else "exp(-U/T)"
        mean = "the mean loss" in step.conventions
        told = order.certificate if order is not None else {}
        if step.dynamics is langevin and not step.memory and "of size" in told.get("dynamics", "of size"):
            share = Fraction(told.get("drift_is_minus_M_grad_H", [[1.0]])[0][0]).limit_denominator(1000)
            below = [part for part in (str(share.denominator), "N" * mean) if part not in ("", "1")]
            step_size = f"{share.numerator}*h" if share.numerator != 1 else "h"
            step_size += f"/{below[0]}" if len(below) == 1 else f"/({'*'.join(below)})" * bool(below)
            density += f": SGLD with step {step_size}"
        return density + "; U is N times the mean loss" * mean

    @property
    def _held(self) -> str:
        """The checks that pass, where none of them has an order or a constant to tell."""
        names = list(dict.fromkeys(item.check for item in self.evidence if item.outcome == "pass"))
        return f"{' and '.join([', '.join(names[:-1])] * (len(names) > 1) + names[-1:])} hold{'s' * (len(names) == 1)}"

    def _averaged(self, order: Evidence) -> str:
        """The lower order over random minibatches, where they are judged: the proved one holds each minibatch fixed."""
        held, averaged = (order.certificate.get(key) for key in ("given_minibatch", "averaged"))
        judged = any(gradient_of(item) not in WITHOUT_MINIBATCHES for item in self.evidence)
        told = judged and averaged is not None and averaged != held
        return f", {averaged} over random minibatches" if told else ""

    def _constants(self) -> dict[str, dict[str, str]]:
        """By test function and gradient estimator: the leading term C h^k of the stationary bias, where it is exact."""
        found: dict[str, dict[str, str]] = {}
        for item in self.evidence:
            if item.check != "stationary-bias" or item.outcome not in ("pass", "refuted"):
                continue
            kind = gradient_of(item)
            own = found.get(observable := str(item.configuration["test_function"]), {})
            terms = [
                (power, text)
                for power, text in item.certificate.get("stationary_bias", {}).items()
                if text != "0"
            ]
            if kind in own or not terms:
                continue
            power, text = terms[0]
            found.setdefault(observable, {})[kind] = f"{_number(text)} {'h' if power == 'h^1' else power}"
        return found

    def _of(self, check: str) -> Evidence | None:
        own = [
            item
            for item in self.evidence
            if item.check == check and item.outcome not in ("refuted", "not-applicable")
        ]
        return own[0] if own else None

    def _rows(self) -> Iterator[tuple[str, str]]:
        """The labelled rows under the first line, the ones that a reader needs first."""
        if isinstance(self.diagnosis, Crash):
            yield "cause", _not_found(self.diagnosis)
        elif self.diagnosis is not None:
            yield "cause", self.diagnosis.cause.sentence
            edit = self.diagnosis.edit
            if edit is not None:
                yield "mend", f"{edit.file or 'the printed formula'}, {edit.sentence}"
                for sign, line, _ in edit.lines:
                    yield "", f"{sign} {line}"
        # Options that move nothing have a row of their own.
        reach = reach_text(replace(whole_scope(self.evidence), options=None))
        if self.outcome == "PASS" and reach:
            yield "holds for", reach
        if self.outcome != "FAIL":
            several = len({gradient_of(item) for item in self.evidence}) > 1
            for kind, size in self.sizes:
                told = [_not_found(size)] if isinstance(size, Crash) else [size.sentence, size.details]
                text = "; ".join(filter(None, told))
                yield "how large", f"{kind}: {text}" if several else text
            if self.contraction is not None:
                yield "contracts", self.contraction
        if self.subject is not None:
            idle, _ = getattr(self.subject.scheme, "idle", ("", False))
            if idle:
                yield "no effect", idle
            conventions = getattr(self.subject.scheme, "conventions", "") or told_unit(self.subject.scheme)
            if conventions:
                yield "called with", conventions
            yield "settings", self._settings(self.subject)
        refuted: dict[str, list[str]] = {}
        for claim in dict.fromkeys(item.claim for item in self.evidence if item.outcome == "refuted"):
            refuted.setdefault(_paper(claim), []).append(claim.rpartition("/")[2])
        if refuted and self.outcome != "FAIL":
            yield (
                "paper",
                "; ".join(
                    f"refuted as printed in {paper}: {', '.join(names)}" for paper, names in refuted.items()
                ),
            )
        if self.untested:
            yield "not tested", "; ".join(map(str, self.untested))

    def _settings(self, subject: Subject) -> str:
        c, target = subject.configuration, subject.target
        size = "" if target.size is None else f" (N = {target.size})"
        told = [
            f"{target.name}{size}",
            *([target.told] if target.told else []),
            *([f"dimension {target.dim}"] * (target.dim > 1)),
            str(c.test_function),
        ]
        told.append(
            f"T = {c.temperature:g}" + (f", D = {c.friction:g}" * ("D" in subject.scheme.dynamics.parameters))
        )
        own = getattr(subject.scheme, "own_loss", None) is not None
        told.append("minibatches of its own" if own else f"gradients {' and '.join(self._gradients())}")
        # The step size comes last: the rows on how large the bias is name it too, where this row has no room.
        if c.schedule.kind == "fixed":
            told.append(f"h = {subject.step:.3g}{'' if c.schedule.step else ' (default)'}")
        return ", ".join(told)

    def _gradients(self) -> Iterator[str]:
        for kind in dict.fromkeys(gradient_of(item) for item in self.evidence):
            table = next(
                item.configuration["gradient"] for item in self.evidence if gradient_of(item) == kind
            )
            yield f"{kind} (batch {table['batch']})" if kind not in WITHOUT_MINIBATCHES else kind


def _paper(claim: str) -> str:
    """The first author and the year of the paper that makes the claim: `Chen et al. 2015`."""
    card = claims().get(claim)
    if card is None:
        return claim.partition("/")[0]
    names, _, year = card.source.paper.partition(" 2")
    first, *others = names.split(", ")
    return f"{first}{' et al.' * bool(others)} 2{year[:3]}"


def few(text: str, width: int, hanging: str = "", most: int = 1) -> str:
    """The items of a list that fit in so many lines of `width` columns, and the number of the others; "" where not even one fits.

    >>> few("paper  2 claims fail: remark-7, theorem-2, theorem-3", 45)
    'paper  2 claims fail: remark-7, 2 more'
    """
    for mark in ("; ", ", "):
        items = text.split(mark)
        for kept in range(len(items), 0, -1):
            left_out = f"{mark}{len(items) - kept} more" if kept < len(items) else ""
            lines = _wrapped(mark.join(items[:kept]) + left_out, width, hanging)
            if len(lines) <= most and max(map(len, lines)) <= width:
                return "\n".join(lines)
    return ""


def _wrapped(text: str, width: int, hanging: str) -> list[str]:
    return wrap(text, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


def _not_found(crash: Crash) -> str:
    """What a row says whose question ended with an exception."""
    return f"not found: {crash.exception} ({crash.place}); please report it with {crash.file or 'this line'}"


def _number(text: str) -> str:
    """A coefficient to three digits: `-1/2002`, `23.864... (exact fraction of 78 characters)` or `[47.7 +/- 1e-14]`."""
    plain = text.removeprefix("[").split(" ")[0]
    try:
        value = float(plain)
    except ValueError:
        numerator, _, denominator = plain.partition("/")
        try:
            value = float(numerator) / float(denominator)
        except ValueError:
            return plain
    return f"{value:.3g}"
