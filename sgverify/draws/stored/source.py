"""What draws, a scheme under a configuration, whole or some of its chains; and whose run it is.

The identity of a run is compared part by part, so that what differs can be named.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from sgverify.errors import ConfigurationError, InstabilityError, SgverifyError
from sgverify.keeping.identity import differing, flat, run_identity
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.run.leg import Divergence
from sgverify.samplers.run.recording import Draws, bytes_needed, kept_steps, widths_of
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row
from sgverify.schemes import Scheme
from sgverify.schemes.composites import Composite
from sgverify.schemes.loading import load_step
from sgverify.subject.subject import Subject
from sgverify.targets import Target


@dataclass(frozen=True, eq=False)
class DrawSource:
    """A run: its subject and ensemble of chains, whether energies are recorded, and its one row.

    `named`: the target can be made by its name, in another process. `made` makes InferenceData of draws of some chains.
    """

    subject: Subject
    ensemble: Ensemble = field(repr=False)
    energy: bool
    row: Row
    named: bool
    made: Callable[[Draws, range], Any] = field(repr=False)

    @property
    def size(self) -> int:
        """The bytes that all draws take up."""
        return bytes_needed(self.ensemble, energy=self.energy)

    @property
    def kept(self) -> int:
        """The number of recorded draws per chain."""
        return len(kept_steps(self.ensemble))

    def unstable(self, diverged: Sequence[Divergence]) -> InstabilityError:
        """The error of a run that has no draw before a chain diverges."""
        return InstabilityError(
            f"{diverged[0]} before any draw was kept; expected chains that stay within bounds; take a smaller "
            f"schedule.step or a start nearer to the target than start={self.subject.configuration.start!r}"
        )

    @property
    def steps(self) -> int:
        """The number of steps of the run."""
        return self.ensemble.rows[0].lengths[-1]

    @property
    def like(self) -> Draws:
        """One draw of zeros, of the kind of the run's draws."""
        widths, chains = widths_of(self.ensemble), len(self.ensemble.chains)
        dtype = torch.empty(0, dtype=self.ensemble.dtype).numpy().dtype
        hooks, weighted = self.ensemble.hooks, self.ensemble.rows[0].schedule.weighted
        told = {} if hooks is None else hooks.statistics
        return Draws(
            np.array([kept_steps(self.ensemble)[0]]),
            {name: np.zeros((chains, 1, width), dtype) for name, width in widths.items()},
            np.zeros((chains, 1)) if self.energy else None,
            np.array([self.row.at(1)]),
            {name: np.zeros((chains, 1), kind) for name, kind in told.items()},
            np.zeros((chains, 1)) if weighted or (hooks is not None and hooks.weighted) else None,
            (),
            0,
            False,
        )

    def kept_before(self, step: int) -> int:
        """The number of draws of each chain before a step."""
        schedule = self.ensemble.rows[0].schedule
        return sum(1 for number in kept_steps(self.ensemble) if number < step and schedule.samples(number))

    def ensemble_of(self, chains: range) -> Ensemble:
        """The run of some of the chains."""
        whole = self.ensemble
        if chains == whole.chains:
            return whole
        settings = replace(whole.settings, chains=len(chains), first_chain=chains.start)
        runs = self.subject.composite or self.subject.scheme
        return Ensemble(runs, self.subject.target, [self.row], settings)

    def check_divisible(self) -> None:
        """Raise `ConfigurationError` if several processes cannot draw the chains of this run, or not with the bits of one."""
        reference = self.subject.reference
        mend = "leave workers=1, which draws the same"
        if not self.named or not _same_step(
            _loaded(reference), self.subject.composite or self.subject.scheme
        ):
            what = f"target={self.subject.target.name!r}" if not self.named else f"scheme={reference!r}"
            raise ConfigurationError(
                f"{what} with workers: was made in Python, and another process cannot make it; expected a name of the catalogue, "
                f"module:attribute or path/to/file.py:attribute; name it so, or {mend}"
            )
        if not self.ensemble.potential.recordable:
            raise ConfigurationError(
                f"target={self.subject.target.name!r} with workers: is torch code that cannot be recorded, whose rounding may "
                f"depend on how many chains are in a tensor; expected a target whose chains do not; {mend}"
            )


