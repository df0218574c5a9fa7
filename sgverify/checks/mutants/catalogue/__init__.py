"""The planted bugs, one file for each family."""
