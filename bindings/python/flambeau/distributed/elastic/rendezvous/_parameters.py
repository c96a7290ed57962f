"""What a program says of how the nodes of a job find each other, and what it gets for it: a handler
that an agent takes. Nodes meet when the agent runs, by `_join.py`, over `static` or `c10d`; a
program's own ways are refused where an agent is given them."""

from ...._errors import UnsupportedError

__all__ = ["RendezvousHandler", "RendezvousHandlerRegistry", "RendezvousParameters",
           "rendezvous_handler_registry"]  # fmt: skip

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


class RendezvousHandler:
    """How a job's nodes meet, as an agent takes it."""

    def __init__(self, params):
        self._params, self._is_closed = params, False

    def get_backend(self):
        """The backend's name."""
        return self._params.backend

    def get_run_id(self):
        """The job's id."""
        return self._params.run_id

    use_agent_store = property(lambda self: True, doc="Whether ranks meet at the agent's store.")

    def is_closed(self):
        """Whether the job is over here."""
        return self._is_closed

    def set_closed(self):
        """No agent runs with it any more."""
        self._is_closed = True

    def shutdown(self):
        """The same; True."""
        self._is_closed = True
        return True

    def num_nodes_waiting(self):
        """0: an agent itself sees to nodes that come."""
        return 0

    def next_rendezvous(self):
        """Refused: the agent's `run` meets the other nodes."""
        raise UnsupportedError(
            "RendezvousHandler.next_rendezvous is unsupported: LocalElasticAgent(spec).run() meets "
            "the other nodes"
        )


class RendezvousHandlerRegistry:
    """What makes a handler, by the backend's name."""

    def __init__(self):
        self._creators = {}

    def register(self, backend, creator):
        """Has `creator(params)` make the handlers of a backend."""
        if not backend:
            raise ValueError("The rendezvous backend name must be a non-empty string.")
        known = self._creators.setdefault(backend, creator)
        if known != creator:
            raise ValueError(
                f"The rendezvous backend '{backend}' cannot be registered with '{creator}' as it "
                f"is already registered with '{known}'."
            )

    def create_handler(self, params):
        """The handler."""
        creator = self._creators.get(params.backend)
        if creator is None:
            raise ValueError(
                f"The rendezvous backend '{params.backend}' is not registered. Did you forget to "
                f"call `register`? There are {', '.join(sorted(self._creators))}."
            )
        handler = creator(params)
        if handler.get_backend() != params.backend:
            raise RuntimeError(
                f"The rendezvous backend '{handler.get_backend()}' does not match the requested "
                f"backend '{params.backend}'."
            )
        return handler


rendezvous_handler_registry = RendezvousHandlerRegistry()
for _name in ("c10d", "static"):
    rendezvous_handler_registry.register(_name, RendezvousHandler)
