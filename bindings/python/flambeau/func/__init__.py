"""Functions that turn a function into its gradient: `grad`, `vjp`, `jvp`, `jacrev`, `hessian`, all
by backward passes, and nested as often as wanted; and modules called with other parameters.

What they return has a history exactly where something outside of them requires a gradient."""

from functools import wraps
from itertools import islice

from .._call import ffi
from .._tensor import Tensor
from ..autograd import grad as _gradients
from ..autograd.functional import _matrices, _zeros
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten
from ._call import functional_call
from ._ensemble import replace_all_batch_norm_modules_, stack_module_state
from ._vmap import vmap

__all__ = (
    "functional_call grad grad_and_value hessian jacfwd jacrev jvp linearize "
    "replace_all_batch_norm_modules_ stack_module_state vjp vmap"
).split()


def _places(argnums, n):
    """Which of `n` arguments `argnums` names."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnum must be int or Tuple, got: {type(argnums)}")
    places = (argnums,) if isinstance(argnums, int) else argnums
    if not places:
        raise RuntimeError("argnums must be non-empty")
    for a in places:
        if not isinstance(a, int):
            raise RuntimeError(f"argnum must be int, got: {type(a)}")
        if not -n <= a < n:
            raise RuntimeError(f"Got argnum={a}, but only {n} positional inputs")
    if len({a % n for a in places}) < len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return [a % n for a in places]


class _Inputs:
    """Arguments by which a function is differentiated, each a tensor of our own."""

    def __init__(self, args, argnums, name):
        self.args, self.argnums = args, argnums
        self.places = _places(argnums, len(args))
        self.tensors, self.specs = [], []
        for a in self.places:
            leaves, spec = tree_flatten(args[a])
            for leaf in leaves:
                if not isinstance(leaf, Tensor):
                    raise ValueError(
                        f"{name}: expected the arguments to differentiate by to be tensors, or "
                        f"containers of them, but got {type(leaf)}"
                    )
            self.specs.append(spec)
            self.tensors += leaves
        self.own = [
            t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in self.tensors
        ]

    def call(self, func, kwargs):
        args = list(self.args)
        for place, value in zip(self.places, self.each(self.own)):
            args[place] = value
        return func(*args, **kwargs)

    def each(self, leaves):
        """One tree of values per argument."""
        rest = iter(leaves)
        return [tree_unflatten(islice(rest, spec.num_leaves), spec) for spec in self.specs]

    def shaped(self, leaves):
        """Values as `argnums` says: for one argument, or a tuple for several."""
        found = self.each(leaves)
        return found[0] if isinstance(self.argnums, int) else tuple(found)

    def found(self, output, seed=None):
        """Gradients; None by what the output does not depend on."""
        if not output.requires_grad:
            return [None] * len(self.own)
        return _gradients(
            output, self.own, seed, create_graph=True, allow_unused=True, retain_graph=True
        )

    def gradients(self, output, seed=None):
        found = self.found(output, seed)
        return [_zeros(t) if g is None else g for g, t in zip(found, self.own)]

    def jacobians(self, output):
        flat = output.reshape(-1)
        rows = [self.gradients(flat[i]) for i in range(flat.numel())]
        return _matrices(rows, output, self.own)


def _is_outside(tensor, own):
    """Whether anything but our own leaves stands at the ends of a tensor's history."""
    leaves = {int(ffi.cast("uintptr_t", t._h)) for t in own}  # a leaf's node has its address
    stack, seen = [tensor.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node._id() not in leaves:
            return True
        stack += [following for following, _ in node.next_functions]
    return False


def _settled(tree, own, recording):
    """What the caller gets: with a history where that is of tensors outside."""
    keep = recording and any(not t.is_leaf for t in own)

    def settle(t):
        if not t.requires_grad or keep:
            return t
        return t if recording and _is_outside(t, own) else t.detach()

    return tree_map_only(Tensor, settle, tree)


def _outputs(output, name):
    """The tensors that a function returned, and their spec."""
    leaves, spec = tree_flatten(output)
    if leaves in ([], [None]):
        raise RuntimeError(
            f"{name}: Expected f to be a function that has non-empty output (got output = {output})"
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(leaf)}"
            )
    return leaves, spec


def _with_aux(result, has_aux, name):
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for leaf in tree_leaves(result[1]):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return result


def grad_and_value(func, argnums=0, has_aux=False):
    """The function that returns the gradient of `func`, and its value; with `has_aux`, what it
    returns beside its value too."""

    @wraps(func)
    def run(*args, **kwargs):
        recording = is_grad_enabled()
        with enable_grad():
            inputs = _Inputs(args, argnums, "grad_and_value(f)(*args)")
            output, aux = _with_aux(inputs.call(func, kwargs), has_aux, "grad_and_value(f)(*args)")
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a tensor, got "
                    f"{type(output)}"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got "
                    f"tensor with {output.dim()} dims. Maybe you wanted to use the vjp or jacrev "
                    "APIs instead?"
                )
            slopes = inputs.shaped(inputs.gradients(output))
        value = (output, aux) if has_aux else output
        return _settled((slopes, value), inputs.own, recording)

    return run


