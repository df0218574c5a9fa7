"""The catalogue of targets by name, and `build_target`, which makes the target of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError, UnknownNameError, shown
from sgverify.plugins import Catalogue, Plugin, of_type
from sgverify.targets.catalogue.conjugate import (
    BETA_BERNOULLI,
    DIRICHLET_MULTINOMIAL,
    EXPANDED_MEAN,
    EXPANDED_NATURAL,
    GAMMA_POISSON,
)
from sgverify.targets.catalogue.quadratic import GAUSSIAN, GAUSSIAN_MEAN, LINEAR_REGRESSION
from sgverify.targets.catalogue.regressions import LOGISTIC_REGRESSION, POISSON_REGRESSION, ROBUST_REGRESSION
from sgverify.targets.catalogue.wells import DOUBLE_WELL, MIXTURE, QUARTIC, TIED_MEANS
from sgverify.targets.constants import MOST_COORDINATES, is_list, read_whole
from sgverify.targets.data import MOST_NUMBERS, frozen, read_data
from sgverify.targets.data_files import FILE_KEYS, column_names, read_file
from sgverify.targets.derived import FRAME_KEYS, framed, with_intercept
from sgverify.targets.kind import MATRIX, POINTS, POSITIVE_VECTOR, SIMPLEX, VECTOR, DataLayout, TargetKind
from sgverify.targets.multimodal import FUNCTIONS
from sgverify.targets.own.log_density import (
    DATA_KEYS,
    OWN_KEYS,
    LogDensity,
    load_own,
    read_averages,
    read_names,
)
from sgverify.targets.target import Target

_KINDS = (
    GAUSSIAN_MEAN,
    GAUSSIAN,
    LINEAR_REGRESSION,
    DOUBLE_WELL,
    QUARTIC,
    MIXTURE,
    LOGISTIC_REGRESSION,
    POISSON_REGRESSION,
    ROBUST_REGRESSION,
    GAMMA_POISSON,
    BETA_BERNOULLI,
    DIRICHLET_MULTINOMIAL,
    EXPANDED_NATURAL,
    EXPANDED_MEAN,
    TIED_MEANS,
    *(function.kind() for function in FUNCTIONS.values()),
)


def _read(plugin: Plugin, found: Any) -> TargetKind:
    of_type(plugin, found, TargetKind)
    return replace(found, name=plugin.name)


TARGETS: Catalogue[TargetKind] = Catalogue("targets", {kind.name: kind for kind in _KINDS}, _read)
DEFAULT_TARGET = GAUSSIAN_MEAN.name


def constant_types() -> dict[str, Any]:
    """The keys of the shipped targets' constants with the types of their values; a union where targets share a key."""
    found: dict[str, Any] = {}
    for kind in TARGETS.shipped.values():
        truth = {} if kind.data is None else kind.data.truth
        for key, (shape, _) in {**kind.constants, **truth}.items():
            found[key] = found[key] | shape.type if key in found else shape.type
    return found


REGRESSION = "-regression"
"""The ending that may be left out of a model's name."""


def full_name(name: str) -> str:
    """The catalogue's name of a target whose short name is given: `linear-regression` for `linear`."""
    longer = f"{name}{REGRESSION}"
    return longer if longer in TARGETS.shipped and name not in TARGETS else name


def _short_names() -> list[str]:
    return [name.removesuffix(REGRESSION) for name in TARGETS.shipped if name.endswith(REGRESSION)]


def is_own(name: Any) -> bool:
    """Whether the name refers to a user's own target in a module or a file."""
    return ":" in str(name)


def declares_constants(name: Any) -> bool:
    """Whether the target of this name declares its constants itself: a user's own, or one of another distribution."""
    return is_own(name) or (name not in TARGETS.shipped and name in TARGETS.installed)


def build_target(configuration: Any) -> Target:
    """The target that a configuration's `[target]` table describes; a key that is None was not given.

    With `whiten` or `standardise` it is a `FramedTarget`.

    `dim`, where it is not given, is that of the first list among the constants or the data, else 1.
    Raises `UnknownNameError` for the name and `ConfigurationError` for every other mistake.
    """
    given = _given(configuration)
    kind = TARGETS.shipped.get(full_name(str(given.get("name", DEFAULT_TARGET))))
    plain = {key: value for key, value in given.items() if key not in (*FRAME_KEYS, "names")}
    return dressed(_built(plain), configuration, kind)


def dressed(target: Target, table: Any, kind: TargetKind | None = None) -> Target:
    """The target with the names of coordinates, and in the coordinates, that a `[target]` table asks for."""
    names = getattr(table, "names", None)
    own = target if names is None else replace(target, names=read_names(names, target.dim))
    return framed(own, kind, {key: getattr(table, key, None) for key in FRAME_KEYS})


