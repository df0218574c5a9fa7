"""The local order of a scheme, proved by generator expansion for every smooth potential."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from sgverify.errors import NotExpandableError, TooLargeError
from sgverify.exact.rings.context import TooShallowError
from sgverify.exact.rings.evaluation import root_interval, sign_of
from sgverify.exact.rings.polynomials import Polynomial, to_fmpq
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import UnknownSignError
from sgverify.exact.series.averaging import average, merge_minibatches, print_moments
from sgverify.exact.series.carrier import EmptyBranchError, Signs, is_empty, on_every_branch, told_from_zero
from sgverify.exact.series.equilibrated_memory import EquilibratedStep
from sgverify.exact.series.operators import (
    Operator,
    Transition,
    exponential_symbols,
    generator_of,
    operator_of,
    operator_text,
    ring_of,
    symbol_of,
    takes_roots_of_gradients,
    transition_of,
)
from sgverify.exact.series.orders import Defect, LocalOrder
from sgverify.exact.series.pace import pace_of
from sgverify.schemes import Dynamics, Scheme
from sgverify.schemes.numbers.periods import Periods

HIGHEST_ORDER = 4
HIGHEST_CLAIM = 8
"""Orders are examined to HIGHEST_ORDER, or to what a scheme claims where that is more, but not beyond this."""


def local_order(
    scheme: Scheme, dim: int = 2, highest: int | None = None, *, at: Mapping[str, Fraction] | None = None
) -> LocalOrder:
    """Prove the local order of `scheme` in dimension `dim`, temperature and friction symbolic.

    P_h f is expanded through the moments of the increment, E[D^a]/a! for all |a| <= 2(K+1), and compared
    coefficient by coefficient with the normal-ordered h^k L^k/k!; equality is equality of polynomials in the
    state, in all derivatives of U, and in the parameters. `highest` is the last order that is examined (to
    h^(highest+1)), by default HIGHEST_ORDER or the order that the scheme claims, whichever is larger (a claim
    beyond HIGHEST_CLAIM is examined that far). Where the order differs between regions of the parameters, it is the order
    at the parameters `at`, and without them the least. Raises `NotExpandableError` where the step has no power series
    in the ring, or where a difference is neither proved to be 0 nor distinguished from it.
    """
    if highest is None:
        highest = max(HIGHEST_ORDER, min(scheme.order or 0, HIGHEST_CLAIM))
    # Most schemes differ at h^2 or h^3, and low powers cost a fraction of high ones.
    return _over_branches(scheme, dim, (1, *range(2, highest + 1)), at)


def compare_through(
    scheme: Scheme,
    dim: int,
    through: int,
    *,
    at: Mapping[str, Fraction] | None = None,
    symbolic: bool = False,
) -> LocalOrder:
    """The first differences through h^through, if any; with a memory one power further, for its start.

    `symbolic`: the proof has `dim` coordinates, and definition and dynamics are given a symbol n in place of `dim`.
    """
    return _over_branches(scheme, dim, (through if scheme.memory else through - 1,), at, symbolic)


def _over_branches(
    scheme: Scheme,
    dim: int,
    orders: Sequence[int],
    at: Mapping[str, Fraction] | None,
    symbolic: bool = False,
) -> LocalOrder:
    """The order at the parameters `at`, with those of other regions; `orders` are examined until one is found."""
    every = on_every_branch(lambda signs: _Branch.of(scheme, dim, orders, signs, at or {}, symbolic))
    branches = [branch for _, branch in every if branch is not None]
    if len(branches) == 1:
        return branches[0].order
    regions: dict[str, list[_Branch]] = {}
    for branch in branches:
        regions.setdefault(branch.region, []).append(branch)
    found = sorted((_worst(members) for members in regions.values()), key=lambda branch: branch.order.order)
    here = next((branch for branch in reversed(found) if branch.is_here), found[0]) if at else found[0]
    others = tuple(branch.order for branch in found if branch is not here)
    return replace(here.order, where=here.closed, elsewhere=others)


@dataclass(frozen=True)
class _Branch:
    """The order on one branch; `is_here` says whether the given parameters lie in its region or on its edge.

    On an edge, where |f| = f = 0, both branches are the same step: `closed` is the region with the edges that contain the
    parameters.
    """

    order: LocalOrder
    region: str
    closed: str
    is_here: bool

    @staticmethod
    def of(
        scheme: Scheme,
        dim: int,
        orders: Sequence[int],
        signs: Signs,
        at: Mapping[str, Fraction],
        symbolic: bool,
    ) -> _Branch | None:
        """The branch of these signs; None where no state lies on it."""
        found = LocalOrder(dim, None, None, 0, steps_of(scheme))
        for examined in orders:
            try:
                found, ring = _examine(scheme, found, examined, signs, symbolic)
            except EmptyBranchError:
                return None
            if found.given_minibatch is not None and found.averaged is not None:
                break
        of_state, of_parameters, closed, is_here = [], [], [], True
        numbers = {
            ring.position("root", name): root_interval(value)
            for name, value in at.items()
            if name in ring.parameters
        }
        for key, f in ring.supposed.items():
            text = f"{ring.text(f)} {'>' if signs[key] > 0 else '<'} 0"
            if ring.depends_only_on_parameters(f):
                of_parameters.append(text)
                sign = sign_of(f, ring, numbers.__getitem__) if at else signs[key]
                is_here = is_here and sign != -signs[key]
                closed.append(text if sign else text.replace(" > 0", " >= 0").replace(" < 0", " <= 0"))
            else:
                of_state.append(text)
        for f in ring.under_roots if at and is_here else ():
            if sign_of(f, ring, numbers.__getitem__) < 0:
                raise NotExpandableError(
                    f"the square root of {ring.text(f)}, which is negative at these parameters"
                )
        region, where = " and ".join(of_parameters), " and ".join(of_state)
        found = replace(
            found,
            given_minibatch=_placed(found.given_minibatch, where),
            averaged=_placed(found.averaged, where),
            conditions=tuple(ring.conditions),
            where=region,
        )
        return _Branch(found, region, " and ".join(closed), is_here)


def _placed(defect: Defect | None, where: str) -> Defect | None:
    return None if defect is None else replace(defect, where=where)


def _worst(branches: list[_Branch]) -> _Branch:
    """The statement for all of these branches of the state: the least powers at which one of them differs."""
    orders = [branch.order for branch in branches]
    given = [order.given_minibatch for order in orders if order.given_minibatch]
    averaged = [order.averaged for order in orders if order.averaged]
    together = replace(
        orders[0],
        given_minibatch=min(given, key=lambda defect: defect.power, default=None),
        averaged=min(averaged, key=lambda defect: defect.power, default=None),
        examined=min(order.examined for order in orders),
        conditions=tuple(dict.fromkeys(c for order in orders for c in order.conditions)),
        sums=any(order.sums for order in orders),
        crowd=max(order.crowd for order in orders),
    )
    return replace(branches[0], order=together)


def _examine(
    scheme: Scheme, before: LocalOrder, examined: int, signs: Signs, symbolic: bool
) -> tuple[LocalOrder, Ring]:
    """Compare the powers of h that `before` did not, through h^(examined + 1)."""
    degree, steps = 2 * (examined + 1), before.steps
    ring, transition, exact = expand_step(scheme, before.dim, degree, signs=signs, symbolic=symbolic)
    if is_empty(ring):
        raise EmptyBranchError
    equilibrated = _equilibrated(scheme, before.dim, degree, signs, symbolic) if scheme.memory else None
    given, averaged = before.given_minibatch, before.averaged
    for j in range(2 * (before.examined + 1) + 1 if before.examined else 0, degree + 1):
        power = Fraction(j, 2)
        expected = exact[j // 2] if j % 2 == 0 else ring.zero
        symbol = transition.symbol(j)
        if equilibrated is None and not symbol and not expected:
            continue
        if equilibrated is None:
            own = ring
            plain = ring.reduce(merge_minibatches({(): symbol}, ring).get((), ring.zero) - expected)
        else:
            own, plain = equilibrated.ring, equilibrated.defect(j)
        operator = operator_of(plain, own)
        whole = Defect(power, defect_text(operator, own, power), operator) if plain else None
        if given is None and told_from_zero(plain, own):
            given = whole
        if averaged is None:
            averaged = _averaged_defect(symbol, whole, ring, power)
        if given and averaged:
            break
    start = before.start if equilibrated is None else _start_defect(equilibrated, given, examined)
    _refuse_kinks_in_memory(scheme, [ring] if equilibrated is None else [ring, equilibrated.ring])
    groups = Periods.of(scheme.constants).groups(before.dim)
    generator = exact[1] if len(exact) > 1 else ring.zero
    crowd = max(
        before.crowd, transition.crowd(groups), ring.crowd(generator, 2, groups), inf if ring.counts else 0
    )
    sums = before.sums or ring.sums
    return LocalOrder(before.dim, given, averaged, examined, steps, start, sums=sums, crowd=crowd), ring


def _refuse_kinks_in_memory(scheme: Scheme, rings: list[Ring]) -> None:
    """Raise where |x| of a state stands in a scheme with memory.

    One step from x is a power series on x's branch; an average over several steps would take derivatives across the
    branches' border.
    """
    for ring in rings:
        for f in ring.supposed.values() if scheme.memory else ():
            if not ring.depends_only_on_parameters(f):
                raise NotExpandableError(f"|{ring.text(f)}| in a step with memory")


def _equilibrated(scheme: Scheme, dim: int, degree: int, signs: Signs, symbolic: bool) -> EquilibratedStep:
    """The step with its memory equilibrated, through s^degree, in the smallest ring that suffices."""
    for depth in range(degree - 1, degree + 4):
        try:
            equilibrated = EquilibratedStep(scheme, dim, degree, depth, signs, symbolic)
            for j in range(degree + 1):
                equilibrated.symbol(j)
            return equilibrated
        except TooShallowError as error:
            why = error
    raise why


def _start_defect(equilibrated: EquilibratedStep, given: Defect | None, examined: int) -> Defect | None:
    """The first power of h at which the start of the memory contributes an error below the order of the steps."""
    order = Fraction(examined) if given is None else given.order
    for k in range(1, int(2 * order)):
        left = equilibrated.start(k)
        if told_from_zero(left, equilibrated.ring):
            operator, power = operator_of(left, equilibrated.ring), Fraction(k, 2)
            return Defect(power, defect_text(operator, equilibrated.ring, power), operator)
    return None


def steps_of(scheme: Scheme) -> int:
    """The number of consecutive steps that are expanded: with k memories a value reaches the state after k more steps."""
    return 1 + len(scheme.memory)


def expand_step(
    scheme: Scheme,
    dim: int,
    degree: int,
    *,
    signs: Signs | None = None,
    symbolic: bool = False,
) -> tuple[Ring, Transition, list[Polynomial]]:
    """P_h and exp(c h L), c the pace of the step, through s^degree on the branch of these signs, in the least ring.

    P_h is that of `steps_of(scheme)` steps; see `transition_of`.
    """
    steps = steps_of(scheme)
    lean = 1 + (degree - 2) // _reach(scheme.dynamics, dim)
    most = degree + 8
    for cap, depth in ((degree + 2, lean), (degree + 4, lean + 2), (most, lean + 4), (most, most)):
        ring = ring_of(
            scheme.dynamics,
            dim,
            depth=depth,
            draws=scheme.starts.draws + steps * scheme.draws,
            minibatches=scheme.starts.minibatches + steps * scheme.minibatches,
            cap=cap,
            signs=signs,
            symbolic=symbolic,
            parts=scheme.census.parts or scheme.starts.parts,
        )
        try:
            generator = symbol_of(generator_of(scheme.dynamics, ring), ring) * to_fmpq(pace_of(scheme))
            transition = transition_of(scheme, ring, degree, steps)
            return ring, transition, exponential_symbols(generator, ring, degree // 2)
        except (UnknownSignError, TooLargeError):
            raise
        except NotExpandableError:
            # Roots and quotients lose orders; more working orders and derivatives may bring them back.
            if depth == most:
                raise
    raise AssertionError("unreachable")


def _reach(dynamics: Dynamics, dim: int) -> int:
    """The power of s by which theta moves in a step: 1 where noise drives it directly, else 2.

    A gradient is multiplied by h and expanded around theta, so that s^degree contains 1 + (degree - 2)/reach
    derivatives of U; where a scheme needs more of them, a larger ring is tried next.
    """
    ring = ring_of(dynamics, dim, depth=1, cap=1)
    second = [tuple(2 * (c == ("theta", i)) for c in ring.coordinates) for i in range(dim)]
    generator = generator_of(dynamics, ring)
    return 1 if any(generator.get(index) for index in second) else 2


def _averaged_defect(symbol: Polynomial, whole: Defect | None, ring: Ring, power: Fraction) -> Defect | None:
    """The difference averaged over minibatches; `whole` is that with one minibatch throughout, None where there is none.

    Below the first power at which it differs, a step is the exact flow of its minibatch, without roots of derivatives of U.
    At that power such a root may occur; it has no moments, and only `whole` is shown.
    """
    texts = [whole.text] if whole else []
    if takes_roots_of_gradients(ring):
        if not whole and ring.minibatches > 1:
            raise NotExpandableError("the average over independent minibatches of a root of their gradients")
        if whole:
            return whole
    parts = average({(): symbol}, ring)
    # The part without noise is the operator with all minibatches merged.
    parts.pop((), None)
    for moments, part in sorted(parts.items()):
        left = ring.reduce(part[()])
        if told_from_zero(left, ring):
            shown = defect_text(operator_of(left, ring), ring, power)
            texts.append(f"{print_moments(moments, ring.dim)} * ( {shown} )")
    operator = whole.operator if whole else {}
    return Defect(power, " + ".join(texts), operator, noise_alone=not whole) if texts else None


def defect_text(operator: Operator, ring: Ring, power: Fraction) -> str:
    """h^power ( the operator )."""
    return f"h^{power} ( {operator_text(operator, ring)} )"
