"""The expansion at h = 0 of the bias of an affine chain, in exact fractions (or in balls).

M(h) = I + h M_1 + ..., c(h) = h c_1 + ..., Q(h) = h Q_1 + ... determine m(h) = m_0 + h m_1 + ... and
Sigma(h) = S_0 + h S_1 + ... order by order, always through the same two operators:

    M_1 m_k = - c_{k+1} - sum_{i>=1} M_{i+1} m_{k-i},
    M_1 S_k + S_k M_1^T = - Q_{k+1} - sum_{l<k} sum_{i+j=k+1-l} M_i S_l M_j^T        (M_0 = I),

and the solution of the Poisson equation, of order 1/h, through their adjoints. Then

    bias of the average over L steps = sum_j b_j h^j + (1/L) sum_j tau_j h^(j-1) + exponentially small,
    variance of that average         = sigma_0 / (L h) + higher orders.

A step with a memory that moves at once does not tend to the identity. Its powers of h come from enclosed values at tiny step sizes:
the polynomial through those at h = e, 2 e, ..., N e, e = 2^-64, gives the coefficients of a function that is analytic at h = 0, c_j
up to what the higher ones add, of the size of c_k e^(k - j). One more value tells whether the function is analytic there, which one
of sqrt(h) is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from sgverify.errors import InstabilityError, NotExpandableError
from sgverify.exact.chain.chain import QuadraticForm, components
from sgverify.exact.chain.lyapunov import EXACT_SIZE, Matrix, require_decay, transposed
from sgverify.exact.numbers.ball import PrecisionLostError
from sgverify.exact.numbers.matrix_series import lyapunov_series

ORDERS = 5
"""Coefficients of the expansion at h = 0 that are computed: b_0, ..., b_4."""

EXPANSION_BITS = 256

Number = fmpq | arb


@dataclass(frozen=True)
class AffineSeries:
    """One step as a power series in h: coefficients of h^1, h^2, ... of M (n x n), c (n x 1) and Q (n x n).

    All rational, or all balls at the working precision. K coefficients determine b_0, ..., b_{K-1}.
    """

    map: Sequence[Matrix]
    shift: Sequence[Matrix]
    covariance: Sequence[Matrix]

    @property
    def orders(self) -> int:
        """K, the number of coefficients."""
        return len(self.map)

    def cut(self, orders: int) -> AffineSeries:
        """The series with fewer orders."""
        return AffineSeries(self.map[:orders], self.shift[:orders], self.covariance[:orders])

    @property
    def noise(self) -> Matrix:
        """Q_1."""
        return self.covariance[0]

    @property
    def rational(self) -> bool:
        """Whether all coefficients are fractions."""
        parts = (self.map, self.shift, self.covariance)
        return all(isinstance(matrix, fmpq_mat) for part in parts for matrix in part)

    @cached_property
    def in_balls(self) -> AffineSeries:
        """The same at the working precision; itself where it is in balls."""
        parts = (self.map, self.shift, self.covariance)
        if all(isinstance(matrix, arb_mat) for part in parts for matrix in part):
            return self
        return AffineSeries(*([arb_mat(m) for m in part] for part in parts))

    @cached_property
    def small(self) -> bool:
        """Is every block of coordinates that the drift couples small enough for fractions?"""
        n = self.map[0].nrows()
        return n <= EXACT_SIZE or max(map(len, components(n, self.map))) <= EXACT_SIZE

    def steady(self, observable: QuadraticForm) -> SteadyExpansion:
        """The invariant law and the Poisson equation of phi."""
        return SteadyExpansion.of(self, observable)

    @cached_property
    def means(self) -> list[Matrix]:
        """m_0, m_1, ... of the invariant law: n x 1."""
        return steady_means(self.map, self.shift)

    @cached_property
    def covariances(self) -> list[Matrix]:
        """S_0, S_1, ... of the invariant law: n x n."""
        return lyapunov_series(self.map, list(self.covariance))


@dataclass(frozen=True)
class Expansion:
    """Coefficients of h^0, h^1, ... of a quantity; fractions, or balls where `exact` is false."""

    coefficients: tuple[Number, ...]

    @property
    def exact(self) -> bool:
        """Whether zero coefficients are proved to be zero, rather than balls that hold 0."""
        return all(isinstance(c, fmpq) for c in self.coefficients)


@dataclass(frozen=True)
class SteadyExpansion:
    """The invariant law and the Poisson equation of phi, as power series in h.

    Raises `NotExpandableError` where the mean does not decay.
    """

    series: Any
    observable: QuadraticForm

    def __post_init__(self) -> None:
        require_decay(self.series.map[0])

    @cached_property
    def in_balls(self) -> SteadyExpansion:
        """The same at the working precision; itself where it is in balls."""
        if isinstance(self.series.map[0], arb_mat):
            return self
        phi = self.observable
        phi = QuadraticForm(phi.constant, arb_mat(phi.linear), arb_mat(phi.quadratic))
        return SteadyExpansion.of(self.series, phi)

    @classmethod
    def of(cls, series: Any, observable: QuadraticForm) -> Self:
        """The expansion of a series and a test function: in fractions where both are rational and small, in balls otherwise."""
        parts = (observable.linear, observable.quadratic)
        if series.rational and series.small and all(isinstance(part, fmpq_mat) for part in parts):
            return cls(series, observable)
        phi = QuadraticForm(
            arb(observable.constant), arb_mat(observable.linear), arb_mat(observable.quadratic)
        )
        return cls(series.in_balls, phi)

    @property
    def mean(self) -> list[Matrix]:
        """m_0, m_1, ...: n x 1."""
        return self.series.means

    @property
    def covariance(self) -> list[Matrix]:
        """S_0, S_1, ...: n x n."""
        return self.series.covariances

    @cached_property
    def gradient(self) -> list[Matrix]:
        """b~_k, the gradient of phi at the stationary mean: b + 2 A m."""
        bent = [(self.observable.quadratic * m) * 2 for m in self.mean]
        return [self.observable.linear + bent[0], *bent[1:]]

    @cached_property
    def poisson_linear(self) -> list[Matrix]:
        """epsilon_k with e = (1/h) sum_k epsilon_k h^k solving (I - M^T) e = b~."""
        return steady_means(transposed(self.series.map), self.gradient)

    @cached_property
    def poisson_quadratic(self) -> list[Matrix]:
        """E_k with E = (1/h) sum_k E_k h^k solving E - M^T E M = A."""
        form = self.observable.quadratic
        return lyapunov_series(transposed(self.series.map), [form] + [form * 0] * (self.series.orders - 1))


def steady_means(maps: Sequence[Matrix], shifts: Sequence[Matrix]) -> list[Matrix]:
    """m_0, m_1, ... with (I - M) m = c, from the coefficients of h^1, h^2, ... of M = I + O(h) and c.

    Raises `NotExpandableError` where the mean does not decay.
    """
    require_decay(maps[0])
    inverse = maps[0].inv()
    found: list[Matrix] = []
    for k, right in enumerate(shifts):
        for i in range(1, k + 1):
            right = right + maps[i] * found[k - i]
        found.append(inverse * right * -1)
    return found


def expand_bias(steady: SteadyExpansion, target: Any) -> Expansion:
    """b_0, b_1, ...: the stationary average of phi minus the target, in powers of h.

    The observable and the target hold the numbers of the series: rational ones stay exact.
    """
    phi, mean = steady.observable, steady.mean
    found = []
    for k in range(steady.series.orders):
        value = _inner(phi.linear, mean[k]) + _inner(phi.quadratic, steady.covariance[k])
        value += sum(_inner(phi.quadratic * mean[i], mean[k - i]) for i in range(k + 1))
        found.append(value + phi.constant - target if k == 0 else value)
    return Expansion(tuple(found))


def expand_decay(
    steady: SteadyExpansion, start_mean: Matrix, start_covariance: Matrix | None = None
) -> Expansion:
    """tau_0, tau_1, ...: sum_{l>=1} (E phi(X_l) - phi_h) = (1/h) sum_k tau_k h^k.

    The chain starts from N(start_mean, start_covariance), a point where the covariance is None.
    """
    if isinstance(start_mean, arb_mat) or isinstance(start_covariance, arb_mat):
        steady = steady.in_balls
    phi, orders = steady.observable, range(steady.series.orders)
    # chi = psi - phi, one power of h below psi.
    zero = phi.quadratic * 0
    linear = [steady.poisson_linear[0]]
    linear += [steady.poisson_linear[k] - steady.gradient[k - 1] for k in orders[1:]]
    forms = [steady.poisson_quadratic[k] - (phi.quadratic if k == 1 else zero) for k in orders]
    offset = [start_mean - steady.mean[0], *(mean * -1 for mean in steady.mean[1:])]
    excess = []
    for k in orders:
        second = steady.covariance[k] * -1
        for i in range(k + 1):
            second = second + offset[i] * offset[k - i].transpose()
        excess.append(second if k or start_covariance is None else second + start_covariance)
    return Expansion(
        tuple(
            sum(_inner(linear[i], offset[k - i]) + _inner(forms[i], excess[k - i]) for i in range(k + 1))
            for k in orders
        )
    )


def asymptotic_variance(steady: SteadyExpansion) -> Number:
    """sigma_0, the limit of h sum_k Cov(phi(X_0), phi(X_k)) over all integers k as h -> 0; it needs one order of the series.

    It is E[grad psi^T Q_1 grad psi] = eps_0^T Q_1 eps_0 + 4 tr(E_0 Q_1 E_0 S_0), with L psi =
    phi_0 - phi.
    """
    noise = steady.series.noise
    linear, form = steady.poisson_linear[0], steady.poisson_quadratic[0]
    spread = form * noise * form
    return _inner(linear, noise * linear) + 4 * _inner(spread, steady.covariance[0])


def _inner(left: Matrix, right: Matrix) -> Any:
    pairs = zip(left.entries(), right.entries(), strict=True)
    return sum((a * b for a, b in pairs), fmpq(0))


TINY = 64
"""Values are taken at multiples of 2^-64."""

BITS = 1536
"""The working precision: interpolation divides by e^N, and answers of order 1/h by e^2 more."""

WIDER = 2.0**16
"""How much a coefficient may be off by the next ones, in units of c_k e^(k - j): sums of powers of 1, ..., N."""

ANALYTIC = 2.0**-40
"""The largest relative departure of the further value from the polynomial."""


def powers_at_zero(value: Callable[[arb], list[arb]], orders: int) -> list[list[arb]]:
    """c_0, ..., c_(orders - 1) of several functions of h at once. Raises `NotExpandableError` where one is not analytic."""
    nodes = range(1, orders + 3)
    with ctx.workprec(BITS):
        tiny = arb(2) ** -TINY
        try:
            values = [value(k * tiny) for k in nodes]
        except (InstabilityError, PrecisionLostError) as error:
            raise NotExpandableError(f"a step that does not forget its start as h -> 0 ({error})") from None
        known, further = values[:-1], values[-1]
        vandermonde = arb_mat([[arb(k) ** j for j in range(len(known))] for k in nodes[:-1]])
        scaled = vandermonde.solve(arb_mat(known))
        found = []
        for place, there in enumerate(further):
            # In units of e^j, so that the size of every term is seen.
            terms = [scaled[j, place] for j in range(len(known))]
            read = sum((c * arb(nodes[-1]) ** j for j, c in enumerate(terms)), arb(0))
            size = sum((abs(c).upper() for c in terms), arb(0))
            apart = abs(there - read)
            if not (apart.lower() <= ANALYTIC * size or size < tiny**orders):
                raise NotExpandableError("odd powers of sqrt(h), or no powers of h at all")
            slack = (apart * WIDER).upper()
            enclosed = []
            for j in reversed(range(len(known))):
                enclosed.append((terms[j] + arb(0, slack)) / tiny**j)
                slack = (slack + abs(terms[j]) * WIDER).upper()
            found.append(enclosed[::-1][:orders])
        return found
