"""How does a user's torch code become a target?

`functions` (a log density or likelihood of one's own), `model_target` (a model of NumPyro or PyMC), `module_target` and
`module_parts` (a torch module with loss, data and prior), `module_operations` (its parameters in one vector, its
gradient as arithmetic coordinate by coordinate, found by `module_lowering` with the operations of `module_arithmetic`),
`module_gradient` (gradients by torch's own operations), `module_mode` (a mode of its posterior), `network_target` (the network,
loss and data of a training script).
"""
