"""Recomputation instead of memory: `checkpoint(function, *args)` runs a function and keeps only
its arguments; backward runs it again. The library does it (`flam_checkpoint_push`); here is what
makes a Python function the one that runs again, and torch's older form, `use_reentrant=True`,
which is a `Function` whose backward starts a backward of its own."""

import contextlib
import functools
import weakref
from types import SimpleNamespace

from .. import _refused, random
from .._call import _fast, handles
from .._callbacks import borrowed, guarded, table, value_of
from .._deprecated import warn
from .._errors import CheckpointError
from .._gen import api
from .._on_demand import during as _during
from .._recomputed import blocks_around, inside
from .._scope import Opened
from .._tensor import Tensor
from ..amp.autocast_mode import (
    autocast,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
from ..autograd import backward as _backward
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, is_grad_enabled, no_grad

__all__ = (
    "CheckpointError CheckpointFunction DefaultDeviceType check_backward_validity checkpoint "
    "checkpoint_sequential create_selective_checkpoint_contexts detach_variable get_device_states "
    "noop_context_fn set_checkpoint_debug_enabled set_checkpoint_early_stop set_device_states"
).split()

_early_stop = None  # None: as each call says
_ADVICE = (
    "In a future release, {call} without use_reentrant will raise an exception. "
    "use_reentrant=False is recommended, but if you need to preserve the current default "
    "behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences "
    "between the two variants."
)


def noop_context_fn():
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def set_checkpoint_early_stop(enable):
    """Whether recomputation of what runs inside ends once the last value that backward needs is
    there; wins over the argument of `checkpoint`."""
    return _during(globals(), _early_stop=enable)


def set_checkpoint_debug_enabled(enabled):
    """Accepted: errors of a recomputation name the operations that saved, with or without it."""
    return _during({})


create_selective_checkpoint_contexts = _refused.function(
    "torch.utils.checkpoint",
    "create_selective_checkpoint_contexts",
    "operations cannot be intercepted one by one; checkpoint smaller parts of the model instead",
)


# ---- the function that runs again ----------------------------------------------------------------


class _Again:
    """A call whose tensors were taken out: the library keeps those and hands them in again."""

    def __init__(self, function, args, kwargs, context):
        self.function, self.context, self.blocks = function, context, blocks_around()
        given = *args, *kwargs.values()
        self.tensors = [a for a in given if isinstance(a, Tensor)]
        places = iter(range(len(self.tensors)))
        self.slots = [next(places) if isinstance(a, Tensor) else None for a in given]
        self.rest = [None if isinstance(a, Tensor) else a for a in given]
        self.names = list(kwargs)
        self.originals = [(type(t), weakref.ref(t)) for t in self.tensors]

    def seen(self, i, h):
        """Tensor `i` as the object that the first run saw, where that still lives."""
        cls, original = self.originals[i]
        found = original()
        return found if found is not None and found._h == h else borrowed(h, cls)

    def run(self, tensors):
        values = [r if s is None else tensors[s] for s, r in zip(self.slots, self.rest)]
        n = len(values) - len(self.names)
        with inside(self.blocks), self.context:
            self.function(*values[:n], **dict(zip(self.names, values[n:])))


@guarded("flam_py_recompute_run")
def _run_again(user, inputs, n_inputs):
    again = value_of(user)
    again.run([again.seen(i, inputs[i]) for i in range(n_inputs)])


@contextlib.contextmanager
def _scope(again, preserve_rng_state, early_stop, check_determinism):
    made = table("flam_recompute", again, run=_run_again)
    tensors, again.tensors = again.tensors, ()
    flags = preserve_rng_state, early_stop, check_determinism
    with Opened(_fast.flam_checkpoint_push, made, handles(tensors), len(tensors), *flags):
        del tensors
        yield


def _without_reentry(function, args, kwargs, how):
    check = how.determinism_check
    if check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {check}")
    if how.debug and how.context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    first, second = how.context_fn()
    if not is_grad_enabled():
        return function(*args, **kwargs)
    again = _Again(function, args, kwargs, second)
    stop = bool(how.early_stop if _early_stop is None else _early_stop)
    with _scope(again, bool(how.preserve_rng_state), stop, check == "default"):
        with first:
            return function(*args, **kwargs)
    raise RuntimeError(
        "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
        "exception raised during the checkpointed forward. This is not supported because "
        "checkpoint cannot return a value for a failed forward."
    )


class _Checkpointed:
    """`checkpoint` without a function: a decorator of functions and methods."""

    def __init__(self, function, how):
        self.function, self.how = function, how
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args, **kwargs):
        return _checkpoint(self.function, args, kwargs, self.how)

    def __get__(self, instance, owner=None):
        if instance is None or not hasattr(self.function, "__get__"):
            return self
        return type(self)(self.function.__get__(instance, owner), self.how)


