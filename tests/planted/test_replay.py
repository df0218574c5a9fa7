"""A property that fails shrinks to a small configuration and prints the command that fails again from a shell."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sgverify.configuration import load_configuration
from sgverify.testing import replay_command

MINE = """
from sgverify import Alphabet, exp, sqrt
from sgverify.schemes import kinetic

def drift(theta, p, *, t):
    return theta + t * p, p

def friction(theta, p, *, t, D):
    return theta, exp(-D * t) * p

def weak_kick(theta, p, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(D * T * t) * noise()

wrong = Alphabet("mine", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA", order=2)
"""

PROPERTY = """
from hypothesis import given, settings
from sgverify.checks import Subject
from sgverify.checks.judging import run_check
from sgverify.claims import find_claim
from sgverify.schemes.loading import load_scheme
from sgverify.strategies import configurations
from sgverify.testing import note_replay

REFERENCE = {reference!r}
SCHEME = load_scheme(REFERENCE)

@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(configurations(scheme=SCHEME, kinds=["full"]))
def test_stationary_bias(configuration):
    note_replay(REFERENCE, configuration, "chen2015/theorem-4")
    claim = find_claim("chen2015/theorem-4")
    assert run_check(Subject(SCHEME, configuration, REFERENCE), claim, "stationary-bias").verdict == "conforms"
"""


@pytest.fixture
def output(tmp_path: Path) -> str:
    """What pytest prints of the property on a scheme whose noise lost its factor 2."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "test_mine.py").write_text(PROPERTY.format(reference=f"{tmp_path / 'mine.py'}:wrong"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_mine.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_the_printed_command_fails_again_and_is_minimal(output: str, tmp_path: Path) -> None:
    lines = set(re.findall(r"replay: (sgverify verify .*)", output))
    assert len(lines) == 1
    words = shlex.split(lines.pop())
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "violates" in done.stdout
    # Nothing smaller shows the bug: one bare coordinate, unit precision, no mean, its start there, one square.
    settings = [word for word in words if "=" in word]
    configuration = load_configuration(None, settings)
    assert configuration.as_dict()["target"] == {"name": "gaussian", "dim": 1, "precision": 1.0, "mean": 0.0}
    assert (configuration.start, configuration.test_function) in {(0.0, "theta**2"), (0.0, "p**2")}
    assert (configuration.temperature, configuration.friction) == (2.0, 2.0)


def test_a_generated_word_has_a_command_too() -> None:
    reference = "sgverify.strategies.spelled:kinetic/drift|friction+noise|kick CABAC 1/2,1/3,1,2/3,1/2"
    configuration = load_configuration(friction=3.0, test_function="theta**2 - 1/2*theta")
    words = shlex.split(replay_command(reference, configuration, "chen2015/theorem-4"))
    assert words[:3] == ["sgverify", "verify", reference]
    assert load_configuration(None, [word for word in words[3:] if "=" in word]) == configuration
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
