"""`CommDebugMode`: how many collectives a block called. They are counted where the package calls
the library, so that those of every layer above are there: of the program, of DTensors and of
sharded modules. Reductions of DistributedDataParallel's gradients are the library's own, which
counts them over all backends but NCCL; a hook of the program's that reduces them is counted as any
call, and taken from what the library says."""

import collections
import functools
import threading

from .... import _refused, ops
from ...._errors import UnsupportedError
from ...._gen import api
from ...._on_demand import during
from ..._summary import is_in_hook, summary

# A call of the library's, its name as a functional collective, and torch's names of its other
# forms.
_NAMES = {
    "all_reduce": ("all_reduce", "allreduce_ allreduce_coalesced_"),
    "all_gather": (
        "all_gather_into_tensor",
        "allgather_ _allgather_base_ allgather_coalesced_ allgather_into_tensor_coalesced_",
    ),
    "reduce_scatter": (
        "reduce_scatter_tensor",
        "reduce_scatter_ _reduce_scatter_base_ reduce_scatter_tensor_coalesced_",
    ),
    "all_to_all": ("all_to_all_single", "alltoall_ alltoall_base_"),
    "broadcast": ("broadcast", "broadcast_"),
    "reduce": (None, "reduce_"),
    "gather": (None, "gather_"),
    "scatter": (None, "scatter_"),
}


class _Collective:
    """One collective as a key of counts, whatever its form: in `torch.ops` it has several names."""

    def __init__(self, name):
        self._name = name

    def __call__(self, *args, **kwargs):
        raise UnsupportedError(
            f"torch.ops.{self._name} is a key of CommDebugMode's counts; the collective is in "
            "torch.distributed"
        )

    def __repr__(self):
        return self._name


def _defined(functional, others):
    """The key, which `torch.ops` has from now on."""
    made = _Collective(f"c10d_functional.{functional}" if functional else f"c10d.{others}")
    for space in ("c10d_functional", "_c10d_functional") if functional else ():
        for name in functional, f"{functional}_coalesced":
            ops._define(f"{space}::{name}", made)
    for name in others.split():
        ops._define(f"c10d::{name}", made)
    return made


_KEYS = {call: _defined(*names) for call, names in _NAMES.items()}


class CommDebugMode:
    """A block that counts. `get_comm_counts()` has a number for each of
    `torch.ops.c10d_functional`'s collectives, which is that of the form in `torch.ops.c10d` too."""

    def __init__(self):
        self.comm_counts = collections.defaultdict(int)
        self._lock, self._depth = threading.Lock(), 0

    def __enter__(self):
        """Begins to count anew, also inside of a block of the same object; each is counted once."""
        with self._lock:
            self.comm_counts.clear()
            self._gradients, self._of_hooks = _of_gradients(), collections.Counter()
        if self._depth == 0:
            counting = {f"group_{call}": self._counting(call) for call in _KEYS}
            counting["communication_reset"] = self._kept(api.communication_reset)
            self._block = during(vars(api), **counting)
            self._block.__enter__()
        self._depth += 1
        return self

    def __exit__(self, *problem):
        self._depth -= 1
        if self._depth == 0:
            self._block.__exit__(None, None, None)
            with self._lock:
                self._add_gradients()

    def _counting(self, call):
        real, key = getattr(api, f"group_{call}"), _KEYS[call]

        @functools.wraps(real)
        def counted(*args, **kwargs):
            with self._lock:
                self.comm_counts[key] += 1
                self._of_hooks[call] += is_in_hook()
            return real(*args, **kwargs)

        return counted

    def _kept(self, reset):
        """What begins the library's counts anew, after they were added to these."""

        @functools.wraps(reset)
        def kept():
            with self._lock:
                self._add_gradients()
                reset()
                self._gradients = _of_gradients()

        return kept

    def _add_gradients(self):
        """Adds what the library has counted since the last time, and hooks did not call."""
        now = _of_gradients()
        for call, count in (now - self._gradients - self._of_hooks).items():
            self.comm_counts[_KEYS[call]] += count
        self._gradients = now
        self._of_hooks.clear()

    def get_comm_counts(self):
        """How many there were of each."""
        if self._depth:
            with self._lock:
                self._add_gradients()
        return self.comm_counts

    def get_total_counts(self):
        """How many there were."""
        return sum(self.get_comm_counts().values())

    def __repr__(self):
        return f"CommDebugMode(get_total_counts()={self.get_total_counts()})"


def _of_gradients():
    """Those that the library itself called so far, for DistributedDataParallel."""
    counts = collections.Counter()
    for row in summary():
        if row.ddp and row.collective in _KEYS:
            counts[row.collective] += row.calls
    return counts


_WHY = (
    "collectives are counted, and not told by module and operation; torch.profiler records each "
    "with the module that called it"
)
for _name in (
    "generate_comm_debug_tracing_table generate_json_dump get_parameter_info get_sharding_info "
    "log_comm_debug_tracing_table_to_file"
).split():
    setattr(CommDebugMode, _name, _refused.function("CommDebugMode", _name, _WHY))