def checkpoint(function=None, *args, use_reentrant=None, preserve_rng_state=True,
               context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, respect_saved_tensors_hooks=None, **kwargs):  # fmt: skip
    """Runs `function(*args, **kwargs)` and keeps nothing that its operations save: backward runs
    it again, with the same arguments, random numbers and autocast. Without a function, a
    decorator."""
    given = locals()
    how = SimpleNamespace(**{name: given[name] for name in checkpoint.__kwdefaults__})
    if function is None and not args:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        return functools.partial(_Checkpointed, how=how)
    return _checkpoint(function, args, kwargs, how)


def _checkpoint(function, args, kwargs, how):
    if how.use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            + _ADVICE.format(call="calling checkpoint")
        )
    elif not how.use_reentrant:
        return _without_reentry(function, args, kwargs, how)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    plain = how.context_fn is noop_context_fn and how.debug is False
    if not plain or how.respect_saved_tensors_hooks is not None:
        raise ValueError(
            "Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only supported "
            "when use_reentrant=False."
        )
    return CheckpointFunction.apply(function, how.preserve_rng_state, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs modules or functions one after the other, in so many segments, all but the last of
    them checkpointed."""
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In a future release, we will raise an exception if use_reentrant "
            "is not passed. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children() if hasattr(functions, "children") else functions)

    def part(start, end):
        def forward(value):
            for step in steps[start:end]:
                value = step(value)
            return value

        return forward

    size, start = len(steps) // segments, 0
    how = {"use_reentrant": use_reentrant, "preserve_rng_state": preserve}
    for start in range(size, size * segments, size) if size else ():
        input = checkpoint(part(start - size, start), input, **how)
    return part(start, len(steps))(input)


# ---- torch's older form --------------------------------------------------------------------------


def detach_variable(inputs):
    """The arguments with tensors detached; they require grad where they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        a.detach().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in inputs
    )


def check_backward_validity(inputs):
    """Warns where no argument requires grad: the reentrant form computes no gradient then."""
    if not any(a.requires_grad for a in inputs if isinstance(a, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class DefaultDeviceType:
    """The kind of device whose random numbers are kept where arguments name none."""

    _default = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._default = device

    @staticmethod
    def get_device_type():
        return DefaultDeviceType._default


def get_device_states(*args):
    """The devices but the cpu that the arguments are on, GPUs as numbers, and their generators'
    states."""
    found = {a.device for a in args if isinstance(a, Tensor) and a.device.type != "cpu"}
    devices = [d.index if d.type == "cuda" else d for d in sorted(found, key=str)]
    return devices, [random.default_of(d).get_state() for d in devices]


def set_device_states(devices, states, *, device_type=None):
    """Sets generators to states of `get_device_states`."""
    for device, state in zip(devices, states):
        random.default_of(device).set_state(state)


class _Surroundings:
    """Autocast, random numbers and blocks as a forward found them, to be entered again."""

    def __init__(self, preserve, args):
        self.autocast = [
            (kind, get_autocast_dtype(kind), is_autocast_enabled(kind), is_autocast_cache_enabled())
            for kind in ("cpu", "cuda")
        ]
        self.states = (random.get_rng_state(), *get_device_states(*args)) if preserve else None
        self.blocks = blocks_around()

    @contextlib.contextmanager
    def again(self):
        with contextlib.ExitStack() as stack:
            if self.states is not None:
                state, devices, states = self.states
                stack.enter_context(random.fork_rng(devices))
                random.set_rng_state(state)
                set_device_states(devices, states)
            for kind, dtype, enabled, cached in self.autocast:
                stack.enter_context(autocast(kind, dtype, enabled, cached))
            stack.enter_context(inside(self.blocks))
            yield


class CheckpointFunction(Function):
    """The reentrant form: forward without recording, and a backward inside of backward."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state, args)
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not api.backward_is_whole():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.places, ctx.saved_tensors):
            inputs[i] = tensor
        inputs = detach_variable(tuple(inputs))
        with enable_grad(), ctx.surroundings.again():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        wanted = [
            (y, g) for y, g in zip(outputs, grads) if isinstance(y, Tensor) and y.requires_grad
        ]
        if not wanted:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        _backward([y for y, _ in wanted], [g for _, g in wanted])
        return (None, None, *(a.grad if isinstance(a, Tensor) else None for a in inputs))
