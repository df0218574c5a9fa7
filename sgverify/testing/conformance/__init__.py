"""The conformance suites of readings: inherit one, say how your carrier takes a step, and run it.

`suite` compares one step with everything injected (`case`) with the plain reading on balls (`reference`), `expansion` the
expectations in powers of h. The shipped readings: `exact_readings`, and the sampler's in `suite`.
"""
