"""GPUs: what there is, the current one, waiting. Simulated devices answer here where `FLAMBEAU_SIM`
says `as=cuda`."""

from types import SimpleNamespace as _SimpleNamespace

from .. import _refused
from .._call import _fast
from .._deprecated.tensor_types import CUDA as _TYPES
from .._errors import OutOfMemoryError
from .._gen import api
from .._memory import asking as _asking
from .._on_demand import loader as _loader
from .._on_demand import own as _own
from .._scope import Scope as _Scope
from .._scope import opening as _opening
from .._types import device as _device
from . import memory as _memory
from . import streams as _streams
from ._numbered import numbered as _numbered

globals().update({**_TYPES, **_own(_memory, _streams)})
cudart = _refused.function(
    "torch.cuda", "cudart", "CUDA's runtime is inside the library; mem_get_info and profiler do it"
)
memory_cached, max_memory_cached = _memory.memory_cached, _memory.max_memory_cached


class _CudaDeviceProperties(_SimpleNamespace):
    """What `get_device_properties` tells, by name."""


def _sensor(key):
    return lambda device: api.monitor_read(device, key)


def _model(device):
    name = api.device_model(device)
    if not name:
        api.device_capability(device)  # there is no such GPU, and this says why
    return name


_DEVICE = {
    "get_device_name": (_model, "The GPU's model."),
    "get_device_capability": (api.device_capability, "(major, minor) compute capability."),
    "synchronize": (api.device_synchronize, "Waits until all work on a GPU is done."),
    "list_gpu_processes": (api.monitor_process_list, "The processes on a GPU and their memory."),
    "utilization": (_sensor("utilization"), "Percent of the time in which a kernel ran."),
    "memory_usage": (_sensor("memory_utilization"), "Percent of the time with memory in use."),
    "temperature": (_sensor("temperature"), "Degrees Celsius."),
    "power_draw": (_sensor("power_draw"), "Milliwatts."),
    "clock_rate": (_sensor("clock_rate"), "MHz of the multiprocessors."),
    "device_memory_used": (_sensor("memory_used"), "Bytes in use by all processes."),
}
globals().update(_asking(_DEVICE, _numbered, __name__))


def is_available():
    """Whether there is a GPU; `unavailable_reason()` says why not."""
    return api.device_is_available("cuda")


def unavailable_reason():
    """Why there is no GPU; the empty string where there is one."""
    return api.device_unavailable_reason("cuda")


def device_count():
    """How many GPUs there are."""
    return api.device_count("cuda")


def is_initialized():
    """Whether a GPU can be used; the driver is opened on first need."""
    return is_available()


def init():
    """Nothing to do: the driver is opened on first need."""


def current_device():
    """Number of the current GPU."""
    return api.device_current("cuda").index


def set_device(device):
    """Makes a GPU this thread's current one."""
    if not (isinstance(device, int) and device < 0):
        api.device_set_current(_numbered(device))


def get_device_properties(device=None):
    """All properties of a GPU: name, uuid, compute capability, memory, multiprocessors ..."""
    import json

    return _CudaDeviceProperties(**json.loads(api.device_properties(_numbered(device))))


def can_device_access_peer(device, peer_device):
    """Whether a GPU reads another one's memory directly."""
    return api.device_can_access_peer(_numbered(device), _numbered(peer_device))


def is_bf16_supported(including_emulation=True):
    """bfloat16 works on every GPU; without emulation, from compute capability 8.0 on."""
    return is_available() and (including_emulation or api.device_capability(_numbered(None))[0] > 7)


def is_tf32_supported():
    """Whether the current GPU multiplies in TF32: from compute capability 8.0 on."""
    return is_bf16_supported(including_emulation=False)


def ipc_collect():
    """Frees memory that other processes have let go: none is shared with them."""


class device(_Scope):
    """Makes a GPU the current one for a `with` block."""

    def __init__(self, device):
        if device is not None and not isinstance(device, int):
            device = _numbered(device).index
        self.idx = -1 if device is None else device
        super().__init__()

    @property
    def _begin(self):
        if self.idx >= 0:
            return _opening(_fast.flam_device_push, _device("cuda", self.idx)._code)
        return None


class device_of(device):
    """Makes a tensor's GPU the current one for a `with` block."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else None)


_LAZY = {
    "graphs": "CUDAGraph MemPool graph graph_pool_handle is_current_stream_capturing use_mem_pool "
    "make_graphed_callables",
    "random": "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed "
    "seed_all set_rng_state set_rng_state_all",
}
_load = _loader(globals(), _LAZY, "amp comm graphs nvtx tunable")


def __getattr__(name):
    if name == "default_generators":
        from ..random import Generator

        return tuple(
            Generator._of(api.generator_default(f"cuda:{n}")) for n in range(device_count())
        )
    if name == "_initialized":  # programs ask it of torch
        return is_initialized()
    return _load(name)
