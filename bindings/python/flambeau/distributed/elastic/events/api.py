"""Events as records that become JSON and come back from it."""

import json
from dataclasses import asdict, dataclass, field
from enum import Enum

__all__ = ["Event", "EventMetadataValue", "EventSource", "NodeState", "RdzvEvent"]

EventMetadataValue = str | int | float | bool | None


class EventSource(str, Enum):
    """Who tells of it."""

    AGENT, WORKER = "AGENT", "WORKER"


class NodeState(str, Enum):
    """What a node does in a rendezvous."""

    INIT, RUNNING, SUCCEEDED, FAILED = "INIT", "RUNNING", "SUCCEEDED", "FAILED"


class _Record:
    """As text an event is its JSON."""

    def __str__(self):
        return self.serialize()

    def serialize(self):
        """As JSON."""
        return json.dumps(asdict(self))


@dataclass
class Event(_Record):
    """Something that happened; `timestamp` in milliseconds."""

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict[str, EventMetadataValue] = field(default_factory=dict)

    __str__ = _Record.__str__

    @staticmethod
    def deserialize(data):
        """The event of a JSON text; an event as it is."""
        return data if isinstance(data, Event) else _from(Event, data, "source", EventSource)


@dataclass
class RdzvEvent(_Record):
    """Something that happened while nodes came together."""

    name: str
    run_id: str
    message: str
    hostname: str
    pid: int
    node_state: NodeState
    master_endpoint: str = ""
    rank: int | None = None
    local_id: int | None = None
    error_trace: str = ""

    __str__ = _Record.__str__

    @staticmethod
    def deserialize(data):
        """The event of a JSON text; an event as it is."""
        return (
            data if isinstance(data, RdzvEvent) else _from(RdzvEvent, data, "node_state", NodeState)
        )


def _from(kind, data, word, words):
    if not isinstance(data, str):
        raise TypeError(
            f"{kind.__name__}.deserialize: expected a str, but got {type(data).__name__}"
        )
    fields = json.loads(data)
    return kind(**{**fields, word: words[fields[word]]})
