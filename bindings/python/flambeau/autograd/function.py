"""`Function`: an operation whose forward and backward are written in Python.

The forward runs with recording off; the library then records one node for its results, which calls
back here. Saved tensors go through the library, so that an in-place write between forward and
backward is noticed."""

import functools
import weakref

from .._call import _NULL, _fast, _List, _own, _raise, _tensors, ffi
from .._callbacks import DROP, borrowed, given_away, guarded, keep, value_of
from .._deprecated import warn
from .._gen import api
from .._tensor import Tensor, disabled_torch_function
from .grad_mode import is_grad_enabled, no_grad


class FunctionCtx:
    """What forward hands to backward."""

    _to_save = _dirty = _constant = _without = needs_input_grad = ()
    _saved = None
    _materialize = _materialize_non_diff_grads = True

    def save_for_backward(self, *tensors):
        """Keeps operands or results for backward."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument is of type "
                    f"{type(t).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps nothing: what `jvp` would need, which nothing calls."""

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
        return tuple(None if s is None else _same_object(*s) for s in self._saved)

    @property
    def saved_variables(self):
        warn("'saved_variables' is deprecated; use 'saved_tensors'", kind=DeprecationWarning)
        return self.saved_tensors

    def mark_dirty(self, *tensors):
        """Says which operands forward wrote in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Says which results carry no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value):
        """Whether missing gradients arrive as zeros (the default) or as None."""
        self._materialize = value

    def _keep_saved(self, inputs, outputs):
        """Turns the tensors to save into handles that check versions; nothing where no gradient
        will be recorded."""
        if not self._to_save or not (is_grad_enabled() and any(self.needs_input_grad)):
            self._to_save = self._saved = ()
            return
        place = {id(t): i for i, t in enumerate(outputs)}
        changed = set(map(id, self._dirty))
        for t in inputs:  # an operand that is handed through stays an operand
            if id(t) not in changed:
                place.pop(id(t), None)
        self._saved = [
            None if t is None else (api.saved_new(t, place.get(id(t), -1)), weakref.ref(t))
            for t in self._to_save
        ]
        self._to_save = ()


@guarded("flam_py_function_backward")
def _backward(user, grads, n_grads, out_grads, n_out_grads):
    ctx = value_of(user)
    cls = ctx._cls
    given = [borrowed(grads[i]) for i in range(n_grads)]
    for i in ctx._without:
        given[i] = None
    ctx.needs_input_grad = tuple(
        slot is not None and bool(_fast.flam_function_wanted(slot)) for slot in ctx._slots
    )
    found = getattr(cls, ctx._formula)(ctx, *given)
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


def _same_object(saved, original):
    """The saved tensor as the object that was saved, where that still lives."""
    found, original = api.saved_get(saved), original()
    return original if original is not None and original._h == found._h else found


@ffi.def_extern(name="flam_py_function_release_saved")
def _release_saved(user):
    value_of(user)._saved = None


class Function(FunctionCtx):
    """Subclass with static `forward(ctx, ...)` and `backward(ctx, *grads)`; use it through
    `apply`."""

    generate_vmap_rule = False  # torch's: `vmap` here calls `apply` example by example

    def __init__(self, *args, **kwargs):
        warn(
            f"{type(self)} should not be instantiated: its methods are static, and `apply` is the "
            "class's",
            kind=DeprecationWarning,
        )

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def vmap(info, in_dims, *args):
        raise NotImplementedError("this Function defines no vmap static method")

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated: use "
            f"{type(self).__name__}.apply, and static methods"
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs the forward and records its gradient."""
        ctx = _context_class(cls)()
        tensors, slots, wanted = [], [], []
        for a in args:
            given = isinstance(a, Tensor)
            slots.append(len(tensors) if given else None)
            wanted.append(given and a.requires_grad)
            if given:
                tensors.append(a)
        ctx._slots, ctx.needs_input_grad = tuple(slots), tuple(wanted)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                results = cls.forward(ctx, *args, **kwargs)
            else:
                results = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, _bound(cls, args, kwargs), results)
        if isinstance(results, Tensor):
            return _record(ctx, tensors, [results])[0]
        several = isinstance(results, tuple)
        outputs = results if several else (results,)
        given = [o if isinstance(o, Tensor) else None for o in outputs]
        recorded = _record(ctx, tensors, given)
        found = tuple(o if new is None else new for o, new in zip(outputs, recorded))
        return found if several else found[0]


