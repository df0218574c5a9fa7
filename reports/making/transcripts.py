"""What `sgverify verify` prints: transcripts/transcripts.md of two schemes, answers.md of ten, from PASS to UNDECIDED.

`transcripts/before.txt` holds what it printed about the two before answers came outcome first; it is not made anew.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import sgverify
from sgverify.keeping.files import write_atomically

FILE = "mine.py"
SOURCE = """\
from sgverify import Alphabet, exp, scheme, sqrt
from sgverify.schemes import kinetic, langevin

@scheme(langevin, order=1)
def heun(theta, *, h, grad, noise, T):
    kick = sqrt(2*T*h)*noise()
    guess = theta - h*grad(theta) + kick
    return theta - h/2*(grad(theta) + grad(guess)) + kick

def drift(theta, p, *, t):                          return theta + t*p, p
def friction(theta, p, *, t, D):                    return theta, exp(-D*t)*p
def weak_kick(theta, p, *, t, grad, noise, D, T):   return theta, p - t*grad(theta) + sqrt(D*T*t)*noise()

wrong = Alphabet("wrong", kinetic, A=drift, B=friction, O=weak_kick).word("ABOBA", order=2)
"""
NAMES = ("heun", "wrong")

CODE = """\
import itertools
import math

import numpy as np
import torch

from sgverify import scheme, sqrt, torch_step
from sgverify.schemes import constants, langevin

@scheme(langevin, order=1)
def sixth_hot(theta, *, h, grad, noise, T):
    sixth = constants((0, 1), theta)*constants((0, 0, 1), theta)
    return theta - h*grad(theta) + sqrt(2*T*h)*(1 + sixth)*noise()

class SGLD(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, temperature=1.0):
        super().__init__(params, {"lr": lr, "temperature": temperature})

    def size(self, group, p):
        return 1.0

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                sigma = self.size(group, p) * math.sqrt(2 * group["lr"] * group["temperature"])
                p.add_(p.grad, alpha=-group["lr"]).add_(torch.randn_like(p), alpha=sigma)

class Halved(SGLD):
    def size(self, group, p):
        return math.sqrt(0.5)

class Decreasing(SGLD):
    def step(self, closure=None):
        for group in self.param_groups:
            self.steps = getattr(self, "steps", 0) + 1
            group["lr"] = group["lr"] if self.steps % 100 else 0.9 * group["lr"]
        super().step(closure)

@torch_step(langevin)
def euler(theta, *, h, grad, T):
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.randn_like(theta)

@torch_step(langevin)
def with_numpy(theta, *, h, grad, T):
    return theta - h * grad(theta) + math.sqrt(2 * T * h) * torch.from_numpy(np.random.randn(*theta.shape))

CALLS = itertools.count()

@torch_step(langevin)
def hot_later(theta, *, h, grad, T):
    heat = 4 if next(CALLS) > 1000 else 1
    return theta - h * grad(theta) + math.sqrt(2 * T * h * heat) * torch.randn_like(theta)
"""
ANSWERS = {
    "sghmc-aboba": "a splitting of the catalogue, proved",
    "mine.py:heun": "a definition of one's own, proved",
    "mine.py:wrong": "a definition that lacks a factor 2",
    "samplers.py:sixth_hot": "a definition that is wrong from dimension 6 on",
    "samplers.py:SGLD": "an optimizer",
    "samplers.py:Halved": "an optimizer whose noise is too small",
    "samplers.py:Decreasing": "an optimizer that lowers its own lr",
    "samplers.py:euler": "a torch step",
    "samplers.py:with_numpy": "a torch step that draws by numpy",
    "samplers.py:hot_later": "a torch step with another law from its 1,001st call on",
}
"""What is judged, and what it is."""


def make(folder: Path) -> None:
    """Judge the schemes and write both documents into a folder of reports."""
    for name, text in (("transcripts", document()), ("answers", answers())):
        write_atomically(folder / "transcripts" / f"{name}.md", text)


def document() -> str:
    """The document: the source of the schemes, and what is printed about each."""
    parts = [
        "# What `sgverify verify` prints",
        "Written by `python -m reports transcripts`; `before.txt` is what an earlier version printed.",
        f"`{FILE}`: `heun` is right, `wrong` lacks a factor 2 in the noise.",
        _block("python", SOURCE),
    ]
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        write_atomically(Path(FILE), SOURCE)
        for name in NAMES:
            text = sgverify.verify(f"{FILE}:{name}").text()
            parts += [f"## `sgverify verify {FILE}:{name}`", _block("text", text)]
    return "\n\n".join(parts) + "\n"


def answers() -> str:
    """The ten answers in full, with the files that they are about."""
    parts = [
        "# Ten answers of `sgverify verify`",
        "Written by `python -m reports transcripts`. A PASS says what it `holds for`, others say why.",
        f"`{FILE}` is that of [transcripts.md](transcripts.md); `samplers.py`:",
        _block("python", CODE),
    ]
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        write_atomically(Path(FILE), SOURCE)
        write_atomically(Path("samplers.py"), CODE)
        for name, what in ANSWERS.items():
            text = sgverify.verify(name).text()
            parts += [f"## `sgverify verify {name}`: {what}", _block("text", text)]
    return "\n\n".join(parts) + "\n"


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
