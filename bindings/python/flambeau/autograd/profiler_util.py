"""What a profile holds, as Python objects with PyTorch's names: events, averages of a name, and the
lists of both that print themselves as tables."""

import json
import os
from collections import namedtuple

from .._gen import api


def _aliases(cls):
    """The names that PyTorch had for device times when every device was CUDA."""
    for name in ("device_time", "device_time_total", "self_device_time_total"):
        old = name.replace("device", "cuda")
        setattr(cls, old, property(lambda self, name=name: getattr(self, name)))
    return cls


# What a row has alone, and with inner ones.
_SHARED = "host_us", "device_us", "host_bytes", "device_bytes"
_ON_DEVICE = "kernel", "copy", "fill"  # kinds of what a device ran
_NOTHING = {"self": {"allocated": 0, "freed": 0}, "total": {"allocated": 0, "freed": 0}}


# What a device ran, in an op's `kernels`: microseconds.
Kernel = namedtuple("Kernel", "name device duration")


class _Measured:
    """Times in microseconds and bytes, of the row alone (`self_`) and with what ran inside it."""

    def __init__(self, row):
        host, device = row["host_us"], row["device_us"]
        self.cpu_time_total, self.self_cpu_time_total = host["total"], host["self"]
        self.device_time_total, self.self_device_time_total = device["total"], device["self"]
        for place, name in (("host_bytes", "cpu"), ("device_bytes", "device")):
            for share, prefix in (("total", ""), ("self", "self_")):
                of = row[place][share]
                setattr(self, f"{prefix}{name}_memory_usage", of["allocated"] - of["freed"])
                setattr(self, f"{prefix}{name}_memory_allocated", of["allocated"])
        self.kind = row["kind"]
        self.input_shapes = row["shapes"]
        self.is_user_annotation = row["kind"] == "range"
        self.module = row["module"]  # path of the module that ran
        self.stack = [row["module"]] if row["module"] else []

    cpu_time = property(lambda self: self.cpu_time_total / max(self.count, 1))
    device_time = property(lambda self: self.device_time_total / max(self.count, 1))


@_aliases
class FunctionEventAvg(_Measured):
    """All events of one name."""

    def __init__(self, row):
        super().__init__(row)
        self.key, self.count = row["name"], row["count"]

    def __repr__(self):
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} "
            f"self_cpu_time={self.self_cpu_time_total:.3f}us cpu_time={self.cpu_time:.3f}us "
            f"device_time={self.device_time:.3f}us input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


class Interval:
    """Microseconds since the profiler started."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        return self.end - self.start

    def __repr__(self):
        return f"Interval({self.start:.3f}, {self.end:.3f})"


@_aliases
class FunctionEvent(_Measured):
    """One call of an op, one gradient, one named range, or one kernel or copy of a device."""

    count = 1

    def __init__(self, row, number):
        super().__init__(row)
        self.id, self.thread = number, row["thread"]
        self.name = self.key = row["name"]
        self.device, self.kernels = row["device"], []
        self.sequence_nr = row["sequence"] or -1
        self.input_dtypes = row["dtypes"].split(", ") if row["dtypes"] else []
        begin = row["begin_us"]
        length = row["device_us" if self.kind in _ON_DEVICE else "host_us"]["total"]
        self.time_range = Interval(begin, begin + length)
        self.cpu_parent, self.cpu_children = None, []

    def __repr__(self):
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time:.3f}us "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"thread={self.thread} input_shapes={self.input_shapes} module={self.module!r} "
            f"seq_nr={self.sequence_nr}>"
        )


class EventList(list):
    """Events or averages of one profile; `table()` shows the averages."""

    def __init__(self, entries, profile, by_shape=False, by_module=False):
        super().__init__(entries)
        self._profile, self._by = profile, (by_shape, by_module)

    self_cpu_time_total = property(lambda self: sum(e.self_cpu_time_total for e in self))

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55,
              max_shapes_column_width=80, header=None):  # fmt: skip
        """A row per name, the largest of column `sort_by` first. Columns are as wide as what is in
        them, up to 60 characters, whatever the widths given."""
        text = api.profile_table(self._profile, sort_by, row_limit, *self._by)
        return text if header is None else f"{header}\n{text}"

    def __str__(self):
        return self.table()

    def export_chrome_trace(self, path):
        """Writes the profile for chrome://tracing or ui.perfetto.dev."""
        export_trace(self._profile, path)

    def total_average(self):
        """All entries taken as one; what devices ran is in those that launched it."""
        nothing = {"name": "Total", "kind": "op", "module": "", "shapes": [], "count": 0}
        total = FunctionEventAvg({**nothing, **dict.fromkeys(_SHARED, _NOTHING)})
        entries = [e for e in self if e.kind not in _ON_DEVICE]
        total.count = sum(e.count for e in entries)
        for name in [n for n in vars(total) if n.startswith("self_")]:
            found = sum(getattr(e, name) for e in entries)
            setattr(total, name, found)
            setattr(total, name.removeprefix("self_"), found)
        return total


def averages(profile, by_shape=False, by_module=False):
    """The averages of a profile, as an EventList."""
    rows = json.loads(api.profile_averages(profile, by_shape, by_module))
    return EventList(map(FunctionEventAvg, rows), profile, by_shape, by_module)


def events(profile):
    """The events of a profile, each with its parent and children, as an EventList."""
    rows = json.loads(api.profile_events(profile))
    made = [FunctionEvent(row, i + 1) for i, row in enumerate(rows)]
    for event, row in zip(made, rows):
        if row["parent"] < 0:
            continue
        parent = made[row["parent"]]
        if event.kind in _ON_DEVICE:
            index = int(event.device.partition(":")[2])
            parent.kernels.append(Kernel(event.name, index, event.device_time_total))
        else:
            event.cpu_parent = parent
            parent.cpu_children.append(event)
    return EventList(made, profile)


def export_trace(profile, path):
    """Writes a trace; gzipped where the path ends with .gz."""
    path = os.fspath(path)
    if not path.endswith(".gz"):
        return api.profile_export_trace(profile, path)
    import gzip

    plain = path[: -len(".gz")]
    api.profile_export_trace(profile, plain)
    with open(plain, "rb") as whole, gzip.open(path, "wb") as packed:
        packed.write(whole.read())
    os.remove(plain)
