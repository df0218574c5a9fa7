"""Many questions, asked on many processes, whose answers survive the end of any of them.

`file` reads what a campaign asks, `combinations` lists or draws it, `questions` makes a task of each and says what they are
expected to cost, and `collecting` writes the report. `tasks` answers tasks, of which a store has some
answers already and keeps the others; `engines` runs jobs, whatever becomes of one of them and however many travel together, and
`cluster` on a Dask cluster, to which it sends the user's files.
"""
