"""The command `sample`: draws of a scheme under a configuration, as InferenceData."""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sgverify.advice.step_bias import step_bias
from sgverify.advice.widths import StepBias
from sgverify.checks.readings import predicted_order
from sgverify.configuration import Configuration, load_configuration
from sgverify.configuration.overrides import SamplingOverrides
from sgverify.draws.files import STREAMED, check_place
from sgverify.draws.inference_data import make_inference_data, tell, tell_step
from sgverify.draws.step_choice import (
    StepChoice,
    check_installed,
    check_memory,
    choose_step,
    under_choice,
    unlucky,
)
from sgverify.draws.stored.source import DrawSource
from sgverify.draws.trust import judge
from sgverify.errors import ConfigurationError, UserError
from sgverify.keeping.places import check_working_folder
from sgverify.samplers.composites.hooks import epoch_of
from sgverify.samplers.run.recording import Draws, bytes_needed, kept_steps, record
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Annealed, Fixed, Power, Row, annealed, cyclical, fixed
from sgverify.samplers.run.settings import Settings
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.composites.composite import Composite, ReplicaExchange
from sgverify.subject.binding import bind, make_subject
from sgverify.subject.subject import Subject
from sgverify.targets import Target
from sgverify.targets.own.log_density import LogDensity
from sgverify.targets.registry import dressed
from sgverify.verdict.notebooks import with_progress

if TYPE_CHECKING:
    from sgverify.draws.run import RunDraws

_LOG = logging.getLogger("sgverify")

Source = Configuration | Mapping[str, Any] | str | Path | None


@with_progress
def sample(
    scheme: Scheme | TorchStep | Composite | str,
    config: Source = None,
    *,
    target: Target | LogDensity | Mapping[str, Any] | None = None,
    energy: bool | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
    **overrides: Unpack[SamplingOverrides],
) -> RunDraws:
    """Draws of a scheme, as ArviZ InferenceData: chains x draws x coordinates, with sample statistics and provenance.

    `scheme`, `config` and `overrides` as in `sgverify.verify`: `chains`, `steps`, `burn_in`, `thinning`, `schedule`,
    `seed` and the rest are configuration keys, and the same ones give the same draws. `target` may also be a `Target`
    made in Python, such as `sgverify.module_target` returns, or a function under `sgverify.log_density`.
    `energy=True` records U(theta) of every draw, `energy=False` leaves it out; by default it is recorded where it needs no pass
    over data: on targets without data and on quadratic ones. `progress` is called with the numbers of finished and requested steps.
    `out` is a folder DIR.zarr or a file FILE.nc that the draws are written to. They are kept while they are drawn, for a file in
    the folder FILE.nc.partial.zarr, so that a process that is killed loses some seconds of work at most: `resume=True` goes on to
    the bits that an undisturbed run has. What is in a folder need not fit into memory, and is read from it on demand. `resume=True`
    with more `steps` makes a complete run in a folder longer, where the schedule does not depend on their number.
    `workers` processes draw disjoint chains, which have the same bits for any number of them.
    Ctrl-C ends the run and returns the draws so far, with the attribute `complete` 0; so does a diverging chain, which
    the attribute `diverged` and the sample statistic `diverging` name.
    Without `schedule.step`, step, friction and burn-in are those that `sgverify.advise` plans for the scheme; where there is no
    plan, the step is the default, half the stability limit or a share of the time scale. One line on stderr (by the logger
    `sgverify`) says so. A given step is run as given; if it is unstable, makes a draw's width more than 5 % wrong or its mean more
    than 0.1 standard deviations, a warning names a better one. The attributes `step_size`, `step_origin` (given, proposed or
    default), `step_choice`, `step_bias` (the relative error of the worst standard deviation, if known) and `step_warning` record
    it. The attribute `verdict` is TRUST, CHECK or DO NOT TRUST with the reason and the next command, `verdict_json` the same with
    its numbers. Raises `UserError` if the extra `draws` is not installed, scheme, configuration or target are wrong, the step is
    unstable, a chain diverges before its first draw, memory or disk does not suffice for the draws, or `resume` meets another run.

        draws = sgverify.sample("sghmc-baoab", steps=5000, burn_in=1000, chains=4)
        arviz.summary(draws)

    A type checker knows the groups as `draws["posterior"]`, not as attributes.
    `sgverify.draws.write_draws(draws, "draws.nc")` writes them. A .nc file is read again by `arviz.from_netcdf("draws.nc")`, a
    .zarr folder group by group by `xarray.open_datatree("draws.zarr", engine="zarr")`.
    """
    check_working_folder()
    check_installed()
    made = target if isinstance(target, Target | LogDensity) else None
    keys: dict[str, Any] = dict(overrides)
    if made is None and target is not None:
        keys["target"] = target
    if workers < 1:
        raise ConfigurationError(f"workers={workers!r}: expected at least one process")
    streamed = out is not None and check_place(out, resume=resume).suffix == STREAMED
    sampling = Sampling.of(
        scheme, load_configuration(config, **keys), target=made, energy=energy, streamed=streamed
    )
    # By a logger: on stderr by default, and silenced like any other.
    for line in sampling.warnings:
        _LOG.warning(line)
    if sampling.note:
        _LOG.info(sampling.note)
    stopping: AbstractContextManager[Callable[[], bool] | None] = nullcontext()
    if out is not None:
        from sgverify.keeping.stopping import stoppable

        stopping = stoppable(signal.SIGINT)
    with stopping as stop:
        draws = sampling.draw(progress, out=out, resume=resume, workers=workers, stop=stop, say=_LOG.info)
    from sgverify.draws.run import RunDraws

    if draws.attrs["diverged"]:
        _LOG.warning(f"{draws.attrs['diverged']}: the draws end there; take a smaller schedule.step")
    if "verdict" in draws.attrs:
        _LOG.info(draws.attrs["verdict"])
    return RunDraws(draws, sampling.step_bias)


