"""The recorded graph as Python sees it: nodes with their names and edges, hooks on tensors."""

import functools
import threading

from .._call import _fast, _text, ffi
from .._callbacks import DROP, borrowed, given_away, guarded, keep, value_of
from .._gen import api
from ._saved import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = (
    "Node RemovableHandle allow_mutation_on_saved_tensors disable_saved_tensors_hooks "
    "register_multi_grad_hook save_on_cpu saved_tensors_hooks"
).split()


class Node:
    """A recorded operation; prints as `<AddBackward0 object at 0x...>`, two of one node are
    equal."""

    __slots__ = ("_handle",)

    def __init__(self, handle):
        self._handle = handle

    def name(self):
        return _text(_fast.flam_node_name(self._handle._h))

    @property
    def next_functions(self):
        h = self._handle._h
        return tuple(
            (_wrapped(api.node_next(self._handle, i)), _fast.flam_node_next_output_nr(h, i))
            for i in range(_fast.flam_node_next_count(h))
        )

    @property
    def variable(self):
        found = api.node_variable(self._handle)
        if found is None:
            raise AttributeError(f"'{self.name()}' object has no attribute 'variable'")
        return found

    def _id(self):
        return _fast.flam_node_id(self._handle._h)

    def __eq__(self, other):
        return isinstance(other, Node) and self._id() == other._id()

    def __hash__(self):
        return hash(self._id())

    def __repr__(self):
        return f"<{self.name()} object at {self._id():#x}>"


_kinds = {}  # by the node's name: torch has a class for each, whose name programs print


def _wrapped(handle):
    if handle is None:
        return None
    name = _text(_fast.flam_node_name(handle._h))
    kind = _kinds.get(name)
    if kind is None:
        kind = _kinds[name] = type(name, (Node,), {"__slots__": ()})
    return kind(handle)


def node_of(tensor):
    """`tensor.grad_fn`."""
    return _wrapped(api.tensor_grad_fn(tensor))


# ---- hooks


class RemovableHandle:
    """What registering a hook returns."""

    __slots__ = ("_handle",)

    def __init__(self, handle):
        self._handle = handle

    def remove(self):
        _fast.flam_hook_remove(self._handle._h)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class _Hook:
    """The function behind `void *user`, and the object it was registered on where it should see
    that one."""

    __slots__ = ("function", "tensor")

    def __init__(self, function, tensor=None):
        self.function, self.tensor = function, tensor


@guarded("flam_py_hook_callback_call")
def _run(user, grad, out_grad):
    hook = value_of(user)
    seen = borrowed(grad)
    if hook.tensor is not None:
        hook.function(seen if hook.tensor() is None else hook.tensor())
        return
    found = hook.function(seen)
    if found is not None:
        if not hasattr(found, "_h"):
            raise TypeError(f"hook returned {type(found).__name__}; expected a Tensor or None")
        out_grad[0] = given_away(found)


def _callback(function, tensor=None):
    made = ffi.new("flam_hook_callback *")
    made.struct_size = ffi.sizeof("flam_hook_callback")
    made.user, made.call, made.drop = keep(_Hook(function, tensor)), _run, DROP
    return made


def register_hook(tensor, function):
    """Runs `function(grad)` whenever the tensor's gradient is computed."""
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(api.tensor_register_hook(tensor, _callback(function)))


def register_post_accumulate_grad_hook(tensor, function):
    """Runs `function(tensor)` after a leaf's gradient was accumulated."""
    import weakref

    made = _callback(function, weakref.ref(tensor))
    return RemovableHandle(api.tensor_register_post_accumulate_grad_hook(tensor, made))


class _MultiHandle:
    """Hooks of several tensors that are removed as one."""

    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        for handle in self._handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Runs `fn` once per backward: with the list of all gradients, None where backward does not
    come by, when the last is there; or with the first one, where `mode` is "any"."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    passes, lock = {}, threading.Lock()

    def seen(i, grad):
        number = api.backward_pass()
        with lock:
            found = passes.get(number)
            if found is None:
                missing = sum(map(api.backward_reaches, tensors)) if mode == "all" else 1
                if len(passes) > 16:  # passes that failed on the way
                    del passes[min(passes)]
                found = passes[number] = [missing, [None] * len(tensors)]
            found[0] -= 1
            found[1][i] = grad
            complete = found[0] == 0
            if complete and mode == "all":
                del passes[number]
        if complete:
            fn(found[1] if mode == "all" else grad)

    return _MultiHandle(
        [register_hook(t, functools.partial(seen, i)) for i, t in enumerate(tensors)]
    )
