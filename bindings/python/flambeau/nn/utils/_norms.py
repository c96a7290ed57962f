"""The lengths that weight norm keeps, and the steps of a power iteration."""

from ..parameter import is_lazy


def norm_except_dim(v, pow=2, dim=0):
    """Norms over all dimensions but `dim`, of size 1 there; over all of them for -1."""
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow, others, True) if others else v.abs()


def weight_of(v, g, dim=0):
    """The weight with directions `v` and lengths `g`."""
    return v * (g / norm_except_dim(v, 2, dim))


def unit(x, eps):
    """A vector of length 1."""
    return x / x.norm().clamp(min=eps)


def grown(u, v, matrix, times, eps):
    """Turns `u` and `v`, in place, towards the singular vectors of the greatest singular value."""
    for _ in range(times):
        u.copy_(unit(matrix.mv(v), eps))
        v.copy_(unit(matrix.t().mv(u), eps))


def removed(module, kind, name, what):
    """Takes the hook of a kind for a parameter off again."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{what} of '{name}' not found in {module}")


def check_only(module, kind, name, what):
    """Refuses a second hook of a kind for one parameter, and a parameter without a shape."""
    if is_lazy(getattr(module, name)):
        raise ValueError(
            "The module passed to `" + what + "` can't have uninitialized parameters. Make sure to "
            "run the dummy forward before applying " + what
        )
    if any(isinstance(h, kind) and h.name == name for h in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two {what} hooks on the same parameter {name}")


def check_iterations(n_power_iterations):
    """Refuses a power iteration of no steps."""
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but got "
            f"n_power_iterations={n_power_iterations}"
        )


def as_matrix(weight, dim):
    """The weight with `dim` first and all others in one."""
    if weight.dim() < 2:
        return weight.unsqueeze(1)
    order = [dim, *(d for d in range(weight.dim()) if d != dim)]
    return (weight.permute(*order) if dim else weight).flatten(1)
