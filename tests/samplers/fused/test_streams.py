"""The random numbers that a kernel draws, judged by the checks that judge every run: chains share nothing."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

from sgverify.configuration import load_configuration
from sgverify.samplers import Settings, fixed
from sgverify.samplers.fused import drawing as drawing_module
from sgverify.samplers.fused.compiler import CannotBuild, build, compiler
from sgverify.samplers.fused.drawing import Drawing
from sgverify.samplers.fused.shape import KernelShape, program_of_streams
from sgverify.samplers.gradients import minibatches
from sgverify.samplers.randomness import variates
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import indices, normals
from sgverify.samplers.run.assembly import Assembly
from sgverify.subject.binding import make_subject
from tests.self_checks.independent_chains import check_independent_chains
from tests.self_checks.white_noise import check_white_noise

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

CONFIGURATION: dict[str, Any] = {
    "target": {"name": "gaussian-mean", "dim": 2, "size": 37},
    "gradient": {"kind": "iid", "batch": 3},
    "chains": 130,
}


def streams_text(dtype: str) -> str:
    """The C text that draws the numbers of streams, as kernels do."""
    return program_of_streams(KernelShape(getattr(torch, dtype), 1, 0, 0, 0, range(130)))


def normals_in_c(
    library: ctypes.CDLL, stream: Stream, first: int, count: int, dtype: torch.dtype = torch.float64
) -> torch.Tensor:
    return drawing_module._drawn(library, "draw_normals", dtype, stream, first, count)


def indices_in_c(library: ctypes.CDLL, stream: Stream, first: int, count: int, bound: int) -> torch.Tensor:
    return drawing_module._drawn(library, "draw_indices", torch.int64, stream, first, count, bound)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_numbers_of_a_kernel_are_those_of_the_streams(dtype: str) -> None:
    library = build(streams_text(dtype))
    stream = Stream.of("noise", seed=3, runs=[b"a", b"b"], chains=range(50, 140))
    of_torch = getattr(torch, dtype)
    for first, count in ((0, 7), (29, 70)):
        expected = normals(stream, first, count, of_torch)
        assert torch.equal(normals_in_c(library, stream, first, count, of_torch), expected)
        for bound in (1, 37, 1000, 2**31 - 1):
            drawn = indices_in_c(library, stream, first, count, bound)
            assert torch.equal(drawn, indices(stream, first, count, bound))


BUGS = {
    "": ("", "conforms"),
    "(u64)(chain / LANES) * BLOCKS": ("(u64)0", "violates"),
    "key[0], key[1], out + 4 * i": ("0, 0, out + 4 * i", "violates"),
}


@pytest.mark.parametrize("was", BUGS)
def test_independent_chains_judges_the_numbers_of_a_kernel(monkeypatch: pytest.MonkeyPatch, was: str) -> None:
    now, verdict = BUGS[was]
    text = streams_text("float64")
    assert not was or text.count(was) == 1
    library = build(text.replace(was, now) if was else text)
    monkeypatch.setattr(variates, "normals", lambda *given: normals_in_c(library, *given))
    monkeypatch.setattr(minibatches, "indices", lambda *given: indices_in_c(library, *given))
    subject = make_subject("sgld-euler", load_configuration(None, **CONFIGURATION))
    found = check_independent_chains(subject)
    assert found.verdict == verdict, found.reason
    if not was:
        assert check_white_noise(subject).verdict == "conforms"


def asked(stream: Stream, dtype: torch.dtype, times: int = 3) -> list[torch.Tensor]:
    """Numbers of a stream, some of them asked for again and again."""
    found = [normals(stream, 5 + 40 * k, 40, dtype) for k in range(times)]
    return [*found, *(indices(stream, 3 * k, 11, 37) for k in range(times))]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_run_on_torch_draws_in_c_what_torch_draws(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing_module, "TIMED", 0.0)
    monkeypatch.setattr(drawing_module, "SLOWEST", 0.0)
    told: dict[str, Any] = {"seed": 3, "runs": [b"a", b"b"], "chains": range(50, 140)}
    drawing = Drawing()
    found = asked(Stream.of("noise", **told, drawing=drawing), dtype)
    assert len(drawing._libraries) == 2
    assert all(library is not None for library in drawing._libraries.values())
    for one, other in zip(found, asked(Stream.of("noise", **told), dtype), strict=True):
        assert torch.equal(one, other)


def test_c_that_draws_other_numbers_than_torch_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong angle planted in torch's normals stays visible: C would hide it."""
    monkeypatch.setattr(drawing_module, "TIMED", 0.0)
    monkeypatch.setattr(drawing_module, "SLOWEST", 0.0)
    honest = variates.box_muller
    monkeypatch.setattr(variates, "box_muller", lambda bits, dtype: tuple(-z for z in honest(bits, dtype)))
    told: dict[str, Any] = {"seed": 3, "runs": [b"a"], "chains": range(9)}
    drawing = Drawing()
    stream = Stream.of("noise", **told, drawing=drawing)
    found = [normals(stream, 0, 40) for _ in range(2)]
    assert list(drawing._libraries.values()) == [None]
    assert all(torch.equal(one, normals(Stream.of("noise", **told), 0, 40)) for one in found)


def test_without_a_compiler_torch_draws_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(text: str) -> Any:
        raise CannotBuild("there is no C compiler here")

    monkeypatch.setattr(drawing_module, "TIMED", 0.0)
    monkeypatch.setattr(drawing_module, "SLOWEST", 0.0)
    monkeypatch.setattr(drawing_module, "build", fails)
    stream = Stream.of("noise", seed=1, runs=[b"a"], chains=range(5), drawing=Drawing())
    assert torch.equal(normals(stream, 0, 9), normals(stream, 0, 9))


@pytest.mark.parametrize(("compiled", "in_c"), [("auto", True), (False, False)])
def test_runs_that_want_no_c_have_none(compiled: Any, in_c: bool) -> None:
    subject = make_subject("sgld-euler", load_configuration(None, **CONFIGURATION))
    run = Assembly(subject.scheme, subject.target, fixed([0.01], [9]), Settings(chains=3, compiled=compiled))
    assert (run._streams((0,))("noise").drawing is not None) == in_c
