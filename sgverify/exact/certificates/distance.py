r"""A bound of the Wasserstein distance between the law of a chain and the posterior, for every potential of a class.

Take the posterior pi, exp(-U/T) (times the normal law of the momentum), one step of the scheme from X_0 ~ pi, and the dynamics over
the time h from the same X_0, after which its law is pi still. With a certificate |Delta'|_P <= rho |Delta|_P, the distances
w_n = W_2(law at step n, pi), measured by P, obey

    w_{n+1}^2 <= (rho w_n + e)^2 + sigma^2,

sigma^2 for what is independent of X_0 with mean 0 (the draws against the Brownian path, coupled as near as normal laws can be, and
the minibatches' noise), e for the rest of the local error. Hence w_n <= rho^n w_0 + w with w^2 = (rho w + e)^2 + sigma^2.

The local error is bounded from E |p|^2 = d T, E |grad U(theta)|^2 <= L d T and |grad U(x) - grad U(y)| <= L |x - y| alone: every
gradient of the step stands for the dynamics' gradients over its share of the time h. That is order 1 in h, 1/2 without a
momentum. With M, the Lipschitz constant of the Hessian, gradients are expanded at theta_0, grad U(x) = grad U(theta_0) +
H (x - theta_0) + r with |r| <= M |x - theta_0|^2 / 2, and what is linear in draws goes into sigma: order 2 for a step whose draws
are those of the dynamics (UBU), order 1 without a momentum. Fourth moments: E |p|^4 = d (d + 2) T^2 and E |grad U|^4 <=
d (d + 2) L^2 T^2. Integrals are bounded in balls, piece by piece; all numbers are upper bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint
from flint import arb, arb_mat

from sgverify.errors import Unreached
from sgverify.exact.certificates.contraction import BITS, CertifiedContraction, slackened
from sgverify.exact.certificates.motion import FreeMotion, root
from sgverify.exact.certificates.pair import PairedStep, read_pair
from sgverify.exact.numbers import ball
from sgverify.schemes import Scheme
from sgverify.schemes.dynamics import kinetic, langevin

PIECES = 32
"""Pieces of the time that a gradient stands for, on each of which the integrand is bounded by its largest value."""

SLACKENED = (Fraction(1), Fraction(99, 100), Fraction(9, 10), Fraction(7, 10), Fraction(1, 2))
"""Shares of the largest 1 - rho: near the largest, the norm P may be so lopsided that a slower rate has the smaller distance."""


@dataclass(frozen=True)
class DistanceBound:
    """W_2(law of theta at step n, posterior) <= start_factor rho^n W_2(law of the start, posterior) + distance.

    `distance` is in units of theta and scales with sqrt(d); `contraction` has rho and the norm; the start's distance is that of
    the whole state. `drift` and `noise` are e and sigma, in the norm P.
    """

    contraction: CertifiedContraction
    dimension: int
    distance: float
    start_factor: float
    drift: float
    noise: float


def distance_bound(
    scheme: Scheme,
    parameters: Mapping[str, Fraction],
    best: CertifiedContraction,
    dimension: int = 1,
    *,
    variance: Fraction = Fraction(0),
    hessian_lipschitz: Fraction | None = None,
) -> DistanceBound:
    """The smallest bound of the distance among norms that shrink nearly as fast as the best, and among both orders.

    `variance` V is the variance of a coordinate of the minibatches' gradient noise, independent of theta; `hessian_lipschitz` M, if
    known, gives the bound of the next order. Raises `Unreached` for a dynamics other than the overdamped and the kinetic one, and
    for memory.
    """
    if scheme.memory or scheme.dynamics not in (langevin, kinetic):
        raise Unreached(
            f"`{scheme.name}` has a memory or a dynamics of its own, whose law beside the posterior is not known"
        )
    found: list[DistanceBound] = []
    with flint.ctx.workprec(BITS):
        pair = read_pair(scheme, best.step, parameters)
        local = _LocalError(pair, best.step, parameters, best.curvature.L, variance)
        for share in SLACKENED:
            contraction = best if share == 1 else slackened(best, pair, share)
            if contraction is not None:
                found.append(local.bound(contraction, dimension, None))
                if hessian_lipschitz is not None and not (variance and local.depends):
                    found.append(local.bound(contraction, dimension, ball.number(hessian_lipschitz)))
    return min(found, key=lambda bound: bound.distance)


@dataclass(frozen=True)
class _Share:
    """The gradient number i, which stands for the times `pieces`; what is known of its place y_i, per sqrt(d).

    `away` bounds the root mean square of y_i - theta_0, `unsteady` that of its part which depends on the step, `draws` that of its
    own draws.
    """

    effect: list[arb]
    pieces: list[tuple[arb, arb]]
    reach: arb
    response: arb
    draws: arb
    away: arb
    unsteady: arb
    disturbed: bool


class _LocalError:
    """The local error of one step from the posterior, to be measured in any norm."""

    def __init__(
        self,
        pair: PairedStep,
        step: Fraction,
        parameters: Mapping[str, Fraction],
        smoothness: Fraction,
        variance: Fraction,
    ) -> None:
        self._pair, self._n = pair, pair.states
        self._h, self._L = ball.number(step), ball.number(smoothness)
        self._T = ball.number(parameters["T"])
        self._noise = ball.number(variance).sqrt()
        friction = ball.number(parameters["D"]) if self._n > 1 else None
        self._motion = FreeMotion(self._h, self._T, friction)
        self._size = (self._L * self._T).sqrt()
        self._shares = self._shared()

    @property
    def depends(self) -> bool:
        """Whether a place depends on an earlier gradient of the step."""
        return any(_upper(abs(x)) for place in self._pair.places for x in place[self._n :])

    def bound(
        self, contraction: CertifiedContraction, dimension: int, hessian_lipschitz: arb | None
    ) -> DistanceBound:
        """The distance with this rate and norm."""
        n = self._n
        p, rate = ball.matrix(contraction.norm), ball.number(contraction.rate)

        def measured(vector: list[arb]) -> arb:
            column = arb_mat(n, 1, vector)
            return root((column.transpose() * p * column)[0, 0])

        if hessian_lipschitz is None:
            steady, unsteady, drawn = self._by_gradients(measured)
        else:
            bend = hessian_lipschitz * (ball.number(dimension) + 2).sqrt() / 2
            steady, unsteady, drawn = self._by_hessians(measured, bend)
        noise2 = (root(self._uncoupled(p)) + drawn) ** 2 + (self._noise * measured(self._summed())) ** 2
        noise = root(noise2)
        drift = self._free(measured) + steady + unsteady
        mixed = self._mixed(p, measured)
        if _upper(mixed):
            drift += mixed * noise / rate
        noise2 = noise2 + 2 * unsteady * noise
        slack = 1 - rate**2
        total = (rate * drift + root((rate * drift) ** 2 + slack * (drift**2 + noise2))) / slack
        inverse = p.inv()
        theta = root(inverse[0, 0]) * ball.number(dimension).sqrt()
        largest = sum((p[i, i] for i in range(n)), arb(0))
        return DistanceBound(
            contraction=contraction,
            dimension=dimension,
            distance=_upper(theta * total),
            start_factor=_upper(root(inverse[0, 0] * largest)),
            drift=_upper(drift),
            noise=_upper(root(noise2)),
        )

    def _by_gradients(self, measured: Measure) -> tuple[arb, arb, arb]:
        """The gradients' error by |grad U(x) - grad U(y)| <= L |x - y|: its part that X_0 determines, the rest, none of mean 0."""
        steady, unsteady = measured(self._left()) * self._size, arb(0)
        for share in self._shares:
            unsteady += measured(self._lacking(share)) * self._L * share.away
            for a, b in share.pieces:
                weight = measured(self._motion.weight(a.union(b))) * (b - a) * self._L
                known, unknown = self._apart(share, a, b)
                steady += weight * known
                unsteady += weight * unknown
        return steady, unsteady, arb(0)

    def _by_hessians(self, measured: Measure, bend: arb) -> tuple[arb, arb, arb]:
        """The gradients' error expanded at theta_0: what X_0 determines, the rest, and what is linear in draws.

        `bend` is M sqrt(d + 2) / 2.
        """
        motion, L = self._motion, self._L
        unsteady, drawn = arb(0), arb(0)
        momentum, gradient = [arb(0)] * self._n, [arb(0)] * self._n
        for share in self._shares:
            a, b = share.pieces[0][0], share.pieces[-1][1]
            spent = motion.weights(a, b)
            reached = motion.weighted_reach(a, b)
            momentum = [m + r - share.reach * w for m, r, w in zip(momentum, reached, spent, strict=True)]
            whole = measured(spent)
            drawn += whole * L * share.draws
            unsteady += whole * (L * (share.unsteady - share.draws) + bend * share.away**2)
            unsteady += measured(self._lacking(share)) * L * share.away
            for a, b in share.pieces:
                weights = motion.weight(a.union(b))
                # Monotone: a ball of times would lose the cancellation in it.
                late = (motion.response(a).union(motion.response(b)) - share.response) * (b - a)
                gradient = [g + w * late for g, w in zip(gradient, weights, strict=True)]
                weight = measured(weights) * (b - a)
                drawn += weight * L * motion.deviation(b)
                turned = L * motion.response(b) * L * motion.moved(b)
                unsteady += weight * (turned + bend * motion.moved_fourth(b, self._size) ** 2)
        steady = measured(momentum) * L * self._T.sqrt() + measured(gradient) * L * self._size
        return steady + measured(self._left()) * self._size, unsteady, drawn

    def _lacking(self, share: _Share) -> list[arb]:
        """What the dynamics' gradients do over this share of the time, less what the step's gradient does."""
        spent = self._motion.weights(share.pieces[0][0], share.pieces[-1][1])
        return [w - b for w, b in zip(spent, share.effect, strict=True)]

    def _left(self) -> list[arb]:
        """The same for all gradients of the step together."""
        return [sum(parts, arb(0)) for parts in zip(*map(self._lacking, self._shares), strict=True)]

    def _shared(self) -> list[_Share]:
        """Every gradient with its share of the time h, in proportion to its effect on the last state variable."""
        pair, n = self._pair, self._n
        effects = [[row[n + i] for row in pair.step] for i in range(pair.gradients)]
        sizes = [abs(effect[-1].mid()) for effect in effects]
        whole = sum(sizes, arb(0))
        shares: list[_Share] = []
        start = arb(0)
        for i, place in enumerate(pair.places):
            end = self._h if i == pair.gradients - 1 else start + self._h * (sizes[i] / whole).mid()
            span = end - start
            cuts = [start + span * k / PIECES for k in range(PIECES)] + [end]
            reach = place[1] if n > 1 else arb(0)
            earlier = [place[n + j] for j in range(i)]
            draws = root(sum((c**2 for c in pair.place_noise[i]), arb(0)))
            unsteady, away = draws, draws + abs(reach) * self._T.sqrt()
            for factor, share in zip(earlier, shares, strict=True):
                unsteady += abs(factor) * (self._L * share.away + self._noise)
                away += abs(factor) * (self._size + self._L * share.away + self._noise)
            disturbed = bool(_upper(draws)) or any(
                bool(_upper(abs(factor) * self._noise)) or (bool(_upper(abs(factor))) and share.disturbed)
                for factor, share in zip(earlier, shares, strict=True)
            )
            shares.append(
                _Share(
                    effects[i],
                    list(pairwise(cuts)),
                    reach,
                    -sum(earlier, arb(0)),
                    draws,
                    away,
                    unsteady,
                    disturbed,
                )
            )
            start = end
        return shares

    def _apart(self, share: _Share, a: arb, b: arb) -> tuple[arb, arb]:
        """The distance between theta_s, a <= s <= b, and the place of the gradient: what X_0 determines, and the rest."""
        motion = self._motion
        reach = max((abs(motion.reach(s) - share.reach) for s in (a, b)), key=_upper)
        response = max((abs(motion.response(s) - share.response) for s in (a, b)), key=_upper)
        known = reach * self._T.sqrt() + response * self._size
        unknown = motion.deviation(b) + motion.response(b) * self._L * motion.moved(b) + share.unsteady
        whole = motion.moved(b) + share.away
        return (known, unknown) if _upper(known + unknown) < _upper(whole) else (arb(0), whole)

    def _free(self, measured: Measure) -> arb:
        """The error of the step without gradients and draws; raises `Unreached` where theta itself would count."""
        own = [row[: self._n] for row in self._pair.step]
        if not all((own[i][0] - int(i == 0)).contains(0) for i in range(self._n)):
            raise Unreached("the step without gradients moves theta by a multiple of theta")
        if any(not (place[0] - 1).contains(0) for place in self._pair.places):
            raise Unreached("a gradient is asked for at a multiple of theta")
        if self._n == 1:
            return arb(0)
        due = [self._motion.reach(self._h), -self._motion.weight(arb(0))[1]]
        return measured([row[1] - d for row, d in zip(own, due, strict=True)]) * self._T.sqrt()

    def _summed(self) -> list[arb]:
        """The effect of one minibatch on the state: that of all gradients of a step together."""
        return [sum(effects, arb(0)) for effects in zip(*(s.effect for s in self._shares), strict=True)]

    def _uncoupled(self, p: arb_mat) -> arb:
        """The squared distance between the draws' part of the step and the dynamics' noise, in the norm P.

        Normal laws are tr(S_1 + S_2) - 2 tr (S_1 S_2)^(1/2) apart, S_i = P Sigma_i. In dimension 2 the last trace is the root of
        tr S_1 S_2 + 2 (det S_1 det S_2)^(1/2).
        """
        rows = arb_mat(self._pair.step_noise)
        own, due = p * (rows * rows.transpose()), p * self._motion.covariance()
        traces = [sum((m[i, i] for i in range(self._n)), arb(0)) for m in (own, due, own * due)]
        if not self._pair.normal:
            return (root(traces[0]) + root(traces[1])) ** 2
        mixed = traces[2]
        if self._n == 2:
            mixed += 2 * root(own.det() * due.det())
        return traces[0] + traces[1] - 2 * root(mixed)

    def _mixed(self, p: arb_mat, measured: Measure) -> arb:
        """c: the part of |Delta'|_P / |Delta|_P that draws of the step can change, through the places of gradients."""
        inverse, moved, total = p.inv(), list[arb](), arb(0)
        for place, share in zip(self._pair.places, self._shares, strict=True):
            row = arb_mat(1, self._n, place[: self._n])
            size = root((row * inverse * row.transpose())[0, 0])
            for factor, before in zip(place[self._n :], moved, strict=False):
                size += abs(factor) * self._L * before
            moved.append(size)
            if share.disturbed:
                total += measured(share.effect) * self._L * size
        return total


Measure = Callable[[list[arb]], arb]


def _upper(value: arb) -> float:
    """A float above a number that is not negative; infinite where its ball says nothing."""
    above = float(value.abs_upper()) if value.is_finite() else math.inf
    return math.nextafter(above, math.inf) if above else 0.0
