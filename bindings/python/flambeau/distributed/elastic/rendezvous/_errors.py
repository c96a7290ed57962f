"""What keeps the nodes of a job from working together."""


class RendezvousError(Exception):
    """The nodes of a job do not come together."""


class RendezvousClosedError(RendezvousError):
    """The job has all its nodes, or was ended by one of them."""


class RendezvousTimeoutError(RendezvousError):
    """Nodes did not come in time."""


class RendezvousConnectionError(RendezvousError):
    """The store of the job cannot be made or reached."""


class RendezvousStateError(RendezvousError):
    """What the nodes have agreed on is damaged."""


class RendezvousGracefulExitError(RendezvousError):
    """The job has succeeded, and this node was not needed."""
