"""Jobs of many processes that are started again when one of them fails."""
