"""The handler of a job's nodes, by parameters."""

from ._handler import rendezvous_handler_registry

__all__ = ["get_rendezvous_handler"]


def get_rendezvous_handler(params):
    """A handler for an agent."""
    return rendezvous_handler_registry.create_handler(params)