def _same_step(found: Any, wanted: Any) -> bool:
    """Is it the step that runs? A composite is made anew, with its reference, whenever it is loaded."""
    return found is wanted or (isinstance(wanted, Composite) and bool(found == wanted))


def _loaded(reference: str) -> Any:
    """The scheme or composite of a reference; None if there is none."""
    try:
        return load_step(reference)
    except SgverifyError:
        return None


LIBRARIES = ("numpy", "scipy", "torch", "xarray", "zarr")
"""The libraries that draw and write."""

DIGITS = 9
"""The digits of the gradients that identify a target: exp and log may round differently on another machine."""


def identity(source: DrawSource) -> dict[str, Any]:
    """The identity of a run, but for its number of steps: what its bits depend on, by name.

    `definition` and `potential` are hashes of what runs, `schedule` and `configuration` have every setting; with them goes what
    `run_identity` tells of the user's files, and of what computes.
    """
    subject = source.subject
    keys = subject.configuration.as_dict()
    # The lengths are in `rows`; those of another run may be longer.
    keys.pop("steps")
    keys.pop("test_function", None)
    settings = {
        "scheme": subject.reference,
        "definition": definition_of(
            source.ensemble.scheme, "" if subject.composite is None else subject.composite.rule
        ),
        "target": subject.target.name,
        "potential": potential_of(subject.target),
        "schedule": "; ".join(row.name for row in source.ensemble.rows),
        "configuration": flat(keys),
        "energy": source.energy,
    }
    return run_identity(
        settings, LIBRARIES, references=[subject.reference, subject.configuration.target.name]
    )


def check_identity(held: Mapping[str, Any], wanted: Mapping[str, Any], place: str) -> None:
    """Raise `ConfigurationError`, which names everything that differs, if the run that goes on is not the one that was stopped."""
    said = [
        f"{_name(name)} was {_short(before)} and is {_short(now)}"
        for name, before, now in differing(held, wanted)
    ]
    if not said:
        return
    more = f"; and {len(said) - 4} more" if len(said) > 4 else ""
    raise ConfigurationError(
        f"--resume {place!r}: is another run: {'; '.join(said[:4])}{more}; expected the run that was stopped, whose draws this one "
        "would go on with; give it the same, or start anew with --force"
    )


def definition_of(scheme: Scheme, rule: str = "") -> str:
    """The hash of the source text of a definition, for a splitting of its letters with their shares; and of a composite's rule."""
    word = scheme.word
    if word is None:
        text = "\n".join(map(_text, [scheme.function, *scheme.memory.values()]))
    else:
        letters = (f"{name}: {_text(letter.function)}" for name, letter in word.alphabet.letters.items())
        text = "\n".join([word.text, ",".join(map(str, word.shares)), *letters])
    return f"{_digest(text)} {_digest(rule)}" if rule else _digest(text)


def _text(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        # A function made by exec has no source text; its code object identifies it.
        code = getattr(function, "__code__", None)
        return repr(function) if code is None else f"{code.co_code!r} {code.co_consts!r} {code.co_names!r}"


def potential_of(target: Target) -> str:
    """The hash of dim, of the data, and of the gradient of U at two points."""
    potential = Potential(target, dtype=torch.float64, device=torch.device("cpu"), hoist=False)
    places = torch.stack(
        [torch.linspace(low, low + 0.5, target.dim, dtype=torch.float64) for low in (-0.4, 0.3)]
    )
    gradients = potential.full(places[None]).flatten().tolist()
    data = b"" if target.data is None else target.data.tobytes()
    told = (f"{entry:.{DIGITS}g}" for entry in gradients)
    return _digest(f"{target.dim} {hashlib.sha256(data).hexdigest()} {' '.join(told)}")


def _name(name: str) -> str:
    return {"definition": "the definition's source", "potential": "the target's gradients or data"}.get(
        name, name.removeprefix("configuration.").removeprefix("sources.sources.")
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
