"""The compiler of kernels: which one is taken, and what is said where there is none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from sgverify.samplers import GradientChoice, Settings, fixed, sample
from sgverify.samplers.fused import compiler, kernel
from sgverify.schemes import find_scheme


def test_the_compiler_of_the_extra_is_taken_where_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    assert compiler.compiler() is None
    with pytest.raises(compiler.CannotBuild, match=r"no C compiler here .*pip install 'sgverify\[kernel\]'"):
        compiler._load("int x;")
    program = tmp_path / ("zig.exe" if compiler.WINDOWS else "zig")
    monkeypatch.setattr(
        compiler, "find_spec", lambda name: ModuleSpec(name, None, origin=str(tmp_path / "__init__.py"))
    )
    assert compiler.compiler() is None
    program.touch()
    assert compiler.compiler() == [str(program), "cc"]
    monkeypatch.setenv("CC", "mine -x")
    assert compiler.compiler() is None
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert compiler.compiler() == ["mine", "-x"]


@pytest.mark.power  # the first build for another system takes seconds
@pytest.mark.skipif(compiler._zig() is None, reason="the extra 'kernel' is not installed")
@pytest.mark.parametrize("system", ["x86_64-windows-gnu", "aarch64-macos", "aarch64-linux-gnu"])
def test_kernels_compile_for_other_systems(
    system: str, make_target: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts: list[str] = []
    monkeypatch.setattr(kernel, "build", lambda text, *given: texts.append(text) or compiler.build(text))
    target = make_target("logistic-regression", dim=2, size=7)
    settings = Settings(chains=5, gradient=GradientChoice("iid", batch=3), compiled="kernel")
    rows = fixed([0.001], [9])
    sample(
        find_scheme("sghmc-aboba"),
        target,
        rows,
        observables=[lambda theta, p: theta[..., 0]],
        settings=settings,
    )
    flags = [
        flag
        for flag in compiler.FLAGS
        if flag != compiler.NATIVE and ("windows" not in system or flag != "-fPIC")
    ]
    monkeypatch.setattr(compiler, "FLAGS", (*flags, "-target", system))
    assert compiler._compiled(compiler._zig() or [], texts[0], tmp_path).stat().st_size > 1000


@pytest.mark.skipif(sys.platform == "win32", reason="the compiler of this test is a shell script")
def test_a_compiler_that_does_not_know_the_processor_is_called_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    honest = compiler.compiler()
    if honest is None:
        pytest.skip("there is no C compiler")
    simple = tmp_path / "simple"
    refusal = 'case "$*" in *-march=native*) echo "unknown processor" >&2; exit 1;; esac'
    simple.write_text(f'#!/bin/sh\n{refusal}\nexec {" ".join(honest)} "$@"\n')
    simple.chmod(0o700)
    monkeypatch.setenv("CC", str(simple))
    assert compiler._load("int answer(void) { return 42; }").answer() == 42
    with pytest.raises(compiler.CannotBuild, match="simple fails: unknown processor"):
        compiler._load("no C")
    assert subprocess.run([simple, compiler.NATIVE], capture_output=True, check=False).returncode == 1
