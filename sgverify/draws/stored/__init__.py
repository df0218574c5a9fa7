"""Draws that are kept while they are drawn, so that a run that was killed goes on to the bits of one that was not.

`source` is what draws, and whose run it is, `run` begins a run, resumes it and writes its end. `shards` draws the chains of one
process, and divides a run among several. `folder` is the Zarr folder of the draws, `ledger` what lies in it to go on from, and what
of that is damaged.
"""
