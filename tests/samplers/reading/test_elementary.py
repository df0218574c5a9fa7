"""The elementary functions: their accuracy, limits and derivatives, and bits that depend on the argument alone."""

from __future__ import annotations

import math

import pytest
import torch

from sgverify.errors import ConfigurationError
from sgverify.samplers.intercepted.dtypes import DtypeAudit
from sgverify.samplers.reading import elementary, floating_point
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.double_precision import FARTHEST
from sgverify.samplers.reading.elementary import (
    ELEMENTARY,
    cos,
    definition_of,
    erf,
    exp,
    expm1,
    log,
    log1p,
    logistic,
    sin,
    softplus,
    tanh,
)
from sgverify.samplers.reading.tape import record, room
from sgverify.schemes.definition import mathematics
from tests.samplers.reading.elementary_cases import DTYPES, EXACT, arguments, largest_error
from tests.self_checks.float64_runs import Audited
from tests.tables import each_row

FUNCTIONS = pytest.mark.parametrize("function", ELEMENTARY, ids=lambda function: function.__name__)
PRECISIONS = pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])

# What the modules promise, in units in the last place.
BOUNDS = {torch.float64: 1.0, torch.float32: 0.5 + 1e-6}


@FUNCTIONS
@PRECISIONS
def test_errors_are_below_the_stated_bound(function, dtype: torch.dtype) -> None:
    given = arguments(function, dtype, 150, seed=1)
    error, where = largest_error(function, given, definition_of(function, dtype)(given).tolist())
    assert error < BOUNDS[dtype], f"{function.__name__}({where!r}) is off by {error} units in the last place"


@pytest.mark.power
@FUNCTIONS
@PRECISIONS
def test_errors_of_many_arguments_are_below_the_stated_bound(function, dtype: torch.dtype) -> None:
    given = arguments(function, dtype, 30_000, seed=2)
    error, where = largest_error(function, given, definition_of(function, dtype)(given).tolist())
    assert error < BOUNDS[dtype], f"{function.__name__}({where!r}) is off by {error} units in the last place"


def test_a_wrong_last_bit_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    given = arguments(exp, torch.float64, 150, seed=1)
    definition = definition_of(exp, torch.float64)
    right = definition(given)
    wrong = torch.nextafter(right, torch.tensor(0.0, dtype=torch.float64))
    assert largest_error(exp, given, wrong.tolist())[0] > 1
    # The second part of log(2) left out: off by 1e-13.
    monkeypatch.setattr("sgverify.samplers.reading.double_precision.LOG_2_LOW", 0.0)
    assert largest_error(exp, given, definition(given).tolist())[0] > 1


INF, NAN = math.inf, math.nan
LIMITS = {
    exp: [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0)],
    expm1: [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (1e4, INF), (-1e4, -1.0)],
    log: [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-INF, NAN), (-1.0, NAN)],
    log1p: [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-INF, NAN), (-2.0, NAN)],
    logistic: [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (1e4, 1.0), (-1e4, 0.0)],
    softplus: [(INF, INF), (-INF, 0.0), (1e4, 1e4), (-1e4, 0.0), (1e30, 1e30)],
    tanh: [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (1e4, 1.0), (-1e4, -1.0)],
    erf: [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (1e4, 1.0), (-1e4, -1.0)],
    sin: [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (2 * FARTHEST, NAN), (-1e30, NAN)],
    cos: [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (2 * FARTHEST, NAN), (-1e30, NAN)],
}


@FUNCTIONS
@PRECISIONS
def test_limits_and_signs_of_zero(function, dtype: torch.dtype) -> None:
    given, expected = torch.tensor([*LIMITS[function], (NAN, NAN)], dtype=dtype).unbind(1)
    found, defined = function(given), ~expected.isnan()
    assert torch.equal(~found.isnan(), defined)
    assert torch.equal(found[defined], expected[defined])
    assert torch.equal(found.signbit()[defined], expected.signbit()[defined])


@PRECISIONS
def test_the_smallest_numbers_keep_every_bit(dtype: torch.dtype) -> None:
    """f(x) = x to the last bit where the next term of its series is below half a unit."""
    least = torch.finfo(dtype).tiny * torch.finfo(dtype).eps
    given = torch.arange(-70, 71, dtype=torch.float64).to(dtype) * least
    for function in (expm1, log1p, tanh, sin):
        assert torch.equal(function(given), given)


