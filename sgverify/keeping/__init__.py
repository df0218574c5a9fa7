"""What outlives a process: answers that are found again, runs that go on later, files that are whole, and processes that work.

Whatever is kept here has an identity (`identity`): the hash, or the parts by name, of all that determines it: what is asked, the
code and the data behind it, this package's own source, the libraries and the platform. Nothing is taken from a disk under another
one. `store` keeps answers in one SQLite file, in `rows` that say what they belong to, and finds them again; `states` keeps what a
run needs to go on to the same bits. `files` puts every file in place in one step, so that a process that is killed at any moment
leaves the old content or the new one, and reads the files that a user names up to a stated size; `places` says where things lie,
and who can write there. `workers` runs calls on several processes of this machine, with results that do not depend on their number,
and `stopping` lets signals end work in order.
"""
