"""Functions around saved values, as `with` blocks: `saved_tensors_hooks`, `save_on_cpu`,
`allow_mutation_on_saved_tensors`, and `disable_saved_tensors_hooks`, which forbids them."""

import contextlib
import weakref

from .._call import _fast
from .._callbacks import DROP_SECOND, borrowed, given_away, guarded, keep, table, value_of
from .._gen import api, ops
from .._scope import Scope, opening
from .._tensor import Tensor
from .._thread_state import ThreadState


# `void *user` stands for the two hooks.
@guarded("flam_py_saved_hooks_pack")
def _pack(user, tensor, out_packed):
    out_packed[0] = keep(value_of(user)[0](borrowed(tensor)))


@guarded("flam_py_saved_hooks_unpack")
def _unpack(user, packed, out_tensor):
    found = value_of(user)[1](value_of(packed))
    if not isinstance(found, Tensor):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(found).__name__}"
        )
    out_tensor[0] = given_away(found)


_FUNCTIONS = {"pack": _pack, "unpack": _unpack, "drop_packed": DROP_SECOND}


class saved_tensors_hooks(Scope):
    """Inside, `pack_hook(tensor)` is called for every tensor that an operation saves, and what it
    returns is kept instead; backward calls `unpack_hook` on that for a tensor of the same shape,
    dtype and device. The innermost block's hooks are called. What is packed this way is not
    watched for in-place writes."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook
        super().__init__()

    @property
    def _begin(self):
        hooks = self.pack_hook, self.unpack_hook
        made = table("flam_saved_hooks", hooks, **_FUNCTIONS)
        return opening(_fast.flam_saved_hooks_push, made)


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors are kept on the cpu and come back to their device in backward."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        pinned = pin_memory and api.device_is_available(device_type)

        def pack(tensor):
            if not pin_memory:
                return tensor.device, tensor.cpu()
            kept = ops.TORCH["empty"](tensor.size(), dtype=tensor.dtype, pin_memory=pinned)
            return tensor.device, kept.copy_(tensor)

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(Scope, contextlib.ContextDecorator):
    """Inside, setting hooks for saved tensors fails with `error_message`; so does entering the
    block where some are set. Also a decorator."""

    def __init__(self, error_message):
        self.error_message = error_message
        super().__init__()

    @property
    def _begin(self):
        return opening(_fast.flam_saved_hooks_disable_push, self.error_message.encode())


class _Copy:
    """A saved tensor, alive because its memory is the key, and its values while the block lasts."""

    def __init__(self, tensor):
        self.tensor, self.values = tensor.detach(), tensor.detach().clone()


class _Copies:
    """What an `allow_mutation_on_saved_tensors` block has copied for operations that still live."""

    def __init__(self):
        self.tid_to_weakhandle = weakref.WeakValueDictionary()

    @property
    def cloned(self):
        """The values of saved tensors that were written since, by what is kept of each."""
        kept = self.tid_to_weakhandle.items()
        return {copy: copy.values for key, copy in kept if copy.tensor._version != key[-1]}

    def keep(self, tensor):
        """One copy for all that save the same values."""
        key = tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor._version
        found = self.tid_to_weakhandle.get(key)
        if found is None:
            found = self.tid_to_weakhandle[key] = _Copy(tensor)
        return found

    def find(self, copy):
        if copy.values is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded."
            )
        return copy.values

    def clear(self):
        """Frees the copies; backward passes of the block fail from now on."""
        for copy in self.tid_to_weakhandle.values():
            copy.values = None
        self.tid_to_weakhandle.clear()


_here = ThreadState(mutation_allowed=False)  # hooks are a thread's own, and so is this


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Inside, tensors that operations saved for backward may be written in place, and backward uses
    the values from before. Every saved tensor is copied at once, which costs its memory again.
    The backward pass has to be inside too."""
    if _here.mutation_allowed:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    copies = _Copies()
    with saved_tensors_hooks(copies.keep, copies.find):
        _here.mutation_allowed = True
        try:
            yield copies
        finally:
            copies.clear()
            _here.mutation_allowed = False
