"""What several tests are about: schemes and torch code that no catalogue has, dynamics, models, and carriers to run them on."""
