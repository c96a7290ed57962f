"""Timing of statements: `Timer("f(x)", globals={"f": f, "x": x}).blocked_autorange()`.

The clock is read when the devices have done what was asked of them, so that a launch that returns
early does not look fast."""

import statistics
import textwrap
import timeit as _timeit
from time import perf_counter

from ... import _torch, cuda

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def timer():
    """The time in seconds, after the GPU in use has come to rest."""
    if cuda.is_available():
        cuda.synchronize()
    return perf_counter()


class Measurement:
    """Times of several runs of a statement, `number_per_run` executions each."""

    def __init__(self, number_per_run, raw_times, label="", sub_label=None, description=None,
                 env=None, num_threads=1):  # fmt: skip
        self.number_per_run, self.raw_times = number_per_run, list(raw_times)
        self.title = label
        self.sub_label, self.description, self.env = sub_label, description, env
        self.num_threads = num_threads

    @property
    def times(self):
        """Seconds per execution, one for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self):
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def median(self):
        """The median of the times."""
        return statistics.median(self.times)

    @property
    def iqr(self):
        """The distance of the quartiles of the times."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self):
        unit, scale = next((u for u in _UNITS if self.median >= u[1]), _UNITS[-1])
        lines = [object.__repr__(self), self.title]
        lines += [part for part in (self.sub_label, self.description) if part]
        lines.append(f"  Median: {self.median / scale:.2f} {unit}")
        lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        executions = "run" if self.number_per_run == 1 else "runs per measurement"
        lines.append(
            f"  {len(self.times)} measurements, {self.number_per_run} {executions}, "
            f"{self.num_threads} thread{'' if self.num_threads == 1 else 's'}"
        )
        return "\n".join(lines)


class Timer:
    """Measures `stmt` after `setup`, with the names of `globals`, on `num_threads` threads."""

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None,
                 label=None, sub_label=None, description=None, env=None, num_threads=1,
                 language="python"):  # fmt: skip
        if str(getattr(language, "value", language)).lower() not in ("py", "python"):
            raise ValueError("Timer: only statements in Python are measured")
        if global_setup:
            raise ValueError("Timer: global_setup is for statements in C++")
        names = {"torch": _torch._package, **(globals or {})}
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._timer = _timeit.Timer(stmt, setup, timer=timer, globals=names)
        self._facts = {"label": label or stmt, "sub_label": sub_label, "description": description}
        self._facts.update(env=env, num_threads=num_threads)
        self._threads = num_threads

    def _timed(self, number):
        before = _torch.get_num_threads()
        _torch.set_num_threads(self._threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            _torch.set_num_threads(before)

    def timeit(self, number=1000000):
        """One measurement of `number` executions."""
        self._timed(max(number // 100, 2))  # warm
        return Measurement(number, [self._timed(number)], **self._facts)

    def _block_size(self, min_run_time):
        """So many executions that reading the clock does not count."""
        clock = self._timer.timer
        overhead = statistics.median([-clock() + clock() for _ in range(5)])
        number = 1
        while True:
            took = self._timed(number)
            if overhead <= took * 1e-4 and took >= min_run_time / 1000 or took > min_run_time:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measurements of as many executions each as the clock needs, for `min_run_time`."""
        return self._measured(min_run_time, min_run_time, callback, lambda found: False)

    def _measured(self, min_run_time, max_run_time, callback, enough):
        number = self._block_size(min_run_time)
        times, total = [], 0.0
        found = Measurement(number, times, **self._facts)
        while total < max_run_time and not (total >= min_run_time and enough(found)):
            took = self._timed(number)
            if callback is not None:
                callback(number, took)
            times.append(took)
            total += took
            found = Measurement(number, times, **self._facts)
        return found

    def adaptive_autorange(
        self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None
    ):
        """`blocked_autorange` until the quartiles lie close to each other."""

        def settled(found):
            return len(found.times) >= 4 and found.iqr < threshold * found.median

        return self._measured(min_run_time, max_run_time, callback, settled)
