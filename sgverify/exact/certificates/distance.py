r"""A bound of the Wasserstein distance between the law of a chain and the posterior, for every potential of a class.

Take the posterior pi, exp(-U/T) (times the normal law of the momentum), one step of the scheme from X_0 ~ pi, and a motion over the
time h from the same X_0 that leaves pi as it is: the dynamics, or Hamilton's flow split from friction and noise (`motion`). With a
certificate |Delta'|_P <= rho |Delta|_P, the distances w_n = W_2(law at step n, pi), measured by P, obey

    w_{n+1}^2 <= (rho w_n + e)^2 + sigma^2,

sigma^2 for what is independent of X_0 with mean 0 (the draws of the step against those of the motion, coupled as near as normal
laws can be, and the minibatches' noise), e for the rest of the local error. Hence w_n <= rho^n w_0 + w with
w^2 = (rho w + e)^2 + sigma^2.

The local error is bounded from E |p|^2 = d T, E |grad U(theta)|^2 <= L d T and |grad U(x) - grad U(y)| <= L |x - y| alone: every
gradient of the step stands for the motion's gradients over its share of the time h. That is order 1 in h, 1/2 without a
momentum. With M, the Lipschitz constant of the Hessian, gradients are expanded at theta_0, grad U(x) = grad U(theta_0) +
H (x - theta_0) + r with |r| <= M |x - theta_0|^2 / 2, and what is linear in draws goes into sigma: order 2 for a symmetric step
whose draws are those of one of the motions, order 1 without a momentum. Fourth moments: E |p|^4 = d (d + 2) T^2 and E |grad U|^4 <=
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
from sgverify.exact.certificates.motion import FreeMotion, SplitMotion, root
from sgverify.exact.certificates.pair import PairedStep, read_pair
from sgverify.exact.numbers import ball
from sgverify.schemes import Scheme
from sgverify.schemes.dynamics import kinetic, langevin

PIECES = 32
"""Pieces of the time that a gradient stands for, on each of which the integrand is bounded by its largest value."""

SLACKENED = tuple(Fraction(share, 100) for share in (100, 99, 97, 95, 90, 80, 70, 50))
"""Shares of the largest 1 - rho: near the largest, the norm P may be so lopsided that a slower rate has the smaller distance."""

INTERRUPTED = (([Fraction(1, 2)], [Fraction(1)]), ([Fraction(0), Fraction(1)], [Fraction(1, 2)] * 2))
"""Times and shares of friction and noise: in the middle of the step (BAOAB, ABOBA), or half at its start and its end (OBABO)."""


@dataclass(frozen=True)
class DistanceBound:
    """W_2(law of theta at step n, posterior) <= start_factor rho^n W_2(law of the start, posterior) + distance.

    `distance` is in units of theta and scales with sqrt(d); the start's distance is that of the whole state.
    """

    distance: float
    start_factor: float


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
    bounds: list[DistanceBound] = []
    with flint.ctx.workprec(BITS):
        pair = read_pair(scheme, best.step, parameters)
        step, temperature = ball.number(best.step), ball.number(parameters["T"])
        friction = ball.number(parameters["D"]) if pair.states > 1 else None
        motions = [FreeMotion(step, temperature, friction)]
        if friction is not None:
            motions += [SplitMotion(step, temperature, friction, *where) for where in INTERRUPTED]
        errors = [_LocalError(pair, motion, best.curvature.L, variance) for motion in motions]
        for share in SLACKENED:
            contraction = best if share == 1 else slackened(best, pair, share)
            if contraction is None:
                continue
            for local in errors:
                bounds.append(local.bound(contraction, dimension, None))
                if hessian_lipschitz is not None and not (variance and local.depends):
                    bounds.append(local.bound(contraction, dimension, ball.number(hessian_lipschitz)))
    return min(bounds, key=lambda bound: bound.distance)


@dataclass(frozen=True)
class _Piece:
    """A piece of the time that a gradient stands for: the motion's `weight` times its duration, and bounds over sqrt(d).

    theta_s is off the gradient's place by `known` from X_0 and `unknown`; the noise in it is `noise`, what later gradients of the
    motion turn in it `turned`, and `far` bounds |theta_s - theta_0|^2.
    """

    weight: arb_mat
    known: arb
    unknown: arb
    noise: arb
    turned: arb
    far: arb


@dataclass(frozen=True)
class _Share:
    """A gradient of the step with its `effect`; `spent` is the motion's weight over the time that it stands for.

    Over sqrt(d), `away` bounds the root mean square of its place less theta_0, `unsteady` that of the part which depends on the
    step, `draws` that of its own draws.
    """

    effect: arb_mat
    spent: arb_mat
    draws: arb
    away: arb
    unsteady: arb
    pieces: list[_Piece]


class _LocalError:
    """The local error of one step from the posterior against one motion, to be measured in any norm."""

    def __init__(
        self, pair: PairedStep, motion: FreeMotion, smoothness: Fraction, variance: Fraction
    ) -> None:
        self._pair, self._n, self._motion = pair, pair.states, motion
        self._T, self._L, self._noise = (
            motion.temperature,
            ball.number(smoothness),
            ball.number(variance).sqrt(),
        )
        self._size = (self._L * self._T).sqrt()
        zero = arb_mat(self._n, 1)
        # Whether a place depends on an earlier gradient of the step.
        self.depends = any(_upper(abs(x)) for row in pair.places.tolist() for x in row[self._n :])
        # What is linear in p and in grad U(theta_0), without the Hessian that stands before them.
        self._momentum, self._gradient = zero, zero
        self._shares = self._shared()
        self._summed = sum((share.effect for share in self._shares), zero)
        self._left = sum((share.spent for share in self._shares), zero) - self._summed

    def bound(
        self, contraction: CertifiedContraction, dimension: int, hessian_lipschitz: arb | None
    ) -> DistanceBound:
        """The distance with this rate and norm."""
        p, rate = arb_mat(contraction.norm), ball.number(contraction.rate)

        def measured(vector: arb_mat) -> arb:
            return root((vector.transpose() * p * vector)[0, 0])

        steady = self._free(measured) + measured(self._left) * self._size
        if hessian_lipschitz is None:
            known, unsteady = self._by_gradients(measured)
            drawn = arb(0)
        else:
            bend = hessian_lipschitz * (ball.number(dimension) + 2).sqrt() / 2
            known, unsteady, drawn = self._by_hessians(measured, bend)
        noise2 = (root(self._uncoupled(p)) + drawn) ** 2 + (self._noise * measured(self._summed)) ** 2
        noise, drift = root(noise2), steady + known + unsteady
        mixed = self._mixed(p, measured)
        if _upper(mixed):
            drift += mixed * noise / rate
        noise2 = noise2 + 2 * unsteady * noise
        slack = 1 - rate**2
        total = (rate * drift + root((rate * drift) ** 2 + slack * (drift**2 + noise2))) / slack
        inverse = p.inv()
        theta = root(inverse[0, 0]) * ball.number(dimension).sqrt()
        start = root(inverse[0, 0] * p.trace())
        return DistanceBound(_upper(theta * total), _upper(start))

    def _by_gradients(self, measured: Measure) -> tuple[arb, arb]:
        """The gradients' error by |grad U(x) - grad U(y)| <= L |x - y|: its part that X_0 determines, and the rest."""
        known, unsteady = arb(0), arb(0)
        for share in self._shares:
            unsteady += measured(share.spent - share.effect) * self._L * share.away
            for piece in share.pieces:
                weight = measured(piece.weight) * self._L
                known += weight * piece.known
                unsteady += weight * piece.unknown
        return known, unsteady

    def _by_hessians(self, measured: Measure, bend: arb) -> tuple[arb, arb, arb]:
        """The gradients' error expanded at theta_0: what X_0 determines, the rest, and what is linear in draws.

        `bend` is M sqrt(d + 2) / 2.
        """
        L, unsteady, drawn = self._L, arb(0), arb(0)
        for share in self._shares:
            whole = measured(share.spent)
            drawn += whole * L * share.draws
            unsteady += whole * (L * (share.unsteady - share.draws) + bend * share.away**2)
            unsteady += measured(share.spent - share.effect) * L * share.away
            for piece in share.pieces:
                weight = measured(piece.weight)
                drawn += weight * L * piece.noise
                unsteady += weight * (L * piece.turned + bend * piece.far)
        known = measured(self._momentum) * self._T.sqrt() + measured(self._gradient) * self._size
        return known * L, unsteady, drawn

    def _shared(self) -> list[_Share]:
        """Every gradient with its share of the time h, in proportion to its effect on the last state variable."""
        pair, n, motion, h = self._pair, self._n, self._motion, self._motion.step
        own_draws = (pair.place_noise * pair.place_noise.transpose()).tolist()
        effects = [ball.column(effect) for effect in pair.step.transpose().tolist()[n:]]
        sizes = [abs(effect[n - 1, 0].mid()) for effect in effects]
        shares, start = list[_Share](), arb(0)
        for i, place in enumerate(pair.places.tolist()):
            last = i == pair.gradients - 1
            end = h if last else start + h * (sizes[i] / sum(sizes, arb(0))).mid()
            reach, earlier, draws = (place[1] if n > 1 else arb(0)), place[n : n + i], root(own_draws[i][i])
            unsteady, away = draws, draws + abs(reach) * self._T.sqrt()
            for factor, share in zip(earlier, shares, strict=True):
                unsteady += abs(factor) * (self._L * share.away + self._noise)
                away += abs(factor) * (self._size + self._L * share.away + self._noise)
            spent = motion.weights(start, end)
            self._momentum += motion.weighted_reach(start, end) - spent * reach
            at = reach, -sum(earlier, arb(0)), unsteady, away
            cuts = [start + (end - start) * k / PIECES for k in range(PIECES)] + [end]
            pieces = [self._piece(a, b, *at) for a, b in pairwise(cuts)]
            shares.append(_Share(effects[i], spent, draws, away, unsteady, pieces))
            start = end
        return shares

    def _piece(self, a: arb, b: arb, reach: arb, response: arb, unsteady: arb, away: arb) -> _Piece:
        """The times from a to b of a gradient whose place has these coefficients and bounds."""
        motion = self._motion
        reaches = [abs(motion.reach(s) - reach) for s in (a, b)]
        early, late = (motion.response(s) for s in (a, b))
        weight, noise, moved = motion.weight(a.union(b)) * (b - a), motion.deviation(b), motion.moved(b)
        # Monotone: a ball of times would lose the cancellation in it.
        self._gradient += weight * (early.union(late) - response)
        responses = max(abs(early - response), abs(late - response), key=_upper)
        known = max(reaches, key=_upper) * self._T.sqrt() + responses * self._size
        turned = late * self._L * moved
        unknown = noise + turned + unsteady
        if _upper(known + unknown) >= _upper(moved + away):
            known, unknown = arb(0), moved + away
        return _Piece(weight, known, unknown, noise, turned, motion.moved_fourth(b, self._size) ** 2)

    def _free(self, measured: Measure) -> arb:
        """The error of the step without gradients and draws; raises `Unreached` where theta itself would count."""
        own = self._pair.step.tolist()
        if not all((own[i][0] - int(i == 0)).contains(0) for i in range(self._n)):
            raise Unreached("the step without gradients moves theta by a multiple of theta")
        if any(not (place[0] - 1).contains(0) for place in self._pair.places.tolist()):
            raise Unreached("a gradient is asked for at a multiple of theta")
        if self._n == 1:
            return arb(0)
        due = [self._motion.reach(self._motion.step), self._motion.damping]
        return measured(ball.column([own[i][1] - due[i] for i in range(2)])) * self._T.sqrt()

    def _uncoupled(self, p: arb_mat) -> arb:
        """The squared distance between the draws' part of the step and the motion's noise, in the norm P.

        Normal laws are tr(S_1 + S_2) - 2 tr (S_1 S_2)^(1/2) apart, S_i = P Sigma_i. In dimension 2 the last trace is the root of
        tr S_1 S_2 + 2 (det S_1 det S_2)^(1/2).
        """
        rows = self._pair.step_noise
        own, due = p * rows * rows.transpose(), p * self._motion.covariance()
        traces = [m.trace() for m in (own, due, own * due)]
        if not self._pair.normal:
            return (root(traces[0]) + root(traces[1])) ** 2
        mixed = traces[2]
        if self._n == 2:
            mixed += 2 * root(own.det() * due.det())
        return traces[0] + traces[1] - 2 * root(mixed)

    def _mixed(self, p: arb_mat, measured: Measure) -> arb:
        """c: the part of |Delta'|_P / |Delta|_P that draws of the step can change, through the places of gradients."""
        inverse, moved, total = p.inv(), list[arb](), arb(0)
        for place, share in zip(self._pair.places.tolist(), self._shares, strict=True):
            row = arb_mat(1, self._n, place[: self._n])
            size = root((row * inverse * row.transpose())[0, 0])
            for factor, before in zip(place[self._n :], moved, strict=False):
                size += abs(factor) * self._L * before
            moved.append(size)
            if _upper(share.unsteady):
                total += measured(share.effect) * self._L * size
        return total


Measure = Callable[[arb_mat], arb]


def _upper(value: arb) -> float:
    """A float above a number that is not negative; infinite where its ball says nothing."""
    above = float(value.abs_upper()) if value.is_finite() else math.inf
    return math.nextafter(above, math.inf) if above else 0.0
