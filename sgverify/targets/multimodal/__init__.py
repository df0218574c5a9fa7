"""The standard multimodal functions as targets exp(-U/T), with their search boxes and global minima.

`function` says what one is, `catalogue` holds their formulas.
"""

from sgverify.targets.multimodal.catalogue import FUNCTIONS
from sgverify.targets.multimodal.function import Function

__all__ = ["FUNCTIONS", "Function"]
