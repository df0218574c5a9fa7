"""How does an optimizer of torch become a step?

`adapter` says which objects are taken, `options` reads the constructor's parameters in h, T and D, `step` runs one step of an
optimizer that is kept. `state` reads and writes what it keeps; `finding` looks what that is, and which buffer is the momentum;
`as_momentum` with which settings a memory is one.
"""
