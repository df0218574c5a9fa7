"""One scheme under one configuration, with all quantities derived from the two."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sgverify.configuration import Configuration, settings_of
from sgverify.errors import ConfigurationError, DefinitionError, NotExpandableError, Unreached
from sgverify.evidence.published import Command
from sgverify.exact.affine.model import Model
from sgverify.exact.affine.noise import GradientNoise, check_minibatch, gradient_noise
from sgverify.exact.affine.stability import SECOND, eigenvalues_of, spectral_radii
from sgverify.exact.posterior.polynomials import posterior_average
from sgverify.schemes import Scheme, exact
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.definition.binding import Prior, parameters_of, with_prior
from sgverify.schemes.numbers.constants import constants
from sgverify.subject.step_sizes import StepSizes, contracting_step, typical_step
from sgverify.targets import Observable, Target, build_target, parse_observable
from sgverify.targets.derived import check_likelihood, with_scaled_likelihood
from sgverify.targets.metric import CoordinateMetric, MatrixMetric, parse_metric
from sgverify.targets.own.function import OwnPotential
from sgverify.targets.target import check_finite

if TYPE_CHECKING:
    from sgverify.exact.posterior.reference import Reference
    from sgverify.exact.recursion.average import MomentStability
    from sgverify.exact.series.dimensions import Proved
    from sgverify.exact.series.letters import AlphabetProof
    from sgverify.exact.series.orders import LocalOrder


def prior_part(target: Target, *, noisy: bool) -> Prior | None:
    """A function of (grad, theta) that gives grad prior(theta); None if that is not a theta + b with one number a.

    `noisy`: each call of `grad` adds noise of its own, which the prior's part must not contain.
    """
    if target.data is None:
        # Without data, U is the prior alone.
        if not noisy:
            return lambda grad, theta: grad(theta)
        if not target.quadratic:
            return None
        mean = _vector(target.mean)
        return lambda grad, theta: grad.hessian(theta, theta - mean(theta))
    alone = replace(target, likelihood=None, data=None)
    try:
        rows, gradient = alone.precision, alone.gradient([exact(0)] * target.dim)
    except DefinitionError:
        return None
    size = range(target.dim)
    if any(rows[i][j] != (rows[0][0] if i == j else 0) for i in size for j in size):
        return None
    curvature, at_zero = rows[0][0], _vector(gradient)
    return lambda grad, theta: curvature * theta + at_zero(theta)


def _vector(entries: Any) -> Any:
    """The constant function of theta with these entries, one for each coordinate."""
    if all(entry == entries[0] for entry in entries):
        return lambda theta: entries[0]
    return lambda theta: constants(tuple(entries), theta)


PROOF_DIMENSION = 2
"""The default dimension of proofs of local orders: in dimension 1, a thermostat without its factor 1/dim would pass."""

HALVINGS = 5
"""The number of steps of a default sweep."""

DEFAULT_OF_VECTORS = "theta[0]**2"


@dataclass(frozen=True)
class Subject:
    """A scheme under a configuration. `reference` is how a command line names the scheme.

    `method` is the requested one, exact or monte-carlo; None takes an exact method if one exists. `memory` stores the values
    of `cached_per_subject`, `related` those of `cached_by`, which `dataclasses.replace` hands on. A `brief` subject has the points
    that a verdict needs, without those that illustrate it. `whole`: every check that applies is asked of it, so that none has to
    show by samples what another one proves.
    """

    scheme: Scheme
    configuration: Configuration
    reference: str
    method: str | None = None
    brief: bool = False
    whole: bool = False
    memory: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    related: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False, compare=False)

    black_box: ClassVar[bool] = False
    """Is the step the user's own torch code?"""

    strange: ClassVar[tuple[str, ...]] = ("exchange.", "partition.")
    """Prefixes of keys that a plain scheme does not use; they belong to composites."""

    @property
    def composite(self) -> Composite | None:
        """The composite around the steps of the scheme; None for a plain scheme."""
        return None

    @property
    def front(self) -> tuple[int, ...]:
        """The leading axes (rows, chains) of a single state, before its coordinates, in the shape that the step takes."""
        return 1, 1

    @property
    def parts(self) -> tuple[Subject, ...]:
        """The subjects that are judged together: this one and, for a composite, its scheme."""
        return (self,)

    @cached_property
    def target(self) -> Target:
        """The posterior."""
        return build_target(self.configuration.target)

    @cached_property
    def effective_target(self) -> Target:
        """The target whose gradient is the mean of the estimate without clipping; the posterior if the estimate is unbiased."""
        return with_scaled_likelihood(self.target, _rational(self.configuration.gradient.scale))

    @cached_property
    def observable(self) -> Observable:
        """The test function; by default the square of the first coordinate."""
        text = self.configuration.test_function
        if self.target.dim > 1 and "test_function" not in self.configuration.model_fields_set:
            text = DEFAULT_OF_VECTORS
        return parse_observable(text, self.target.dim, self.scheme.dynamics.state)

    @cached_property
    def truth(self) -> Fraction:
        """The average of the test function under exp(-U/T), exactly."""
        return posterior_average(self.target, self.observable, exact(self.configuration.temperature))

    @cached_property
    def reference_average(self) -> Reference:
        """The average of the test function under exp(-U/T) with a bound of its error: what samples are compared with."""
        from sgverify.exact.posterior.reference import reference_average

        return reference_average(self.target, self.observable, exact(self.configuration.temperature))

    @cached_property
    def noise(self) -> GradientNoise:
        """The exact cumulants of the gradient estimator's noise."""
        return gradient_noise(self.configuration.gradient, self.effective_target)

    @cached_property
    def read_scheme(self) -> Scheme:
        """The step as the exact engines read it; a separate prior gradient is replaced by its expression on this target."""
        if not (self.scheme.census.parts or self.scheme.starts.parts):
            return self.scheme
        prior = prior_part(self.effective_target, noisy=self.configuration.gradient.estimator.each_evaluation)
        return self.scheme if prior is None else with_prior(self.scheme, prior)

    @cached_property
    def model(self) -> Model:
        """The input of the exact engines."""
        c = self.configuration
        return Model(
            scheme=self.read_scheme.cut(self.target.dim),
            target=self.effective_target,
            observable=self.observable,
            truth=self.truth,
            noise=self.noise,
            temperature=_rational(c.temperature),
            friction=_rational(c.friction),
            start=_rational(c.start_of()),
            stationary_momentum=c.start_momentum == "stationary",
            judged=self.target,
        )

    @property
    def proof_dimension(self) -> int:
        """The dimension in which orders and letters are proved: `proof_dim` of the configuration, or 2."""
        return self.configuration.proof_dim or PROOF_DIMENSION

    @property
    def model_parameters(self) -> dict[str, Fraction]:
        """T and D by the names that definitions use, exactly."""
        return {name: _rational(value) for name, value in parameters_of(self.configuration).items()}

    @cached_property
    def metric(self) -> CoordinateMetric | MatrixMetric:
        """The metric that a sampled run uses, where the dynamics has one; proofs hold for every metric."""
        return parse_metric(self.configuration.metric, self.target.dim)

    @cached_property
    def order(self) -> LocalOrder | NotExpandableError:
        """The proved local order, or the reason why the step has no power series."""
        proved = self.proved_order
        return proved if isinstance(proved, NotExpandableError) else proved.order

    @cached_property
    def proved_order(self) -> Proved | NotExpandableError:
        """The proved local order, with the dimensions of the proof."""
        from sgverify.exact.series.dimensions import prove_order

        try:
            return prove_order(self.scheme, self.proof_dimension, self.target.dim, at=self.model_parameters)
        except NotExpandableError as error:
            return error
        except ZeroDivisionError:
            return NotExpandableError(f"a division by zero in dimension {self.proof_dimension}")

    @cached_property
    def alphabet(self) -> AlphabetProof | None:
        """The proof that the letters of a splitting add up to the dynamics' generator; None for other schemes."""
        if self.scheme.word is None:
            return None
        from sgverify.exact.series.letters import prove_alphabet_everywhere, unread_alphabet

        letters = self.scheme.word.used
        try:
            return prove_alphabet_everywhere(letters, self.proof_dimension, self.target.dim)
        except NotExpandableError as error:
            return unread_alphabet(letters, self.proof_dimension, error)

    @cached_property
    def step_sizes(self) -> StepSizes:
        """The step sizes at which one step contracts on this target."""
        parameters, rates = self.model.parameters, eigenvalues_of(self.effective_target.precision)
        return StepSizes(self.model.scheme, self.reference, parameters, rates, self._moments)

    @property
    def _moments(self) -> MomentStability | None:
        """The stability of second and fourth moments if minibatches have different Hessians and it can be computed."""
        noise = self.noise
        if noise.minibatch is None:
            return None
        # Imported here: few questions ask of minibatches with Hessians of their own.
        from sgverify.exact.recursion.average import MomentStability
        from sgverify.exact.recursion.hessians import FreshHessians
        from sgverify.exact.recursion.snapshots import Snapshots

        kind = FreshHessians if noise.refresh is None else Snapshots
        found = MomentStability(kind(self.model), not noise.exchangeable)
        try:
            return found if found.reaches(SECOND) else None
        except Unreached:
            return None

    @property
    def step(self) -> float:
        """The configured step size, or the default: half the stability limit if one is known, else a typical step."""
        return self.configuration.schedule.step or self.usual_step

    @property
    def usual_step(self) -> float:
        """The step size where none is configured."""
        if self.effective_target.quadratic:
            try:
                return self.step_sizes.default
            except Unreached:
                # A step with products of state variables, or of state and noise, is not given by one matrix.
                pass
        step = typical_step(self.scheme, self.effective_target, self.configuration.temperature, self.metric)
        if (
            self.effective_target.quadratic
            and any(len(constant) > 1 for constant in self.scheme.constants)
            and "scalar" not in self.scheme.shapes.values()
        ):
            given = parameters_of(self.configuration)
            return contracting_step(self.model.scheme, self.effective_target, given, self.metric, step)
        return step

    @property
    def sweep_steps(self) -> list[float]:
        """The step sizes over which a stationary quantity is followed: the configured sweep, else the step / 1, 2, 4, 8, 16."""
        return self.configuration.sweep.steps or [self.step / 2**k for k in range(HALVINGS)]

    @property
    def scale(self) -> float:
        """The configured scale of a schedule, or its default."""
        return self.configuration.schedule.scale or self.step

    def under(self, configuration: Configuration) -> Self:
        """The subject with the configuration of a question, which seeds its chains; derived quantities are kept."""
        other = copy(self)
        vars(other).update(configuration=configuration)
        return other

    def with_gradient(self, configuration: Configuration) -> Self:
        """The subject under a configuration that differs by its gradient alone: the target is the same object."""
        other = replace(self, configuration=configuration)
        vars(other)["target"] = self.target
        return other

    @property
    def changes_along_run(self) -> str | None:
        """What changes between the steps of a run, so that no one law is invariant under all of them; None if nothing does."""
        c = self.configuration
        if c.annealing is not None and c.annealing.cooling != 1:
            return f"annealing.cooling={c.annealing.cooling!r}: the temperature changes along the run, and no one law is invariant"
        if c.annealing is not None and c.annealing.correction != 1:
            return (
                f"annealing.correction={c.annealing.correction!r}: the factor F of the swaps changes along the run, and no one law "
                "is invariant"
            )
        if c.schedule.kind == "annealed":
            return "schedule.kind='annealed': the steps fall from epoch to epoch, and no one law is invariant under all of them"
        if c.resample_momentum is not None:
            return (
                f"resample_momentum={c.resample_momentum}: between steps the momentum is drawn anew, and the invariant law is not "
                "that of the step"
            )
        return None

    @property
    def schedule_chosen(self) -> bool:
        """Does the configuration name a kind of schedule?"""
        return "kind" in self.configuration.schedule.model_fields_set

    def check_stable(self, steps: list[float], key: str) -> None:
        """Refuse step sizes at which one step does not contract; `key` is the setting that gave them."""
        if key == "schedule.step" and self.configuration.schedule.step is None:
            key = "default step"
        self.step_sizes.check(steps, key)

    def validate(self) -> None:
        """Raise every error that the configuration alone can cause, before any computation."""
        self.target.check_domain(self.reference, positive=self.scheme.dynamics.positive)
        _ = self.observable, self.metric
        if self.configuration.gradient.estimator.draws_data:
            check_minibatch(self.configuration.gradient, self.target)
        if self.configuration.gradient.clip is not None:
            check_likelihood(self.target, f"gradient.clip={self.configuration.gradient.clip!r}")
        _ = self.noise
        if not self.target.quadratic:
            self._check_finite()
        if not self.affine:
            return
        self.step_sizes.check_finite()
        schedule, sweep = self.configuration.schedule, self.configuration.sweep
        if schedule.kind == "fixed" and schedule.step is not None:
            self.check_stable([schedule.step], "schedule.step")
        if sweep.steps:
            self.check_stable(sweep.steps, "sweep.steps")

    def _check_finite(self) -> None:
        """Raise `DefinitionError` if potential or gradient are not finite near the location of the target."""
        target, temperature = self.target, self.configuration.temperature
        own = any(isinstance(part, OwnPotential) for part in (target.prior, target.likelihood))
        if own or type(target) is not Target:
            # Imported here: the module imports torch, which most questions to exact methods never need.
            from sgverify.samplers.own.functions import check_gradient

            check_gradient(target, temperature)
        else:
            check_finite(target, temperature)

    @property
    def affine(self) -> bool:
        """Is one step affine in the state on this target, so that exact laws exist?"""
        return self.why_not_affine is None

    @cached_property
    def why_not_affine(self) -> str | None:
        """The reason why one step is not affine in the state on this target; None if it is."""
        if not self.target.quadratic:
            return f"the potential of target.name={self.configuration.target.name!r} is not quadratic"
        if not self.noise.known:
            gradient = self.configuration.gradient
            return f"gradient.kind={gradient.kind!r}: {gradient.estimator.unread or 'no exact engine reads its noise'}"
        if self.configuration.gradient.clip is not None:
            return f"gradient.clip={self.configuration.gradient.clip!r}: a clipped gradient is not affine in the state"
        try:
            spectral_radii(self.model.scheme, self.model.parameters, self.step_sizes.eigenvalues, [1e-3])
        except Unreached as error:
            return str(error)
        return None

    @property
    def swaps(self) -> bool:
        """Does torch code come with a rule by which replicas swap?"""
        return False

    def command(self, *arguments: str, under: Configuration | None = None) -> str:
        """A command line that runs `sgverify ARGUMENTS... SCHEME` under this configuration, or another one."""
        settings = settings_of(under or self.configuration)
        kept = [item for item in settings if not item.startswith(self.strange)]
        given = [part for setting in kept for part in ("--set", setting)]
        verb, *options = arguments
        return str(Command(verb, self.reference, (*options, *given)))


def _rational(value: float) -> Fraction:
    number = exact(value)
    if not isinstance(number, Fraction):
        raise ConfigurationError(f"value={value!r}: expected a rational number")
    return number
