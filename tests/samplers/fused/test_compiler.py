"""The compiler of kernels: which one is taken, and what is said where there is none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from sgverify.samplers.fused import compiler


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
