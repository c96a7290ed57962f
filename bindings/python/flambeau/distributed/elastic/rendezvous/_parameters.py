"""What a program says of how the nodes of a job find each other."""

__all__ = ["RendezvousParameters"]

_WORDS = {True: {"1", "true", "t", "yes", "y"}, False: {"0", "false", "f", "no", "n"}}


class RendezvousParameters:
    """A backend, an endpoint, the job's id, how many nodes, and the backend's own settings."""

    def __init__(self, backend, endpoint, run_id, min_nodes, max_nodes, local_addr=None, **kwargs):
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        if min_nodes < 1:
            raise ValueError(
                f"The minimum number of rendezvous nodes ({min_nodes}) must be greater than zero."
            )
        if max_nodes < min_nodes:
            raise ValueError(
                f"The maximum number of rendezvous nodes ({max_nodes}) must be greater than or "
                f"equal to the minimum number of rendezvous nodes ({min_nodes})."
            )
        self.backend, self.endpoint, self.run_id = backend, endpoint, run_id
        self.min_nodes, self.max_nodes, self.local_addr = min_nodes, max_nodes, local_addr
        self.config = kwargs

    def get(self, key, default=None):
        """A setting."""
        return self.config.get(key, default)

    def get_as_bool(self, key, default=None):
        """A setting as a bool."""
        value = self.get(key, default)
        if value is None or isinstance(value, bool):
            return value
        for found, words in _WORDS.items():
            if str(value).lower() in words:
                return found
        raise ValueError(
            f"The rendezvous configuration option '{key}' does not represent a valid boolean value."
        )

    def get_as_int(self, key, default=None):
        """A setting as an int."""
        value = self.get(key, default)
        try:
            return value if value is None else int(value)
        except ValueError:
            raise ValueError(
                f"The rendezvous configuration option '{key}' does not represent a valid integer "
                "value."
            ) from None
