"""Speed, measured as a ratio to a named peer in the same run: `python -m benchmarks [NAME ...]`."""
