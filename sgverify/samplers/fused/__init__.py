"""Steps of a quadratic target in one C kernel, made of the recorded definition: the same bits, many times as fast.

`driver` decides whether a run is moved by a kernel, `translation` turns a tape's operations into loops, `program` writes and
builds the C text, `kernel` calls it.
"""
