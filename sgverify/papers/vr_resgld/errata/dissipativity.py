"""The constants of vr-resgld's appendices on the one energy where all is known: L = (C/2)(beta - mu)^2 on the line.

It is C-smooth, and (a, b)-dissipative for every 0 < a < C with b = C^2 mu^2/(4 (C - a)): the least b for this a.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from sgverify.papers.formula import Examination, formula

ALL_C = (Fraction(1), Fraction(3))
ALL_MU = tuple(Fraction(k, 4) for k in (1, 2, 4, 12))
SHARES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
"""a/C."""

TAUS = ((Fraction(1, 4), Fraction(1, 2)), (Fraction(1), Fraction(2)))
CASES = [(C, mu, share * C) for C, mu, share in product(ALL_C, ALL_MU, SHARES)]


def least_b(C: Fraction, mu: Fraction, a: Fraction) -> Fraction:
    """The least b with beta C (beta - mu) >= a beta^2 - b for every beta: minus the minimum of a quadratic."""
    return C**2 * mu**2 / (4 * (C - a))


def gradient_bound() -> Examination:
    """|grad L| <= C |beta| + Q, Q = C b/a (the gradient at the minimiser is 0, N = 1), at its worst at beta <= 0."""
    # For beta <= 0 the gradient is C |beta| + C mu.
    broken = [(C, mu, a) for C, mu, a in CASES if mu > least_b(C, mu, a) / a]
    # mu <= sqrt(b/a).
    above = [case for case in CASES if case[1] ** 2 > least_b(*case) / case[2]]
    return Examination(
        printed=_at(broken, "mu > b/a") if broken else "",
        holds=_at(above, "mu^2 > b/a") if above else "",
        certificate={
            "cases (C, mu, a) that break it": f"{len(broken)} of {len(CASES)}",
            "why": "a |beta*|^2 <= b bounds |beta*| by sqrt(b/a), and by b/a only where b >= a; lemma D1 and D_R inherit it",
        },
    )


def step_sizes() -> Examination:
    """Second moments of SGLD with full gradients are bounded for every eta in the interval."""

    def unbounded(eta: Fraction, C: Fraction) -> bool:
        return (1 - eta * C) ** 2 >= 1

    shares = (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100))
    broken = [
        (C, a, eta)
        for C, _, a in CASES
        for eta in (s * max(Fraction(1), a / C**2) for s in shares)
        if unbounded(eta, C)
    ]
    above = [
        (C, a, eta)
        for C, _, a in CASES
        for eta in (s * min(Fraction(1), a / C**2) for s in shares)
        if unbounded(eta, C)
    ]
    return Examination(
        printed=f"at C = {broken[0][0]}, a = {broken[0][1]}, eta = {broken[0][2]} the factor of the second moment is "
        f"{(1 - broken[0][2] * broken[0][0]) ** 2}"
        if broken
        else "",
        holds=str(above) if above else "",
        certificate={
            "E |beta_(k+1) - mu|^2": "(1 - eta C)^2 E |beta_k - mu|^2 + 2 eta tau",
            "step sizes of the printed interval that diverge": f"{len(broken)} of {len(CASES) * len(shares)}",
        },
    )


def second_moment() -> Examination:
    """E |(beta1, beta2)|^2 in the invariant law, from beta_0 = 0, with or without swaps: they leave the norm as it is."""
    broken, above = [], []
    for (C, mu, a), (tau_1, tau_2) in product(CASES, TAUS):
        b = least_b(C, mu, a)
        exact = 2 * mu**2 + (tau_1 + tau_2) / C
        # E exp |beta_0|^2 = 1.
        if exact > 1 + (b + 2 * tau_2) / a:
            broken.append((C, mu, a, tau_1, tau_2, exact, 1 + (b + 2 * tau_2) / a))
        if exact > (2 * b + tau_1 + tau_2) / a:
            above.append((C, mu, a, tau_1, tau_2))
    first = broken[0] if broken else None
    return Examination(
        printed="at C = {}, mu = {}, a = {}, tau = {}, {}: the limit is {}, above {}".format(*first)
        if first
        else "",
        holds=str(above) if above else "",
        certificate={
            "cases that break it": f"{len(broken)} of {len(CASES) * len(TAUS)}",
            "why": "d/dt E |beta|^2 = -2 E <beta, grad G> + 2 d (tau1 + tau2), and each of the two replicas brings its own b",
        },
    )


def exponential_moment() -> Examination:
    """E exp |beta_t|^2 of one replica from 0 with mu = 0, b = 0, a = C: X_t ~ N(0, v_t), infinite where 2 v_t >= 1."""
    # v_t = (tau/C) (1 - e^(-2Ct)) rises to tau/C.
    infinite = [(C, tau) for C in ALL_C for tau in (2 / C * Fraction(9, 10),) if 2 * tau / C > 1]
    above = [(C, tau) for C in ALL_C for tau in (C / 2,) if 2 * tau / C > 1]
    # d/dt log E exp |beta_t|^2 at a point start beta, one replica: 2 beta C (mu - beta) + 2 tau + 4 tau beta^2.
    growth, mended_growth = [], []
    for (C, mu, a), share in product(CASES, (Fraction(1), Fraction(1, 2))):
        tau_2 = a / 2
        tau_1 = share * tau_2
        b = least_b(C, mu, a)
        # The largest over beta of -2 (C - 2 tau) beta^2 + 2 C mu beta + 2 tau, for both replicas.
        exact = sum(C**2 * mu**2 / (2 * (C - 2 * tau)) + 2 * tau for tau in (tau_1, tau_2))
        if exact > 2 * (b + 2 * tau_2):
            growth.append((C, mu, a, exact, 2 * (b + 2 * tau_2)))
        if exact > 2 * (2 * b + tau_1 + tau_2):
            mended_growth.append((C, mu, a))
    said = []
    if infinite:
        C, tau = infinite[0]
        said.append(
            f"at C = a = {C}, b = 0, tau = {tau} <= 2/a it is infinite from some time on: the variance rises to {tau / C}"
        )
    if growth:
        said.append(
            "at C = {}, mu = {}, a = {}, tau2 = a/2 it grows by {} a time at first, above {}".format(
                *growth[0]
            )
        )
    return Examination(
        printed="; ".join(said),
        holds=str(above + mended_growth) if above or mended_growth else "",
        certificate={
            "cases whose growth at time 0 is above 2 (b + 2 d tau2)": f"{len(growth)} of {2 * len(CASES)}",
            "why": "tau is a temperature: 1/tau >= 2/a is tau <= a/2; and each of the two replicas brings its own b",
        },
    )


def constant_of_29() -> Examination:
    """W2(nu_t, pi)^2 <= 2 c_LS D(nu_0 | pi) exp(-2t/c_LS) without swaps, nu_0 a shift by s of the warmer replica's law."""
    broken, above = [], []
    for C, tau_2 in product(ALL_C, (Fraction(1, 2), Fraction(2), Fraction(10))):
        shift = Fraction(1)
        c_ls = 1 / C
        entropy = C * shift**2 / (2 * tau_2)
        # Both sides fall as exp(-2 C t): their ratio at time 0 is that at every time.
        distance, bound = shift**2, 2 * c_ls * entropy
        if distance > bound:
            broken.append((C, tau_2, distance, bound))
        if distance > tau_2 * bound:
            above.append((C, tau_2))
    first = broken[0] if broken else None
    return Examination(
        printed="at C = {}, tau2 = {}: W2^2 is {} where the bound has {}, both times exp(-2 C t)".format(
            *first
        )
        if first
        else "",
        holds=str(above) if above else "",
        certificate={
            "cases that break it": f"{len(broken)} of {2 * 3}: tau2 > 1",
            "c_LS": "D(nu | pi) <= 2 c int sum_h tau_h |grad_h sqrt(d nu/d pi)|^2 with c = 1/C for N(0, tau/C), attained by shifts",
            "why": "Otto and Villani's W2^2 <= 2 D/rho has rho = 1/(c_LS tau2): the Dirichlet form holds the temperatures",
        },
    )


