"""The chain of a model at one step size in the eigenvectors of the precision, and what the answer owes to their defect.

On U = (x - mu)^T P (x - mu)/2 every block of M, c and B_k is a polynomial in P. With P = W (Lambda + E) W^T
(`numbers.eigenbasis`) the chain is, in the coordinates W^T x, the same polynomials in Lambda + E, and for E = 0 it falls
apart into one chain of k coordinates for every eigenvalue, k the number of variables of the scheme.

What E adds. Let F(t) be the answer for P_t = Lambda + t E, so that F(0) is computed and F(1) is asked for. With
eta = rho |E| and |t| <= rho, a polynomial p obeys |p(P_t) - p(Lambda)| <= sum_m |p_m| ((|Lambda| + eta)^m - |Lambda|^m),
hence |M_t - M_0| <= delta. With tau_0 >= sum_j |M_0^j| and tau_0 delta < 1 the generating series
(1 - z M_t)^-1 = sum_n ((1 - z M_0)^-1 z (M_t - M_0))^n (1 - z M_0)^-1 gives

    sum_j |M_t^j| <= tau = tau_0 / (1 - tau_0 delta),

so that every M_t is stable and F is analytic for |t| <= rho. There the mean is at most tau |c|, the covariance at most
tau^2 |Q|_F, and |F| at most some B. F - F(0) vanishes at 0, and by Schwarz's lemma

    |F(1) - F(0)| <= 2 B / rho.

rho is about 2^(bits/2): crude bounds are enough. Norms without a name are spectral, transposes have the same ones.

The average of a quadratic test function under the invariant law of a chain of many coordinates, mode by mode.

With M_i, Q_ij of the modes i, j (`normal_modes`) the blocks of the invariant covariance solve

    S_ij = M_i S_ij M_j^T + Q_ij,        (1 - M_i x M_j) vec S_ij = vec Q_ij,

k^2 equations each; for i != j there is noise only where that of the gradient couples the modes. In coordinates of the
modes phi has the blocks W^T A_ab W, and E phi = constant + b . m + m^T A m + tr(A S).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import flint
from flint import arb, arb_mat

from sgverify.exact.affine.carrier import AffineStep, Base, Polynomial, read_affine
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.matrices import as_ball
from sgverify.exact.affine.model import Model
from sgverify.exact.chain.lyapunov import Contraction
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import BALLS, Eigenbasis, PrecisionLostError, euclidean, frobenius, identity

_SQUARINGS = 100

SMALLEST_RADIUS = 2.0**24
"""The smallest rho: below it the bound of what the defect adds would be no small share of the answer."""


@dataclass(frozen=True)
class Turned:
    """The numbers of a model in the eigenvectors of its precision, at one working precision.

    `mean` and `ones` are W^T mu and W^T 1; phi = constant + sum_a linear_a . x_a + sum_ab x_a^T forms_ab x_b over the
    variables a, b, its blocks turned. `noise` is the turned covariance of the gradient's noise, or None.
    """

    model: Model
    basis: Eigenbasis

    @classmethod
    def of(cls, model: Model) -> Turned:
        """At flint's working precision."""
        return cls(model, Eigenbasis.of(model.target.precision))

    @property
    def names(self) -> list[str]:
        """The scheme's variables."""
        return list(self.model.scheme.state)

    @cached_property
    def back(self) -> arb_mat:
        """W^T."""
        return self.basis.vectors.transpose()

    @cached_property
    def mean(self) -> arb_mat:
        """W^T mu, d x 1."""
        return self.back * ball.column(self.model.target.mean)

    @cached_property
    def ones(self) -> arb_mat:
        """W^T 1, d x 1."""
        return self.back * ball.column([1] * self.model.target.dim)

    @cached_property
    def noise(self) -> arb_mat | None:
        """W^T C W of the covariance C of the gradient's noise; None without noise."""
        own = self.model.noise.covariance
        return None if own is None else self.back * (arb_mat(own) * self.basis.vectors)

    @cached_property
    def constant(self) -> arb:
        """phi's constant."""
        return ball.number(self.model.observable.quadratic_form()[0])

    @cached_property
    def linear(self) -> dict[int, arb_mat]:
        """phi's linear part by the number of the variable, d x 1, turned; zeros are left out."""
        _, b, _ = self.model.observable.quadratic_form()
        d = self.model.target.dim
        parts = {a: b[a * d : (a + 1) * d] for a in range(len(b) // d)}
        return {a: self.back * ball.column(part) for a, part in parts.items() if any(part)}

    @cached_property
    def forms(self) -> dict[tuple[int, int], arb_mat]:
        """phi's quadratic part by the numbers of two variables, d x d, turned; zeros are left out."""
        _, _, a = self.model.observable.quadratic_form()
        d = self.model.target.dim
        found = {}
        for r in range(len(a) // d):
            for c in range(len(a) // d):
                rows = [row[c * d : (c + 1) * d] for row in a[r * d : (r + 1) * d]]
                if any(entry for row in rows for entry in row):
                    found[r, c] = self.back * (ball.matrix(rows) * self.basis.vectors)
        return found


@dataclass(frozen=True)
class NormalModes:
    """One step of a model at the size `step`, read in the eigenvectors of its precision."""

    turned: Turned
    step: arb

    @cached_property
    def read(self) -> AffineStep:
        """The step, its coefficients in balls."""
        model = self.turned.model
        numbers = {name: ball.number(model.parameters[name]) for name in model.scheme.parameters}
        given = {name: Scalar(BALLS, value) for name, value in {"h": self.step, **numbers}.items()}
        return read_affine(model.scheme, given, each_evaluation=model.noise.each_evaluation)

    def block(self, base: Base, value: arb) -> list[arb]:
        """The polynomials of the variables' blocks of a base, at one eigenvalue. Shape (k,)."""
        return [_at(self._polynomial(name, base), value) for name in self.turned.names]

    @cached_property
    def maps(self) -> list[arb_mat]:
        """M_0 of every mode, k x k."""
        states: list[Base] = [("state", name) for name in self.turned.names]
        k = len(states)
        found = []
        for value in self.turned.basis.values:
            columns = [self.block(base, value) for base in states]
            found.append(arb_mat([[columns[c][r] for c in range(k)] for r in range(k)]))
        return found

    @cached_property
    def drawn(self) -> list[arb_mat]:
        """The covariance of the draws of every mode, k x k."""
        k = len(self.turned.names)
        found = []
        for value in self.turned.basis.values:
            total = arb_mat(k, k)
            for draw in range(self.read.draws):
                column = arb_mat(k, 1, self.block(("noise", draw), value))
                total = total + column * column.transpose()
            found.append(total)
        return found

    @cached_property
    def injections(self) -> list[list[arb_mat]]:
        """For every mode the columns, k x 1, by which the noises of the gradient enter; empty without noise."""
        if self.turned.noise is None:
            return [[] for _ in self.turned.basis.values]
        k = len(self.turned.names)
        return [
            [arb_mat(k, 1, self.block(("gradient", g), value)) for g in range(self.read.gradients)]
            for value in self.turned.basis.values
        ]

    @cached_property
    def means(self) -> list[arb_mat]:
        """(1 - M_0)^-1 c of every mode, k x 1."""
        found = []
        turned, k = self.turned, len(self.turned.names)
        for i, value in enumerate(turned.basis.values):
            centre, ones = self.block(("mean", 0), value), self.block(("ones", 0), value)
            shift = [a * turned.mean[i, 0] + b * turned.ones[i, 0] for a, b in zip(centre, ones, strict=True)]
            found.append((identity(k) - self.maps[i]).solve(arb_mat(k, 1, shift)))
        return found

    @cached_property
    def summed_powers(self) -> arb:
        """tau_0, a bound of sum_j |M_0^j|; raises `InstabilityError` for an unstable mode.

        With q = |M^(2^m)| < 1 the sum is at most (1 + |M|)(1 + |M^2|)...(1 + |M^(2^(m-1))|)/(1 - q).
        """
        powers, total, hopeless = self.maps, arb(1), arb(2) ** 512
        if not all(entry.is_finite() for power in powers for entry in power.entries()):
            raise PrecisionLostError("a mode whose map is not enclosed at this precision")
        for _ in range(_SQUARINGS):
            norms = [frobenius(power) for power in powers]
            # One by one: a norm that is no number is below nothing, and a maximum could pass it over.
            if not all(norm < hopeless for norm in norms):
                break
            norm = max(norms)
            if norm < arb(0.5):
                return (total / (1 - norm)).upper()
            total = (total * (1 + norm)).upper()
            powers = [power * power for power in powers]
        for map_ in self.maps:
            Contraction.of(map_)  # names the spectral radius of the mode that is not stable
        raise PrecisionLostError("a mode that contracts too slowly for this precision")

    def defect_bound(self) -> arb:
        """A bound of |F(1) - F(0)| for the stationary average of phi; raises `PrecisionLostError` where there is none."""
        size = _largest(self.turned.basis.values)
        radius, tau = arb(2) ** (flint.ctx.prec // 2), self.summed_powers
        while True:
            moved = (radius * self.turned.basis.defect).upper()
            delta = self._norm(self._state_bases, partial(_spread, size=size, moved=moved))
            if tau * delta < arb(0.5):
                break
            radius = radius / 2**8
            if radius < SMALLEST_RADIUS:
                raise PrecisionLostError("the eigenvectors of the precision are not known well enough")
        return (2 * self._largest_average(2 * tau, size + moved) / radius).upper()

    def _largest_average(self, tau: arb, size: arb) -> arb:
        """B: a bound of the stationary average of phi where |P_t| <= size and sum |M_t^j| <= tau."""
        turned = self.turned

        def norm(*bases: Base) -> arb:
            return self._norm(bases, partial(_reach, size=size))

        shift = norm(("mean", 0)) * _length(turned.mean) + norm(("ones", 0)) * _length(turned.ones)
        mean = tau * shift
        covariance = sum((norm(("noise", k)) ** 2 for k in range(self.read.draws)), arb(0))
        covariance = covariance * arb(turned.model.size).sqrt()
        if turned.noise is not None:
            for k in range(self.read.gradients):
                covariance = covariance + norm(("gradient", k)) ** 2 * frobenius(turned.noise)
        linear = sum((_length(part) for part in turned.linear.values()), arb(0))
        form = sum((frobenius(part) for part in turned.forms.values()), arb(0))
        found = abs(turned.constant) + linear * mean + form * (mean**2 + tau**2 * covariance)
        return found.upper()

    @property
    def _state_bases(self) -> list[Base]:
        return [("state", name) for name in self.turned.names]

    def _norm(self, bases: Sequence[Base], of: Callable[[Polynomial], arb]) -> arb:
        """The Frobenius norm of the norms of all blocks: a bound of the norm of the matrix that they form."""
        return euclidean(
            of(self._polynomial(name, base)) for name in self.turned.names for base in bases
        ).upper()

    def _polynomial(self, name: str, base: Base) -> Polynomial:
        return tuple(as_ball(c) for c in self.read.rows[name].get(base, ()))


def _at(polynomial: Polynomial, value: arb) -> arb:
    total = arb(0)
    for c in reversed(polynomial):
        total = total * value + c
    return total


def _reach(polynomial: Polynomial, size: arb) -> arb:
    """sum_m |p_m| size^m: a bound of |p(X)| for |X| <= size."""
    return sum((abs(arb(c)) * size**m for m, c in enumerate(polynomial)), arb(0))


def _spread(polynomial: Polynomial, size: arb, moved: arb) -> arb:
    """A bound of |p(X + Y) - p(X)| for |X| <= size and |Y| <= moved: (s + y)^m - s^m <= m y (s + y)^(m-1)."""
    terms = (abs(arb(c)) * m * moved * (size + moved) ** (m - 1) for m, c in enumerate(polynomial) if m)
    return sum(terms, arb(0))


def _largest(values: Sequence[arb]) -> arb:
    """The largest absolute value. Upper bounds are exact numbers, which compare exactly, unlike their roundings to floats."""
    return max(abs(value).upper() for value in values)


def _length(vector: arb_mat) -> arb:
    return euclidean(vector.entries()).upper()


def stationary_average(modes: NormalModes) -> arb:
    """E phi under the invariant law, enclosed, the defect of the eigenvectors included.

    Raises `InstabilityError` where a mode is not stable.
    """
    bound = modes.defect_bound()
    turned, means = modes.turned, modes.means
    d = range(len(means))
    total = turned.constant
    for a, linear in turned.linear.items():
        total = total + sum((linear[i, 0] * means[i][a, 0] for i in d), arb(0))
    for (a, b), form in turned.forms.items():
        left = arb_mat(1, len(means), [means[i][a, 0] for i in d])
        right = arb_mat(len(means), 1, [means[i][b, 0] for i in d])
        total = total + (left * form * right)[0, 0]
    if turned.forms:
        coupled = turned.noise is not None
        for i in d:
            for j in d if coupled else (i,):
                # S_ji is the transpose of S_ij, and forms_ab that of forms_ba: every pair once, off the diagonal twice.
                if j <= i:
                    covariance = _covariance(modes, i, j)
                    times = 1 if i == j else 2
                    for (a, b), form in turned.forms.items():
                        total = total + times * form[i, j] * covariance[a, b]
    return total + arb(0, bound)


def _covariance(modes: NormalModes, i: int, j: int) -> arb_mat:
    """S_ij, k x k."""
    left, right = modes.maps[i], modes.maps[j]
    k = left.nrows()
    source = modes.drawn[i] if i == j else arb_mat(k, k)
    if modes.turned.noise is not None:
        share = modes.turned.noise[i, j]
        for one, other in zip(modes.injections[i], modes.injections[j], strict=True):
            source = source + one * other.transpose() * share
    a, b = left.tolist(), right.tolist()
    rows = [
        [(1 if (r, c) == (p, q) else 0) - a[r][p] * b[c][q] for p in range(k) for q in range(k)]
        for r in range(k)
        for c in range(k)
    ]
    return arb_mat(k, k, arb_mat(rows).solve(arb_mat(k * k, 1, source.entries())).entries())
