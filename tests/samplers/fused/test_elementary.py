"""The elementary functions in C: translated from their definitions, with equal bits, in vector instructions."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sgverify.samplers.fused import compiler as compiling
from sgverify.samplers.fused import elementary as written
from sgverify.samplers.fused.compiler import NATIVE, build, compiler
from sgverify.samplers.fused.elementary import called, function_text, in_c, loop_text, with_functions
from sgverify.samplers.reading import elementary
from sgverify.samplers.reading.elementary import COMPILED, ELEMENTARY, _Compiled, definition_of, exp
from tests.samplers.reading.elementary_cases import DTYPES, arguments

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

CASES = [(function, dtype) for function in ELEMENTARY for dtype in DTYPES]
_INTEGERS = {torch.float64: torch.int64, torch.float32: torch.int32}


# Each is compiled by itself: three by default, which have every kind of operation between them.
SOME = pytest.mark.parametrize(
    "function",
    [
        pytest.param(
            function,
            id=function.__name__,
            marks=[] if function.__name__ in ("exp", "softplus", "sin") else [pytest.mark.power],
        )
        for function in ELEMENTARY
    ],
)


def loops(*cases: tuple[Callable[..., Tensor], torch.dtype]) -> str:
    """A C text with a loop over entries for each function."""
    lines = []
    for function, dtype in cases:
        kind, name = "double" if dtype == torch.float64 else "float", called(function, dtype)
        lines.append(
            f"void every_{name}(const {kind} *restrict x, {kind} *restrict y, int64_t count)\n"
            f"{{ for (int64_t i = 0; i < count; i++) y[i] = {name}(x[i]); }}"
        )
    return with_functions("\n".join(lines))


def by_loop(library: ctypes.CDLL, function: Callable[..., Tensor], given: Tensor) -> Tensor:
    out = torch.empty_like(given)
    address = ctypes.c_void_p
    getattr(library, f"every_{called(function, given.dtype)}")(
        address(given.data_ptr()), address(out.data_ptr()), ctypes.c_int64(len(given))
    )
    return out


def of_any_bits(dtype: torch.dtype, count: int, seed: int) -> Tensor:
    """Numbers of random bits: all exponents, subnormal numbers, infinities and NaN; and the zeros."""
    generator, whole = torch.Generator().manual_seed(seed), _INTEGERS[dtype]
    bits = torch.randint(
        torch.iinfo(whole).min, torch.iinfo(whole).max, (count,), generator=generator, dtype=whole
    )
    ends = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan], dtype=dtype)
    return torch.cat([bits.view(dtype), ends])


def unequal(left: Tensor, right: Tensor) -> int:
    """The number of entries with different bits; all NaN count as equal."""
    whole = _INTEGERS[left.dtype]
    return int(((left.view(whole) != right.view(whole)) & ~(left.isnan() & right.isnan())).sum())


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return build(loops(*CASES))


@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_bits_in_c_are_those_of_the_definition(library, function, dtype: torch.dtype) -> None:
    given = torch.cat([arguments(function, dtype, 1000, seed=7), of_any_bits(dtype, 3000, seed=8)])
    assert unequal(by_loop(library, function, given), function(given)) == 0


@pytest.mark.power
@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_bits_of_millions_in_vector_instructions(as_shipped, function, dtype: torch.dtype) -> None:
    made = build(loops(*CASES))
    given = torch.cat([arguments(function, dtype, 500_000, seed=9), of_any_bits(dtype, 1_000_000, seed=10)])
    assert unequal(by_loop(made, function, given), function(given)) == 0


def test_a_bug_in_the_c_text_is_seen() -> None:
    text = loops((exp, torch.float64))
    # The last step of the reduction, one bit of a coefficient, and one power of two.
    for was, now in (
        ("0x1.ef35793c76730p-45", "0.0"),
        ("0x1.5555555555557p-3", "0x1.5555555555537p-3"),
        ("<< 52", "<< 51"),
    ):
        assert was in text
        given = arguments(exp, torch.float64, 1000, seed=7)
        assert unequal(by_loop(build(text.replace(was, now)), exp, given), exp(given)) > 0, was


def test_only_functions_that_are_called_are_written() -> None:
    assert with_functions("int x;") == "int x;"
    text = loops((exp, torch.float32))
    assert text.count("ELEMENTARY float elementary_") == 1
    assert function_text(exp, torch.float32) in text


@pytest.mark.skipif(
    not Path("/proc/cpuinfo").exists() or "avx2" not in Path("/proc/cpuinfo").read_text(), reason="no AVX2"
)
@SOME
def test_a_loop_is_made_of_vector_instructions(as_shipped, function, tmp_path: Path) -> None:
    """The processor's instructions: products of whole vectors, and none of single numbers in a loop over 64 lanes."""
    command = compiler()
    assert command is not None
    for dtype in DTYPES:
        name, kind = called(function, dtype), "double" if dtype == torch.float64 else "float"
        text = with_functions(
            f"void lanes({kind} (*restrict x)[64]) {{ for (int l = 0; l < 64; l++) x[1][l] = {name}(x[0][l]); }}"
        )
        source, assembly = tmp_path / "lanes.c", tmp_path / "lanes.s"
        source.write_text(text)
        flags = [flag for flag in compiling.FLAGS if flag not in ("-shared", NATIVE)]
        subprocess.run([*command, *flags, "-mavx2", "-S", "-o", str(assembly), str(source)], check=True)
        products = re.findall(
            r"\bv?(mul[ps]d|mul[ps]s|div[ps]d|div[ps]s|add[ps]d|vcvttsd2si)\b", assembly.read_text()
        )
        assert products
        assert not [product for product in products if product[3] == "s"], f"{name}: {set(products)}"


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> _Compiled:
    """Functions of which none has been called or made."""
    made = _Compiled()
    made.make = COMPILED.make
    monkeypatch.setattr(elementary, "COMPILED", made)
    monkeypatch.setattr(elementary, "KEPT", {})
    return made


