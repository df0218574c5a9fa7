"""Torch modules as targets: against plain loops over data, against a catalogue target, and against wrong scalings."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.samplers import GradientChoice, Settings, fixed
from sgverify.samplers.gradients.differentiation import Potential
from sgverify.samplers.gradients.kinds import effective_potential
from sgverify.samplers.own.module_gradient import CALLS
from sgverify.samplers.own.module_operations import Layout
from sgverify.samplers.own.module_parts import ModuleLikelihood
from sgverify.samplers.own.module_target import ModuleTarget, module_target
from sgverify.schemes import find_scheme
from sgverify.targets import build_target
from tests.sampled_states import sample_states
from tests.samplers.conftest import gradient_of
from tests.tables import each_row

N, CLASSES = 5, 3


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, CLASSES))


def data() -> tuple[Tensor, Tensor]:
    drawn = torch.Generator().manual_seed(1)
    return torch.randn(N, 2, generator=drawn), torch.randint(CLASSES, (N,), generator=drawn)


def made(loss: Any = None, **options: Any) -> ModuleTarget:
    return module_target(network(), loss or nn.CrossEntropyLoss(), data=data(), **{"prior": 3.0, **options})


def thetas(*shape: int) -> Tensor:
    return torch.randn(*shape, 27, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def by_hand(theta: Tensor, chosen: list[int]) -> tuple[float, Tensor]:
    """prior + N/n sum over `chosen` and its gradient: a plain module, a plain loop over data, plain autograd."""
    module = network().double()
    nn.utils.vector_to_parameters(theta, module.parameters())
    x, y = data()
    energy = 3.0 / 2 * nn.utils.parameters_to_vector(module.parameters()).square().sum()
    for i in chosen:
        outputs = module(x[i].double())
        energy = energy + N / len(chosen) * (outputs.logsumexp(0) - outputs[y[i]])
    gradients = torch.autograd.grad(energy, list(module.parameters()))
    return energy.item(), torch.cat([g.flatten() for g in gradients])


@pytest.fixture(params=["mean", "sum", "none"])
def target(request: pytest.FixtureRequest) -> ModuleTarget:
    return made(nn.CrossEntropyLoss(reduction=request.param))


def potential(target: ModuleTarget, dtype: torch.dtype = torch.float64) -> Potential:
    return Potential(target, dtype=dtype, device="cpu")


@pytest.mark.by_default("none")
def test_energy_and_gradient_are_those_of_a_plain_loop(target: ModuleTarget) -> None:
    theta, whole = thetas(2, 3), list(range(N))
    energy, gradient = potential(target).energy(theta), potential(target).full(theta)
    np.testing.assert_allclose(energy, target.energy_float64(theta.numpy()), rtol=1e-12)
    for row, chain in product(range(2), range(3)):
        value, slope = by_hand(theta[row, chain], whole)
        assert energy[row, chain].item() == pytest.approx(value, rel=1e-12)
        torch.testing.assert_close(gradient[row, chain], slope)


@pytest.mark.by_default("mean")
def test_each_chain_has_the_gradient_of_its_own_minibatch(target: ModuleTarget) -> None:
    theta = thetas(1, 3)
    chosen = torch.tensor([[[0, 4, 2]], [[3, 3, 1]]])
    energy = potential(target).energy_over(theta, chosen)
    gradient = gradient_of(potential(target), theta, chosen)
    for chain in range(3):
        value, slope = by_hand(theta[0, chain], chosen[:, 0, chain].tolist())
        assert energy[0, chain].item() == pytest.approx(value, rel=1e-12)
        torch.testing.assert_close(gradient[0, chain], slope)


def estimates(target: ModuleTarget, subsets: list[tuple[int, ...]]) -> Tensor:
    """The estimate of every minibatch, at one theta."""
    chosen = torch.tensor(subsets).T[:, None]
    theta = thetas(1, 1).expand(1, len(subsets), -1)
    found = potential(target)
    return found.prior(theta) + N / len(chosen) * found.sum_over(theta, found.data[chosen])  # type: ignore[index]


@pytest.mark.by_default("sum-iid", "mean-without-replacement")
@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
def test_the_mean_over_all_minibatches_is_the_full_gradient(kind: str, target: ModuleTarget) -> None:
    subsets = list(product(range(N), repeat=2)) if kind == "iid" else list(combinations(range(N), 2))
    mean = estimates(target, subsets).mean(1)
    torch.testing.assert_close(mean[0], by_hand(thetas(1, 1)[0, 0], list(range(N)))[1])


def test_a_mean_that_is_not_multiplied_by_its_data_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug that people write: with it planted, the enumeration above fails, and so does the check at the start."""
    target = made()
    monkeypatch.setattr(ModuleLikelihood, "_total", lambda self, theta, rows: self.raw(theta, rows).sum())
    # Of one datum alone, mean and sum are one: gradients of a batch are those that the bug can reach.
    monkeypatch.setattr(ModuleLikelihood, "operations", lambda *given: None)
    mean = estimates(target, list(product(range(N), repeat=2))).mean(1)
    wrong = (mean[0] - by_hand(thetas(1, 1)[0, 0], list(range(N)))[1]).abs().max()
    assert wrong > 0.1
    with pytest.raises((ConfigurationError, DefinitionError)):
        made()


