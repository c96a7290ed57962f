"""The recorded graph as Python sees it: nodes with their names and edges, hooks on tensors."""

import functools
import operator
import threading
import types
import typing
import weakref

from .._call import _fast, _text, object_of
from .._callbacks import borrowed, given_away, guarded, is_kept, table, value_of
from .._gen import api
from ._saved import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = (
    "GradientEdge Node RemovableHandle allow_mutation_on_saved_tensors disable_saved_tensors_hooks "
    "get_gradient_edge increment_version register_multi_grad_hook save_on_cpu saved_tensors_hooks"
).split()


class Node:
    """A recorded operation; prints as `<AddBackward0 object at 0x...>`. While one lives, it is
    *the* object of its operation; a custom function's shows what its ctx holds."""

    __slots__ = ("_handle", "_context", "__weakref__")

    def name(self):
        found = type(self).__name__
        return f"torch::autograd::{found}" if found in _WITHOUT_FORMULA else found

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
        return object_of(found)

    @property
    def metadata(self):
        """A dictionary for the program's own use, which lives as long as the operation."""
        found = _metadata.get(self._id())
        if found is None:
            found = _metadata[self._id()] = _Metadata()
            _on_node(self, found, True)
        return found

    @property
    def _input_metadata(self):
        """What the gradients look like that the operation's backward takes."""
        n = _fast.flam_node_output_count(self._handle._h)
        made = (api.node_output(self._handle, i) for i in range(n))
        plain = {"is_nested_tensor": False, "is_cpp_nested_tensor": False}
        kinds = ({"shape": t.shape, "dtype": t.dtype, "device": t.device} for t in made)
        return tuple(types.SimpleNamespace(**kind, **plain) for kind in kinds)

    def _sequence_nr(self):
        return _fast.flam_node_sequence_nr(self._handle._h)

    def _set_sequence_nr(self, number):
        api.node_set_sequence_nr(self._handle, number)

    def register_hook(self, fn):
        """Runs `fn(grad_inputs, grad_outputs)` after the operation's backward ran; what it returns
        replaces the first."""
        return _on_node(self, fn, False)

    def register_prehook(self, fn):
        """Runs `fn(grad_outputs)` before the operation's backward runs; what it returns replaces
        them."""
        return _on_node(self, lambda given, _: fn(given), True)

    def _id(self):
        return _fast.flam_node_id(self._handle._h)

    def __getattr__(self, name):
        context = Node._context.__get__(self) if name[:2] != "__" else None
        if context is None and name.startswith(("_saved_", "_raw_saved_")):
            raise AttributeError(
                f"'{type(self).__name__}.{name}' is unsupported: saved_tensors_hooks see what an "
                "operation saved"
            )
        if context is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(context, name)

    def __repr__(self):
        module = "" if self._context is None else "torch.autograd.function."
        return f"<{module}{type(self).__name__} object at {self._id():#x}>"


class _Metadata(dict):
    """`Node.metadata`, kept by a hook that does nothing."""

    __slots__ = ("__weakref__",)

    def __call__(self, given, seen):
        return None


_WITHOUT_FORMULA = {"AccumulateGrad", "CopySlices", "CopyBackwards"}
_kinds = {}  # by the node's name: torch has a class for each, whose name programs print
_nodes = weakref.WeakValueDictionary()  # by id
_metadata = weakref.WeakValueDictionary()


def _wrapped(handle):
    if handle is None:
        return None
    number = _fast.flam_node_id(handle._h)
    found = _nodes.get(number)
    if found is not None:
        return found
    name = _text(_fast.flam_node_name(handle._h))
    kind = _kinds.get(name)
    if kind is None:
        kind = _kinds[name] = type(name, (Node,), {"__slots__": ()})
    found = _nodes[number] = kind()
    user = _fast.flam_node_user(handle._h)
    found._handle = handle
    found._context = value_of(user) if is_kept(user) else None
    return found


def node_of(tensor):
    """`tensor.grad_fn`."""
    return _wrapped(api.tensor_grad_fn(tensor))


# ---- where passes begin and end