@SOME
def test_values_come_from_c_once_that_repays(forgetful, monkeypatch: pytest.MonkeyPatch, function) -> None:
    for dtype in DTYPES:
        given = arguments(function, dtype, 400, seed=11)[:600].reshape(20, 30)
        plain = definition_of(function, dtype)(given)
        monkeypatch.setattr(elementary, "_TO_BUILD", 1e-9)
        monkeypatch.setattr(elementary, "_TO_LOAD", 1e-10)
        assert unequal(function(given), plain) == 0
        assert elementary.KEPT[function, dtype] is not None
        assert unequal(function(given.mT).mT.contiguous(), plain) == 0
        assert unequal(function(given[:, ::3]).contiguous(), plain[:, ::3].contiguous()) == 0
        place = torch.empty_like(given.mT)
        assert function(given.mT, out=place) is place
        assert unequal(place.mT.contiguous(), plain) == 0
        itself = given.clone()
        assert unequal(function(itself, out=itself), plain) == 0
        assert function(given[:0]).shape == (0, 30)


def test_a_function_in_c_that_differs_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_c(exp, torch.float64, True) is not None
    honest = loop_text(exp, torch.float64)
    wrong = honest.replace("0x1.ef35793c76730p-45", "0x1.ef35793c76731p-45")
    assert wrong != honest
    monkeypatch.setattr(written, "loop_text", lambda *given: wrong.replace("0x1.1f730349868cep-29", "0.0"))
    assert in_c(exp, torch.float64, True) is None


def test_without_a_compiler_the_tensor_operations_go_on(forgetful, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "compiler", lambda: None)
    monkeypatch.setattr(compiling, "_BUILT", {})
    monkeypatch.setattr(elementary, "_TO_BUILD", 1e-9)
    given = torch.linspace(-3, 3, 100)
    assert unequal(exp(given), definition_of(exp, torch.float32)(given)) == 0
    assert elementary.KEPT[exp, torch.float32] is None


def test_a_few_calls_wait_for_no_compiler(forgetful, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    forgetful.make = lambda function, dtype, may_build: asked.append(may_build)
    given = torch.ones(1000)
    for _ in range(60):
        exp(given)
    assert asked == []
    for _ in range(4000):
        forgetful.find(exp, given)
    assert asked == [False, True]
