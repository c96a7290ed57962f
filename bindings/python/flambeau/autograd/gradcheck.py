"""Gradients against central differences: `gradcheck` and, for second derivatives, `gradgradcheck`.

A Jacobian here has a row per element of the input and a column per element of the output. The fast
mode compares one random combination of its entries in place of all of them."""

import sys
import types

from .._deprecated import warn
from .._errors import UnsupportedError
from .._gen import ops
from .._tensor import Tensor
from ._backward import grad
from ._reals import as_pairs, in_reals
from .function import Function

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck`."""


def _op(name):
    return ops.TORCH[name]


def _tuple(value):
    if isinstance(value, list):
        return tuple(value)
    return value if isinstance(value, tuple) else (value,)


def _differentiable(value):
    return tuple(t for t in _tuple(value) if isinstance(t, Tensor) and t.requires_grad)


def _floating(value):
    return tuple(t for t in _tuple(value) if isinstance(t, Tensor) and t.is_floating_point())


def _is_checked(value):
    return isinstance(value, Tensor) and value.requires_grad


def _check_inputs(inputs):
    if not any(map(_is_checked, inputs)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    for i, x in enumerate(inputs):
        if not _is_checked(x):
            continue
        if str(x.dtype) != "torch.float64":
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. "
            )
        if any(step == 0 and size > 1 for step, size in zip(x.stride(), x.size())):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )


# ---- differences ---------------------------------------------------------------------------------


def _perturbed(func, inputs, i, offset):
    """Outputs of `func` where input `i` is moved: its own memory, which `func` may know too."""
    moved = inputs[i].detach()
    before = moved.clone()
    moved.add_(offset)
    try:
        return [y.detach().clone() for y in _floating(func(*inputs))]
    finally:
        moved.copy_(before)


def _slope(func, inputs, i, direction, eps):
    """Central differences of all outputs along a direction in input `i`."""
    high = _perturbed(func, inputs, i, direction * eps)
    low = _perturbed(func, inputs, i, direction * -eps)
    for k, (a, b) in enumerate(zip(high, low)):
        for what in "shape", "dtype":
            one, other = getattr(a, what), getattr(b, what)
            if one != other:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are "
                    f"perturbed on index {k} by {eps}, but got: {what}s {one} and {other}."
                )
    return [(a - b) / (2 * eps) for a, b in zip(high, low)]


def _unit(x, n):
    flat = x.new_zeros(x.numel())
    flat[n] = 1
    return flat.reshape(x.shape)


def _numerical(func, inputs, i, outputs, o):
    """Jacobians of every output with respect to input `i`."""
    x = inputs[i]
    rows = [_slope(func, inputs, i, _unit(x, n), o.eps) for n in range(x.numel())]
    if not rows:
        return [x.new_zeros((0, y.numel())) for y in outputs]
    stack = _op("stack")
    return [stack([part.reshape(-1).to(x.dtype) for part in parts]) for parts in zip(*rows)]


# ---- gradients -----------------------------------------------------------------------------------


def _checked_gradients(found, checked, check_dtypes):
    """Zeros for what is missing; a gradient of another shape or dtype is an error."""
    for g, x in zip(found, checked):
        if g is not None and check_dtypes and g.dtype is not x.dtype:
            raise GradcheckError("Gradient has dtype mismatch")
        if g is not None and g.shape != x.shape:
            raise GradcheckError("Analytical gradient has incorrect size")
    zeros = _op("zeros_like")
    return [zeros(x) if g is None else g.detach() for g, x in zip(found, checked)]


def _columns(output, checked, seeds, check_dtypes):
    """For each checked input, the gradients of several passes as columns."""
    passes = []
    for seed in seeds:
        found = grad(output, checked, seed, retain_graph=True, allow_unused=True)
        passes.append(_checked_gradients(found, checked, check_dtypes))
    if not passes:
        return [x.new_zeros((x.numel(), 0)) for x in checked]
    stack = _op("stack")
    return [stack([part.reshape(-1) for part in parts], dim=1) for parts in zip(*passes)]


def _analytical(output, checked, seeds, nondet_tol, check_dtypes):
    """The same twice: a backward must repeat itself."""
    first = _columns(output, checked, seeds, check_dtypes)
    if not _repeated(first, _columns(output, checked, seeds, False), nondet_tol):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and "
            "grad_output multiple times gives different values, although analytical gradient "
            f"matches numerical gradient.The tolerance for nondeterminism was {nondet_tol}."
        )
    return first


def _repeated(first, again, nondet_tol):
    return all(
        not a.numel() or (a - b).abs().max().item() <= nondet_tol for a, b in zip(first, again)
    )


def _compare(func, inputs, outputs, o, fast):
    """Every entry of every Jacobian, or with `fast` one random combination of each one's."""
    places = [i for i, x in enumerate(inputs) if _is_checked(x)]
    checked = [inputs[i] for i in places]
    floating = _floating(func(*inputs))
    drawn = [_direction(x) if fast else None for x in checked]
    numerical = [
        _slope(func, inputs, i, u, o.eps) if fast else _numerical(func, inputs, i, floating, o)
        for i, u in zip(places, drawn)
    ]
    if not outputs:
        least = o.eps if fast else 0
        if not all((s.abs() <= least).all() for per_input in numerical for s in per_input):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    which = [k for k, y in enumerate(floating) if y.requires_grad]
    outputs = _differentiable(func(*inputs))  # of inputs that nothing was written to since
    for k, (column, output) in enumerate(zip(which, outputs)):
        v = _direction(output) if fast else None
        seeds = [v] if fast else [_unit(output, n) for n in range(output.numel())]
        found = _analytical(output, checked, seeds, o.nondet_tol, o.check_grad_dtypes)
        for j, (a, u) in enumerate(zip(found, drawn)):
            n, atol, hint = numerical[j][column], o.atol, ""
            if fast:
                n, a = (n.to(v.dtype) * v).sum(), (a.reshape(-1) * u.reshape(-1)).sum()
                # The tolerance is that of an entry, of which the combination adds up many.
                atol = atol * (u.abs().sum() * v.abs().sum()).item()
            if _op("allclose")(a, n.to(a.dtype), o.rtol, atol):
                continue
            if fast:
                _compare(func, inputs, outputs, o, False)
                hint = (
                    "The quantities are combined in fast mode; slow mode finds every entry within "
                    "its tolerance: run with fast_mode=False"
                )
            raise GradcheckError(
                f"Jacobian mismatch for output {k} with respect to input {j},\n"
                f"numerical:{n}\nanalytical:{a}\n{hint}"
            )


def _direction(x):
    """A random vector of length 1 in the shape of a tensor, the same on every run; it leaves the
    program's random numbers alone."""
    from ..random import Generator

    seeded = Generator().manual_seed(0)
    drawn = _op("rand")(x.shape, generator=seeded, dtype=x.dtype, device=seeded.device)
    return (drawn / drawn.norm().clamp_min(1e-30)).to(x.device)


# ---- what every gradient has to stand ------------------------------------------------------------


def _check_scaled_by_output(outputs, inputs):
    checked = [x for x in inputs if _is_checked(x)]
    zeros = _op("zeros_like")
    nothing = [zeros(y) for y in outputs]
    found = grad(outputs, checked, nothing, retain_graph=True, allow_unused=True)
    for g, x in zip(found, checked):
        if g is None:
            continue
        if not g.eq(0).all():
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != x.device:
            raise GradcheckError("grad is incorrect device")
        if g.size() != x.size():
            raise GradcheckError("grad is incorrect size")


class _NoGradient(Function):
    """Hands a value through and no gradient back."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return None


def _check_missing_gradients(func, inputs, count):
    """No output's gradient may be needed, neither all nor one at a time."""
    checked = [x for x in inputs if _is_checked(x)]
    for missing in [set(range(count))] + ([{i} for i in range(count)] if count > 1 else []):
        outputs = [
            _NoGradient.apply(y) if i in missing else y
            for i, y in enumerate(_differentiable(func(*inputs)))
        ]
        zeros = _op("zeros_like")
        try:
            found = grad(outputs, checked, [zeros(y) for y in outputs], allow_unused=True)
        except RuntimeError as problem:
            raise _undefined("backward function to handle undefined output grads") from problem
        if any(g is not None and not g.eq(0).all() for g in found):
            raise _undefined(
                "all input grads to be undefined or zero when all output grads are undefined or "
                "zero"
            )


def _undefined(expected):
    warn(
        "Backwards compatibility: New undefined gradient support checking feature: "
        "check_undefined_grad=False leaves it out"
    )
    return GradcheckError(
        f'Expected {expected}. Please look at "Notes about undefined output gradients" in '
        '"tools/autograd/derivatives.yaml"'
    )


def _check_batched(outputs, inputs):
    """A pass over several rows of start gradients finds for each what a pass of its own does."""
    checked = [x for x in inputs if _is_checked(x)]
    for k, y in enumerate(outputs):
        rows = _op("stack")([_direction(y), -2 * _direction(y)])
        found = grad(y, checked, rows, True, allow_unused=True, is_grads_batched=True)
        alone = [grad(y, checked, row, True, allow_unused=True) for row in rows]
        for j, (batch, parts) in enumerate(zip(found, zip(*alone))):
            if batch is not None and not _op("allclose")(batch, _op("stack")(list(parts))):
                raise GradcheckError(
                    f"While computing batched gradients: for output {k} and input {j} got\n{batch}"
                    f"\nExpected:\n{parts}"
                )


def _refuse(check_batched_forward_grad, check_forward_ad, check_backward_ad):
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_forward_ad or check_batched_forward_grad:
        raise NotImplementedError(
            "forward-mode automatic differentiation is not supported; call gradcheck with "
            "check_forward_ad=False and check_batched_forward_grad=False"
        )


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True,
              fast_mode=False, masked=None):  # fmt: skip
    """Whether the gradients of `func` at those `inputs` that require grad are those that central
    differences show. Made for float64."""
    options = types.SimpleNamespace(**locals())
    _refuse(check_batched_forward_grad, check_forward_ad, check_backward_ad)
    func, inputs = in_reals(func, _tuple(inputs))
    try:
        _check_inputs(inputs)
        outputs = _differentiable(func(*inputs))
        _compare(func, inputs, outputs, options, fast_mode)
        if outputs and check_batched_grad:
            _check_batched(_differentiable(func(*inputs)), inputs)
        if outputs:
            _check_scaled_by_output(_differentiable(func(*inputs)), inputs)
        if outputs and check_undefined_grad:
            _check_missing_gradients(func, inputs, len(outputs))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _random_gradient(y, non_contiguous):
    shape = (*y.shape, 2) if non_contiguous and y.numel() > 1 else tuple(y.shape)
    drawn = _op("rand")(shape, dtype=y.dtype, device=y.device) * 2 - 1
    return (drawn[..., 0] if len(shape) > y.dim() else drawn).requires_grad_()


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3,
                  gen_non_contig_grad_outputs=False, raise_exception=True, nondet_tol=0.0,
                  check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False,
                  masked=False):  # fmt: skip
    """`gradcheck` of the gradients of `func`, in its inputs and in `grad_outputs`, which are random
    unless given."""
    options = locals()
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    func, inputs = in_reals(func, _tuple(inputs))
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        grads = tuple(_random_gradient(y, gen_non_contig_grad_outputs) for y in outputs)
    else:
        grads = tuple(map(as_pairs, _tuple(grad_outputs)))
    n = len(inputs)

    def slopes(*args):
        xs, gs = args[:n], args[n:]
        checked = [x for x, old in zip(xs, inputs) if _is_checked(old)]
        outputs = _differentiable(func(*xs))
        found = grad(outputs, checked, gs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    shared = {name: options[name] for name in gradcheck.__kwdefaults__ if name in options}
    ways = {"check_forward_ad": check_fwd_over_rev, "check_backward_ad": check_rev_over_rev}
    return gradcheck(slopes, inputs + grads, **shared, **ways)


# ---- torch's older parts -------------------------------------------------------------------------


def _warn_of_older(name, grad_out):
    warn(
        f"{name} was part of PyTorch's private API and not meant to be exposed. "
        "`gradcheck` compares both Jacobians.",
        kind=FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} takes no other")


def _refuse_complex(name, values):
    if any(isinstance(v, Tensor) and v.is_complex() for v in values):
        raise UnsupportedError(f"{name}: complex tensors are unsupported; gradcheck takes them")


def get_numerical_jacobian(fn, inputs, target=None, eps=1e-3, grad_out=1.0):
    """Jacobians by central differences of the first output of a function of a tuple, one for each
    input that `target` has; by default for all."""
    _warn_of_older("get_numerical_jacobian", grad_out)
    wanted = set(map(id, _tuple(inputs if target is None else target)))
    options = types.SimpleNamespace(eps=eps)
    outputs = fn(inputs)
    _refuse_complex("get_numerical_jacobian", _tuple(inputs) + _tuple(outputs))
    outputs = _floating(outputs)

    def func(*args):
        return fn(args)

    return tuple(
        _numerical(func, inputs, i, outputs, options)[0]
        for i, x in enumerate(inputs)
        if _is_checked(x) and id(x) in wanted
    )


def get_analytical_jacobian(inputs, output, nondet_tol=0.0, grad_out=1.0):
    """Jacobians of an output by its inputs, by backward passes; and whether those repeat
    themselves, and give gradients of the right size and dtype."""
    _warn_of_older("get_analytical_jacobian", grad_out)
    _refuse_complex("get_analytical_jacobian", (*inputs, output))
    checked = [x for x in inputs if _is_checked(x)]
    seeds = [_unit(output, n) for n in range(output.numel())]
    first, again = (_columns(output, checked, seeds, False) for _ in range(2))
    kinds = all(a.dtype is x.dtype for a, x in zip(first, checked))
    return tuple(first), _repeated(first, again, nondet_tol), True, kinds


class _CallableModule(types.ModuleType):
    """`autograd.gradcheck` is the function in torch, and importing this module puts it there."""

    def __call__(self, *args, **kwargs):
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
