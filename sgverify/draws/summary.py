"""The summary of draws on one screen: their number, origin and ArviZ's table."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from sgverify.draws.inference_data import CHAINS, arviz
from sgverify.errors import printable

MOST_ROWS = 20
"""The most lines of the table, so that it fits a screen."""

FEWEST = 4
"""Draws of a chain below which no effective sample size is defined."""

DIAGNOSTICS = ["mcse_mean", "ess_bulk", "ess_tail", "r_hat"]

PARTIAL = DIAGNOSTICS[:-1]
"""Those that are computed of a part of many draws; R-hat is that of all chains."""

MOST_DIAGNOSED = 1_000_000
"""The most numbers (chains times draws times coordinates) of which effective sample sizes and R-hat are computed: a second."""

FEWEST_CHAINS = 4
"""The fewest chains, if there are as many, of which these are computed where they are computed of a part of the draws."""


def summarise_draws(draws: Any, *, table: bool = True) -> str:
    """Lines for a terminal: how many draws there are, and mean, spread, effective sample sizes and R-hat by coordinate.

    Without `table`, for draws that do not fit into memory, only their number.
    """
    posterior = draws.posterior
    chains, kept = posterior.sizes["chain"], posterior.sizes["draw"]
    whose = printable(f"{draws.attrs['scheme']} on {draws.attrs['target']}")
    lines = [f"{whose}: {kept:,} draws of each of {chains:,} chains"]
    if draws.attrs["diverged"]:
        # The draws before a divergence are already moving to infinity: their averages estimate nothing.
        return f"{lines[0]} up to where {draws.attrs['diverged']}; not summarised"
    if not table:
        return f"{lines[0]}; more than fit into memory, so not summarised"
    if kept < FEWEST:
        return f"{lines[0]}; too few for a summary, which takes {FEWEST}"
    shown, left_out = _first(posterior)
    weights = _weights(draws)
    lines.append(_table(shown, weights).to_string(float_format=lambda value: f"{value:.4g}"))
    if left_out:
        lines.append(f"... and {left_out:,} more coordinates")
    part = diagnosed(shown)
    if part.sizes != shown.sizes:
        columns = [column for column in PARTIAL if column != "mcse_mean" or weights is None]
        lines.append(
            f"{', '.join(columns)} are those of the last {part.sizes['draw']:,} draws of the first {part.sizes['chain']:,} chains, "
            f"r_hat is that of all chains by every {every(shown)}th draw; for those of all: arviz.summary(draws)"
        )
    if weights is not None:
        worth = float(weights.sum() ** 2 / (weights**2).sum())
        lines.append(
            f"mean and sd by sample_stats.log_weight, which makes the draws worth {worth:,.0f} of {weights.size:,}; the other "
            "columns are those of the draws as they are"
        )
    return "\n".join(lines)


def table_of(draws: Any) -> dict[str, dict[str, float | None]]:
    """The table of `summarise_draws` as plain data {coordinate: {column: value}}, with None for missing values.

    Empty if `summarise_draws` shows no table. Of more than `MOST_DIAGNOSED` numbers only mean, sd and R-hat are not None.
    """
    if draws.posterior.sizes["draw"] < FEWEST or draws.attrs["diverged"]:
        return {}
    shown = _first(draws.posterior)[0]
    table = _table(shown, _weights(draws))
    if diagnosed(shown).sizes != shown.sizes:
        table = table.assign(**{column: math.nan for column in table.columns if column in PARTIAL})
    rows = table.to_dict("index")
    return {
        name: {column: float(value) if math.isfinite(value) else None for column, value in row.items()}
        for name, row in rows.items()
    }


def _weights(draws: Any) -> Any:
    """The weight of each draw, scaled to the largest 1, with dimensions chain and draw; None if all weights are equal."""
    if "log_weight" not in draws.sample_stats:
        return None
    logs = draws.sample_stats["log_weight"]
    return np.exp(logs - logs.max())


def _table(shown: Any, weights: Any) -> Any:
    before = logging.getLogger("arviz").level
    logging.getLogger("arviz").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # Chains that do not move have no R-hat: it is printed as NaN.
            warnings.simplefilter("ignore", RuntimeWarning)
            table = arviz().summary(diagnosed(shown), kind="diagnostics", round_to="none")[DIAGNOSTICS]
            if every(shown) > 1:
                table["r_hat"] = [
                    value for part in r_hats(shown).data_vars.values() for value in np.ravel(part)
                ]
    finally:
        logging.getLogger("arviz").setLevel(before)
    if weights is None:
        means, spreads = shown.mean(CHAINS, dtype=np.float64), shown.std(CHAINS, ddof=1, dtype=np.float64)
    else:
        means = (shown * weights).sum(CHAINS) / weights.sum()
        spreads = np.sqrt(((shown - means) ** 2 * weights).sum(CHAINS) / weights.sum())
        table = table.drop(columns=["mcse_mean"])
    # In the order of the table's rows: variable by variable, row by row.
    for place, (column, found) in enumerate((("mean", means), ("sd", spreads))):
        table.insert(place, column, np.concatenate([np.ravel(value) for value in found.data_vars.values()]))
    return table


def labels_of(posterior: Any) -> Iterator[str]:
    """The coordinates as ArviZ's table names them: variable by variable, row by row."""
    for name, value in posterior.data_vars.items():
        axes = [value[axis].values for axis in value.dims if axis not in CHAINS]
        for place in product(*axes):
            yield f"{name}[{', '.join(map(str, place))}]" if place else str(name)


def diagnosed(shown: Any) -> Any:
    """The draws of which effective sample sizes and R-hat are computed: all, or the last draws of the first chains."""
    chains, kept = shown.sizes["chain"], shown.sizes["draw"]
    numbers = sum(value.size for value in shown.data_vars.values())
    if numbers <= MOST_DIAGNOSED:
        return shown
    most = MOST_DIAGNOSED * chains * kept // numbers
    some = min(chains, max(FEWEST_CHAINS, most // kept))
    return shown.isel(chain=slice(0, some), draw=slice(-max(FEWEST, min(kept, most // some)), None))


def every(shown: Any) -> int:
    """The distance of the draws that R-hat is computed of: of all chains, as many as `MOST_DIAGNOSED` numbers."""
    numbers = sum(value.size for value in shown.data_vars.values())
    return max(1, min(-(-numbers // MOST_DIAGNOSED), shown.sizes["draw"] // FEWEST))


def r_hats(shown: Any) -> Any:
    """R-hat of all chains; draws between are left out where there are many, which the chains' means and variances hardly notice."""
    return arviz().rhat(shown.isel(draw=slice(None, None, every(shown))).load())


def _first(posterior: Any) -> tuple[Any, int]:
    """The first coordinates of the posterior, as many as fit a screen, and the number of the remaining ones."""
    room, kept, total = MOST_ROWS, {}, 0
    for name, value in posterior.data_vars.items():
        inner = [axis for axis in value.dims if axis not in ("chain", "draw")]
        size = 1
        for axis in inner:
            size *= value.sizes[axis]
        total += size
        if room <= 0:
            continue
        if size > room:
            # Along the first axes one entry each, so that the table stays short whatever the shape.
            value = value.isel({axis: slice(0, 1) for axis in inner[:-1]} | {inner[-1]: slice(0, room)})
            size = min(room, value.size // (value.sizes["chain"] * value.sizes["draw"]))
        kept[name], room = value, room - size
    shown = posterior[[]].assign(kept)
    drawn = sum(value.size for value in kept.values()) // (posterior.sizes["chain"] * posterior.sizes["draw"])
    return shown, total - drawn
