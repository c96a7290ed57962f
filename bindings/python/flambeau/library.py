"""`torch.library`: operations of a program's own, with a gradient and a form per kind of device.

`custom_op` runs the function below autograd, as torch does, and is found under `torch.ops`; without
`register_autograd`, backward through it is an error. What torch needs for its compiler (fake
results, schemas) is accepted and kept, and nothing reads it."""

import inspect

from . import _refused
from . import ops as _ops
from ._tensor import Tensor
from .autograd import no_grad
from .autograd.function import Function
from .autograd.grad_mode import is_grad_enabled

_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


def _flat(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _flat(value)
        else:
            yield value


class CustomOpDef:
    """A function as an operation; what `custom_op` returns."""

    def __init__(self, name, fn, device_types=None):
        if name.count("::") != 1 or name.startswith("::") or name.endswith("::"):
            raise ValueError(f"custom_op(): the name is 'namespace::name', but {name!r} was given")
        self._qualname, self._init_fn = name, fn
        self._parameters = inspect.signature(fn)
        self._by_device, self._backward, self._setup, self._fake = {}, None, None, None
        self.__name__, self.__doc__ = getattr(fn, "__name__", name), fn.__doc__
        self._node = type(self.__name__, (_Recorded,), {})
        self._devices = _listed(device_types)
        _ops._define(name, self)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    @property
    def default(self):
        """The overload that operations without overloads have: itself."""
        return self

    # ---- what belongs to the operation

    def register_kernel(self, device_types, fn=None, /):
        """Another function for tensors of these kinds of devices."""
        if fn is None:
            return lambda found: self.register_kernel(device_types, found)
        for kind in _listed(device_types) or (None,):
            self._by_device[kind] = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """`backward(ctx, *grads)` gives a gradient or None per positional input, a list for a list
        of tensors; `setup_context(ctx, inputs, output)` keeps what it needs, and takes
        `keyword_only_inputs` too where there are such."""
        self._backward, self._setup = backward, setup_context

    def register_fake(self, fn, /):
        """Kept; results are always computed."""
        self._fake = fn
        return fn

    def register_vmap(self, func=None):
        """Not needed: `vmap` calls the operation per example."""
        return func if func is not None else lambda found: found

    # ---- calls

    def _kernel(self, values):
        for value in _flat(values):
            if isinstance(value, Tensor):
                kind = value.device.type
                found = self._by_device.get(kind) or self._by_device.get(None)
                if found is None and self._devices is not None and kind not in self._devices:
                    raise NotImplementedError(
                        f"Could not run '{self._qualname}' on device {kind}: it was defined for "
                        f"{', '.join(self._devices)}; add a function with register_kernel"
                    )
                return found or self._init_fn
        return self._init_fn

    def __call__(self, *args, **kwargs):
        bound = self._parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        kinds = self._parameters.parameters
        named = {k: v for k, v in bound.arguments.items() if kinds[k].kind is _KEYWORD_ONLY}
        values = tuple(v for k, v in bound.arguments.items() if k not in named)
        if not is_grad_enabled() or not any(_wants(v) for v in _flat(values)):
            return self._run(values, named)
        return _Call(self, values).run(values, named)

    def _run(self, values, named):
        with no_grad():
            return self._kernel((*values, *named.values()))(*values, **named)

    def _set_up(self, ctx, values, named, result):
        if self._setup is None:
            return
        more = {"keyword_only_inputs": named} if named else {}
        self._setup(ctx=ctx, inputs=values, output=result, **more)

    def _gradients(self, ctx, grads):
        if self._backward is None:
            raise RuntimeError(
                f"Trying to backward through {self._qualname} but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        found = self._backward(ctx, *grads)
        return found if isinstance(found, tuple) else (found,)


def _listed(device_types):
    return (device_types,) if isinstance(device_types, str) else device_types


def _wants(value):
    return isinstance(value, Tensor) and value.requires_grad


def _lengths(values):
    """Per value, how many tensors a list of them has; None of everything else."""
    return [
        len(v) if isinstance(v, (tuple, list)) and any(isinstance(t, Tensor) for t in v) else None
        for v in values
    ]


def _spread(values, lengths):
    """The values with the members of lists in a row; None for a list stands for all of it."""
    for value, n in zip(values, lengths):
        if n is None:
            yield value
        elif value is None:
            yield from [None] * n
        elif len(value) == n:
            yield from value
        else:
            raise RuntimeError(f"expected {n} gradients for a list, got {len(value)}")


def _grouped(row, lengths):
    """What `_spread` took apart."""
    rest = iter(row)
    return tuple(next(rest) if n is None else [next(rest) for _ in range(n)] for n in lengths)


class _Call:
    """One call of an operation, of which the graph sees lists as their members."""

    __slots__ = ("op", "lengths", "listed")

    def __init__(self, op, values):
        self.op, self.lengths, self.listed = op, _lengths(values), False

    def run(self, values, named):
        """The result as a node of the graph."""
        result = self.op._node.apply(self, *_spread(values, self.lengths), **named)
        return list(result) if self.listed else result


class _Recorded(Function):
    """The node, whose first operand says which call it is."""

    @staticmethod
    def forward(ctx, call, *row, **named):
        given = _grouped(row, call.lengths)
        result = call.op._run(given, named)
        ctx._call, flags = call, ctx.needs_input_grad
        ctx.needs_input_grad = _grouped(flags[1:], call.lengths)
        call.op._set_up(ctx, given, named, result)
        ctx.needs_input_grad = flags
        call.listed = isinstance(result, list)
        return tuple(result) if call.listed else result

    @staticmethod
    def backward(ctx, *grads):
        op, lengths = ctx._call.op, ctx._call.lengths
        ctx.needs_input_grad = _grouped(ctx.needs_input_grad[1:], lengths)
        found = op._gradients(ctx, (list(grads),) if ctx._call.listed else grads)
        if len(found) != len(lengths):
            raise RuntimeError(
                f"The backward formula for {op._qualname} returned an incorrect number of "
                f"gradients (expected {len(lengths)}, got {len(found)})."
            )
        return None, *_spread(found, lengths)


def custom_op(
    name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None, opaque=None
):
    """Makes a function an operation named `namespace::name`; as a decorator without `fn`."""
    if fn is None:
        return lambda found: CustomOpDef(name, found, device_types)
    return CustomOpDef(name, fn, device_types)


def _op(op):
    if isinstance(op, CustomOpDef):
        return op
    space, _, name = str(op).partition("::")
    found = _ops._namespace(space)._found.get(name.partition(".")[0])
    if found is None:
        raise RuntimeError(f"operator {op} does not exist")
    return found


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """`CustomOpDef.register_kernel`, by the operation's name."""
    return _op(op).register_kernel(device_types, func)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """`CustomOpDef.register_autograd`, by the operation's name."""
    _op(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """`CustomOpDef.register_fake`, by the operation's name."""
    if func is None:
        return lambda found: register_fake(op, found)
    if isinstance(op, CustomOpDef):
        op.register_fake(func)
    return func  # of an operation that is not defined here, too: nothing asks for it


def register_vmap(op, func=None, /, *, lib=None):
    """Not needed: `vmap` calls the operation per example."""
    return func if func is not None else lambda found: found


_WHY = (
    "flambeau has no dispatcher and no compiler; define the operation with torch.library.custom_op"
)
globals().update(_refused.names("torch.library", "Library define impl triton_op wrap_triton", _WHY))