@pytest.mark.parametrize(("does", "said"), [("mean", "sum"), ("sum", "mean")])
def test_a_loss_that_does_not_do_what_is_said_is_refused(does: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"reduction='{said}'.*their {does}.*say reduction='{does}'"):
        made(nn.CrossEntropyLoss(reduction=does), reduction=said)


def test_it_must_be_said_what_a_function_does() -> None:
    with pytest.raises(ConfigurationError, match="mean or the sum over its data"):
        made(nn.functional.cross_entropy)
    made(nn.functional.cross_entropy, reduction="mean")


def regression() -> tuple[ModuleTarget, Any]:
    """The same posterior twice: a linear module, and the catalogue's linear regression."""
    drawn = np.random.default_rng(4)
    x, y = drawn.normal(size=(7, 2)), drawn.normal(size=7)
    module = nn.Linear(2, 1, bias=False).double()

    def loss(outputs: Tensor, y: Tensor) -> Tensor:
        return ((outputs[:, 0] - y) ** 2).mean() / 2

    table = {"name": "linear-regression", "data": np.column_stack([x, y]).tolist(), "prior_precision": 2.0}
    mine = module_target(module, loss, data=(x, y), reduction="mean", prior=2.0)
    return mine, build_target(type("Table", (), table)())


@pytest.mark.by_default("full", "iid")
@pytest.mark.parametrize("kind", ["full", "iid", "without-replacement", "svrg", "reshuffle", "additive"])
def test_a_linear_module_is_the_linear_regression_of_the_catalogue(kind: str) -> None:
    mine, known = regression()
    batch = 7 if kind == "reshuffle" else 3
    start = {"start": 0.0, "gradient": GradientChoice(kind=kind, batch=batch)}
    settings = Settings(chains=3, seed=2, **start)
    module: Any = mine.likelihood
    with torch.no_grad():
        module.module.weight.copy_(torch.tensor(known.location_float64(1.0)))
    again = module_target(
        module.module, module.loss, data=(mine.data[:, :2], mine.data[:, 2]), reduction="mean", prior=2.0
    )
    rows, scheme = fixed([0.01], [50]), find_scheme("sghmc-baoab")
    found, expected = (
        sample_states(scheme, target, rows, at=[50], settings=settings).values["theta"]
        for target in (again, known)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_clipped_gradient_is_clipped_datum_by_datum() -> None:
    target = made()
    theta = thetas(1, 1)
    clipped = effective_potential(potential(target), GradientChoice(kind="full", clip=0.05))
    expected = 3.0 * theta[0, 0]
    for i in range(N):
        own = (by_hand(theta[0, 0], [i])[1] - 3.0 * theta[0, 0]) / N
        expected = expected + own * min(1.0, 0.05 / float(own.norm()))
    torch.testing.assert_close(clipped.full(theta)[0, 0], expected)


def test_parameters_are_flat_with_a_structured_view() -> None:
    layout = Layout.of(network())
    assert layout.dim == 27
    theta = thetas(2, 3)
    parts = layout.unflatten(theta)
    assert {name: tuple(part.shape) for name, part in parts.items()} == {
        "0.weight": (2, 3, 4, 2),
        "0.bias": (2, 3, 4),
        "2.weight": (2, 3, 3, 4),
        "2.bias": (2, 3, 3),
    }
    torch.testing.assert_close(layout.flatten(parts), theta)
    flat = nn.utils.parameters_to_vector(network().parameters())
    np.testing.assert_allclose(made().location_float64(1.0), flat.detach(), rtol=1e-7)


def test_the_outputs_are_those_of_the_module_with_these_parameters() -> None:
    target, theta, x = made(), thetas(2, 3), data()[0]
    found = target.outputs(theta, x)
    module = network()
    nn.utils.vector_to_parameters(theta[1, 2].float(), module.parameters())
    torch.testing.assert_close(found[1, 2], module(x))


def test_priors() -> None:
    theta = thetas(1)
    named = made(prior={"0.weight": 1.0, "0.bias": 2.0, "2.weight": 3.0, "2.bias": 4.0})
    written = made(
        prior=lambda p: sum(
            k * p[name].square().sum() for k, name in zip((0.5, 1.0, 1.5, 2.0), p, strict=True)
        )
    )
    torch.testing.assert_close(potential(named).full(theta), potential(written).full(theta))
    torch.testing.assert_close(potential(named).energy(theta), potential(written).energy(theta))
    with pytest.raises(ConfigurationError, match="one precision for each of"):
        made(prior={"0.weight": 1.0})
    with pytest.raises(ConfigurationError, match="positive, finite precision"):
        made(prior=-1.0)


@pytest.mark.power  # 0.8 s
def test_float32_is_run_in_float32() -> None:
    target = made()
    assert target.dtype == "float32"
    theta = thetas(2).float()
    gradient = potential(target, torch.float32).full(theta)
    assert gradient.dtype == torch.float32
    torch.testing.assert_close(
        gradient.double(), potential(target).full(theta.double()), rtol=1e-4, atol=1e-4
    )


def test_the_module_itself_is_left_as_it_was() -> None:
    module = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, CLASSES)).eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    target = module_target(module, nn.CrossEntropyLoss(), data=data())
    sample_states(
        find_scheme("sgld-euler"),
        target,
        fixed([0.01], [3]),
        at=[3],
        settings=Settings(chains=2, dtype="float32"),
    )
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert all(p.grad is None for p in module.parameters())


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.Dropout(0.1), r"Dropout at '1' draws a mask.*module.eval\(\)"),
        (nn.BatchNorm1d(2), r"BatchNorm1d at '1' normalises by the batch.*LayerNorm"),
        (nn.BatchNorm1d(2, track_running_stats=False).eval(), "normalises by the batch"),
    ],
)
def test_layers_in_training_mode_are_refused_by_name(layer: nn.Module, expected: str) -> None:
    module = nn.Sequential(nn.Linear(2, 2), layer, nn.Linear(2, CLASSES))
    with pytest.raises(DefinitionError, match=expected):
        module_target(module, nn.CrossEntropyLoss(), data=data())


