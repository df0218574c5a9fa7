"""Fokker-Planck by plain sympy, for one concrete potential and one concrete metric."""

import sympy

COORDINATES = sympy.symbols("a b c")
MOMENTA = sympy.symbols("p1 p2 p3")
XI, D, T = sympy.symbols("xi D T", positive=True)


def potential(dim):
    """A potential without symmetry: cubic, and mixed in every pair."""
    x = COORDINATES[:dim]
    return sum(v**4 / 4 + (k + 1) * v**3 / 3 for k, v in enumerate(x)) + sum(
        u**2 * v for u in x for v in x if u != v
    )


def root(dim):
    """A root B of an inverse metric without symmetry."""
    x = COORDINATES[:dim]
    return sympy.Matrix(
        dim,
        dim,
        lambda i, j: int(i == j) * (2 + x[i] ** 2) + (x[j] * x[i - 1] / (i + j + 1) if dim > 1 else 0),
    )


def residual(drift, squares, log_density, state):
    """L* rho / rho by differentiation of what stands in the definition, not through a current."""
    rho = sympy.exp(log_density)
    total = -sum(sympy.diff(f * rho, x) for f, x in zip(drift, state, strict=True))
    for i, x in enumerate(state):
        for j, y in enumerate(state):
            if squares[i, j] != 0:
                total += sympy.diff(squares[i, j] * rho, x, y)
    return sympy.expand(total / rho)


def langevin(dim, gamma=1):
    """Riemannian Langevin with `gamma` of its correction: (F, a, state)."""
    x, u, b = COORDINATES[:dim], potential(dim), root(dim)
    inverse = b * b.T
    correction = [sum(sympy.diff(inverse[i, j], x[j]) for j in range(dim)) for i in range(dim)]
    drift = [
        -sum(inverse[i, j] * sympy.diff(u, x[j]) for j in range(dim)) + gamma * T * correction[i]
        for i in range(dim)
    ]
    return drift, T * inverse, x


def kinetic(dim, gamma=1):
    """Riemannian kinetic dynamics with `gamma` of its correction."""
    x, p, u, b = COORDINATES[:dim], MOMENTA[:dim], potential(dim), root(dim)
    inverse, momentum = b * b.T, sympy.Matrix(p)
    speed, friction = b * momentum, D * inverse * momentum
    force = [
        -sum(b[j, i] * sympy.diff(u, x[j]) for j in range(dim))
        + gamma * T * sum(sympy.diff(b[j, i], x[j]) for j in range(dim))
        - friction[i]
        for i in range(dim)
    ]
    squares = sympy.diag(sympy.zeros(dim), D * T * inverse)
    return [*speed, *force], squares, (*x, *p)
