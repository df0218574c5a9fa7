"""The face for somebody else's torch code: what its signature declares, and what is refused by file and line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sgverify import torch_step
from sgverify.errors import DefinitionError, UserError
from sgverify.schemes import Memory, kinetic, langevin, riemannian_langevin
from sgverify.schemes.loading import load_scheme, load_step
from tests.tables import each_row

FILE = """
from sgverify import torch_step
from sgverify.schemes import langevin

@torch_step(langevin, order=1)
def sgld(theta, *, h, grad, T, scale=1.0):
    '''One line.'''
    return theta
"""


@pytest.fixture
def reference(tmp_path) -> str:
    (tmp_path / "mine.py").write_text(FILE)
    return f"{tmp_path}/mine.py:sgld"


def test_a_torch_step_is_read_from_a_file_without_torch(reference):
    program = f"""
import sys
from sgverify.schemes.loading import load_step
step = load_step({reference!r})
assert (step.name, step.order, step.state, step.parameters) == ("sgld", 1, ("theta",), ("T",))
assert step.summary == "One line." and step.place == "mine.py:5"
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_where_a_scheme_is_asked_for_a_torch_step_is_refused(reference):
    assert load_step("sghmc-aboba").name == "sghmc-aboba"
    with pytest.raises(DefinitionError, match="is of type TorchStep"):
        load_scheme(reference)


def test_a_keyword_with_a_default_keeps_it():
    @torch_step(langevin)
    def step(theta, *, h, T, inplace=False):
        return theta, h, T, inplace

    assert step.declaration.ingredients == ("h", "T")
    assert step.step((1,), h=2, T=3, grad=None, dim=1) == (1, 2, 3, False)
    assert step(1, h=2, T=3, inplace=True) == (1, 2, 3, True)


@each_row(
    "source, message",
    [
        ("def step(theta, *, h): ...", r"takes the state \(theta\); `kinetic` has \(theta, p\)"),
        ("def step(theta, p, v, *, h): ...", r"declared as @torch_step\(kinetic, memory=\['v'\]\)"),
        ("def step(theta, p, *, D): ...", "does not take `h`"),
        ("def step(theta, p, *, h, beta): ...", "asks for the ingredient `beta`"),
        ("def step(theta, p, *, h, noise): ...", "a torch step draws its own"),
        ("def step(theta, p, *, h, **more): ...", r"takes \*more"),
    ],
)
def test_a_signature_that_is_none_of_a_step_is_refused(source, message):
    space: dict = {}
    exec(source, space)
    with pytest.raises(DefinitionError, match=message):
        torch_step(kinetic)(space["step"])


def test_what_cannot_be_declared_is_refused():
    for wrong in ("kinetic", riemannian_langevin):
        with pytest.raises(DefinitionError, match="expected a dynamics"):
            torch_step(wrong)
    with pytest.raises(DefinitionError, match="order=0"):
        torch_step(kinetic, order=0)
    with pytest.raises(UserError, match="cannot be called"):
        torch_step(kinetic)(3)
    with pytest.raises(DefinitionError, match="chains='yes'"):
        torch_step(kinetic, chains="yes")


def test_a_module_is_read_by_its_forward():
    import torch

    class Step(torch.nn.Module):
        def forward(self, theta, *, h, grad, T):
            return theta

    step = torch_step(langevin)(Step())
    assert step.declaration.ingredients == ("h", "grad", "T") and step.place.startswith("test_torch_step.py:")
    with pytest.raises(DefinitionError, match="test_torch_step.py:.*does not take `h`"):
        torch_step(langevin)(type("Wrong", (torch.nn.Module,), {"forward": lambda self, theta: theta})())


def test_memory_is_state_that_comes_last():
    made = torch_step(langevin, order={"invariant": 2}, memory=["z"])(lambda theta, z, *, h: (theta, z))
    assert made.state == ("theta", "z") and made.shapes == {"theta": "vector", "z": "vector"}
    assert (made.order, made.invariant_order) == (None, 2)


def test_memory_has_a_start_and_other_shapes():
    kept = [Memory("v", start=0.0), Memory("n", shape="scalar", start=1), Memory("C", shape=("dim", "dim"))]
    made = torch_step(langevin, memory=kept)(lambda theta, v, n, C, *, h: (theta, v, n, C))
    assert made.state == ("theta", "v", "n", "C") and made.sizes(3) == (3, 3, 1, 9)
    import torch

    one = made.tensors(torch.arange(16.0), 3)
    many = made.tensors(torch.arange(32.0).reshape(2, 16), 3, chains=True)
    assert [tuple(value.shape) for value in one] == [(3,), (3,), (), (3, 3)]
    assert [tuple(value.shape) for value in many] == [(2, 3), (2, 3), (2, 1), (2, 3, 3)]
    assert torch_step(langevin, memory={"v": 0.5})(lambda theta, v, *, h: (theta, v)).memory == (
        Memory("v", start=0.5),
    )


@each_row(
    "memory, order, message",
    [
        ("z", None, "expected new names"),
        (["theta"], None, "expected new names"),
        (["z", "z"], None, "expected new names"),
        (["z"], 1, r"expected order=\{'invariant': K\}"),
        (["w"], None, r"takes the state \(theta, z\)"),
        ([Memory("z", shape="matrix")], None, "expected 'vector', 'scalar', or a tuple"),
        ([Memory("z", shape=(0,))], None, "expected 'vector', 'scalar', or a tuple"),
        ({"z": float("nan")}, None, "starts at nan; expected a finite number"),
    ],
)
def test_a_wrong_memory_is_refused(memory, order, message):
    with pytest.raises(DefinitionError, match=message):
        torch_step(langevin, order=order, memory=memory)(lambda theta, z, *, h: (theta, z))
