"""The examination of `sgverify doctor`: libraries, torch, a compiler and a cache, and whether planted bugs are refuted here."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any

import sgverify
from sgverify.evidence.published import Name, Published, Says, Size
from sgverify.keeping.places import CACHE, OFF

if TYPE_CHECKING:
    from sgverify.schemes import Scheme, TorchStep

SETTINGS = {"temperature": 0.5, "friction": 3.0, "steps": 1000, "sweep": {"lengths": [10, 100, 1000]}}
"""The settings of the self-test: T and D are not 1, so that a factor which is lost shows."""

STEPS, CHAINS = 200, 20
"""The steps and chains of the runs of the own sampler: that of a kernel beside the definition, and those that share draws."""


@dataclass(frozen=True)
class InstalledPart:
    """One part of the installation: what was found, and how to mend what is missing or does not fit."""

    name: Name
    found: Name
    fits: Annotated[bool, Says("false for a library whose version is outside of the declared range")]
    mend: Annotated[str, Says("a command, or empty if nothing is to be done")]


@dataclass(frozen=True)
class SelfTest:
    """One part of the self-test, what it said, and the processor time it took."""

    name: Name
    passed: bool
    said: Name
    seconds: Size


@dataclass(frozen=True)
class PlantedBug:
    """A bug, the correct step, and the wrong one."""

    name: str
    reason: str
    correct: Scheme | TorchStep
    wrong: Scheme | TorchStep


@dataclass(frozen=True)
class Installation:
    """The installation and its self-test."""

    healthy: bool
    parts: tuple[InstalledPart, ...]
    self_tests: tuple[SelfTest, ...]


INSTALLATION = Published(
    "sgverify/doctor/1", Installation, "an examination", "Write it again with `sgverify doctor --json FILE`."
)


def examine(show: Callable[[InstalledPart | SelfTest], None] = lambda found: None) -> Installation:
    """The parts of this installation and the self-test; `show` is called with each as soon as it is known."""
    parts, self_tests = [], []
    for part in _parts():
        parts.append(part)
        show(part)
    for name, self_test in _self_tests():
        started = time.process_time()
        try:
            passed, said = self_test()
        except Exception as error:
            passed, said = False, f"{type(error).__name__}: {error}"
        self_tests.append(SelfTest(name, passed, said, round(time.process_time() - started, 2)))
        show(self_tests[-1])
    healthy = all(part.fits for part in parts) and all(one.passed for one in self_tests)
    return Installation(healthy, tuple(parts), tuple(self_tests))


def _parts() -> Iterator[InstalledPart]:
    needed = _requirements()
    installed = "" if needed else ", not installed: no version of a library is checked"
    yield InstalledPart("sgverify", sgverify.__version__ + installed, True, "" if needed else "pip install .")
    yield InstalledPart("python", f"{platform.python_version()} on {platform.platform()}", True, "")
    for text in needed.get("", ()):
        yield _library(text)
    yield _torch_build()
    yield _compiler()
    yield _cache()
    for extra in sorted(set(needed) - {""}):
        yield _extra(extra, needed[extra])


def _requirements() -> dict[str, list[str]]:
    """The declared requirements by extra, "" for those that are always needed."""
    found: dict[str, list[str]] = {}
    try:
        declared = metadata.requires("sgverify") or []
    except metadata.PackageNotFoundError:
        # Run from its source, without an installation.
        declared = []
    for text in declared:
        requirement, _, marker = text.partition(";")
        extra = re.search(r"""extra == ['"]([\w-]+)['"]""", marker)
        found.setdefault(extra.group(1) if extra else "", []).append(requirement.strip())
    return found


def _library(text: str) -> InstalledPart:
    from packaging.requirements import Requirement

    wanted = Requirement(text)
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return InstalledPart(wanted.name, "not installed", False, f"pip install '{text}'")
    fits = wanted.specifier.contains(version, prereleases=True)
    return InstalledPart(wanted.name, version, fits, "" if fits else f"pip install '{text}'")


def _torch_build() -> InstalledPart:
    import torch

    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU"
    threads = f"{torch.get_num_threads()} of {os.cpu_count()} threads"
    return InstalledPart("torch's build", f"{build} build, {threads}, devices {', '.join(devices)}", True, "")


def _compiler() -> InstalledPart:
    from sgverify.samplers.fused.compiler import compiler

    command = compiler()
    if command is None:
        return InstalledPart(
            "C compiler", "none: long runs move in torch, slower", True, "pip install 'sgverify[kernel]'"
        )
    return InstalledPart("C compiler", " ".join(command), True, "")


def _cache() -> InstalledPart:
    from sgverify.samplers.fused.compiler import folder

    place = folder()
    if place is None:
        said = OFF if os.environ.get(CACHE) == OFF else "none that this user alone can write"
        return InstalledPart(
            "kernels kept in", said, True, "" if said == OFF else f"set {CACHE} to such a folder"
        )
    kept = [path.stat().st_size for path in place.iterdir() if path.is_file()]
    return InstalledPart("kernels kept in", f"{place}: {len(kept)}, {sum(kept) / 1e6:.1f} MB", True, "")


