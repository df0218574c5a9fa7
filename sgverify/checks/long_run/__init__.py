"""Somebody's code as it is: does it do in a long run what its measured step says?

`long_run` is the check; `running` runs the code, an optimizer or a plain step, beside the law of one step (`sgverify.law`).
`innovations` sums what each step of a run adds to its mean, over copies, and `departures` tests these sums and says from which
step on they leave what is due.
"""
