"""Modules of `torch.distributed` for several ranks: unsupported, and here by name, because packages
import them to ask whether a tensor or a module is one of theirs. Making an object or calling a
function says that it is unsupported."""

import sys
import types

from .. import _refused
from ..nn.modules.module import Module

_WHY = (
    "there are no calls of functions on other ranks; collectives, send and recv move tensors and "
    "objects between them"
)
_WHOLE = "tensors that lie over ranks are DTensors, of torch.distributed.tensor"
_MODULES = {
    "_shard": ("", _WHOLE),
    "_shard.sharded_tensor": ("ShardedTensor", _WHOLE),
    "autograd": ("backward context", _WHY),
    "rpc": ("RRef TensorPipeRpcBackendOptions init_rpc remote rpc_async rpc_sync shutdown", _WHY),
}


def _is_available():
    """False: programs ask before they use it."""
    return False


def install():
    """Puts the modules where `import` finds them."""
    for path, (names, why) in _MODULES.items():
        full = f"{__package__}.{path}"
        module = sys.modules[full] = types.ModuleType(full, __doc__)
        module.__path__ = []
        vars(module).update(_refused.names(f"torch.distributed.{path}", names, why, Module=Module))
        if why is _WHY:
            module.is_available = _is_available
        parent, _, name = full.rpartition(".")
        setattr(sys.modules[parent], name, module)