def _built(given: dict[str, Any]) -> Target:
    name = full_name(str(given.get("name", DEFAULT_TARGET)))
    if "loader" in given:
        return _of_a_script(given)
    found = load_own(name, given.get("dim")) if is_own(name) else _find_kind(name)
    if not isinstance(found, TargetKind):
        return _own_target(found, given)
    kind = replace(found, name=str(name))
    _refuse_foreign_keys(kind, given)
    given = with_intercept(_with_file(given))
    dim = _dimension(kind, given)
    data = None if kind.data is None else _data(kind, kind.data, given, dim)
    constants = {
        key: shape.read(f"target.{key}", given.get(key, default), dim)
        for key, (shape, default) in kind.constants.items()
    }
    prior, likelihood = kind.potential(**constants, **({"dim": dim} if kind.sized else {}))
    parts = kind.components(**constants) if kind.components is not None else []
    components = tuple((share, Target(f"{kind.name}[{k}]", dim, of)) for k, (share, of) in enumerate(parts))
    averages = read_averages(given.get("averages", {}), dim)
    return Target(
        kind.name,
        dim,
        prior,
        likelihood,
        data,
        components=components,
        averages=averages,
        peaks=() if kind.peaks is None else kind.peaks(data, **constants),
        smooth=kind.smooth,
        rugged=kind.rugged,
        condensable=kind.data is not None and kind.data.condensable,
        positive=kind.positive,
        hessian_bounds=None if kind.hessian_bounds is None else kind.hessian_bounds(data, **constants),
        names=tuple((column_names(given) or [])[:dim]) if kind.data is not None and kind.data.labels else (),
    )


def _own_target(density: LogDensity | Target, given: dict[str, Any]) -> Target:
    """A user's log density, or complete target."""
    if isinstance(density, Target):
        return _made(density, given)
    name = given["name"]
    keys = (*OWN_KEYS, *(DATA_KEYS if density.wanting else ()), *density.constants)
    for key, value in given.items():
        if key not in keys and key in _known_keys():
            raise ConfigurationError(
                f"target.{key}={shown(value)} does not belong to target.name={name!r}, a log density of your own; expected "
                f"keys among {', '.join(keys)}; leave it out, or write it into the density"
            )
        if key not in keys:
            raise UnknownNameError(
                "configuration key", f"target.{key}", [f"target.{known}" for known in keys]
            )
    density = density.with_constants({key: given[key] for key in density.constants if key in given})
    if density.wanting and ("data" in given or "file" in given):
        density = density.with_data(given)
    if given.get("dim", density.dim) != density.dim:
        raise ConfigurationError(
            f"target.dim={given['dim']}: the log density {name!r} has dim={density.dim}; leave target.dim out"
        )
    averages = {**density.averages, **read_averages(given.get("averages", {}), density.dim)}
    return density.target(name, averages)


NETWORK = "sgverify.samplers.own.network_target:network_target"
"""The place of the function that makes the target of a loss and a loader; it needs torch, and is loaded where it is asked for."""


def _of_a_script(given: Mapping[str, Any]) -> Target:
    """The target of a training script, by the references of its loss, `target.name`, and of its data, `target.loader`."""
    if surplus := sorted({*given} - {"name", "loader"}):
        raise ConfigurationError(
            f"target.{surplus[0]}={shown(given[surplus[0]])} does not belong beside target.loader; expected the loss as "
            "target.name and the loader alone; leave it out"
        )
    if not is_own(given.get("name", "")):
        raise ConfigurationError(
            f"target.loader={given['loader']!r} without a loss; expected target.name=FILE.py:LOSS; add --loss FILE.py:LOSS"
        )
    module, _, function = NETWORK.partition(":")
    made: Target = getattr(import_module(module), function)(given["name"], given["loader"])
    return made


def _made(target: Target, given: dict[str, Any]) -> Target:
    """A complete target made by user code, such as by `sgverify.module_target`; no configuration key applies to it."""
    for key, value in given.items():
        if key != "name":
            raise ConfigurationError(
                f"target.{key}={shown(value)} does not belong to target.name={given['name']!r}, a target that is made already; "
                "expected target.name alone; leave it out, or write it into the target"
            )
    return replace(target, name=str(given["name"]))


def _given(configuration: Any) -> dict[str, Any]:
    found = {
        key: getattr(configuration, key, None) for key in ("loader", "names", *FRAME_KEYS, *_known_keys())
    }
    found.update(getattr(configuration, "model_extra", None) or {})
    return {key: value for key, value in found.items() if value is not None}


def _known_keys() -> dict[str, None]:
    """The keys of all targets of the catalogue, in their order."""
    return dict.fromkeys(key for kind in TARGETS.shipped.values() for key in kind.keys)