def growth_with_time() -> Examination:
    """(9) at k eta = T: k^(3/2) eta (eta^(1/4) + delta^(1/4) + (m^2 eta/n)^(1/8)), as powers of eta and T."""
    prefactor = {"T": Fraction(3, 2), "eta": 1 - Fraction(3, 2)}
    in_eta = {
        "eta^(1/4)": prefactor["eta"] + Fraction(1, 4),
        "delta^(1/4)": prefactor["eta"],
        "(m^2 eta/n)^(1/8)": prefactor["eta"] + Fraction(1, 8),
    }
    diverges = {name: str(power) for name, power in in_eta.items() if power < 0}
    return Examination(
        printed=f"at fixed eta it grows as T^({prefactor['T']})" if prefactor["T"] != 1 else "",
        holds="" if len(diverges) == len(in_eta) else "not every term diverges",
        certificate={
            "powers of eta at k eta = T": {name: str(power) for name, power in in_eta.items()},
            "power of T": str(prefactor["T"]),
        },
    )


def _at(cases: list[tuple[Fraction, Fraction, Fraction]], what: str) -> str:
    C, mu, a = cases[0]
    return f"at C = {C}, mu = {mu}, a = {a}, b = {least_b(C, mu, a)}: {what}, and for beta <= 0 the gradient is C (|beta| + mu)"


FORMULAS = (
    formula("vr-resgld/lemma-d2", gradient_bound),
    formula("vr-resgld/lemma-d3", step_sizes),
    formula("vr-resgld/lemma-d5", second_moment),
    formula("vr-resgld/lemma-d6", exponential_moment),
    formula("vr-resgld/theorem-1-constant", constant_of_29),
    formula("vr-resgld/theorem-2-time", growth_with_time),
)
