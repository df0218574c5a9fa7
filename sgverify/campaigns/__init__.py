"""Many questions, asked on many processes, whose answers survive the end of any of them.

`file` reads what a campaign asks, `combinations` lists it, with those that `drawing` draws, `questions` makes a task of each,
`plan` says what they are expected to cost, and `collecting` writes the report. `tasks` answers tasks, of which a store has some
answers already and keeps the others; `engines` runs jobs, whatever becomes of one of them, on what `processes` begins, and
`cluster` on a Dask cluster, to which `sent_code` brings the user's files. `batches` says how many jobs travel together and what
comes back, `costs` what a job is expected to take.
"""
