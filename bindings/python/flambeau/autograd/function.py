"""`Function`: an operation whose forward and backward are written in Python.

The forward runs with recording off; the library then records one node for its results, which calls
back here. Saved tensors go through the library, so that an in-place write between forward and
backward is noticed."""

from .._call import _fast, ffi
from .._callbacks import DROP, borrowed, given_away, guarded, keep, value_of
from .._gen import api
from .._tensor import Tensor
from .grad_mode import is_grad_enabled, no_grad


class FunctionCtx:
    """What forward hands to backward."""

    def __init__(self):
        self._to_save, self._saved = (), None
        self._dirty, self._constant = (), ()
        self._materialize = True
        self.needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keeps operands or results for backward."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type "
                    f"{type(t).__name__}"
                )
        self._to_save = tensors

    @property
    def saved_tensors(self):
        if self._saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed). Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if "
                "you need to access saved tensors after calling backward."
            )
        return tuple(None if s is None else api.saved_get(s) for s in self._saved)

    def mark_dirty(self, *tensors):
        """Says which operands forward wrote in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Says which results carry no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value):
        """Whether missing gradients arrive as zeros (the default) or as None."""
        self._materialize = value

    def _keep_saved(self, outputs):
        """Turns the tensors to save into handles that check versions; nothing where no gradient
        will be recorded."""
        if not (is_grad_enabled() and any(self.needs_input_grad)):
            self._to_save, self._saved = (), []
            return
        place = {id(t): i for i, t in enumerate(outputs)}
        self._saved = [
            None if t is None else api.saved_make(t, place.get(id(t), -1)) for t in self._to_save
        ]
        self._to_save = ()


@guarded("flam_py_function_backward")
def _backward(user, grads, n_grads, out_grads, n_out_grads):
    cls, ctx = value_of(user)
    given = [borrowed(grads[i]) for i in range(n_grads)]
    ctx.needs_input_grad = tuple(
        slot is not None and bool(_fast.flam_function_wanted(slot)) for slot in ctx._slots
    )
    found = cls.backward(ctx, *given)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) < len(ctx._slots) or any(g is not None for g in found[len(ctx._slots) :]):
        raise RuntimeError(
            f"function {cls.__name__}Backward returned an incorrect number of gradients "
            f"(expected {len(ctx._slots)}, got {len(found)})"
        )
    for slot, grad in zip(ctx._slots, found):
        if grad is None:
            continue
        if not isinstance(grad, Tensor):
            raise TypeError(
                f"{cls.__name__}.backward returned {type(grad).__name__} where a Tensor or None "
                "was expected"
            )
        if slot is None:
            raise RuntimeError(
                f"function {cls.__name__}Backward returned a gradient different from None for an "
                "argument that is not a tensor"
            )
        out_grads[slot] = given_away(grad)


@ffi.def_extern(name="flam_py_function_release_saved")
def _release_saved(user):
    value_of(user)[1]._saved = None


class Function(FunctionCtx):
    """Subclass with static `forward(ctx, ...)` and `backward(ctx, *grads)`; use it through
    `apply`."""

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs the forward and records its gradient."""
        ctx = _context(cls)
        tensors = [a for a in args if isinstance(a, Tensor)]
        slots = iter(range(len(tensors)))
        ctx._slots = tuple(next(slots) if isinstance(a, Tensor) else None for a in args)
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        with no_grad():
            if "setup_context" in _methods(cls):
                results = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, results)
            else:
                results = cls.forward(ctx, *args, **kwargs)
        several = isinstance(results, tuple)
        outputs = results if several else (results,)
        recorded = _record(cls, ctx, tensors, [o for o in outputs if isinstance(o, Tensor)])
        found = tuple(next(recorded) if isinstance(o, Tensor) else o for o in outputs)
        return found if several else found[0]


class InplaceFunction(Function):
    """A function that may write its operands, as `inplace` says to its methods."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def _context(cls):
    """A fresh ctx; torch shows the class's static methods on it, so that helpers can be called
    through it."""
    return type(cls.__name__ + "Backward", (FunctionCtx,), {"_cls": cls})()


def _methods(cls):
    ours = InplaceFunction, Function, FunctionCtx, object
    return {name for base in cls.__mro__ if base not in ours for name in vars(base)}


def _record(cls, ctx, inputs, outputs):
    ctx._keep_saved(outputs)
    name = ffi.new("char[]", f"{cls.__name__}Backward".encode())
    made = ffi.new("flam_function *")
    made.struct_size = ffi.sizeof("flam_function")
    made.name, made.materialize_grads = name, ctx._materialize
    made.user, made.drop = keep((cls, ctx)), DROP
    made.backward, made.release_saved = _backward, _fast.flam_py_function_release_saved
    listed = api.function_record(made, inputs, outputs, list(ctx._dirty), list(ctx._constant))
    return iter(_same_objects(listed, outputs, ctx._dirty))


def _same_objects(found, outputs, dirty):
    """An operand written in place comes back as the object the caller holds."""
    changed = {id(t): t for t in dirty}
    return [changed.get(id(old), new) for new, old in zip(found, outputs)]


def once_differentiable(function):
    """Decorator of a `backward` whose own gradient is not wanted."""
    import functools

    @functools.wraps(function)
    def run(ctx, *grads):
        with no_grad():
            return function(ctx, *grads)

    return run
