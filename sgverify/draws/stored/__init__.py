"""How are draws kept while they are drawn, so that a run that was killed goes on to the bits of one that was not?

`source` is what draws, `run` begins a run, resumes it and writes its end. `shard` draws the chains of one process, `processes`
those of several. `folder` is the Zarr folder of the draws, `ledger` what lies in it to go on from, `identity` whose run it is,
`damage` what in it cannot be trusted, and `stopping` ends a run by signals.
"""