class InplaceFunction(Function):
    """A function that may write its operands, as `inplace` says to its methods."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


_TABLE = ffi.typeof("flam_function *")
_function_record = _fast.flam_function_record


def _context_class(cls):
    """The class of a function's ctx; torch shows the function's static methods on it, so that
    helpers can be called through it."""
    found = vars(cls).get("_backward_cls")
    if found is None:
        name = cls.__name__ + "Backward"
        own = cls.backward is not Function.backward
        if own and cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        table = ffi.new(_TABLE)
        table.struct_size, table.drop = ffi.sizeof("flam_function"), DROP
        table.backward, table.release_saved = _backward, _fast.flam_py_function_release_saved
        text = table.name = ffi.new("char[]", name.encode())
        found = type(name, (FunctionCtx,), {"_table": table, "_text": text})
        found._cls, cls._backward_cls = cls, found
        found._formula = "backward" if own else "vjp"
    return found


def _bound(cls, args, kwargs):
    """The arguments of forward, those it has defaults for among them."""
    import inspect  # it takes as long to load as the package

    bound = inspect.signature(cls.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _record(ctx, inputs, outputs):
    ctx._keep_saved(inputs, outputs)
    made = ffi.new(_TABLE, ctx._table[0])
    made.user, made.materialize_grads = keep(ctx), ctx._materialize
    ins, outs = [t._h for t in inputs], [_NULL if t is None else t._h for t in outputs]
    dirty, constant = [t._h for t in ctx._dirty], [t._h for t in ctx._constant]
    if not ctx._materialize_non_diff_grads:
        constant_ids = set(map(id, ctx._constant))
        ctx._without = [i for i, t in enumerate(outputs) if id(t) in constant_ids]
    found = _own(
        *(_List, _function_record),
        *(made, ins, len(ins), outs, len(outs)),
        *(dirty or _NULL, len(dirty), constant or _NULL, len(constant)),
    )
    if found is None:
        _raise()
    return [_returned(new, old) for new, old in zip(_tensors(found), outputs)]


def _returned(new, old):
    """What forward made or wrote comes back as the object that it returned, what it handed through
    as another of the same class; a parameter's is a tensor."""
    if old is None:
        return None
    if new._h == old._h:
        return old
    kind = type(old)
    if kind is Tensor or kind.__torch_function__ is disabled_torch_function:
        return new
    return new.as_subclass(kind)


class _Refused(Function):
    """Passes gradients on that have no gradient of their own."""

    @staticmethod
    def forward(ctx, *gradients):
        return tuple(g.detach() for g in gradients)

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def once_differentiable(function):
    """Decorator of a `backward` that has no gradient of its own: differentiating it again fails."""

    @functools.wraps(function)
    def run(ctx, *grads):
        with no_grad():
            found = function(ctx, *grads)
        if not is_grad_enabled() or not any(
            isinstance(g, Tensor) and g.requires_grad for g in grads
        ):
            return found
        listed = list(found) if isinstance(found, tuple) else [found]
        places = [i for i, g in enumerate(listed) if isinstance(g, Tensor)]
        refused = _Refused.apply(*(listed[i].detach().requires_grad_() for i in places))
        for i, g in zip(places, refused):
            listed[i] = g
        return tuple(listed) if isinstance(found, tuple) else listed[0]

    return run
