"""Which step and which batch for a network: a mode, what is measured there, and the step whose first steps were run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from sgverify.advice.networks.model import FAR, Direction, NetworkAdvice, SchemeStep, StepRow
from sgverify.advice.networks.place import Neighbourhood, trace_of
from sgverify.advice.networks.steps import (
    PER_STEP,
    Choice,
    Stepper,
    choices,
    kinds,
    localised_steps,
    why_no_choice,
)
from sgverify.advice.plans.costs import LOST, gradients_per_step, subjects
from sgverify.advice.size.model import below
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.samplers.own.module_mode import ModuleDerivatives
from sgverify.samplers.own.module_target import ModuleTarget
from sgverify.samplers.run.recording import DrawRecording
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Fixed, Row
from sgverify.samplers.run.settings import Settings
from sgverify.schemes.loading import load_scheme
from sgverify.subject.subject import Subject

Progress = Callable[[str, int, int], None]

CHAINS = 4

TRIED, LEAST_TRIED = 500, 50
"""The first steps of the advised run that are run, fewer where they cost more than `_TRIAL`, down to these."""

_TRIAL, _RUN = 3e10, 5e11
"""The products of a datum and a parameter in the first steps, and in the advised run: minutes."""

MOST, FEWEST = 1_000_000, 1000
"""The most and the fewest steps of the advised run; it forgets `FORGOTTEN` times, if these suffice."""

FORGOTTEN = 10

KEPT = 2e7
"""Numbers of draws that the advised run keeps, at most 1000 draws of each chain."""

SHARES = (1.1, 0.5, 0.2, 0.05, 0.01)
"""The steps of the table, in shares of the stability limit with all data."""

_ROUNDS, _GREW, _COOLED = 8, 1.25, 0.5
"""The most trials of a run, and the growth of curvature or noise from which, or below which, the step is chosen anew."""

_BENT = 0.25
"""The share by which U's slope along the stiffest direction may differ from a quadratic's without a warning."""

_Pair = tuple[Direction, Direction]
"""The stiffest direction, and a random one."""


def network_advice(
    subjects_: Sequence[Subject], error: float, progress: Progress | None, *, named: bool
) -> tuple[NetworkAdvice | None, str | None]:
    """The advice for a torch module, or the reason why there is none. `named`: a command line can name the target."""
    reasons = [why_no_choice(subject) for subject in subjects_]
    apt = [subject for subject, why in zip(subjects_, reasons, strict=True) if why is None]
    if not apt:
        return None, reasons[0]
    try:
        return _Network(apt, error, progress, named).advice(), None
    except InstabilityError as why:
        return None, str(why)


@dataclass(eq=False)
class _Network:
    """The measurements at the mode, and the choice of a step; `seconds` are those of a step of the run that was tried last."""

    subjects: Sequence[Subject]
    error: float
    progress: Progress | None
    named: bool
    caveats: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def advice(self) -> NetworkAdvice:
        first = self.subjects[0]
        assert isinstance(first.target, ModuleTarget)
        self.target = target = first.target.at_mode(self.progress)
        mode = target.mode
        assert mode is not None
        self.derivatives = ModuleDerivatives(target)
        location = target.location_float64(1.0)
        place = Neighbourhood(self.derivatives, location, float(first.configuration.temperature))
        self._tell("Hessian at the mode: Lanczos")
        found, dim = place.decompositions, target.dim
        mean, smallest = (
            trace_of(lambda values: values / dim, found, dim),
            min(each.values[0] for each in found),
        )
        if not found[0].values[-1] > 0 or not mean[0] > 0:
            raise InstabilityError(
                f"U does not rise about the point found: the mean of its Hessian is {mean[0]:.3g}"
            )
        flat = self.flat = mode.prior if mode.prior > 0 else mean[0]
        stiffest, typical = place.directions()
        at_mode = (stiffest, replace(typical, curvature=max(typical.curvature, flat)))
        best, others, judged, seen, tried = self._chosen(place, at_mode)
        bending = place.bending(found[0].stiffest, stiffest.curvature)
        steps = self._length(best)
        self._say(smallest, bending, (stiffest, judged[0], seen[0]), best, steps)
        rows = tuple(self._rows(best, judged))
        self._tell("local learning coefficient")
        of_data = float(found[0].stiffest @ place.of_data(found[0].stiffest))

        def estimate(gamma: float) -> float:
            """sum_i l_i/(l_i + gamma)/2 over the eigenvalues of the losses, the prior's taken off."""

            def share(values: np.ndarray) -> np.ndarray:
                return np.asarray(
                    np.maximum(values - mode.prior, 0.0) / (np.abs(values - mode.prior) + gamma) / 2
                )

            return trace_of(share, found, dim)[0]

        sgld = load_scheme("sgld-euler")
        cold = load_configuration(best.subject.configuration, temperature=1.0)
        stepper = replace(best.stepper, subject=Subject(sgld, cold, "sgld-euler"))
        prior = stiffest.curvature - of_data
        losses = [replace(each, curvature=each.curvature - prior) for each in (stiffest, judged[0])]
        quiet = replace(best.stepper, share=0.0)
        return NetworkAdvice(
            mode=asdict(mode),
            eigenvalues=found[0].leading,
            smallest=float(smallest),
            mean=mean,
            flat=trace_of(lambda values: (values < 2 * flat).astype(float), found, dim),
            directions=at_mode,
            judged=judged,
            limits=(quiet.limit(stiffest) or 0.0, quiet.limit(judged[0]) or 0.0),
            rows=rows,
            best=_step_of(best),
            factors=best.factors,
            others=tuple(map(_step_of, others)),
            tried=tried,
            bending=bending,
            command=self._run_of(best, steps).command("sample") if self.named else "",
            localised=tuple(localised_steps(stepper, losses, self.derivatives.size, self.error, estimate))
            if self.derivatives.size > 2 and of_data > 0
            else (),
            caveats=tuple(self.caveats),
        )

    def _chosen(self, place: Neighbourhood, at_mode: _Pair) -> tuple[Choice, list[Choice], _Pair, _Pair, int]:
        """The choice, the best of the other schemes, the directions for which it is, those where its first steps led, their number.

        Chains come where U is steeper than at a mode: the step is chosen anew from there, until a place is much as the one before.
        """
        theta, directions, least = place.theta, at_mode, at_mode
        for trial in range(_ROUNDS):
            found: list[Choice] = []
            for subject in self.subjects:
                self._tell(f"steps of {subject.reference}")
                found += choices(self._at_mode(subject), directions, self.flat, self.error)
            if not found:
                raise InstabilityError("no step keeps the widths of any scheme that was compared")
            best = min(found, key=lambda choice: choice.work)
            tried = int(max(LEAST_TRIED, min(TRIED, _TRIAL / self._cost(best))))
            end, diverged = self._first_steps(best, tried, theta)
            if diverged:
                self.caveats.append(f"h = {best.step:.2g} was given up: {diverged}, in its first steps")
                stiff = directions[0]
                steeper = replace(stiff, curvature=4 * stiff.curvature, growth=16 * stiff.growth)
                directions = least = (steeper, directions[1])
                continue
            self._tell("Hessian where the first steps led")
            seen = Neighbourhood(self.derivatives, end, place.temperature).directions()
            grew = max(_grew(*pair, best.stepper.share) for pair in zip(directions, seen, strict=True))
            # A step that was too large led where it is too hot, from where a smaller one comes back.
            like = grew <= _GREW and (grew >= _COOLED or directions == least)
            if like or trial == _ROUNDS - 1:
                break
            directions, theta = (_worse(least[0], seen[0]), _worse(least[1], seen[1])), end
        else:
            raise InstabilityError("chains diverge at every step that was tried")
        if theta is not place.theta:
            # The command starts at the mode.
            _, diverged = self._first_steps(best, tried, place.theta)
            if diverged:
                raise InstabilityError(f"{diverged}, from the mode")
        cheapest = {choice.subject.reference: choice for choice in sorted(found, key=lambda c: -c.work)}
        others = [choice for name, choice in cheapest.items() if name != best.subject.reference]
        return best, others, directions, seen, tried

    def _first_steps(self, choice: Choice, steps: int, start: np.ndarray) -> tuple[np.ndarray, str]:
        """Where a chain is after so many steps from a start, shape (d,), and the divergence of one in words, "" for none."""
        self._tell(f"first {steps} steps of {choice.subject.reference}")
        subject = self._run_of(choice, steps)
        settings = replace(Settings.of(subject.configuration), burn_in=steps - 1, thinning=1)
        target = replace(self.target, stated_location=start)
        run = DrawRecording(
            Ensemble(subject.scheme, target, [Row(Fixed(choice.step), (steps,))], settings), energy=False
        )
        with np.errstate(all="ignore"):
            run.advance(until=steps // 2)
            begun = time.perf_counter()
            run.advance()
        self.seconds = (time.perf_counter() - begun) / (steps - steps // 2)
        if run.diverged:
            return start, str(run.diverged[0])
        return np.asarray(run.draws().values["theta"][0, -1], dtype=np.float64), ""

    def _cost(self, choice: Choice) -> float:
        """The products of a datum and a parameter in a step of all chains."""
        return CHAINS * (gradients_per_step(choice.subject) * self.target.dim + PER_STEP)

    def _length(self, choice: Choice) -> int:
        """The steps of the advised run, to one figure."""
        steps = min(FORGOTTEN * choice.forgetting, _RUN / self._cost(choice), MOST)
        return int(float(f"{max(FEWEST, steps):.1g}"))

    def _at_mode(self, subject: Subject) -> Subject:
        given: dict[str, Any] = {"target.mode": True} if self.named else {}
        other = Subject(subject.scheme, load_configuration(subject.configuration, **given), subject.reference)
        vars(other)["target"] = self.target
        return other

    def _run_of(self, choice: Choice, steps: int) -> Subject:
        """The advised run, of so many steps."""
        kept = int(min(1000, max(10, KEPT / self.target.dim / CHAINS)))
        given: dict[str, Any] = {"schedule.step": choice.step, "chains": CHAINS, "start": 0.0, "steps": steps}
        given |= {"burn_in": steps // 2, "thinning": max(1, steps // 2 // kept)}
        return choice.subject.under(load_configuration(choice.subject.configuration, **given))

    def _rows(self, best: Choice, directions: _Pair) -> Iterator[StepRow]:
        """The table: shares of the limit, and the advised step, by batches."""
        quiet = replace(best.stepper, share=0.0)
        limit = quiet.limit(directions[0]) or best.step
        steps = sorted({*(below(share * limit) for share in SHARES), best.step}, reverse=True)
        subject = next(each for each in self.subjects if each.reference == best.subject.reference)
        damping, T = (
            [] if best.friction is None else [best.friction],
            float(subject.configuration.temperature),
        )
        for kind, batch in kinds(subject):
            ((_, variant),) = subjects(self._at_mode(subject), kind, batch, damping)
            stepper, part = (
                Stepper.of(variant),
                gradients_per_step(variant) / gradients_per_step(best.subject),
            )
            overhead = CHAINS * PER_STEP / self._cost(best)
            pace = self.seconds * (overhead + (1 - overhead) * part)
            for step in steps:
                try:
                    stiff, typical = (stepper.factor(direction, step) for direction in directions)
                    temperature = T * (stiff / quiet.factor(directions[0], step)) ** 2
                    forgetting = stepper.forgetting(self.flat, step)
                except LOST:
                    yield StepRow(step, batch, stable=False)
                    continue
                seconds = float(f"{forgetting * pace:.2g}")
                yield StepRow(step, batch, True, temperature, stiff, typical, forgetting, seconds)

    def _say(
        self,
        smallest: float,
        bending: tuple[float, ...],
        stiffest: tuple[Direction, Direction, Direction],
        best: Choice,
        steps: int,
    ) -> None:
        """The caveats; `stiffest`: the direction at the mode, that for which the step is, and that where its first steps led."""
        told, mode, (at_mode, judged, seen) = self.caveats, self.target.mode, stiffest
        assert mode is not None
        if not mode.converged:
            told.append(
                f"the search of a mode has not converged, and |grad U| = {mode.gradient_norm:.2g} is left where it ended"
            )
        if smallest < -1e-3 * at_mode.curvature:
            told.append(
                f"U bends down in some direction (an eigenvalue at or below {smallest:.3g}): the point is no minimum"
            )
        if mode.prior <= 0:
            told.append("the prior has no curvature: directions that no datum bends never forget")
        bent = "not " if max(abs(value - 1) for value in bending) > _BENT else ""
        told.append(
            f"U is {bent}nearly quadratic along the stiffest direction: its slope is "
            f"{', '.join(f'{value:.2f}' for value in bending)} times that of its square at {', '.join(f'{at:+g}' for at in FAR)} sd"
        )
        steeper, noisier = seen.curvature / at_mode.curvature, seen.noise / max(at_mode.noise, 1e-300)
        moved = ""
        if judged != at_mode:
            moved = (
                f"step and table are for {judged.curvature / at_mode.curvature:.3g} times its eigenvalue; "
            )
        if _grew(judged, seen, best.stepper.share) > _GREW:
            moved += f"after {_ROUNDS} trials these still grow, and a smaller step may be needed later; "
        told.append(
            f"where its first steps led, the largest eigenvalue is {steeper:.3g} times that at the mode, and the noise of a datum "
            f"along its direction {noisier:.3g} times: {moved}the directions turn as a chain moves, and widths are those about a "
            "place, not of a whole run"
        )
        told.append(
            "one mode was looked at: a network has others, by its symmetries at least, which a chain seldom reaches"
        )
        share = steps / best.forgetting
        near = (
            ""
            if share >= FORGOTTEN / 2
            else ": draws are of the neighbourhood of the mode, not of all of exp(-U/T)"
        )
        whose = "as flat as the prior" if mode.prior > 0 else "of the mean curvature"
        told.append(
            f"a direction {whose} forgets in {best.forgetting:,.0f} steps, and the command's {steps:,} steps are "
            f"{share:.2g} times as many{near}"
        )

    def _tell(self, text: str) -> None:
        if self.progress is not None:
            self.progress(text, 0, 1)


def _grew(then: Direction, now: Direction, share: float) -> float:
    """By which factor the curvature of a direction grew, or with it its noise as a minibatch with this share has it."""
    before, after = (each.curvature + share * each.noise for each in (then, now))
    return max(now.curvature / then.curvature, after / before)


def _worse(then: Direction, now: Direction) -> Direction:
    """The larger of each number."""
    numbers = ((then.curvature, now.curvature), (then.noise, now.noise), (then.growth, now.growth))
    return Direction(then.name, *map(max, numbers))


def _step_of(choice: Choice) -> SchemeStep:
    kind = choice.subject.configuration.gradient.kind
    return SchemeStep(
        choice.subject.reference, kind, choice.batch, choice.friction, choice.step, choice.forgetting
    )
