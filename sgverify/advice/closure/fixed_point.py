"""Mean, covariance and third cumulants of the state after one step, where every gradient is averaged over the law of its own place.

Write the place of the k-th gradient as q_k = E q_k + y_k. Over the Gaussian law of q_k, of the covariance S_kk, its value is

    G_k = g_k + A_k y_k + r_k + eta_k,     r_k = C_k : (y_k y_k^T - S_kk)/2 + ...,     eta_k = (zeta_k + Delta_k y_k)

with the averages g, A, C of the gradient, the Hessian and the third derivatives of U, and the noise eta_k of its minibatch (see
`GradientFit`). The Hermite expansion makes r_k uncorrelated with all that is Gaussian. Put into the affine reading of the step
(`sgverify.advice.closure.gradient_calls`), every place and the new state become linear forms

    a = a_y y + a_xi xi + sum_k a_k (r_k + eta_k)

of the deviation y of the state, the draws, and what is not linear in the gradients. No small h is needed: that earlier parts of
the step have moved theta to where the k-th gradient is evaluated is in y_k.

Covariances of forms follow from those of y (S) and xi (I) and of the noises. Within one minibatch, for l < k,

    Cov(eta_k, eta_l) = Cov(zeta_k, zeta_l) + E[Delta_k S_kl Delta_l^T] + ...,
    E[eta_k | y_l] = E[Delta_k N zeta_l] + E[Delta_k N Delta_l] y_l,     N the coefficient of eta_l in q_k,

the second because q_k has been moved by the same data. Third cumulants of forms, to first order in what makes them:

    K(a, b, c) = K_y(a_y, b_y, c_y) + 3 sym sum_k C_k (Cov(a, q_k), Cov(b, q_k), c_k) + those of the minibatches,

Cov(a, q_k) being that of linear forms; of a minibatch Cov(zeta + Delta y) has a slope in y, and zeta a third cumulant. The new
state X' must have K_y again. Then E[a r_k] = C_k : K(a, q_k, q_k)/2, and the covariance of the new state is

    S = Cov(X') as a linear form + sum_k (Z_k B_k^T + B_k Z_k^T) - sum_kl B_k E[r_k r_l^T] B_l^T,

B_k = X'_k and Z_k = E[X' r_k^T], in which the sum over l of B_l E[r_l r_k^T] is already contained (so that it is taken off once).
With U = quadratic + e cubic + e^2 quartic this is complete to order e^2, in the widths, at any step size; to order e in the mean.

Which law does a step leave as it is? The fixed point of one step with averages over the law itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from sgverify.advice.closure.gradient_calls import StepInGradients
from sgverify.advice.closure.gradient_fit import GradientFit
from sgverify.advice.closure.linear_chain import LinearChain, Mixing, invariant_third, through
from sgverify.errors import InstabilityError

FitAt = Callable[[np.ndarray, np.ndarray], GradientFit]
"""The fit over N(mean, covariance)."""


class OneStep:
    """One step from a state of this mean, shape (n d,), and covariance, shape (n d, n d).

    `map` M, shape (n d, n d), and `mean_after`, shape (n d,): E[X' | X] = mean_after + M (X - mean) but for what is not linear.
    """

    def __init__(
        self, read: StepInGradients, fit_at: FitAt, mean: np.ndarray, covariance: np.ndarray, dim: int
    ) -> None:
        self._read, self._dim = read, dim
        self._states = len(read.state) * dim
        calls, before = len(read.calls), self._states + read.draws * dim
        self._noise_from = before
        total = before + calls * dim
        letters = np.zeros((read.state.shape[1], dim, total))
        means = np.zeros((len(letters), dim))
        for k in range(before // dim):
            letters[k, :, k * dim : (k + 1) * dim] = np.eye(dim)
        means[: len(read.state)], means[-1] = mean.reshape(-1, dim), 1.0
        self._sources = np.zeros((total, total))
        self._sources[: self._states, : self._states] = covariance
        self._sources[self._states : before, self._states : before] = np.eye(before - self._states)
        self._places: list[np.ndarray] = []
        self._fits: list[GradientFit] = []
        for k, call in enumerate(read.calls):
            place = np.tensordot(call.place, letters, axes=1)
            self._places.append(place)
            fit = fit_at(call.place @ means, self._between(place, place))
            self._fits.append(fit)
            letter = before // dim + k
            if call.vector is not None:
                letters[letter] = fit.hessian @ np.tensordot(call.vector, letters, axes=1)
                means[letter] = fit.hessian @ (call.vector @ means)
                continue
            moved, bent = self._drawn_before(k)
            letters[letter] = fit.hessian @ place + bent
            letters[letter][:, self._noise(k)] += np.eye(dim)
            means[letter] = fit.gradient + moved
            self._add_noise(k)
        self._after = np.tensordot(read.state, letters, axes=1).reshape(self._states, total)
        self.mean_after = (read.state @ means).reshape(-1)
        self.map = self._after[:, : self._states]

    def noise(self) -> np.ndarray:
        """The covariance Q with which S = M S M^T + Q at the covariance of the start; its third cumulants are the invariant ones.

        Shape (n d, n d). Raises `InstabilityError` where third cumulants are not finite.
        """
        driven = self._after.copy()
        driven[:, : self._states] = 0
        found = driven @ self._sources @ driven.T
        if any(fit.third is None for fit in self._fits):
            return np.asarray(found)
        after = self._after
        cumulant = invariant_third(self.map, self._third(after, after, after))
        for k, fit, bends in self._bending():
            place, b = self._places[k], after[:, self._noise(k)]
            start = place[:, : self._states]
            third = self._third(after, place, place) + through(cumulant, self.map, start, start)
            crossed = np.tensordot(third, bends, axes=((1, 2), (1, 2))) @ b.T / 2
            found = found + crossed + crossed.T + b @ fit.bent @ b.T
            for l, _, other in self._bending():
                # What the Gaussian law says of E[r_k r_l^T]; of one call the average over the law itself stands above.
                s = self._between(place, self._places[l])
                both = np.tensordot(bends, s @ other @ s.T, axes=((1, 2), (1, 2))) / 2
                found = found - (2 if k == l else 1) * b @ both @ after[:, self._noise(l)].T
        return np.asarray((found + found.T) / 2)

    def _noise(self, k: int) -> slice:
        """The columns of the k-th gradient's noise in a form."""
        return slice(self._noise_from + k * self._dim, self._noise_from + (k + 1) * self._dim)

    def _between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.asarray(left @ self._sources @ right.T)

    def _bending(self) -> list[tuple[int, GradientFit, np.ndarray]]:
        """The calls of gradients, with the third derivatives; what a call of a Hessian leaves out is of the next order."""
        calls = zip(self._read.calls, self._fits, strict=True)
        return [
            (k, fit, fit.third)
            for k, (call, fit) in enumerate(calls)
            if call.vector is None and fit.third is not None
        ]

    def _sharing(self, k: int) -> list[int]:
        """The earlier calls on the minibatch of the k-th; noise that is added to each gradient has a minibatch for each call."""
        calls = self._read.calls
        return [l for l in range(k) if calls[l].minibatch == calls[k].minibatch and calls[l].vector is None]

    def _drawn_before(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """What the data of a minibatch add on average where they have moved theta before: a mean, (d,), and a form."""
        place, noise = self._places[k], self._fits[k].minibatch
        mean, form = np.zeros(self._dim), np.zeros_like(place)
        for l in self._sharing(k):
            if noise is None:
                continue
            moved = place[:, self._noise(l)]
            mean += np.einsum("icj,cj->i", noise.slope, moved)
            form += np.einsum("icjm,cj->im", noise.growth, moved) @ self._places[l]
        return mean, form

    def _add_noise(self, k: int) -> None:
        """The covariances of the noise of the k-th gradient with itself and with those before it."""
        fit, at = self._fits[k], self._noise(k)
        self._sources[at, at] = fit.noise
        for l in self._sharing(k):
            shared = self._shared_noise(k, l)
            self._sources[at, self._noise(l)], self._sources[self._noise(l), at] = shared, shared.T

    def _shared_noise(self, k: int, l: int) -> np.ndarray:
        """The covariance of the noises of two calls on one minibatch. Shape (d, d)."""
        one, other = self._fits[k], self._fits[l]
        if one.minibatch is None or other.minibatch is None:
            # Without data there is none; in many coordinates it is taken as at one place.
            return (one.noise + other.noise) / 2
        s = self._between(self._places[k], self._places[l])
        own, theirs = (self._between(self._places[j], self._places[j]) for j in (k, l))
        shared = (one.minibatch.between(s) + other.minibatch.between(s)) / 2
        # What is not linear in a datum's gradient is of second order in y, so that it is shared as the squared correlation.
        left = one.noise - one.minibatch.between(own) + other.noise - other.minibatch.between(theirs)
        alike = np.mean(np.diag(s) ** 2 / (np.diag(own) * np.diag(theirs)))
        return np.asarray(shared + alike * left / 2)

    def _third(self, *forms: np.ndarray) -> np.ndarray:
        """The third cumulant of three forms, without that of the state. Shape (a, b, c)."""
        found = np.zeros(tuple(len(form) for form in forms))
        for k, _, bends in self._bending():
            near = [self._between(form, self._places[k]) for form in forms]
            for bent in range(3):
                parts = [*near]
                parts[bent] = forms[bent][:, self._noise(k)]
                found += through(bends, *parts)
        for alike in self._minibatches():
            found += self._third_of_minibatch(alike, forms)
        return found

    def _minibatches(self) -> list[list[int]]:
        """The calls of gradients by their minibatches, where data are drawn."""
        found: dict[int, list[int]] = {}
        for k, fit, _ in self._bending():
            if fit.minibatch is not None:
                found.setdefault(self._read.calls[k].minibatch, []).append(k)
        return list(found.values())

    def _third_of_minibatch(self, calls: Sequence[int], forms: Sequence[np.ndarray]) -> np.ndarray:
        """What the noise of one minibatch adds: its own third cumulant, and its covariance's slope in theta."""
        sources = self._sources.copy()
        for k in calls:
            sources[self._noise(k)] = 0
            sources[:, self._noise(k)] = 0
        whole = [np.sum([form[:, self._noise(k)] for k in calls], axis=0) for form in forms]
        first = self._fits[calls[0]].minibatch
        assert first is not None
        found = through(first.skewness, *whole)
        for k in calls:
            noise = self._fits[k].minibatch
            assert noise is not None
            near = [form @ sources @ self._places[k].T for form in forms]
            for own, slope, other in permutations(range(3)):
                parts = [*whole]
                parts[own], parts[slope] = forms[own][:, self._noise(k)], near[slope]
                axes = sorted(range(3), key=(own, slope, other).__getitem__)
                found += through(noise.slope.transpose(axes), *parts)
        return found


ROUNDS, ENOUGH = 60, 1e-5
"""The most rounds of averaging, and the change in a round that is small enough after so many."""

_ROUNDED = 1e-12
"""Of a singular covariance in units of its standard deviations, the negative eigenvalues that rounding makes."""


def fixed_law(
    read: StepInGradients,
    fit_at: FitAt,
    start: tuple[np.ndarray, np.ndarray],
    step: float,
    tolerance: float,
    mixing: Mixing | None = None,
) -> tuple[np.ndarray, LinearChain]:
    """The mean of the state, shape (n d,), and the linear chain about it; `start` is a mean and a covariance of the state.

    It ends where no standard deviation of theta changes by more than the tolerance in a round, and no mean by more of its spread;
    with `mixing` the rounds are fewer. Raises `InstabilityError` where a round has no law, or after `ROUNDS` rounds.
    """
    mean, covariance = start
    dim, scale = len(mean) // len(read.state), np.ones(0)
    for _ in range(ROUNDS):
        one = OneStep(read, fit_at, mean, covariance, dim)
        chain = LinearChain.of(one.map, one.noise(), dim, step)
        shift = np.linalg.solve(np.eye(len(mean)) - one.map, one.mean_after - mean)
        positive(chain.of_theta, "the covariance of the chain")
        variances = np.diag(chain.covariance)
        # The noise is corrected by third cumulants, after which it may be no covariance: then a momentum has none either.
        if (variances < -_ROUNDED * variances.max()).any():
            raise InstabilityError("the covariance of the chain is not positive definite")
        change = largest_change(shift[:dim], covariance[:dim, :dim], chain.of_theta)
        if change <= tolerance:
            return mean + shift, chain
        if not len(scale):
            scale = np.sqrt(np.maximum(variances, 0.0))
            scale[scale == 0] = 1.0
        before = flat(mean, covariance, scale)
        mean, covariance = mean + shift, chain.covariance
        mixed = None if mixing is None else mixing.next(before, flat(mean, covariance, scale))
        if mixed is not None:
            mean, covariance = law_of(mixed, scale, dim) or (mean, covariance)
    if change <= max(tolerance, ENOUGH):
        return mean, chain
    raise InstabilityError("averaging over it does not settle")


def largest_change(shift: np.ndarray, before: np.ndarray, after: np.ndarray) -> float:
    """The largest change of a mean, in standard deviations, or of the logarithm of one. Shapes (d,), (d, d), (d, d)."""
    moved = np.abs(shift) / np.sqrt(np.diag(after))
    widened = np.abs(np.log(np.diag(after) / np.diag(before))) / 2
    return float(max(moved.max(), widened.max()))


def positive(matrix: np.ndarray, whose: str) -> np.ndarray:
    """The matrix itself. Raises `InstabilityError` unless it is positive definite."""
    if not np.isfinite(matrix).all() or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise InstabilityError(f"{whose} is not positive definite")
    return matrix


def flat(mean: np.ndarray, covariance: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """A law as one vector, in units of `scale`. Shapes (n,), (n, n), (n,) -> (n + n^2,)."""
    return np.concatenate([mean / scale, (covariance / np.outer(scale, scale)).ravel()])


def law_of(vector: np.ndarray, scale: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The mean and the covariance in a vector of `flat`; None where they are none, theta's of the first `dim` being regular."""
    mean, covariance = vector[: len(scale)], vector[len(scale) :].reshape(len(scale), -1)
    covariance = (covariance + covariance.T) / 2
    # A memory may be a copy of a draw: its covariance is singular.
    if np.linalg.eigvalsh(covariance)[0] < -_ROUNDED or np.linalg.eigvalsh(covariance[:dim, :dim])[0] <= 0:
        return None
    return mean * scale, covariance * np.outer(scale, scale)
