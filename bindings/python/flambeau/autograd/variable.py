"""`Variable`: torch's wrapper of tensors before 0.4; today every tensor is one."""

from .._deprecated import warn
from .._gen import api
from .._tensor import PASSES, Tensor


class _Engine:
    """What programs ask of torch's engine: a call at the end of the backward pass that runs."""

    @staticmethod
    def queue_callback(callback):
        """Calls `callback()` when this thread's backward pass is over, unless it fails."""
        running = max(api.backward_pass(), PASSES.ending)
        if not running:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        PASSES.calls += ((running, callback),)


class _VariableMeta(type):
    """Calling makes a tensor; isinstance asks for tensors."""

    def __call__(cls, data=None, requires_grad=False, volatile=None):
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            return Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__qualname__}")
        return data.detach().requires_grad_(bool(requires_grad))

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor)


class Variable(metaclass=_VariableMeta):
    """A tensor over `data`'s memory, apart from its graph, that requires a gradient where asked."""

    _execution_engine = _Engine
