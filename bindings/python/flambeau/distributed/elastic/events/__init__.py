"""`torch.distributed.elastic.events`: what happened in a job, as lines of JSON for a logger by its
destination: `console`, or `null`, which keeps nothing. The launcher itself records none."""

import inspect
import logging
import os
import socket
import traceback

from .api import Event, EventMetadataValue, EventSource, NodeState, RdzvEvent
from .handlers import get_logging_handler

__all__ = ["Event", "EventMetadataValue", "EventSource", "NodeState", "RdzvEvent",
           "construct_and_record_rdzv_event", "get_logging_handler", "record",
           "record_rdzv_event"]  # fmt: skip

_loggers = {}


def _logger(destination):
    """Its handler alone gets what it logs."""
    if destination not in _loggers:
        handler = get_logging_handler(destination)
        found = logging.getLogger(f"torchelastic-events-{destination}")
        found.setLevel(os.environ.get("LOGLEVEL", "INFO"))
        found.propagate = False
        found.addHandler(handler)
        _loggers[destination] = found
    return _loggers[destination]


def record(event, destination="null"):
    """Hands an event to the destination's logger."""
    _logger(destination).info(event.serialize())


def record_rdzv_event(event):
    """The same of an event of a rendezvous, whose destination is `dynamic_rendezvous`."""
    _logger("dynamic_rendezvous").info(event.serialize())


def construct_and_record_rdzv_event(run_id, message, node_state, name="", hostname="", pid=None,
                                    master_endpoint="", local_id=None, rank=None):  # fmt: skip
    """Makes one and records it, with the error that is being handled where the node has failed."""
    if isinstance(get_logging_handler("dynamic_rendezvous"), logging.NullHandler):
        return
    caller = inspect.currentframe().f_back
    file = os.path.basename(caller.f_code.co_filename)
    failed = node_state == NodeState.FAILED
    record_rdzv_event(
        RdzvEvent(
            name=f"{file}:{name or caller.f_code.co_name}",
            run_id=run_id,
            message=message,
            hostname=hostname or socket.getfqdn(),
            pid=pid or os.getpid(),
            node_state=node_state,
            master_endpoint=master_endpoint,
            rank=rank,
            local_id=local_id,
            error_trace=traceback.format_exc() if failed else "",
        )
    )
