"""An optimizer of torch as a step.

`adapter` says which objects are taken, and with which settings a memory is a momentum; `options` reads the parameters of the
constructor, and `arguments` those of its step, in h, T and D, and reads and writes the state that an optimizer keeps; `step` runs
one step of it, and `as_it_is` a run of many; `finding` looks which parts the state has, and which buffer is the momentum,
`counters` where counters are held, and `flags` whether noise has to be asked for.
"""
