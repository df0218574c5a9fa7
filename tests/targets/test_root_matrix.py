"""A metric by its whole root: its polynomials against sympy, the two readings against one another, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
import torch

from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError
from sgverify.exact.readings.long_double import LongDouble, LongDoubleRootMatrix
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.motion import FullMetric, make_metric
from sgverify.subject.binding import make_subject
from sgverify.targets.metric import MatrixMetric, parse_root
from tests.tables import each_row

ROWS = (
    ("1 + theta[0]**2/10", "theta[1]/5", "0"),
    ("theta[0]*theta[1]/7", "3", "theta[2]"),
    ("0", "0.1", "2"),
)
PLANE = (("1 + theta[0]**2/10", "theta[1]/5"), ("0", "1"))


def by_sympy(metric: MatrixMetric, at: list[float], vector: list[float]) -> dict[str, list[float]]:
    x = sympy.symbols(f"x0:{metric.dim}")
    B = sympy.Matrix(
        [
            [
                sum(c * sympy.prod(v**e for v, e in zip(x, es, strict=True)) for es, c in terms.items())
                for terms in row
            ]
            for row in metric.entries
        ]
    )
    G, v, d = B * B.T, sympy.Matrix(vector), range(metric.dim)
    values = {
        "root": B * v,
        "transposed": B.T * v,
        "inverse": G * v,
        "divergence": sympy.Matrix([sum(sympy.diff(G[i, j], x[j]) for j in d) for i in d]),
        "root_divergence": sympy.Matrix([sum(sympy.diff(B[j, i], x[j]) for j in d) for i in d]),
    }
    place = dict(zip(x, at, strict=True))
    return {name: [float(item) for item in value.subs(place)] for name, value in values.items()}


def asked(metric: Any, theta: Any, vector: Any) -> dict[str, Any]:
    return {
        **{name: getattr(metric, name)(theta, vector) for name in ("root", "transposed", "inverse")},
        **{name: getattr(metric, name)(theta) for name in ("divergence", "root_divergence")},
    }


def test_sampler_and_long_double_answer_as_sympy_does() -> None:
    metric, at, vector = parse_root(ROWS), [0.3, -1.2, 0.8], [1.0, -0.5, 2.0]
    expected = by_sympy(metric, at, vector)
    chains = [Chains(torch.tensor([[value]], dtype=torch.float64)) for value in (at, vector)]
    arrays = [LongDouble(np.array([value], dtype=np.longdouble)) for value in (at, vector)]
    run = asked(FullMetric(metric), *chains)
    plain = asked(LongDoubleRootMatrix(metric), *arrays)
    for name, values in expected.items():
        assert run[name].tensor.shape == (1, 1, 3)
        assert run[name].tensor.flatten().tolist() == pytest.approx(values, rel=1e-14), name
        assert plain[name].value.ravel().tolist() == pytest.approx(values, rel=1e-14), name


def test_a_diagonal_matrix_is_the_polynomial_of_its_coordinates() -> None:
    rows = (("1 + theta[0]**2/10", "0"), ("0", "1 + theta[1]**2/10"))
    theta, vector = (
        Chains(torch.tensor([[value]], dtype=torch.float64)) for value in ([0.5, -2.0], [3.0, 1.0])
    )
    whole, each = (asked(make_metric(text, 2), theta, vector) for text in (rows, "1 + theta**2/10"))
    for name in whole:
        assert torch.allclose(whole[name].tensor, each[name].tensor, rtol=1e-14), name


@each_row(
    ("rows", "message"),
    [
        ((("1", "0"),), "square matrix"),
        ((("1", "0"), ("theta[0]", "theta[1]")), "determinant of B is"),
        ((("1 + theta[0]", "0"), ("0", "1")), "determinant of B is"),
        ((("exp(theta[0])", "0"), ("0", "1")), "metric=.*polynomial"),
        ((("1", "theta"), ("0", "1")), "without an index"),
        ((("1", "theta[2]"), ("0", "1")), "wrong index"),
    ],
)
def test_a_root_that_is_none_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_root(rows)


def test_a_root_of_another_side_than_the_target_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="B has 2 rows, and the target has dim=1"):
        _ = make_subject("sgrld-euler", load_configuration(metric=[list(row) for row in PLANE])).metric


def test_the_configuration_takes_rows_of_text_and_the_step_falls_with_the_root() -> None:
    def step(rows: list[list[str]]) -> float:
        return make_subject("sgrld-euler", load_configuration(metric=rows, target={"dim": 2})).step

    found = load_configuration(metric=[list(row) for row in PLANE], target={"dim": 2})
    assert found.metric == PLANE
    assert load_configuration(found.as_dict()) == found
    assert step([["1", "0"], ["0", "1"]]) == pytest.approx(9 * step([["3", "0"], ["0", "1"]]))
