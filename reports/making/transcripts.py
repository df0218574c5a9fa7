"""What `sgverify verify` prints about a right and a wrong scheme, in 80 and 100 columns. Writes transcripts/transcripts.md.

`transcripts/before.txt` holds what it printed about the same schemes before answers came outcome first; it is not made anew.
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
WIDTHS = (80, 100)


def make(folder: Path) -> None:
    """Judge the schemes and write the document into a folder of reports."""
    path = folder / "transcripts" / "transcripts.md"
    write_atomically(path, document())


def document() -> str:
    """The document: the source of the schemes, and what is printed about each."""
    parts = [
        "# What `sgverify verify` prints",
        "Written by `python -m reports transcripts`; `before.txt` is what an earlier version printed.",
        f"`{FILE}`: `heun` is right, `wrong` lacks a factor 2 in the noise.",
        _block("python", SOURCE),
    ]
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        Path(FILE).write_text(SOURCE, encoding="utf-8")
        for name in NAMES:
            results = sgverify.verify(f"{FILE}:{name}")
            for width in WIDTHS:
                parts += [
                    f"## `sgverify verify {FILE}:{name}`, {width} columns",
                    _block("text", results.text(width)),
                ]
    return "\n\n".join(parts) + "\n"


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
