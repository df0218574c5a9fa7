"""An optimizer of torch as a step.

`adapter` says which objects are taken; `options` reads the parameters of the constructor and those of its step, in h,
T and D; `conventions` reads from the law of one step what the options are where nothing is told, and which buffer is a momentum;
`kept_values` reads and writes the state that an optimizer keeps, wherever it lies; `step` runs one step of it, and `as_it_is` a
run of many; `finding` looks which parts the state has, where its counters are held, and whether noise has to be asked for,
`momentum` which buffer is the momentum, and `idle_options` which options move nothing.
"""
