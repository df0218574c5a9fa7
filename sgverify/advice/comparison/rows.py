"""One scheme of a comparison: its orders, its stability, and its errors by step size and cost, by the best method there is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from sgverify.advice.certified.asking import of_target
from sgverify.advice.chain_laws import ChainLaws, ClosureLaws, ExactLaws
from sgverify.advice.closure.gaussian_closure import NEAR_ERROR, GaussianClosure
from sgverify.advice.comparison.model import (
    AT_THE_COST,
    OF_THE_SCHEME,
    SAMPLES,
    UNIT,
    ComparedScheme,
    CurvePoint,
)
from sgverify.advice.plans.costs import LOST, gradients_per_step, reuses_gradient
from sgverify.advice.plans.model import PRODUCT
from sgverify.advice.product_laws import laws_of
from sgverify.advice.size.finding import gradient_label, smallest_crossings
from sgverify.checks.readings import measured_order, why_no_law
from sgverify.errors import NotExpandableError, SgverifyError, Unreached
from sgverify.exact.certificates.contraction import CurvatureBounds, certified_contraction
from sgverify.exact.series.invariant_order import HIGHEST, invariant_order, prove_invariant_order
from sgverify.exact.splittings.bch import bch
from sgverify.schemes import exact
from sgverify.subject.composite import TorchSubject
from sgverify.subject.step_sizes import typical_step
from sgverify.subject.subject import Subject

RATIO, DEAREST = (2, 4), (64, 16)
"""Of the costs of a curve, and their end in multiples of the cost at which errors are compared; of exact laws, and on grids."""

TOP, SCALES = 0.9, 10.0
"""The largest step of a curve: this share of the stability limit, and at most so many typical steps."""

FARTHEST = 8.0
"""Where no limit is known, the largest step of a curve in steps of the scheme: grids of much larger ones take minutes."""

APART = 8
"""The points of so many curves lie between one another, so that curves on one another show their marks."""

BRIEF = ("stability_limit", "step", "mean_bias", "sd_bias")
"""The fields of an answer without proofs and searches."""

ONE_CURVATURE = 1 + exact(2.0**-20)
"""Curvatures of a target that differ by less are one."""


@dataclass(eq=False)
class SchemeRow:
    """One scheme; what cannot be computed leaves its reason under the name of its field."""

    subject: Subject
    brief: bool
    number: int = 0
    curvatures: CurvatureBounds | None = None
    unit: str = UNIT
    found: dict[str, Any] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def compared(self, cost: float | None, error: float) -> ComparedScheme:
        """The row, with errors at a cost, and the cost of an error."""
        subject = self.subject
        self.ask("gradients", lambda: float(self.gradients))
        self.ask("counted", lambda: self.counted)
        if not self.brief:
            self._orders()
        self.ask("method", lambda: self.laws.method)
        if "method" in self.found:
            self._errors(cost, error)
        self._complete_reasons()
        return ComparedScheme(
            subject.reference, subject.scheme.dynamics.name, **self.found, reasons=self.reasons
        )

    def _complete_reasons(self) -> None:
        """Every empty cell has a reason: its own, or that of what it needs."""
        why = self.reasons.pop("method", None) or self.reasons.get("step") or self.reasons.get("mean_bias")
        wanted = BRIEF if self.brief else (*OF_THE_SCHEME, *AT_THE_COST)
        for key in wanted:
            if self.found.get(key) is None and why is not None:
                self.reasons.setdefault(key, why)

    def ask(self, key: str, question: Callable[[], Any]) -> None:
        """Keep an answer, or the reason why there is none."""
        try:
            self.found[key] = question()
        except (*LOST, SgverifyError) as error:
            self.reasons[key] = error.told() if isinstance(error, NotExpandableError) else str(error)

    @cached_property
    def laws(self) -> ChainLaws:
        """The laws of the chain. Raises `Unreached` where there are none."""
        subject = self.subject
        if subject.composite is not None:
            raise Unreached("a composite's errors depend on swaps or weights, whose law is not computed")
        if isinstance(subject, TorchSubject):
            from sgverify.advice.comparison.torch_laws import MeasuredLaws

            return MeasuredLaws(subject)
        if not subject.scheme.dynamics.usual:
            raise Unreached(f"the law of `{subject.scheme.dynamics.name}` is not compared with exp(-U/T)")
        subject.validate()
        why = why_no_law(subject) if subject.target.quadratic else None
        laws = None if why else next(laws_of(subject), None)
        if laws is None:
            raise Unreached(why or str(GaussianClosure.why_not(subject)))
        if self.brief and not laws.quick:
            raise Unreached(
                "a law of position and momentum on a grid takes seconds; `sgverify compare` has curves"
            )
        if laws.largest_step <= 0:
            raise Unreached("no stationary law: one step contracts at no step size")
        return laws

    @cached_property
    def limit(self) -> float:
        """The stability limit; infinity where there is none, or none is known."""
        return self.laws.largest_step

    @cached_property
    def gradients(self) -> float:
        """Gradients a step, of single data where the target has data."""
        if not isinstance(self.subject, TorchSubject):
            return gradients_per_step(self.subject)
        table, size = self.subject.configuration.gradient, self.subject.target.size
        calls: int = self.laws.gradients  # type: ignore[attr-defined]
        return calls * (1 if size is None else table.batch if table.estimator.draws_data else size)

    @property
    def counted(self) -> str:
        """How gradients are counted, where that is more than one a call."""
        if self.subject.black_box:
            return "gradients counted in one step of the code"
        census, parts = self.subject.scheme.census, []
        if census.hessians:
            parts.append(f"Hessian-vector products: {census.hessians}, each as {PRODUCT} gradients")
        if reuses_gradient(self.subject):
            parts.append("the last gradient of a step is the next one's first, and is counted once")
        return f"gradients of the definition: {census.gradients}; {'; '.join(parts)}" if parts else ""

    @property
    def own_cost(self) -> float | None:
        """The cost of the scheme's own step; None where it has no law there."""
        with suppress(*LOST, SgverifyError):
            self.error(self._own_step)
            return self.cost_of(self._own_step)
        return None

    @property
    def _own_step(self) -> float:
        return self.laws.chain.first if self.subject.black_box else self.subject.step  # type: ignore[attr-defined]

    def cost_of(self, step: float) -> float:
        """The cost of a step size. Raises `Unreached` where autocorrelations are needed and not known."""
        return self.gradients / step if self.unit == UNIT else self.per_draw(step)

    def per_draw(self, step: float) -> float:
        """The gradients for an average as good as one independent draw's."""
        steps = self.laws.independent_draw(step)
        if steps is None:
            label = gradient_label(self.subject)
            raise Unreached(f"{label}: the noise of steps is dependent, and autocorrelations are not known")
        return self.gradients * steps

    def cheapest(self, step: float) -> float:
        """The step of least cost up to this one, but on grids: a draw costs more again towards the stability limit.

        It is the least of all minima that `SAMPLES` steps show, from a thousandth on, below which a cost is nearly proportional to
        1/h. A minimum between two of them, of a ratio of 1.35, at which the cost falls and rises again may be missed.
        """
        if self.unit == UNIT or type(self.laws).method == "grid":
            return step
        from scipy.optimize import minimize_scalar

        def cost(share: float) -> float:
            with suppress(*LOST, SgverifyError):
                return self.cost_of(math.exp(share) * step)
            return math.inf

        shares = np.linspace(math.log(1e-3), 0.0, SAMPLES).tolist()
        costs = [math.inf, *map(cost, shares), math.inf]
        lowest = [
            k
            for k in range(SAMPLES)
            if costs[k + 1] <= min(costs[k], costs[k + 2]) and costs[k + 1] < math.inf
        ]
        ends = [(shares[max(k - 1, 0)], shares[min(k + 1, SAMPLES - 1)]) for k in lowest]
        between = [float(minimize_scalar(cost, bounds=near, method="bounded").x) for near in ends]
        return math.exp(min([0.0, *(shares[k] for k in lowest), *between], key=cost)) * step

    def step_at(self, cost: float) -> float:
        """The step of a cost; of several the smallest. Raises `Unreached` where none costs so little."""
        if self.unit == UNIT:
            return self.gradients / cost
        steps = [float(step) for step in np.geomspace(1e-6 * self.top, self.top, SAMPLES)]
        for low, high in pairwise(steps):
            with suppress(*LOST):
                if self.cost_of(high) <= cost:
                    from scipy.optimize import brentq

                    ends = math.log(low), math.log(high)
                    return math.exp(brentq(lambda x: math.log(self.cost_of(math.exp(x)) / cost), *ends))
        self.cost_of(steps[0])
        raise Unreached("no step costs so little")

    @cached_property
    def top(self) -> float:
        """The largest step of the curve."""
        subject = self.subject
        if not (isinstance(self.laws, ExactLaws) or subject.black_box):
            return FARTHEST * subject.step
        typical = (
            self._own_step
            if subject.black_box
            else typical_step(
                subject.scheme, subject.target, subject.configuration.temperature, subject.metric
            )
        )
        return min(TOP * self.limit, SCALES * typical)

    def biases(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Those of means and standard deviations. Raises `Unreached` where they are not to be trusted."""
        if step >= self.limit:
            raise Unreached(f"no stationary law there: it is beyond the stability limit, {self.limit:.4g}")
        if (why := self.laws.distrust(step)) is not None:
            raise Unreached(f"a Gaussian approximation is not to be trusted: {why}")
        return self.laws.biases(step)

    def error(self, step: float) -> float:
        """The bias of the largest size."""
        return float(max((x for part in self.biases(step) for x in part), key=abs))

    def point(self, step: float) -> CurvePoint | None:
        """The bias and the cost of a step; None where there is no law."""
        with suppress(*LOST):
            worst = self.error(step)
            return CurvePoint(step, self.cost_of(step), worst) if math.isfinite(worst) else None
        return None

    def _orders(self) -> None:
        subject = self.subject
        if isinstance(subject, TorchSubject):
            order = measured_order(subject)
            if not isinstance(order, str) and order.resolved:
                self.found |= {"order": float(order.order), "order_by": "quadrature"}
            else:
                self.reasons["order"] = order if isinstance(order, str) else "not resolved by quadrature"
            self.reasons["invariant_order"] = "torch code has no expansion for every potential"
            return
        local = subject.order
        if isinstance(local, NotExpandableError):
            self.reasons["order"] = local.told()
        else:
            by = "proof" if local.given_minibatch else "proof, or more"
            self.found |= {"order": float(local.order), "order_by": by}
        self.ask("invariant_order", self._invariant_order)
        self.ask("leading_error", self._leading_error)
        self.reasons.pop("leading_error", None)

    def _invariant_order(self) -> float:
        subject = self.subject
        law, _, _ = prove_invariant_order(
            subject.scheme, subject.proof_dimension, subject.target.dim, HIGHEST
        )
        if not law.mixes:
            raise Unreached("it is not seen to forget its start on every Gaussian")
        self.found["invariant_order_by"] = "proof" if law.power is not None else "proof, or more"
        return float(law.order)

    def _leading_error(self) -> str:
        """Of letters that are proved to be flows by BCH; else what is left of the density in dimension 1."""
        word, alphabet = self.subject.scheme.word, self.subject.alphabet
        if word is not None and alphabet is not None and alphabet.proved:
            result = bch(word.merged, word.shares)
            if result.leading and result.order is not None:
                terms = " + ".join(f"({term.coefficient}) {term.commutator}" for term in result.leading)
                terms = terms.replace("+ (-", "- (").replace("(-", "-(")
                return f"h^{result.order + 1} ( {terms} ), letters of {word.merged}"
        law = invariant_order(self.subject.scheme, 1, HIGHEST)
        return f"h^{law.power} ( {law.left} ) rho, d = 1" if law.left else ""

    def _errors(self, cost: float | None, error: float) -> None:
        laws, found = self.laws, self.found
        if math.isfinite(self.limit):
            found["stability_limit"] = self.limit
        elif isinstance(laws, ExactLaws):
            found["unlimited"] = self.subject.step_sizes.searched == math.inf
            if not found["unlimited"]:
                far = self.subject.step_sizes.searched
                self.reasons["stability_limit"] = (
                    f"second moments contract at the steps that were tried, up to h = {far:.4g}"
                )
        else:
            self.reasons["stability_limit"] = "a limit is known on Gaussian targets alone"
        found["curve"] = tuple(filter(None, map(self.point, self._steps(cost))))
        if cost is not None:
            self.ask("step", lambda: self.step_at(cost))
        if "step" in found:
            self._errors_at(found["step"])
        if self.brief:
            return
        self.ask("leading", partial(_power, laws))
        search = self._largest if laws.quick else partial(_between, found["curve"])
        self.ask("step_for_error", lambda: self.cheapest(search(error)))
        if "step_for_error" in found:
            self.ask("cost_for_error", lambda: self.cost_of(found["step_for_error"]))
        else:
            self.reasons["cost_for_error"] = self.reasons.pop("step_for_error")

    def _errors_at(self, step: float) -> None:
        self.ask("mean_bias", lambda: float(max(self.biases(step)[0], key=abs)))
        self.ask("sd_bias", lambda: float(max(self.biases(step)[1], key=abs)))
        if "mean_bias" in self.found and not self.brief:
            self.ask("distance", lambda: self.laws.distance(step))
            self.ask("independent_draw", lambda: self.per_draw(step))
            self.ask("contraction", lambda: self._contraction(step))

    def _steps(self, cost: float | None) -> Iterator[float]:
        """The steps of the curve, downwards: those of costs that are `RATIO` apart, between those of the other schemes."""
        exactly = isinstance(self.laws, ExactLaws | ClosureLaws) or self.subject.black_box
        ratio, dearest = RATIO[not exactly], DEAREST[not exactly]
        own = (cost or self.gradients / self.top) * ratio ** (self.number % APART / APART)
        # Per independent draw a large step may cost more than a small one.
        least = self.gradients / self.top if self.unit == UNIT else own / dearest
        for k in range(math.ceil(math.log(least / own, ratio)), round(math.log(dearest, ratio)) + 1):
            with suppress(*LOST):
                yield self.step_at(own * float(ratio) ** k)

    def _contraction(self, step: float) -> float:
        """The certified share by which a step contracts, for a given class of curvatures or that of the target."""
        if self.subject.black_box:
            raise Unreached(
                "torch code has no certificate (sgverify bound has those of the scheme whose law it has)"
            )
        bounds = self.curvatures or of_target(self.subject.target)
        if self.curvatures is None and bounds.m * ONE_CURVATURE > bounds.L:
            raise Unreached("the target has one curvature; for a class of potentials give --m M --L L")
        found = certified_contraction(self.subject.scheme, exact(step), self.subject.model_parameters, bounds)
        return float(1 - found.rate)

    def _largest(self, error: float) -> float:
        """The largest step below which no bias is beyond the error."""
        laws = self.laws
        close = isinstance(laws, ClosureLaws)

        def size(step: float) -> float:
            try:
                return laws.near(step).error(laws.target) if close else abs(self.error(step))
            except LOST:
                return math.inf

        how = (1.3, 1e-4) if isinstance(laws, ExactLaws) else (2.0, 1e-2)
        (level,) = smallest_crossings(
            size, (error,), self.top / 4, self.limit, *how, NEAR_ERROR if close else 0.0
        )
        if level.step is None:
            self.error(self.top / 1024)
            raise Unreached(f"no step was found at which the bias passes {100 * error:g} %")
        return level.step


def _between(curve: Sequence[CurvePoint], error: float) -> float:
    """The step at which the bias passes the error, between two points of a curve, as a power of the step."""
    ordered = sorted(curve, key=lambda point: point.step)
    for low, high in pairwise(ordered):
        if 0 < abs(low.bias) <= error < abs(high.bias):
            power = math.log(abs(high.bias / low.bias)) / math.log(high.step / low.step)
            return low.step * (error / abs(low.bias)) ** (1 / power)
    ends = f"{ordered[0].step:.3g} to {ordered[-1].step:.3g}" if ordered else "none"
    raise Unreached(f"no bias passes {100 * error:g} % at the steps of the curve, h = {ends}")


def _power(laws: ChainLaws) -> str:
    if not isinstance(laws, ExactLaws):
        raise Unreached("the power of h is known of exact laws alone")
    found = laws.leading
    if found.order is None or found.coefficient is None:
        return f"0 to h^{len(laws.errors) - 1}"
    return f"{found.coefficient:.3g} h" + (f"^{found.order}" if found.order != 1 else "")
