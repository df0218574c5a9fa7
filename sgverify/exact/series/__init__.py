"""The power-series reading: local orders proved for every smooth potential."""

from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import Defect, LocalOrder

__all__ = ["Defect", "LocalOrder", "local_order"]