class GradientEdge(typing.NamedTuple):
    """A place in the graph: a result of an operation. `backward()` and `grad()` begin and end
    there as at the tensor that it was, which need not live any more."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None  # torch's: a node here keeps what it needs

    def _place(self):
        if not isinstance(self.node, Node):
            raise RuntimeError(
                "GradientEdge's first object must be an autograd.graph.Node but got "
                f"{type(self.node).__name__}"
            )
        return api.node_output(self.node._handle, operator.index(self.output_nr))


def get_gradient_edge(tensor):
    """Where the gradient of `tensor` is computed: `grad(loss, get_gradient_edge(x))` is
    `grad(loss, x)`."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(_wrapped(api.tensor_gradient_node(tensor)), tensor.output_nr)


def increment_version(tensor):
    """Tells backward that a tensor, or each of several, was written where nobody could see it, as
    by a kernel that was given its address. Inference tensors, which backward never saves, count
    nothing."""
    tensors = (tensor,) if hasattr(tensor, "_h") else tensor
    if not hasattr(tensors, "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    tensors = list(tensors)
    if not all(hasattr(t, "_h") for t in tensors):
        raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
    for t in tensors:
        if not t.is_inference():
            api.tensor_mark_written(t)


# ---- hooks


class RemovableHandle:
    """What registering a hook returns. What the hook's function refers to goes with the hook."""

    __slots__ = ("_handle", "_hook")

    def __init__(self, handle, hook=None):
        self._handle, self._hook = handle, hook and weakref.ref(hook)

    def remove(self):
        _fast.flam_hook_remove(self._handle._h)
        hook = self._hook and self._hook()
        if hook:
            hook.function = _keeps

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def _keeps(grad):
    """What a hook does after it was removed."""


class _Hook:
    """The function behind `void *user`, and the object it was registered on where it should see
    that one."""

    __slots__ = ("function", "tensor", "__weakref__")

    def __init__(self, function, tensor=None):
        self.function, self.tensor = function, tensor


@guarded("flam_py_hook_callback_call")
def _run(user, grad, out_grad):
    hook = value_of(user)
    own = hook.tensor and hook.tensor()
    seen = borrowed(grad) if own is None else own
    found = hook.function(seen)
    if found is None:
        return
    if not hasattr(found, "_h"):
        raise TypeError(f"hook returned {type(found).__name__}; expected a Tensor or None")
    if hook.tensor is None:
        out_grad[0] = given_away(found)
    elif found is not seen:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


@guarded("flam_py_node_hook_callback_call")
def _run_node(user, given, n_given, seen, n_seen, out_given, n_out_given):
    grads = tuple(borrowed(given[i]) for i in range(n_given))
    found = value_of(user)(grads, tuple(borrowed(seen[i]) for i in range(n_seen)))
    if found is None:
        return
    found = (found,) if hasattr(found, "_h") else found
    if not isinstance(found, tuple):
        raise TypeError(
            f"hook returned {type(found).__name__}; expected None, a Tensor or a tuple of Tensors"
        )
    if len(found) != n_given:
        raise RuntimeError(
            f"hook has returned an incorrect number of values (got {len(found)}, but expected "
            f"{n_given})"
        )
    for i, (new, old) in enumerate(zip(found, grads)):
        if (new is None) != (old is None):
            raise RuntimeError("hook can't replace a None gradient with a non-None value, nor back")
        if new is not old:
            out_given[i] = given_away(new)


def _on_node(node, function, before):
    made = table("flam_node_hook_callback", function, call=_run_node)
    return RemovableHandle(api.node_register_hook(node._handle, made, before))


def _registered(register, tensor, hook):
    kept_for = tensor if tensor.is_leaf else None  # a hook of another one is its operation's
    made = table("flam_hook_callback", hook, kept_for, call=_run)
    made.absent = hook.tensor is None
    return RemovableHandle(register(tensor, made), hook)


def register_hook(tensor, function):
    """Runs `function(grad)` whenever the tensor's gradient is computed; with None where backward
    comes by the tensor's operation, from others of its results, without a gradient of it."""
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return _registered(api.tensor_register_hook, tensor, _Hook(function))


def register_post_accumulate_grad_hook(tensor, function):
    """Runs `function(tensor)` after a leaf's gradient was accumulated."""
    hook = _Hook(function, weakref.ref(tensor))
    return _registered(api.tensor_register_post_accumulate_grad_hook, tensor, hook)


class _MultiHandle(RemovableHandle):
    """Hooks of several tensors that are removed as one."""

    __slots__ = ()

    def remove(self):
        for handle in self._handle:
            handle.remove()


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
