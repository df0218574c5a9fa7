"""What do several commands of the command line share?

`options` are their common options, `output` is what goes to which stream, `bars` show how far a command is, `workers` answers
the questions of one call on several processes; `answering` answers tasks with a store, `report_tasks` are those of a report;
`github` annotates the lines of a pull request.
"""
