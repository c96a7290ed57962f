"""`torch.fft`: frequencies and shifts; the transforms are unsupported."""

from . import _refused
from ._call import made_in
from ._errors import DtypeError
from ._factory import tensor
from ._gen import api
from ._torch import roll
from ._types import dtype_of

_WHY = (
    "flambeau has complex numbers and no fast transforms of them. A transform of fixed size is a "
    "product with torch.polar(ones, angles); numpy.fft works on Tensor.numpy()"
)
_TRANSFORMS = (
    "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2 "
    "hfftn ihfftn"
).split()
globals().update({name: _refused.function("torch.fft", name, _WHY) for name in _TRANSFORMS})

__all__ = [*_TRANSFORMS, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _over(name, numbers, n, d, options):
    """Numbers of waves over the length of n points."""
    options["dtype"] = dtype_of(options.get("dtype") or api.get_default_dtype())
    if not options["dtype"].is_floating_point:
        raise DtypeError(f"{name} requires a floating point or complex dtype")
    return tensor([k / (n * d) for k in numbers], **options)


def fftfreq(n, d=1.0, *, out=None, layout=None, **options):
    """The frequencies of a transform of `n` points that are `d` apart, the negative ones last."""
    if out is not None:
        return made_in(out, None, fftfreq, n, d, spaced=True, **options)
    return _over("fftfreq", [*range((n + 1) // 2), *range(-(n // 2), 0)], n, d, options)


def rfftfreq(n, d=1.0, *, out=None, layout=None, **options):
    """The frequencies of a transform of `n` real points that are `d` apart."""
    if out is not None:
        return made_in(out, None, rfftfreq, n, d, spaced=True, **options)
    return _over("rfftfreq", range(n // 2 + 1), n, d, options)


def _shifted(input, dim, half):
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = list(dims)
    return roll(input, [half(input.shape[d]) for d in dims], dims) if dims else input.clone()


def fftshift(input, dim=None):
    """Moves frequency zero, which comes first, to the middle."""
    return _shifted(input, dim, lambda n: n // 2)


def ifftshift(input, dim=None):
    """Undoes `fftshift`."""
    return _shifted(input, dim, lambda n: (n + 1) // 2)