@dataclass(frozen=True, eq=False)
class Sampling:
    """A run whose scheme, configuration and target have been validated, ready to be sampled."""

    subject: Subject
    ensemble: Ensemble = field(repr=False)
    energy: bool
    command: str
    choice: StepChoice | None = None

    @staticmethod
    def of(
        scheme: Scheme | TorchStep | Composite | str,
        configuration: Configuration,
        *,
        target: Target | LogDensity | None = None,
        energy: bool | None = None,
        streamed: bool = False,
    ) -> Sampling:
        """Bind a scheme to a configuration; raises `UserError` as `sample` does. `streamed` draws need not fit into memory."""
        own: Target | None = None
        if target is not None:
            # What a target derives from its data and functions lies with it: a copy sees them as they are now.
            made = target.target() if isinstance(target, LogDensity) else replace(target)
            own = dressed(made, configuration.target)
        subject = bind(scheme, configuration, "sample")
        if subject.black_box:
            raise UserError(
                f"scheme={subject.reference!r}: is torch code of your own, which `sgverify verify` runs step by step; expected "
                "a scheme, whose definition the sampler can run; call your own code for its draws"
            )
        if own is not None:
            vars(subject)["target"] = own
        own_dtype = getattr(subject.target, "dtype", None)
        if own_dtype is not None and "dtype" not in configuration.model_fields_set:
            # A torch module runs in its own dtype, usually float32.
            own = subject.target
            configuration = load_configuration(configuration, dtype=own_dtype)
            subject = make_subject(scheme, configuration)
            vars(subject)["target"] = own
        configuration = subject.configuration
        if subject.scheme.dynamics.positive:
            subject.target.check_domain(subject.reference, positive=True)
        subject.validate()
        advised = configuration.schedule.kind == "fixed" and subject.changes_along_run is None
        choice = choose_step(subject) if advised else None
        if choice is not None and choice.origin == "proposed":
            subject = under_choice(subject, choice)
            configuration = subject.configuration
        runs = subject.composite or subject.scheme
        settings = Settings.of(configuration)
        ensemble = Ensemble(runs, subject.target, [row_of(subject)], settings)
        steps = kept_steps(ensemble)
        options = () if energy is None else ("--energy",) if energy else ("--no-energy",)
        if energy is None:
            energy = subject.target.data is None or ensemble.potential.affine is not None
        if not streamed:
            check_memory(bytes_needed(ensemble, energy=energy), len(steps), configuration.chains)
        command = subject.command("sample", *options) if target is None else ""
        return Sampling(subject, ensemble, energy, command, choice)

    @cached_property
    def source(self) -> DrawSource:
        """What draws, without how its step was chosen."""
        return DrawSource(self.subject, self.ensemble, self.energy, self.row, bool(self.command), self.made)

    @property
    def size(self) -> int:
        """The bytes that all draws take up."""
        return self.source.size

    @property
    def kept(self) -> int:
        """The number of recorded draws per chain."""
        return self.source.kept

    @cached_property
    def step_bias(self) -> StepBias | None:
        """The bias of the draws' standard deviations at a fixed step size; None if it is not known before sampling."""
        schedule = self.ensemble.rows[0].schedule
        if not isinstance(schedule, Fixed) or self.subject.changes_along_run is not None:
            return None
        return step_bias(self.subject, schedule.step)

    @property
    def step_text(self) -> str:
        """The step sizes, in words."""
        row = self.ensemble.rows[0]
        schedule = row.schedule
        if isinstance(schedule, Fixed):
            return f"step {schedule.step:g}" if self.choice is None else self.choice.text
        if isinstance(schedule, Power | Annealed):
            return f"steps from {row.at(1):g} down to {row.at(row.lengths[-1]):g}"
        return f"cyclical steps from {schedule.scale:g} towards {schedule.low:g}"

    @cached_property
    def warnings(self) -> list[str]:
        """Lines on the step: how it was chosen where none was given, and that it makes draws too wide or too narrow."""
        line = None if self.choice is None else self.choice.line
        others = unlucky(self.subject, self.choice, self.step_bias, self.ensemble.rows[0].lengths[-1])
        return [text for text in (*others, line, self.warning) if text]

    @property
    def warning(self) -> str | None:
        """One line if the step is unstable, or makes draws too wide, too narrow or shifted; else None."""
        found = self.step_bias
        if found is None or not found.matters:
            return None
        alone = self.subject.composite is not None
        default = self.choice is not None and self.choice.origin == "default"
        return found.warning(default=default, alone=alone)

    @cached_property
    def covariates(self) -> tuple[str, ...]:
        """Of a regression whose step is not given: what each coordinate multiplies, and what standardising would spare."""
        file = self.subject.configuration.target.file
        if self.choice is None or self.choice.origin == "given" or file is None:
            return ()
        from sgverify.advice.covariates import covariate_lines

        return covariate_lines(self.subject)

    @property
    def note(self) -> str | None:
        """One line if a given step widens the draws by an unknown amount: minibatches do, or weights adapt; else None."""
        if self.choice is None or self.choice.line is not None:
            return None
        if self.step_bias is not None:
            return self.step_bias.note
        composite, step = self.subject.composite, self.choice.step
        if composite is None or isinstance(composite, ReplicaExchange):
            return None
        return (
            f"note: how wide schedule.step={step:g} makes the draws is not told: the weights of {self.subject.reference} adapt, "
            f"and with them the law of its draws; compare runs at schedule.step={step:g} and {step / 4:g}"
        )

    def draw(
        self,
        progress: Callable[[int, int], None] | None = None,
        *,
        out: str | Path | None = None,
        force: bool = False,
        resume: bool = False,
        workers: int = 1,
        stop: Callable[[], bool] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> Any:
        """Run the chains and return their draws as InferenceData, written to `out`; see `sample`.

        `force` replaces what is there. `stop` is asked between blocks of steps whether to stop; `say` is told what was not asked
        for.
        """
        total = self.source.steps
        told = None if progress is None else (lambda done: progress(done, total))
        if out is not None:
            from sgverify.draws.stored.run import KeptRun

            kept = KeptRun(
                self.source,
                out,
                force=force,
                resume=resume,
                workers=workers,
                stop=stop,
                say=say,
                judge=self.judged,
            )
            return kept.draw(told)
        if resume or workers > 1:
            raise ConfigurationError(
                f"{'resume=True' if resume else f'workers={workers}'} without out: expected a file or a folder, in which the "
                "draws are kept; name one, out='draws.zarr'"
            )
        found = record(self.ensemble, energy=self.energy, progress=told)
        if found.diverged and not len(found.numbers):
            raise self.source.unstable(found.diverged)
        made = self.made(found, self.ensemble.chains)
        if len(found.numbers):
            tell(made, self.judged(made))
        return made

    def judged(self, draws: Any) -> dict[str, Any]:
        """The verdict on all draws of the run, as attributes."""
        unknown = (
            self.note or (None if self.choice is None else self.choice.line) or "their law is not computed"
        )
        found = judge(draws, self.subject, self.step_bias, unknown, bool(self.command))
        return {"verdict": found.line, "verdict_json": json.dumps(found.document())}

    def made(self, draws: Draws, chains: range) -> Any:
        """InferenceData of some draws of some chains, which say by which step they were made."""
        made = make_inference_data(
            draws,
            self.subject.target,
            chains=chains,
            reference=self.subject.reference,
            configuration=self.subject.configuration,
            command=self.command,
        )
        tell_step(made, self.row, self.choice, self.step_bias, self.warning)
        return made

    @property
    def row(self) -> Row:
        """The schedule of the run and its number of steps."""
        return row_of(self.subject)


def row_of(subject: Subject) -> Row:
    """The row that the configuration's schedule describes, over its `steps`.

    Without schedule.alpha the exponent is the one whose mean square error falls fastest, 1/(2K + 1) (chen2015
    theorems 3 and 5), K the proved local order. Raises `ConfigurationError` for more steps than can be sampled.
    """
    c = subject.configuration
    kind = c.schedule.kind
    if kind in ("fixed", "cyclical", "annealed"):
        return row_of_length(subject, c.steps)
    alpha = c.schedule.alpha or 1 / (2 * predicted_order(subject) + 1)
    if kind == "horizon":
        step = subject.scale * float(c.steps) ** -alpha
        if subject.affine:
            subject.check_stable([step], "schedule.scale*steps^-alpha")
        return Row(Fixed(step), (c.steps,))
    if kind == "power":
        return Row(Power(subject.scale, alpha), (c.steps,))
    raise ConfigurationError(
        f"schedule.kind={kind!r}: expected 'fixed', 'horizon', 'power', 'cyclical' or 'annealed' for draws; set schedule.kind to "
        "one of these"
    )


DECAY = 0.984
"""The default factor of annealed steps, that of vr-resgld section 5.2."""


def row_of_length(subject: Subject, length: int) -> Row:
    """One row of `length` steps: the configured cycles or epochs, else the fixed step: other schedules only define rates in L."""
    schedule = subject.configuration.schedule
    if schedule.kind == "annealed":
        return annealed(
            [subject.scale],
            [length],
            epoch=epoch_of(subject.configuration, subject.target),
            decay=DECAY if schedule.decay is None else schedule.decay,
            after=schedule.after or 0,
        )[0]
    if schedule.kind != "cyclical":
        return fixed([subject.step], [length])[0]
    return cyclical(
        [subject.scale],
        [length],
        cycles=schedule.cycles,
        low=schedule.low,
        threshold=schedule.threshold,
        shape=schedule.shape,
    )[0]
