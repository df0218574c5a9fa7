"""Correct schemes from the literature, each stating the true order of a step; none of them may violate."""
