"""The power-series reading: local orders proved for every smooth potential.

`carrier` runs a definition on series, `branches` follows the signs under its roots, `operators` and `transition` make
E f(X_1) a differential operator, `averaging` averages it over minibatches. `local_order` compares it with exp(hL), in
the `dimensions` that are asked, and answers with the `orders`; `noise_terms` names what minibatches add. `letters`
proves an alphabet, `equilibrated_memory` forgets the start of a memory, `invariant_order` solves for the invariant law,
`probe` is a potential with nothing special, for black boxes.
"""

from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import Defect, LocalOrder

__all__ = ["Defect", "LocalOrder", "local_order"]
