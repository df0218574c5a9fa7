"""Optimizers of torch are judged as they are: right ones conform, wrong ones do not, and messages say how they were called."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sgverify import adapt, verify
from sgverify.adapters.optimizers import momentum
from sgverify.checks.settings.step_at_setting import try_setting
from sgverify.errors import DefinitionError, UnknownNameError, UserError
from sgverify.law.gaussian_setting import designs
from sgverify.samplers.intercepted.equilibrated import equilibrated
from sgverify.schemes import TorchStep
from sgverify.schemes.loading import load_step
from tests.zoo import optimizers as zoo

KINETIC: dict[str, Any] = {"dynamics": "kinetic", "map": {"lr": "h**2", "momentum_decay": "h*D"}}
SGD: dict[str, Any] = {
    "dynamics": "kinetic",
    "map": {"lr": "h**2", "momentum": "1 - h*D", "noise": "sqrt(2*D*T/h**3)*h"},
}


def step_of(found: Any, **settings: Any) -> TorchStep:
    made = adapt(found, **settings)
    assert isinstance(made, TorchStep)
    return made


def at_one_setting(found: Any, **settings: Any) -> str:
    """The verdict at a temperature of 4, in two dimensions."""
    step = step_of(found, **settings)
    setting = designs()[0].setting(step.dynamics, step.memory)
    return try_setting(step, setting, 1, flow=not step.memory).verdict


def slow(*given: Any) -> Any:
    """A case for the slow tests: another way to write a sampler that one of the others tries already."""
    return pytest.param(*given, marks=pytest.mark.power)


RIGHT: list[Any] = [
    (zoo.SGLD, {}),
    (zoo.WithGenerator, {}),
    (zoo.Anneals, {}),
    (zoo.SGHMC, KINETIC),
    (zoo.DriftInTwoParts, {"dynamics": "kinetic"}),
    slow(zoo.SGHMC, {}),
    slow(zoo.WithClosure, {}),
    slow(zoo.BurnIn, {}),
    slow(zoo.cold, {}),
    slow(functools.partial(zoo.SGLD, weight_decay=0.0), {}),
    slow(zoo.SGDWithNoise, SGD),
    slow(zoo.ConstantScale, {}),
]
WRONG: list[Any] = [
    (zoo.NoiseOfSqrtLr, {}),
    (zoo.NoiseOfDecay, {}),
    (zoo.NoiseOfHalfTheFriction, {"dynamics": "kinetic"}),
    slow(zoo.TemperatureIgnored, {}),
    slow(zoo.NoiseOfDecay, KINETIC),
    slow(zoo.Preconditioned, {}),
    slow(zoo.DriftAlone, {}),
    slow(zoo.AdamWithNoise, {}),
    slow(zoo.RMSpropWithMomentum, {}),
]


@pytest.mark.by_default("SGLD-settings0", "Anneals-settings2", "SGHMC-settings3")
@pytest.mark.parametrize("found, settings", RIGHT)
def test_right_ones_conform(found, settings):
    assert at_one_setting(found, **settings) == "conforms"


@pytest.mark.by_default("NoiseOfSqrtLr-settings0", "NoiseOfHalfTheFriction-settings2")
@pytest.mark.parametrize("found, settings", WRONG)
def test_wrong_ones_are_refuted(found, settings):
    assert at_one_setting(found, **settings) == "violates"


@pytest.mark.parametrize("found, verdict", [(zoo.SGLD, "conforms"), (zoo.NoiseOfTheFirst, "violates")])
def test_a_group_of_two_parameters_of_one_shape_is_tried(found, verdict):
    step = step_of(found)
    design = next(item for item in designs() if len(item.mean) == 3)
    setting = design.setting(step.dynamics, step.memory)
    assert try_setting(step, setting, 1, flow=True).verdict == verdict


@pytest.mark.power  # 1.2 s
def test_what_is_done_at_every_other_step_is_no_pass():
    (found,) = verify(step_of(zoo.NoiseEveryOtherStep), checks=["long-run"])
    assert found.verdict == "violates" and "at step 2 and every 2 steps from there" in found.reason


def test_draws_of_a_generator_of_its_own_are_no_schedule_and_no_loss():
    step = step_of(zoo.WithGenerator)
    assert "log_density" not in step.declaration.ingredients
    assert step.held == {}


def test_options_that_it_changes_are_held_and_named():
    step = step_of(zoo.Anneals)
    assert step.held == {"time": "its options lr, temperature, which it changes, as it is made with"}
    assert step.memory == () and not step.function.kept.counters


def test_a_temperature_that_is_no_option_is_that_of_the_potential():
    assert step_of(zoo.WithoutTemperature, map={"lr": "2*h"}).conventions.endswith("the gradient of U/T")
    assert at_one_setting(zoo.WithoutTemperature, map={"lr": "2*h"}) == "conforms"


def test_the_momentum_is_found_and_told():
    found = step_of(zoo.SGHMC, **KINETIC)
    assert found.conventions.startswith(
        "SGHMC(params, lr=h**2, momentum_decay=h*D, temperature=T); p = momentum_buffer/h"
    )
    sgd = step_of(zoo.SGDWithNoise, dynamics="kinetic", map={"lr": "h**2", "momentum": "1 - h*D"})
    assert "p = -lr*momentum_buffer/h" in sgd.conventions
    assert "p = lr*velocity/h" in step_of(zoo.DriftInTwoParts, dynamics="kinetic").conventions
    told = step_of(zoo.SGDWithNoise, state={"p": "-h*momentum_buffer"}, **{**SGD})
    assert "p = -h*momentum_buffer" in told.conventions and told.memory == ()


@pytest.mark.power  # 1.0 s
def test_what_is_not_mapped_is_named():
    (options,) = step_of(zoo.SGLD).untried
    assert options == ("other options than weight_decay=0.0", "--set adapter.map.weight_decay=...")
    assert step_of(zoo.Preconditioned, map={"eps": 1.0}).held == {}
    assert step_of(zoo.Scheduled).held == {"time": "the counter step at 200"}
    assert "no option is T" in step_of(zoo.WithoutTemperature).conventions


@pytest.mark.power  # 0.7 s
def test_what_is_kept_is_found_with_its_shape():
    assert [item.name for item in step_of(zoo.SGHMC, dynamics="langevin").memory] == ["momentum_buffer"]
    adam = step_of(zoo.AdamWithNoise)
    assert [(item.name, item.shape) for item in adam.memory] == [
        ("exp_avg", ("dim",)),
        ("exp_avg_sq", ("dim",)),
    ]
    assert step_of(zoo.SGLD).memory == ()


def test_a_list_that_grows_is_held_empty():
    (stock,) = step_of(zoo.KeepsAList).function.kept.stocks[:1]
    assert stock.told == "state[p]['gradients']"
    assert at_one_setting(zoo.KeepsAList) == "conforms"


def test_state_is_restored_between_calls():
    step = step_of(zoo.SGHMC, dynamics="langevin")
    theta, v = (
        torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64),
        torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64),
    )
    given: dict[str, Any] = {"h": 0.01, "T": 0.0, "dim": 3, "grad": lambda x: x}
    first = step.step((theta, v), **given)
    step.step((5 * theta, 7 * v), **given)
    again = step.step((theta, v), **given)
    expected = 0.9 * v - 0.01 * theta
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert torch.allclose(first[1], expected) and torch.allclose(first[0], theta + expected)
    assert torch.equal(theta, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))


@pytest.mark.parametrize(
    "found, settings, message",
    [
        (zoo.SGLD, {"map": {"learning": "h"}}, "option of SGLD.*learning"),
        (zoo.SGLD, {"dynamics": "kinetic"}, "no option of SGLD is the friction D of kinetic"),
        (zoo.SGLD, {"map": {"lr": 0.1}}, "no option of SGLD is the step size"),
        (zoo.SGLD, {"state": {"p": "v/h"}}, "adapter.dynamics=kinetic beside adapter.state.p"),
        (zoo.SGHMC, {**KINETIC, "state": {"p": "buffer/h"}}, r"adapter.state.p: expression 'buffer/h'"),
        (
            zoo.SGHMC,
            {**KINETIC, "state": {"p": "momentum_buffer**2"}},
            "expected a multiple of one of momentum_buffer",
        ),
        (zoo.AdamWithNoise, {"order": 1}, "so that one step has no order of its own"),
        (zoo.NeedlessClosure, {}, r"was given a closure and did not call it; expected a step that calls"),
        (
            zoo.SGLD,
            {"map": {"temperature": "'hot'"}},
            r"SGLD\(params, lr=0.03125, temperature='hot'\).*of shape \(7,\) in torch.float64.*raised",
        ),
    ],
)
def test_a_mistake_is_told_with_the_call(found, settings, message):
    with pytest.raises((DefinitionError, UserError), match=message):
        adapt(found, **settings)


def test_a_later_step_that_raises_is_told_by_its_number() -> None:
    with pytest.raises(UserError, match="its step number 51 raised ValueError: math domain error"):
        step_of(zoo.RaisesLater)


def test_one_with_parameters_of_its_own_is_judged_as_its_class():
    made = adapt(zoo.SGLD([torch.zeros(1, requires_grad=True)]))
    assert made.conventions == adapt(zoo.SGLD).conventions


def test_it_is_found_in_a_file_and_replayed(tmp_path: Path):
    file = tmp_path / "theirs.py"
    file.write_text("from tests.zoo.optimizers import SGLD, NoiseOfSqrtLr\n")
    assert isinstance(load_step(f"{file}:SGLD"), TorchStep)
    (found,) = verify(f"{file}:SGLD", checks=["dtype"], adapter={"map": {"lr": "h"}})
    assert found.outcome == "pass" and "--set adapter.map.lr=h" in found.replay


def test_the_nearest_name_may_be_that_of_an_optimizer_or_a_loop(tmp_path: Path):
    file = tmp_path / "theirs.py"
    file.write_text(
        "import torch\nfrom torch.optim import Optimizer\n\n\nclass Langevin(Optimizer):\n    pass\n\n\n"
        "def walk(theta, h):\n    return theta + h*torch.randn_like(theta)\n\n\nnumber = 3\n"
    )
    with pytest.raises(UnknownNameError, match="did you mean 'Langevin'"):
        load_step(f"{file}:Langevn")
    with pytest.raises(UnknownNameError, match="known: Langevin, walk"):
        load_step(f"{file}:number_of_steps")


def test_an_optimizer_that_decides_by_its_loss_is_given_it() -> None:
    step, theta = step_of(zoo.Metropolis), torch.tensor([0.5, -1.0], dtype=torch.float64)
    assert "log_density" in step.declaration.ingredients
    assert "log_density" not in step_of(zoo.WithClosure).declaration.ingredients

    def moved(steepness: float) -> torch.Tensor:
        calls = iter((0.0, steepness))
        (found,) = step.step(
            (theta,),
            h=1e-4,
            T=1.0,
            dim=2,
            grad=lambda x: x,
            log_density=lambda x: torch.tensor(next(calls), dtype=x.dtype),
        )
        return found

    assert not torch.equal(moved(1e3), theta) and torch.equal(moved(-1e3), theta)


def test_one_value_of_a_closure_decides_and_steps_with_and_without_one_are_told_apart() -> None:
    given, left_out = (f"step() {name} a closure, which is another step" for name in ("with", "without"))
    found = {kind: step_of(kind) for kind in (zoo.NoiseByItsLoss, zoo.NoiseOfAClosure, zoo.SGLD)}
    asked = ["log_density" in step.declaration.ingredients for step in found.values()]
    named = [[what for what, _ in step.untried if what in (given, left_out)] for step in found.values()]
    assert asked == [True, False, False]
    assert named == [[left_out], [given], []]


@pytest.mark.power
def test_a_metropolis_test_in_an_optimizer_is_seen() -> None:
    (found,) = verify(zoo.Metropolis, target={"name": "gaussian"}, checks=["local-order"])
    assert found.outcome == "not-applicable" and "theta stays where it is" in found.reason


def test_options_may_depend_on_the_number_of_data() -> None:
    given: dict[str, Any] = {"adapter": {"map": {"lr": "h/N"}, "order": 1}, "checks": ["local-order"]}
    assert verify(zoo.OfMeanLoss, target={"size": 50}, **given).outcome == "pass"
    with pytest.raises(DefinitionError, match="this run has no N"):
        verify(zoo.OfMeanLoss, **given)


@pytest.mark.parametrize(
    "found, called",
    [
        # Its noise is wrong, and its conventions are the same as those of the right one.
        (zoo.NoiseOfDecay, "lr=h**2, momentum_decay=h*D, temperature=T"),
        (zoo.SGHMCOfParameters, "lr=h**2, alpha=h*D"),
        slow(zoo.SGDWithNoise, "lr=h**2, momentum=1-h*D, noise"),
        (zoo.HalfOfTheForce, "lr=2*h**2, mdecay=h*D"),
        (zoo.MomentumOfAGlobal, "lr=h, friction=D"),
        (zoo.Thermostat, "lr=h, A=D"),
        # The momentum of a splitting: theta moves by no multiple of what is kept.
        (zoo.Obabo, "lr=h, friction=D, temperature=T); p = lr*momentum/h"),
        # Its kick is h^2 times a power series in h.
        (zoo.Baoab, "lr=h, gamma=D); p = lr*m/h"),
        (zoo.OfTheMean, "lr=2*h*N, train_size=N"),
        # Where N = 1 is the default, a power of N that is wrong would not be seen.
        (zoo.OfTheMeanOfOne, "lr=2*h*N, train_size=N"),
        (zoo.TimesN, "eta=h, num_data=N"),
        slow(zoo.Preconditioned, "lr=h, temperature=T"),
        slow(zoo.AdamWithNoise, "lr=h, temperature=T"),
    ],
)
def test_conventions_are_read_from_the_law_of_a_step(found, called):
    assert called in step_of(found).conventions


def test_what_no_gradient_kicks_is_no_momentum() -> None:
    with pytest.raises(DefinitionError, match="does not move by a multiple of what"):
        step_of(zoo.NoiseThatCarries, dynamics="kinetic", map={"lr": "h", "decay": "1-h*D"})


def test_what_is_sampled_is_said_in_the_options():
    assert step_of(zoo.OfTheMean).samples == "exp(-U): SGLD with step lr/(2*N); U is N times the mean loss"
    assert (
        step_of(zoo.SGHMCOfParameters).samples
        == "exp(-U): kinetic Langevin with step sqrt(lr) and friction alpha/sqrt(lr)"
    )
    prior = step_of(functools.partial(zoo.SGLD, weight_decay=0.1))
    assert prior.samples.endswith("SGLD with step lr; the prior weight_decay |theta|^2/2 is in U")
    assert step_of(zoo.WithoutTemperature, gradient="mean").conventions.endswith(
        "the mean loss, U/(T N) with N = 1000,"
    )


def test_what_no_step_shows_is_undecided_and_says_why():
    found = verify(zoo.SizeUnused, checks=["dtype", "local-order"])
    assert found.outcome == "undecided" and "--gradient mean" in " ".join(found.verdict.text().split())


def test_what_no_step_shows_is_held():
    assert "train_size changes no step" in step_of(zoo.SizeUnused).held["options"]
    assert "which parameters of one shape have together" in step_of(zoo.MomentumOfAShape).held["shapes"]


@pytest.mark.parametrize(
    "found, verdict",
    [
        (zoo.SGHMCOfParameters, "conforms"),
        (zoo.OfTheMean, "conforms"),
        (functools.partial(zoo.SGLD, weight_decay=0.1), "conforms"),
        slow(zoo.HalfOfTheForce, "conforms"),
        slow(zoo.TimesN, "conforms"),
        slow(zoo.MomentumOfAGlobal, "conforms"),
        (zoo.Obabo, "conforms"),
        (zoo.ObaboHot, "violates"),
        (zoo.OfTheMeanHot, "violates"),
        slow(zoo.DecayOutside, "violates"),
    ],
)
def test_right_and_wrong_ones_in_other_conventions(found, verdict):
    assert at_one_setting(found) == verdict


def test_a_momentum_of_preconditioned_gradients_comes_to_rest():
    """A root of a second moment has no value where an extrapolation of it rounds to the other side of 0."""
    step = equilibrated(step_of(zoo.RMSpropWithMomentum))
    for place in (0.0, 0.3, -2.0):
        theta = torch.full((1,), place, dtype=torch.float64)
        (moved,) = step.step((theta,), h=0.01, grad=lambda x: x, dim=1, T=0.0)
        # At rest the buffer is 10 G g, with G = 1/(|g| + 1).
        assert moved.item() == pytest.approx(place - 0.1 * place / (abs(place) + 1), rel=1e-9)


def test_a_step_that_is_not_finite_moves_theta_by_no_buffer(monkeypatch):
    """So an edit that is tried as a mend may be; least squares would end with an error."""
    state = torch.ones(momentum.DIMS[0]), {"v": torch.ones(momentum.DIMS[0])}
    monkeypatch.setattr(momentum, "probe", lambda step, random: state)
    lost = SimpleNamespace(take=lambda at, theta, values, grad: (theta, {"v": torch.nan * theta}))
    assert momentum.share_of(lost, None, "v") == 0


def test_what_is_made_within_a_vmap_is_not_kept_outside_of_it():
    assert verify(zoo.Flattened, checks=["settings"]).outcome == "pass"


def test_a_friction_that_is_solved_exactly_is_read_from_the_law_of_a_step():
    class Exact(torch.optim.Optimizer):
        def __init__(self, params, lr=0.00137, gamma=1.7319, temperature=1.0):
            super().__init__(params, {"lr": lr, "gamma": gamma, "temperature": temperature})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                kept = math.exp(-group["gamma"] * group["lr"])
                for p in group["params"]:
                    v = self.state[p].setdefault("v", torch.zeros_like(p))
                    v.add_(p.grad, alpha=-group["lr"]).mul_(kept)
                    v.add_(torch.randn_like(p), alpha=math.sqrt(group["temperature"] * (1 - kept**2)))
                    p.add_(v, alpha=group["lr"])

    found = step_of(Exact)
    assert found.dynamics.name == "kinetic" and not found.memory
    assert found.conventions.startswith("Exact(params, lr=h, gamma=D, temperature=T)")
