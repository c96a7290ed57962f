"""`torch.Stream` and `torch.Event`: streams and events of a device that is named, where those of
`torch.cuda` take the current one."""

from . import cuda
from ._types import device as device_type


class Stream(cuda.Stream):
    """A queue of work on a device."""

    __slots__ = ()

    def __repr__(self):
        device = self.device
        return (
            f"torch.Stream device_type={device.type}, device_index={device.index}, "
            f"stream_id={self.stream_id}"
        )


class Event(cuda.Event):
    """A point in the work of a stream of `device`."""

    __slots__ = ("device",)

    def __init__(self, device=None, enable_timing=False, blocking=False, interprocess=False):
        super().__init__(enable_timing, blocking, interprocess)
        self.device = device_type("cuda" if device is None else device)

    def record(self, stream=None):
        super().record(stream or cuda.current_stream(self.device))

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index={self.device.index or 0}"
