"""Steps with a bug, each stating what it is said to be and is not; none of them may pass."""
