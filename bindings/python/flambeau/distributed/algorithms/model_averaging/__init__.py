"""Parameters of ranks that train apart for some steps, averaged now and then."""
