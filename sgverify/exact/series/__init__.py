"""The power-series interpreter: local orders proved for every smooth potential.

`carrier` runs a definition on series and follows the signs under its roots, `operators` makes E f(X_1) a differential operator,
`averaging` averages it over minibatches. `local_order` compares it with exp(hL), in several `dimensions`, and answers with the
`orders`; `noise_terms` names the terms that minibatches add. `letters` proves an alphabet, `equilibrated_memory` gives the step
after the start of a memory is forgotten, `invariant_order` the order of the invariant law, `probe` a generic potential for
black boxes.
"""

from sgverify.exact.series.local_order import local_order
from sgverify.exact.series.orders import Defect, LocalOrder

__all__ = ["Defect", "LocalOrder", "local_order"]
