"""The power-series reading: local orders proved for every smooth potential."""

from sgverify.exact.series.local_order import Defect, LocalOrder, local_order

__all__ = ["Defect", "LocalOrder", "local_order"]