def grad(func, argnums=0, has_aux=False):
    """The function that returns the gradient of `func`, by its first argument or by `argnums`."""
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def run(*args, **kwargs):
        slopes, value = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return run


def vjp(func, *primals, has_aux=False):
    """`func(*primals)`, and the function from a vector to its product with the Jacobian."""
    recording = is_grad_enabled()
    with enable_grad():
        inputs = _Inputs(primals, tuple(range(len(primals))), "vjp(f, *primals)")
        output, aux = _with_aux(inputs.call(func, {}), has_aux, "vjp(f, *primals)")
    outputs, spec = _outputs(output, "vjp(f, *primals)")

    def product(cotangents, retain_graph=True, create_graph=None):
        given, own = tree_flatten(cotangents)
        if own != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function.\ncotangents: {own}, primal output: {spec}"
            )
        again = is_grad_enabled()
        with enable_grad():
            total = [_zeros(t) for t in inputs.own]
            for y, v in zip(outputs, given):
                total = [t + g for t, g in zip(total, inputs.gradients(y, v))]
        return _settled(inputs.shaped(total), inputs.own, again)

    result = _settled(output, inputs.own, recording)
    return (result, product, _settled(aux, inputs.own, recording)) if has_aux else (result, product)


_JVP = "jvp(f, primals, tangents)"


def _tangents(primals, tangents):
    """The leaves of `tangents`, which are made as `primals` are."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple, the arguments of f")
    leaves, spec = tree_flatten(primals)
    given, own = tree_flatten(tangents)
    if spec != own:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure, got {spec} "
            f"and {own}"
        )
    if not leaves:
        raise RuntimeError(f"{_JVP}: Expected primals to have at least one Tensor")
    for leaf in (*leaves, *given):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{_JVP}: Expected primals and tangents to only contain Tensors, got {type(leaf)}"
            )
    if [t.shape for t in given] != [t.shape for t in leaves]:
        raise RuntimeError(f"{_JVP}: Expected primals and tangents to have the same shapes")
    return given


def _pushed(inputs, output, tangents, strict):
    """The tangent of an output: the gradient, in the vector that it multiplies, of a backward
    pass."""
    dual = _zeros(output, True)
    parts = [(g * v).sum() for g, v in zip(inputs.found(output, dual), tangents) if g is not None]
    if strict and not parts:
        raise RuntimeError(
            f"{_JVP}: an output of f is independent of the inputs, which strict=True forbids"
        )
    found = None
    if parts and sum(parts).requires_grad:
        (found,) = _gradients(sum(parts), dual, create_graph=True, allow_unused=True)
    return _zeros(output) if found is None else found


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """`func(*primals)`, and the product of its Jacobian with `tangents`; `strict` forbids outputs
    that do not depend on the inputs."""
    given = _tangents(primals, tangents)
    recording = is_grad_enabled()
    with enable_grad():
        inputs = _Inputs(primals, tuple(range(len(primals))), _JVP)
        output, aux = _with_aux(inputs.call(func, {}), has_aux, _JVP)
        outputs, spec = _outputs(output, _JVP)
        products = [_pushed(inputs, y, given, strict) for y in outputs]
    found = output, tree_unflatten(products, spec)
    result = _settled(found, inputs.own, recording)
    return (*result, _settled(aux, inputs.own, recording)) if has_aux else result


def linearize(func, *primals):
    """The value of `func`, and the function that multiplies its Jacobian there with tangents."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """The function that returns the Jacobian of `func`, one backward pass per element of its
    output, so that `chunk_size` changes nothing."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def run(*args, **kwargs):
        recording = is_grad_enabled()
        with enable_grad():
            inputs = _Inputs(args, argnums, "jacrev(f)(*args)")
            output, aux = _with_aux(inputs.call(func, kwargs), has_aux, "jacrev(f)(*args)")
            outputs, spec = _outputs(output, "vjp(f, *primals)")
            found = tree_unflatten([inputs.shaped(inputs.jacobians(y)) for y in outputs], spec)
        if has_aux:
            found = (found, aux)
        return _settled(found, inputs.own, recording)

    return run


def hessian(func, argnums=0):
    """The function that returns the Hessian of `func`: the Jacobian of its Jacobian."""
    return jacrev(jacrev(func, argnums), argnums)


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """The same matrix as `jacrev`, and by the same backward passes: there is no forward mode."""
    return jacrev(func, argnums, has_aux=has_aux)
