"""torch.autograd.profiler: a profile of a `with` block, and named ranges in it."""

import functools

from .._gen import api
from .profiler_util import averages, events, export_trace

__all__ = ["profile", "record_function"]


def start(record_shapes=False, profile_memory=False, with_modules=False, device_time=True):
    """Starts the engine's profiler, on all threads."""
    api.profiler_start(record_shapes, profile_memory, with_modules, device_time)


def kineto_available():
    """Whether torch's own profiler is there: never, the engine's is."""
    return False


class record_function:  # noqa: N801
    """A named range: `with record_function("load"): ...`, or a decorator."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args
        self._open = []

    def __enter__(self):
        text = self.name if self.args is None else f"{self.name}({self.args})"
        self._open.append(api.range_begin(text))
        return self

    def __exit__(self, *exc):
        api.range_end(self._open.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def ranged(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return ranged


class Profiled:
    """Reports of a profile, once there is one."""

    _profile = None

    def _found(self):
        if self._profile is None:
            raise AssertionError("Profiler didn't finish running")
        return self._profile

    def events(self):
        """Every event, in the order in which they began."""
        return events(self._found())

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0,
                     group_by_overload_name=False, group_by_module=False):  # fmt: skip
        """Averages per name, and per shapes of the operands or module where asked for. A stack is
        the module's path: grouping by one groups by modules."""
        by_module = bool(group_by_module or group_by_stack_n)
        return averages(self._found(), group_by_input_shape, by_module)

    def export_chrome_trace(self, path, use_python_export=False):
        """Writes the profile for chrome://tracing or ui.perfetto.dev; gzipped for "*.gz"."""
        export_trace(self._found(), path)

    def total_average(self):
        """All events taken as one."""
        return self.key_averages().total_average()

    def step_report(self):
        """How much of its steps each device was idle, why, and which switches help."""
        return api.profile_step_report(self._found())

    def table(self, *args, **kwargs):
        """The averages as text; see `EventList.table`."""
        return self.key_averages().table(*args, **kwargs)


class profile(Profiled):  # noqa: N801
    """Profiles a `with` block."""

    def __init__(self, enabled=True, *, use_cuda=True, use_device=None, record_shapes=False,
                 with_flops=False, profile_memory=False, with_stack=False, with_modules=False,
                 use_kineto=False, use_cpu=True):  # fmt: skip
        if with_flops:
            raise NotImplementedError("with_flops: floating-point operations are not counted")
        self.enabled = enabled
        self._options = record_shapes, profile_memory, with_modules or with_stack, use_cuda

    def __enter__(self):
        if self.enabled:
            start(*self._options)
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self._profile = api.profiler_stop()

    function_events = property(lambda self: self.events())
    self_cpu_time_total = property(lambda self: self.key_averages().self_cpu_time_total)

    def __str__(self):
        return "<unfinished profile>" if self._profile is None else self.table()
