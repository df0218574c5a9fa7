"""The colours and the look of every figure, on light screens and on dark ones."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's colours, darkened where they are pale.
COLOURS = (
    "#0b6aa8", "#c8501e", "#0b8a65", "#a3549a", "#8a6d00", "#3a3f8f", "#b0304f", "#4d7a1f", "#6b5a4a", "#0f7f8c",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
INK, SOFT, GRID, PAPER = "#1a1c1e", "#5b6166", "#dfe2e4", "#fdfdfc"

# The same on a dark screen.
DARK_COLOURS = (
    "#5ab4ee", "#f08a5d", "#44c9a0", "#dd92d2", "#d9bb45", "#9a9ff0", "#f27a95", "#a3cf6a", "#c9b29a", "#5fd0de",
)  # fmt: skip
DARK_INK, DARK_SOFT, DARK_GRID, DARK_PAPER = "#e6e7e8", "#a2a8ad", "#2f3337", "#16181a"

# Any: matplotlib types the keys one by one.
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sgverify",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}
