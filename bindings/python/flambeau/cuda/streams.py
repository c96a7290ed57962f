"""Streams and events of GPUs."""

from .._call import Holder, _fast, ffi
from .._gen import api
from .._scope import Scope, opening
from .._types import device as device_type


def _target(device):
    return device_type("cuda") if device is None else device_type(device)


class Stream(Holder):
    """A queue of work on a GPU."""

    __slots__ = ()

    def __new__(cls, device=None, priority=0, **_):
        return cls._of(api.stream_new(_target(device), priority))

    device = property(lambda self: api.stream_device(self))
    stream_id = property(lambda self: api.stream_id(self))
    priority = property(lambda self: api.stream_priority(self))
    cuda_stream = property(lambda self: int(ffi.cast("intptr_t", api.stream_native(self))))

    @staticmethod
    def priority_range():
        """The least and the most urgent priority."""
        return 0, -1

    query, synchronize = api.stream_query, api.stream_synchronize
    wait_stream = api.stream_wait_stream

    def wait_event(self, event):
        """What comes next waits for the event."""
        event.wait(self)

    def record_event(self, event=None):
        """An event for the work it has now."""
        event = event or Event()
        event.record(self)
        return event

    _key = property(lambda self: (self.device, self.stream_id))

    def __eq__(self, other):
        return isinstance(other, Stream) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self):
        _entered.append(StreamContext(self))
        _entered[-1].__enter__()
        return self

    def __exit__(self, *exc):
        _entered.pop().__exit__(*exc)


_entered = []


class ExternalStream(Stream):
    """A stream that another library made."""

    __slots__ = ()

    def __new__(cls, stream_ptr, device=None):
        return cls._of(api.stream_from_native(_target(device), ffi.cast("void *", stream_ptr)))


class Event:
    """A point in a stream's work."""

    __slots__ = ("_handle", "_h", "_timing", "__weakref__")

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise NotImplementedError("Event: interprocess events are not supported")
        self._handle, self._h, self._timing = None, None, enable_timing

    def _made(self, device):
        if self._handle is None:
            self._handle = api.event_new(device, self._timing)
            self._h = self._handle._h
        return self

    def record(self, stream=None):
        """Lets the event stand for all work that a stream has now."""
        stream = stream or current_stream()
        api.event_record(self._made(stream.device), stream)

    def wait(self, stream=None):
        """What the stream gets next waits for the event."""
        if self._handle is not None:
            api.event_wait(self, stream or current_stream())

    def query(self):
        """Whether that work is done."""
        return self._handle is None or api.event_query(self)

    def synchronize(self):
        """Waits until that work is done."""
        if self._handle is not None:
            api.event_synchronize(self)

    def elapsed_time(self, end_event):
        """Milliseconds from this event to another; both made with `enable_timing=True` and
        recorded."""
        if not self._timing or not end_event._timing:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._handle is None or end_event._handle is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return api.event_elapsed(self, end_event)


def current_stream(device=None):
    """This thread's current stream of a GPU."""
    return Stream._of(api.stream_current(_target(device)))


def default_stream(device=None):
    """A GPU's default stream."""
    return Stream._of(api.stream_default(_target(device)))


def set_stream(stream):
    """Makes a stream this thread's current one."""
    if stream is not None:
        api.stream_set_current(stream)


class StreamContext(Scope):
    """Makes a stream current for a `with` block; None changes nothing."""

    def __init__(self, stream):
        super().__init__()
        self.stream = stream

    @property
    def _begin(self):
        return self.stream and opening(_fast.flam_stream_push, self.stream._h)


stream = StreamContext
