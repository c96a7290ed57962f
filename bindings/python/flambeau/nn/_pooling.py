"""Pools whose result depends on a flag, in torch's spelling: maxima with or without their places,
and the way back."""

from .._gen import api
from .._gen import ops as _ops
from .._on_demand import called

_F = _ops.FUNCTIONAL


def _max_pool(n):
    plain, both = _F[f"max_pool{n}d"], _F[f"max_pool{n}d_with_indices"]

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
                 return_indices=False):  # fmt: skip
        """Greatest element of each window, with its place in the plane where `return_indices`."""
        pool = both if return_indices else plain
        found = pool(input, kernel_size, stride, padding, dilation, ceil_mode)
        return tuple(found) if return_indices else found

    return called(max_pool, f"max_pool{n}d")


def _with_indices(name):
    """The form with the places, which takes the flag of the other form and needs none."""
    pool = _FORMS[name]

    def both(input, *args, return_indices=True, **options):
        """Greatest element of each window, and its place in the plane."""
        return pool(input, *args, **options, return_indices=True)

    return called(both, f"{name}_with_indices")


def _adaptive_max_pool(n):
    both, name = _F[f"adaptive_max_pool{n}d_with_indices"], f"adaptive_max_pool{n}d"

    def adaptive_max_pool(input, output_size, return_indices=False):
        """Greatest elements of windows that are sized so that the result has a given size."""
        values, indices = both(input, _sizes(input, output_size, n))
        return (values, indices) if return_indices else values

    return called(adaptive_max_pool, name)


def _fractional_max_pool(n):
    both = api.fractional_max_pool2d if n == 2 else api.fractional_max_pool3d
    name = f"fractional_max_pool{n}d"

    def fractional_max_pool(input, kernel_size, output_size=None, output_ratio=None,
                            return_indices=False, _random_samples=None):  # fmt: skip
        """Greatest elements of windows at drawn steps: the result has any size."""
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if not isinstance(output_ratio, (tuple, list)):
                output_ratio = (output_ratio,) * n
            if len(output_ratio) != n:
                raise ValueError(
                    f"{name} requires output_ratio to either be a single Int or tuple of Ints."
                )
            output_size = [int(size * r) for size, r in zip(input.shape[-n:], output_ratio)]
        kernel_size, output_size = (
            (v,) * n if isinstance(v, int) else v for v in (kernel_size, output_size)
        )
        found = both(input, kernel_size, output_size, _random_samples)
        return tuple(found) if return_indices else found[0]

    return called(fractional_max_pool, name)


def _adaptive_average_pool(n):
    plain, name = _F[f"adaptive_avg_pool{n}d"], f"adaptive_avg_pool{n}d"

    def adaptive_avg_pool(input, output_size):
        """Means of windows that are sized so that the result has a given size."""
        return plain(input, _sizes(input, output_size, n))

    return called(adaptive_avg_pool, name)


def _sizes(input, output_size, n):
    """None is the input's own size."""
    if output_size is None or isinstance(output_size, int):
        output_size = (output_size,) * n
    own = input.shape[-n:]
    return tuple(a if size is None else size for a, size in zip(own, output_size))


def _max_unpool(n):
    unpool = (api.max_unpool1d, api.max_unpool2d, api.max_unpool3d)[n - 1]
    name = f"max_unpool{n}d"

    def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        """Puts elements back where a maximum pooling found them; 0 elsewhere."""
        kernel, stride, padding = (
            (v,) * n if isinstance(v, int) else tuple(v)
            for v in (kernel_size, kernel_size if stride is None else stride, padding)
        )
        if any(s < 1 for s in stride):
            raise RuntimeError(
                f"strides should be greater than zero, but got stride: {list(stride)}"
            )
        least = [
            (size - 1) * s + k - 2 * p
            for size, s, k, p in zip(input.shape[-n:], stride, kernel, padding)
        ]
        if output_size is None:
            return unpool(input, indices, least)
        wanted = list(output_size)[-n:]
        if len(output_size) not in (n, n + 2):
            raise ValueError(
                f"output_size should be a sequence containing {n} or {n + 2} elements, but it has "
                f"a length of '{len(output_size)}'"
            )
        for size, at, s in zip(wanted, least, stride):
            if not at - s < size < at + s:
                low = [a - b for a, b in zip(least, stride)]
                high = [a + b for a, b in zip(least, stride)]
                raise ValueError(
                    f'invalid output_size "{wanted}" (dim 0 must be between {low} and {high})'
                )
        return unpool(input, indices, wanted)

    return called(max_unpool, name)


_FORMS = {f.__name__: f for n in (1, 2, 3) for f in (_max_pool(n), _adaptive_max_pool(n))}
_FORMS |= {f.__name__: f for f in map(_fractional_max_pool, (2, 3))}
FUNCTIONS = _FORMS | {
    f.__name__: f for n in (1, 2, 3) for f in (_adaptive_average_pool(n), _max_unpool(n))
}
FUNCTIONS |= {f"{name}_with_indices": _with_indices(name) for name in _FORMS}
