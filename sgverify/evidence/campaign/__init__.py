"""What a campaign has found, combination by combination and in sums: `model` has the document."""
