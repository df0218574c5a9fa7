"""The random numbers that a kernel draws, judged by the checks that judge every run: chains share nothing."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import torch

from sgverify.checks.code.independent_chains import check_independent_chains
from sgverify.checks.code.white_noise import check_white_noise
from sgverify.checks.question import Question
from sgverify.checks.verify_and_rate import make_subject
from sgverify.claims.loading import find_claim
from sgverify.configuration import load_configuration
from sgverify.samplers import GradientChoice, Settings, fixed, sample
from sgverify.samplers.fused import kernel
from sgverify.samplers.fused.compiler import build, compiler
from sgverify.samplers.gradients import minibatches
from sgverify.samplers.randomness import variates
from sgverify.samplers.randomness.philox import Stream
from sgverify.samplers.randomness.variates import indices, normals

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

CONFIGURATION: dict[str, Any] = {
    "target": {"name": "gaussian-mean", "dim": 2, "size": 37},
    "gradient": {"kind": "iid", "batch": 3},
    "chains": 130,
}


def kernel_text(monkeypatch: pytest.MonkeyPatch, dtype: str) -> str:
    """The C text of a run of the configuration."""
    texts: list[str] = []
    honest = build
    with monkeypatch.context() as patched:
        patched.setattr(kernel, "build", lambda text, *given: texts.append(text) or honest(text, *given))
        subject = make_subject("sgld-euler", load_configuration(None, **CONFIGURATION))
        settings = Settings(
            chains=130, dtype=dtype, gradient=GradientChoice("iid", batch=3), compiled="kernel"
        )
        rows = fixed([0.01], [9])
        sample(subject.scheme, subject.target, rows, observables=[subject.observable], settings=settings)
    return "#define STREAMS\n" + texts[0]


def numbers_of(
    library: ctypes.CDLL, name: str, stream: Stream, first: int, count: int, out: np.ndarray, *more: int
) -> None:
    """Numbers of a stream by the kernel's own functions, to `out`, shape (count, S, C)."""
    for run, key in enumerate(stream.keys):
        own, whole = np.ascontiguousarray(key), [len(stream.chains), stream.chains.start, first, count]
        part = np.empty((count, len(stream.chains)), out.dtype)
        given = [
            ctypes.c_void_p(own.ctypes.data),
            *map(ctypes.c_int64, more),
            ctypes.c_void_p(part.ctypes.data),
        ]
        getattr(library, name)(*map(ctypes.c_int64, whole), *given)
        out[:, run] = part


def normals_in_c(
    library: ctypes.CDLL, stream: Stream, first: int, count: int, dtype: torch.dtype
) -> torch.Tensor:
    out = torch.empty((count, stream.runs, len(stream.chains)), dtype=dtype)
    numbers_of(library, "draw_normals", stream, first, count, out.numpy())
    return out


def indices_in_c(library: ctypes.CDLL, stream: Stream, first: int, count: int, bound: int) -> torch.Tensor:
    out = torch.empty((count, stream.runs, len(stream.chains)), dtype=torch.int64)
    numbers_of(library, "draw_indices", stream, first, count, out.numpy(), bound)
    return out


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_numbers_of_a_kernel_are_those_of_the_streams(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    library = build(kernel_text(monkeypatch, dtype))
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
    text = kernel_text(monkeypatch, "float64")
    assert not was or text.count(was) == 1
    library = build(text.replace(was, now) if was else text)
    monkeypatch.setattr(variates, "normals", lambda *given: normals_in_c(library, *given))
    monkeypatch.setattr(minibatches, "indices", lambda *given: indices_in_c(library, *given))
    subject = make_subject("sgld-euler", load_configuration(None, **CONFIGURATION))
    found = check_independent_chains(
        Question(subject, find_claim("sgverify/independent-chains"), "independent-chains")
    )
    assert found.verdict == verdict, found.reason
    if not was:
        assert (
            check_white_noise(Question(subject, find_claim("sgverify/white-noise"), "white-noise")).verdict
            == "conforms"
        )
