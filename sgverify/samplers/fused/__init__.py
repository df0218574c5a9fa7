"""How do steps on a quadratic target run in one C kernel, generated from the recorded definition, with equal bits?

`driver` decides whether a run is moved by a kernel, `translation` turns a tape's operations into loops, `program` writes the
C text, `compiler` builds it, `built` keeps what is built, `kernel` calls it.
"""
