"""torch.profiler: profiles of a program step by step, on a schedule. The engine records; here are
the schedule, the handler of finished traces, and PyTorch's spelling of both."""

import enum
import os
import socket
import time

from ._deprecated import warn
from ._gen import api
from .autograd.profiler import Profiled, record_function, start

__all__ = (
    "ProfilerAction ProfilerActivity profile record_function schedule supported_activities "
    "tensorboard_trace_handler"
).split()


class ProfilerActivity(enum.Enum):
    """What to time: the host, and devices by their own events."""

    CPU = 0
    CUDA = 2
    XPU = 1


class ProfilerAction(enum.Enum):
    """What a step is for. RECORD_AND_SAVE ends a trace."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_ACTIVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE


def supported_activities():
    """The host, and CUDA where there is a device."""
    found = {ProfilerActivity.CPU}
    if api.device_is_available("cuda"):
        found.add(ProfilerActivity.CUDA)
    return found


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from the step's number to what it is for: after `skip_first` steps, `wait` idle
    ones, `warmup` ones and `active` recorded ones, `repeat` times or for ever."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")
    cycle = wait + warmup + active

    def action(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * cycle:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """A handler that writes every finished trace to a folder, under names that TensorBoard finds.
    The worker's name is by default that of the host and the process."""

    def write(profiled):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        profiled.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile(Profiled):  # noqa: N801
    """Profiles a `with` block, or those steps of it that the schedule names: call `step()` after
    each. `on_trace_ready` gets this object whenever a trace is complete.

    `with_stack` and `with_modules` record calls of modules as ranges; events carry the module's
    path."""

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 acc_events=False):  # fmt: skip
        self.activities = set(supported_activities() if activities is None else activities)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        for name, asked in (("with_flops", with_flops), ("acc_events", acc_events)):
            if asked:
                raise NotImplementedError(f"profile({name}=True) is not supported")
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.record_steps = schedule is not None
        self.step_num = 0
        self.current_action = self.schedule(0)
        device_time = self.activities != {ProfilerActivity.CPU}
        self._options = record_shapes, profile_memory, with_modules or with_stack, device_time
        self._step = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def start(self):
        """Begins the first step."""
        self._change(ProfilerAction.NONE, self.current_action)

    def step(self):
        """Ends a step and begins the next one, which the schedule may record or not."""
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)

    def stop(self):
        """Ends the last step; a trace that is open is complete."""
        self._change(self.current_action, None)

    def _change(self, before, after):
        if self._step:
            self._step.__exit__(None, None, None)
            self._step = None
        ends = before == ProfilerAction.RECORD_AND_SAVE or after not in _ACTIVE
        if before in _ACTIVE and ends:
            self._profile = api.profiler_stop()
            complete = before == ProfilerAction.RECORD_AND_SAVE or after is None
            if not complete:
                warn(f"Incorrect schedule: RECORD followed by {after.name}")
            elif self.on_trace_ready:
                self.on_trace_ready(self)
        if after in _ACTIVE and (before not in _ACTIVE or ends):
            start(*self._options)
        if self.record_steps and after in _ACTIVE:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()