@FUNCTIONS
@PRECISIONS
def test_bits_depend_on_the_argument_alone(function, dtype: torch.dtype) -> None:
    given = arguments(function, dtype, 4000, seed=3)[:8000].reshape(20, -1, 10)
    whole = function(given)
    assert torch.equal(function(given.mT), whole.mT)
    assert torch.equal(function(given[3, ::7, 1:9:3]), whole[3, ::7, 1:9:3])
    assert torch.equal(function(given[..., :1].expand(given.shape)), whole[..., :1].expand(given.shape))
    alone = [function(part) for part in given.flatten()[:40].unbind()]
    assert torch.equal(torch.stack(alone), whole.flatten()[:40])
    for place in (torch.empty_like(given), torch.empty_like(given.mT).mT, torch.empty_like(given[0])):
        part = given if place.ndim == given.ndim and place.shape == given.shape else given[0]
        assert function(part, out=place) is place
        assert torch.equal(place, function(part))


@FUNCTIONS
def test_autograd_differentiates_twice_and_more(function) -> None:
    x = torch.tensor([[0.3, 1.7], [2.5, 0.02]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, (x,))
    assert torch.autograd.gradgradcheck(function, (x,))
    # The derivatives of torch's own function, of three orders.
    mine, theirs = function(x), ELEMENTARY[function].of_torch(x)
    for _ in range(3):
        (mine,) = torch.autograd.grad(mine.sum(), x, create_graph=True)
        (theirs,) = torch.autograd.grad(theirs.sum(), x, create_graph=True)
        assert torch.allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def maps_bits() -> bool:
    """Can this torch map a view of the bits of a number? 2.9 cannot: what it maps over a batch then has no elementary functions."""
    try:
        torch.func.vmap(lambda y: y.view(torch.int64))(torch.ones(1, dtype=torch.float64))
    except RuntimeError:
        return False
    return True


@pytest.mark.skipif(not maps_bits(), reason="this torch has no batching rule for a view of another type")
@FUNCTIONS
def test_transformations_of_torch_func(function) -> None:
    x = torch.tensor([0.3, 1.7, 2.5], dtype=torch.float64)
    assert torch.equal(torch.func.vmap(function)(x), function(x))
    mine = torch.func.vmap(torch.func.grad(torch.func.grad(lambda y: function(y))))(x)
    theirs = torch.func.vmap(torch.func.grad(torch.func.grad(ELEMENTARY[function].of_torch)))(x)
    assert torch.allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@FUNCTIONS
def test_a_tape_records_one_operation(function) -> None:
    x, y = torch.tensor([[0.3, 1.7]]), torch.tensor([[2.5, 0.02]])
    tape, (value,) = record(lambda: (function(x) * 2.0,), (x,), (), Clock())
    assert tape.lines[0].function is function
    assert len(tape.lines) == 2
    assert torch.equal(value, function(x) * 2.0)
    assert torch.equal(tape.play((y,), (), ())[0], function(y) * 2.0)
    written = room((value,))
    tape.play_into((y,), (), (), written)
    assert torch.equal(written[0], function(y) * 2.0)


@FUNCTIONS
def test_the_formats_inside_a_call_are_nobody_s_concern(function) -> None:
    """A float32 sine computes in float64; an audit of a run's formats sees float32 alone, as with torch's functions."""
    audit = DtypeAudit(("tests",))
    with Audited(audit):
        value = function(torch.linspace(0.1, 2, 20))
    assert value.dtype == torch.float32
    assert audit.found
    assert not audit.met


@each_row("name", ["exp", "expm1", "log", "softplus", "sin", "cos"])
def test_chains_use_them(name: str) -> None:
    x = torch.linspace(0.1, 3, 1001, dtype=torch.float64)
    assert torch.equal(getattr(mathematics, name)(Chains(x)).tensor, getattr(elementary, name)(x))


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"exp of a tensor of torch\.float16: expected torch\.float64"
    ):
        exp(torch.ones(3, dtype=torch.float16))


def test_every_function_has_exact_values() -> None:
    assert set(EXACT) == set(ELEMENTARY) == set(LIMITS)


def test_exact_operations() -> None:
    dtype = torch.float64
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(1000, generator=generator, dtype=dtype) * 10
    assert torch.equal(floating_point.nearest(x), x.round())
    bias = floating_point.BIAS
    k = torch.arange(1 - bias, bias + 1, dtype=dtype)
    assert torch.equal(floating_point.power_of_two(k), torch.ldexp(torch.ones_like(k), k))
    exponent, m = floating_point.split(x.abs())
    assert torch.equal(torch.ldexp(m, exponent), x.abs())
    assert float(m.min()) >= math.sqrt(0.5) * (1 - torch.finfo(dtype).eps)
    assert float(m.max()) < math.sqrt(2)
    total, error = floating_point.two_sum(x, x.flip(0) * 1e-9)
    sums = [math.fsum(pair) for pair in zip(x.tolist(), (x.flip(0) * 1e-9).tolist(), strict=True)]
    assert torch.tensor(sums, dtype=torch.float64).to(dtype).tolist() == total.tolist()
    assert float(error.abs().max()) > 0