def _find_kind(name: Any) -> TargetKind:
    if name not in TARGETS:
        raise UnknownNameError(
            "target",
            str(name),
            [*TARGETS, *_short_names()],
            "Set target.name, to one of your own as path/to/file.py:attribute.",
        )
    return TARGETS[name]


def _refuse_foreign_keys(kind: TargetKind, given: dict[str, Any]) -> None:
    for key, value in given.items():
        if key not in kind.keys:
            owners = " or ".join(repr(other.name) for other in TARGETS.values() if key in other.keys)
            if not owners:
                raise UnknownNameError(
                    "configuration key", f"target.{key}", [f"target.{known}" for known in kind.keys]
                )
            raise ConfigurationError(
                f"target.{key}={shown(value)} does not belong to target.name={kind.name!r}; expected keys among "
                f"{', '.join(kind.keys)}; leave it out, or set target.name to {owners}"
            )


def _dimension(kind: TargetKind, given: dict[str, Any]) -> int:
    if "dim" in given:
        dim = read_whole("target.dim", given["dim"], 1, MOST_COORDINATES)
        if kind.dims and dim not in kind.dims:
            raise ConfigurationError(
                f"target.dim={dim}: target.name={kind.name!r} has dimension {_between(kind.dims)}; "
                "expected that; leave target.dim out"
            )
        return dim
    if len(kind.dims) == 1:
        return kind.dims[0]
    found = _dimension_of_values(kind, given)
    if found is None:
        return kind.dims[0] if kind.dims else 1
    if kind.dims and found not in kind.dims:
        raise ConfigurationError(
            f"target.name={kind.name!r}: its data or lists have {found} coordinates; expected {_between(kind.dims)}; give a number "
            "for each"
        )
    return found


def _dimension_of_values(kind: TargetKind, given: dict[str, Any]) -> int | None:
    """The dimension of the data, or of the first list among the constants; None where there is neither."""
    if "data" in given:
        labels = kind.data.labels if kind.data is not None else 0
        return read_data(given["data"], None, labels).shape[1] - labels
    shaped = [key for key, (shape, _) in kind.constants.items() if shape in (VECTOR, MATRIX, POSITIVE_VECTOR)]
    lists = [given[key] for key in shaped if is_list(given.get(key))]
    for points in (given.get(key) for key, (shape, _) in kind.constants.items() if shape == POINTS):
        lists += [point for point in points if is_list(point)] if isinstance(points, list | tuple) else []
    for key in (
        key for key, (shape, _) in kind.constants.items() if shape == SIMPLEX and is_list(given.get(key))
    ):
        if len(given[key]) < 2:
            raise ConfigurationError(
                f"target.{key}={shown(given[key])} has {len(given[key])} categories; expected two or more; give a number for each"
            )
        lists.append(given[key][1:])
    return read_whole("target.dim", len(lists[0]), 1, MOST_COORDINATES) if lists else None


def _with_file(given: dict[str, Any]) -> dict[str, Any]:
    """The settings with the content of `file` as the data."""
    alone = next((key for key in FILE_KEYS if key != "file" and key in given and "file" not in given), None)
    if alone is not None:
        raise ConfigurationError(
            f"target.{alone}={shown(given[alone])} speaks of a file; give target.file, or leave it out"
        )
    if "file" not in given:
        return given
    if "data" in given:
        raise ConfigurationError(
            f"target.file={given['file']!r} and target.data are both given; expected one of the two; leave one out"
        )
    return {**given, "data": read_file(given)}


def _between(dims: tuple[int, ...]) -> str:
    return str(dims[0]) if len(dims) == 1 else f"{dims[0]} to {dims[-1]}"


def _data(kind: TargetKind, layout: DataLayout, given: dict[str, Any], dim: int) -> np.ndarray:
    size = read_whole("target.size", given["size"], 1, MOST_NUMBERS) if "size" in given else None
    seed = read_whole("target.data_seed", given.get("data_seed", 0), 0, 2**63 - 1)
    if "data" not in given:
        keys = {**layout.truth, **{key: kind.constants[key] for key in layout.shared}}
        values = {
            key: float(shape.read(f"target.{key}", given.get(key, default), dim).entries[0])
            for key, (shape, default) in keys.items()
        }
        return frozen(layout.draw(layout.size if size is None else size, dim, seed, **values))
    data = read_data(given["data"], dim, layout.labels)
    if layout.check is not None:
        layout.check(data)
    if size is not None and size != len(data):
        raise ConfigurationError(
            f"target.size={size}, but target.data holds {len(data)}; leave target.size out"
        )
    for key in ("data_seed", *layout.truth):
        if key in given:
            raise ConfigurationError(
                f"target.{key}={given[key]} has no effect, as target.data is given; expected one of the two; leave one out"
            )
    return data