class Centred(nn.Linear):
    """A layer of a user's own that mixes the data of a batch."""

    def forward(self, input: Tensor) -> Tensor:
        found = super().forward(input)
        return found - found.mean(0)


def test_a_layer_that_mixes_the_data_is_refused() -> None:
    with pytest.raises(DefinitionError, match="neither sum nor mean"):
        module_target(Centred(2, CLASSES), nn.CrossEntropyLoss(), data=data())


@each_row(
    ("change", "expected"),
    [
        ({"data": (torch.zeros(3, 2), torch.zeros(4))}, "as many y as x"),
        ({"data": torch.zeros(3, 2)}, r"a pair \(x, y\)"),
        ({"data": (torch.full((2, 2), torch.nan), torch.zeros(2))}, "x holds NaN"),
        ({"spread": 0.0}, "positive, finite"),
        ({"reduction": "median"}, "expected one of 'mean', 'sum' and 'none'"),
        ({"reduction": "none"}, "returns one number for 4 data"),
        (
            {"data": (torch.zeros(3, 7), torch.zeros(3, dtype=torch.int64))},
            "raised RuntimeError.*shapes of the data",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], expected: str) -> None:
    options: dict[str, Any] = {"data": data(), **change}
    with pytest.raises((ConfigurationError, DefinitionError), match=expected):
        module_target(network(), nn.CrossEntropyLoss(), **options)


def test_a_step_must_be_given() -> None:
    with pytest.raises(ConfigurationError, match="set schedule.step"):
        made().curvature_float64(1.0)


class Scaled(nn.Module):
    """A line whose output is multiplied by a buffer and by a number of Python."""

    factor = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(2, 1)
        self.register_buffer("scale", torch.tensor(1.0))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.line(x) * self.scale * self.factor
        return found


def test_gradients_are_those_of_module_loss_and_prior_as_they_are_now() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(300, 2), torch.zeros(300, 1)
    # One datum of a rare class.
    y[7] = 1.0
    module, weights, at = Scaled(), {"rare": 1.0, "prior": 1.0}, torch.ones(2, 3, dtype=torch.float32)

    def loss(outputs: Tensor, labels: Tensor) -> Tensor:
        factors = torch.where(labels == 1, weights["rare"], 1.0)
        return (factors * (outputs - labels) ** 2).sum()

    def prior(parts: dict[str, Tensor]) -> Tensor:
        return weights["prior"] * sum((part**4).sum() for part in parts.values())

    def fresh() -> ModuleTarget:
        return module_target(module, loss, data=(x, y), reduction="sum", prior=prior)

    def gradient(target: ModuleTarget) -> Tensor:
        potential = Potential(target, dtype=torch.float32, device="cpu")
        # Often enough to be recorded.
        return [potential.full(at) for _ in range(2 * CALLS)][-1]

    target = fresh()
    found = [gradient(target)]
    module.scale.fill_(3.0)
    found.append(gradient(target))
    module.factor = 0.5
    found.append(gradient(target))
    weights["rare"] = 50.0
    found.append(gradient(target))
    weights["prior"] = 2.0
    found.append(gradient(target))
    assert torch.equal(found[-1], gradient(fresh()))
    for earlier, later in pairwise(found):
        assert not torch.equal(earlier, later)


def test_a_module_that_is_put_into_training_mode_later_is_refused() -> None:
    module = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1)).eval()
    target = module_target(module, nn.MSELoss(reduction="sum"), data=(torch.randn(9, 2), torch.randn(9, 1)))
    module.train()
    with pytest.raises(DefinitionError, match=r"Dropout at '1' .* call module.eval\(\) first"):
        Potential(target, dtype=torch.float32, device="cpu")


def test_a_module_without_a_gradient_is_refused_before_a_run() -> None:
    class Overwriting(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            # The gradient of tanh needs its result, which is written over.
            return torch.tanh(super().forward(x)).add_(1.0)

    with pytest.raises(DefinitionError, match="modified by an inplace operation"):
        module_target(
            Overwriting(2, 1), nn.MSELoss(reduction="sum"), data=(torch.randn(9, 2), torch.randn(9, 1))
        )
