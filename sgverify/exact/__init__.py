"""The readings of a scheme that need no sampling."""
