"""What `import sgverify` loads, and what it offers."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

import sgverify
from sgverify.exports import lazy_names
from tests.test_floors import PACKAGE

HEAVY = [
    "torch",
    "sympy",
    "matplotlib",
    "flint",
    "scipy",
    "statsmodels",
    "hypothesis",
    "numpy",
    "pydantic",
    "pandas",
    "jinja2",
    "jsonschema",
    "rich",
    "click",
    "arviz",
    "xarray",
    "zarr",
]
PUBLIC = {
    *(
        "AdaptivelyWeighted",
        "Alphabet",
        "Exhibit",
        "ReplicaExchange",
        "Results",
        "__version__",
        "adapt",
        "advise",
        "bch",
        "bound",
        "compare",
        "cos",
        "design",
        "dot",
        "dynamics",
        "erf",
        "exp",
        "expm1",
        "find_scheme",
        "identify",
        "log",
        "log_density",
        "logistic",
        "model_target",
        "module_target",
        "order_conditions",
        "rate",
        "run_code",
        "sample",
        "scheme",
        "sin",
        "softplus",
        "sqrt",
        "tanh",
        "torch_step",
        "verify",
        "width",
    ),
}


@pytest.mark.parametrize(
    "statement", ["import sgverify; sgverify.scheme", "from sgverify.schemes import find_scheme"]
)
def test_import_stays_light(statement: str) -> None:
    program = f"{statement}; import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "sgverify.schemes.scheme" in loaded
    assert sorted(loaded.intersection(HEAVY)) == []


def test_what_asks_for_no_computation_waits_for_none() -> None:
    calls = [["--version"], ["--help"], ["verify", "--help"], ["verify"], ["list", "schemes"]]
    program = (
        f"import json, sys; from sgverify.cli import main; [main(call) for call in {calls}]; "
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert f"version {sgverify.__version__}" in done.stdout
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert "sgverify.cli.commands" in loaded
    assert sorted(loaded.intersection(HEAVY) - {"click"}) == []


def test_a_question_to_an_exact_rung_does_not_wait_for_torch() -> None:
    program = (
        "import sgverify, sys; sgverify.rate('sghmc-aboba', quantity='stationary-bias'); "
        "sgverify.verify('sghmc-aboba', checks=['local-order'], target={'name': 'double-well'}); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_everything_that_is_public_is_there() -> None:
    assert set(sgverify.__all__) == PUBLIC
    assert [name for name in sgverify.__all__ if not hasattr(sgverify, name)] == []
    assert list(sgverify.__all__) == sorted(sgverify.__all__)


def test_the_version_is_one_that_packages_have() -> None:
    numbers = sgverify.__version__.split(".")
    assert len(numbers) == 3
    assert all(number.isdigit() for number in numbers)


def test_dir_shows_what_is_exported_and_not_loaded_yet() -> None:
    program = "import sgverify, json, sys; print(json.dumps([dir(sgverify), sorted(sys.modules)]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    shown, loaded = json.loads(done.stdout)
    assert shown == sorted(PUBLIC) and "sgverify.schemes" not in loaded


def test_every_name_of_a_room_that_loads_lazily_can_be_had() -> None:
    texts = {path.parent: path.read_text() for path in PACKAGE.rglob("__init__.py")}
    lazy = [folder for folder, text in texts.items() if "lazily(__name__)" in text]
    assert len(lazy) >= 10
    for folder in lazy:
        room = import_module(".".join(("sgverify", *folder.relative_to(PACKAGE).parts)))
        assert dir(room) == sorted(room.__all__)
        assert [name for name in dir(room) if not hasattr(room, name)] == []
        # Python gives a module of this name once anybody has loaded it, and not what the room exports.
        assert {path.stem for path in folder.iterdir()} & lazy_names(room.__name__).keys() == set()


@pytest.mark.power  # 3.2 s
def test_the_samplers_teach_a_log_density_to_read_arrays() -> None:
    """In a new process: another test of this one may have loaded what registers the arrays."""
    program = (
        "import numpy as np; import sgverify, sgverify.samplers\n"
        "@sgverify.log_density(dim=2)\n"
        "def round(theta): return -(theta * theta).sum() / 2\n"
        "assert round.target().prior(np.ones((3, 2))).tolist() == [1.0] * 3"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
