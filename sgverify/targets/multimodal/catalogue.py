"""The multimodal functions by name."""

from __future__ import annotations

from collections.abc import Mapping

from sgverify.targets.multimodal.any_dimension import ANY_DIMENSION
from sgverify.targets.multimodal.function import Function
from sgverify.targets.multimodal.plane import PLANE

FUNCTIONS: Mapping[str, Function] = {function.name: function for function in (*ANY_DIMENSION, *PLANE)}
