"""An example of each kind of extension: new files, and lines in files that there are.

The new files of a kind lie in `new/KIND/`, each at its place below it. The lines are inserted as written here.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

NEW = Path(__file__).parent / "new"


@dataclass(frozen=True)
class Insertion:
    """Lines that follow `after`, a text that occurs once in the file."""

    file: str
    after: str
    lines: str

    def into(self, tree: Path) -> None:
        path = tree / self.file
        text = path.read_text(encoding="utf-8")
        assert text.count(self.after) == 1, f"{self.file} has {text.count(self.after)} times {self.after!r}"
        path.write_text(text.replace(self.after, self.after + self.lines), encoding="utf-8")


SCHEME = '''

@scheme(langevin, order=2)
def sgld_heun(theta, *, h, grad, noise, T):
    """Stochastic Heun: the mean of the gradients at both ends of an Euler step."""
    kick = sqrt(2 * T * h) * noise()
    guess = theta - h * grad(theta) + kick
    return theta - h / 2 * (grad(theta) + grad(guess)) + kick

'''

PLANTED_BUG = """
    Mutant(
        name="sgld-with-weight-decay",
        family="Euler schemes",
        scheme="sgld-euler",
        was="theta - h*grad(theta)",
        now="theta - h*grad(theta) - h/10*theta",
        reason="the weight decay of an optimiser is left on, and the prior is in grad U already",
        cause="drift-scaled",
    ),"""

ESTIMATOR = """
SVRG_OF_SUBSETS = SnapshotGradient(
    name="svrg-of-subsets",
    summary="The full gradient at a snapshot, and the change since on a subset of the data",
    label="SVRG gradients on subsets of {batch}",
    own_keys={"refresh": (Count | None, None)},
    replaced=False,
)"""

CENTRE = """


@dataclass(frozen=True, kw_only=True)
class OriginGradient(CentredGradient):
    \"\"\"The same with the origin in the place of s.\"\"\"

    def centre(self, target: Any) -> Sequence[Any]:
        \"\"\"0, in every coordinate.\"\"\"
        return (0,) * target.dim


FROM_ORIGIN = OriginGradient(
    name="from-origin",
    summary="All gradients at the origin, and a minibatch of the change from there",
    label="gradients from the origin on minibatches of {batch}",
)"""

ADDITIONS: Mapping[str, tuple[Insertion, ...]] = {
    "scheme": (
        Insertion(
            "sgverify/schemes/catalogue/plain.py",
            "- h * D * p + sqrt(2 * D * T * h) * noise()\n\n",
            SCHEME,
        ),
        Insertion(
            "sgverify/schemes/catalogue/plain.py",
            "\nEULER_SCHEMES = (",
            '\n    sgld_heun.named("sgld-heun", source="an example"),',
        ),
    ),
    "target": (
        Insertion(
            "sgverify/targets/registry.py",
            "from sgverify.targets.catalogue.wells import DOUBLE_WELL, MIXTURE, QUARTIC, TIED_MEANS",
            "\nfrom sgverify.targets.catalogue.sextic import SEXTIC",
        ),
        Insertion("sgverify/targets/registry.py", "    QUARTIC,", "\n    SEXTIC,"),
    ),
    "claim": (),
    "check": (
        Insertion(
            "sgverify/checks/registry.py",
            "    for check in (",
            '\n        Check("rest", "code.rest:check_rest", "what rates cannot see"),',
        ),
    ),
    "planted bug": (Insertion("tests/mutants/catalogue/euler.py", "OF_EULER = (", PLANTED_BUG),),
    "gradient estimator": (
        Insertion(
            "sgverify/gradients.py",
            'cancelled="the change since the snapshot, and SVRG gradients",\n    energies_replaced=True,\n)',
            ESTIMATOR,
        ),
        Insertion("sgverify/gradients.py", "        SVRG,", "\n        SVRG_OF_SUBSETS,"),
    ),
    "centre of control variates": (
        Insertion(
            "sgverify/gradients.py",
            'cancelled="the change since the centre, and its gradients",\n)',
            CENTRE,
        ),
        Insertion("sgverify/gradients.py", "        CONTROL_VARIATE,", "\n        FROM_ORIGIN,"),
    ),
    "paper": (),
}
"""Kinds of extension, with what each of them inserts."""


@dataclass(frozen=True)
class Cost:
    """What an extension took, in lines that are not blank: of each new file, and changed in each file that was there."""

    new: Mapping[str, int]
    elsewhere: Mapping[str, int]


def add(kind: str, tree: Path) -> Cost:
    """Add the example of a kind to a copy of the package; its cost is read off the files before and after."""
    before = texts(tree)
    if (NEW / kind).is_dir():
        shutil.copytree(NEW / kind, tree, dirs_exist_ok=True)
    for insertion in ADDITIONS[kind]:
        insertion.into(tree)
    return cost(before, texts(tree))


def texts(tree: Path) -> dict[str, str]:
    """The code and the data of a package, by path."""
    return {
        path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8")
        for path in tree.rglob("*")
        if path.suffix in (".py", ".toml")
    }


def cost(before: Mapping[str, str], after: Mapping[str, str]) -> Cost:
    """The cost of what lies between two states of a package; nothing is taken away."""
    assert before.keys() <= after.keys()
    new = {name: _changed("", after[name]) for name in sorted(after.keys() - before.keys())}
    return Cost(
        new, {name: _changed(before[name], after[name]) for name in before if before[name] != after[name]}
    )


def _changed(before: str, after: str) -> int:
    """Lines added and lines taken away."""
    _, _, *changes = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return sum(line[0] in "+-" and bool(line[1:].strip()) for line in changes)
