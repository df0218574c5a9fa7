"""What should a user do next?

`diagnosis`: why a scheme fails, and the edit of its source that mends it.
"""