def _extra(name: str, texts: list[str]) -> InstalledPart:
    libraries = [_library(text) for text in texts if not text.startswith("sgverify[")]
    missing = [one.name for one in libraries if not one.fits]
    if not missing:
        return InstalledPart(f"extra {name}", "installed", True, "")
    said = "not installed" if len(missing) == len(libraries) else f"without {', '.join(missing)}"
    return InstalledPart(f"extra {name}", said, True, f"pip install 'sgverify[{name}]'")


def _self_tests() -> Iterator[tuple[str, Callable[[], tuple[bool, str]]]]:
    for bug in planted_bugs():
        yield f"{bug.correct.name}, and {bug.name}", partial(_refuted, bug)
    yield "sghmc-aboba, and noise-shared-by-chains", _own_draws
    yield "kernel beside definition", _same_bits


def planted_bugs() -> Iterator[PlantedBug]:
    """A bug in a definition, and one in torch code."""
    from sgverify.exact.readings.formula import plant
    from sgverify.schemes import find_scheme

    aboba = find_scheme("sghmc-aboba")
    yield PlantedBug(
        "aboba-noise-by-friction",
        "D for sqrt(D): nearly nothing at D = 1",
        aboba,
        plant(aboba, "sqrt(2*D*T*h)*z1", "D*sqrt(2*T*h)*z1"),
    )
    yield PlantedBug(
        "torch-sgld-noise-by-h",
        "the step size is given as the scale of a normal law",
        _torch_sgld(lambda h: h**0.5),
        _torch_sgld(lambda h: h),
    )


def _torch_sgld(size: Callable[[float], float]) -> TorchStep:
    """SGLD in torch code, with noise of a size that depends on h."""
    import torch

    from sgverify.schemes import langevin, torch_step

    @torch_step(langevin, order=1, chains=True)
    def sgld(theta: Any, *, h: float, grad: Any, T: float) -> Any:
        return theta - h * grad(theta) + size(h) * (2 * T) ** 0.5 * torch.randn_like(theta)

    return sgld


def _refuted(bug: PlantedBug) -> tuple[bool, str]:
    """Is the planted bug refuted, and the correct step not?"""
    from sgverify.checks import CHECKS
    from sgverify.checks.applicable_claims import judge_pair, pairs_of
    from sgverify.configuration import load_configuration
    from sgverify.subject.binding import make_subject

    configuration, order = load_configuration(SETTINGS), list(CHECKS)
    subject = make_subject(bug.correct, configuration)
    for pair in pairs_of(subject):
        evidence = judge_pair(subject, *pair)[-1]
        if evidence.outcome == "fail":
            return False, f"the correct {bug.correct.name} is refuted by {evidence.check}: {evidence.reason}"
    subject = make_subject(bug.wrong, configuration)
    for pair in sorted(pairs_of(subject), key=lambda pair: order.index(pair[1])):
        if judge_pair(subject, *pair)[-1].outcome == "fail":
            return True, f"refuted by {pair[1]} ({bug.reason}); the correct scheme is not"
    return False, f"no check refutes the planted bug: {bug.reason}"


def _own_draws() -> tuple[bool, str]:
    """Has each chain of the own sampler draws of its own, and is a draw that all chains share seen?"""
    from sgverify.testing.planting import edited_source

    draws = "flat.unflatten(0, (-1, self._dim)).movedim(1, -1)"
    shared = draws.replace("flat", "flat[..., :1].expand_as(flat)", 1)
    if _ends() < CHAINS:
        return False, "chains of the correct sghmc-aboba end in the same state"
    with edited_source("sgverify.samplers.randomness.noise:Streamed.stacked", [(draws, shared)]):
        if _ends() > 1:
            return False, "chains end in several states although one draw is broadcast to every chain"
    return True, (
        "refuted by the states in which chains end (one draw is broadcast to every chain: no bias, and standard errors many "
        "times too small); the correct scheme is not"
    )


def _ends() -> int:
    """The number of states in which chains of one start end."""
    import numpy as np

    from sgverify.configuration import load_configuration
    from sgverify.samplers import Settings, fixed, sample
    from sgverify.schemes import find_scheme
    from sgverify.targets import build_target

    found = sample(
        find_scheme("sghmc-aboba"),
        build_target(load_configuration(None, target={"name": "gaussian"}).target),
        fixed([0.1], [STEPS]),
        observables=[lambda theta, p: theta[..., 0]],
        settings=Settings(chains=CHAINS, compiled=False),
    )
    return len(np.unique(found.last["theta"]))


def _same_bits() -> tuple[bool, str]:
    """Does a kernel built here have the bits of the definition?"""
    import numpy as np

    from sgverify.configuration import load_configuration
    from sgverify.samplers import GradientChoice, Settings, fixed, sample
    from sgverify.samplers.fused.compiler import compiler
    from sgverify.schemes import find_scheme
    from sgverify.targets import build_target

    if compiler() is None:
        return True, "not tried: there is no C compiler"
    target = build_target(load_configuration(None, target={"name": "double-well"}).target)
    found = [
        sample(
            find_scheme("sghmc-baoab"),
            target,
            fixed([0.05], [STEPS]),
            observables=[lambda theta, p: theta[..., 0] ** 2],
            settings=Settings(chains=CHAINS, compiled=compiled, gradient=GradientChoice("full")),
        )
        for compiled in ("kernel", False)
    ]
    same = np.array_equal(found[0].last["theta"], found[1].last["theta"])
    return same, f"{STEPS} steps on a double well end at {'the same' if same else 'other'} bits"
