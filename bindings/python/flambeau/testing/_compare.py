"""`assert_close`: tensors, numbers, sequences and mappings within the tolerances of their dtypes.

The first difference in a walk over both values is reported, with its place in the container."""

import cmath
import math
from collections.abc import Mapping, Sequence

from .._deprecated import warn
from .._factory import as_tensor
from .._gen import ops
from .._tensor import Tensor
from .._types import NAMES

_TOLERANCES = {
    NAMES["float16"]: (1e-3, 1e-5),
    NAMES["bfloat16"]: (1.6e-2, 1e-5),
    NAMES["float32"]: (1.3e-6, 1e-5),
    NAMES["float64"]: (1e-7, 1e-7),
}
_TOLERANCES |= {d.to_complex(): _TOLERANCES[d] for d in (NAMES["float32"], NAMES["float64"])}
_FLOAT64, _INT64, _BOOL = NAMES["float64"], NAMES["int64"], NAMES["bool"]
_KINDS = {float: _FLOAT64, complex: NAMES["complex128"]}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False,
                 check_device=True, check_dtype=True, check_layout=True, check_stride=False,
                 msg=None):  # fmt: skip
    """Raises AssertionError where `|actual - expected| <= atol + rtol * |expected|` fails
    somewhere, or where shapes, dtypes or devices differ.

    Without `rtol` and `atol` the dtype gives both; integers and booleans must be equal."""
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    checks = _Checks(rtol, atol, equal_nan, check_device, check_dtype, check_stride)
    problem = checks.walk(actual, expected, ())
    if problem is not None:
        raise AssertionError(msg(problem) if callable(msg) else msg or problem)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """torch's older comparison, without checks of dtype and device. Deprecated."""
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead. You can find detailed "
        "upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
    )
    actual = as_tensor(actual)
    expected = as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        loose = {NAMES["float16"]: (1e-3, 1e-3), NAMES["float32"]: (1e-4, 1e-5)}
        loose[_FLOAT64] = (1e-5, 1e-8)
        rtol, atol = loose.get(actual.dtype, _TOLERANCES.get(actual.dtype, (0.0, 0.0)))
    how = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "msg": msg or None}
    assert_close(actual, expected, check_device=True, check_dtype=False, **how)


def _is_number(value):
    return isinstance(value, (int, float, complex)) or (
        type(value).__module__ == "numpy" and not getattr(value, "shape", (1,))
    )


def _plain(value):
    """A number of NumPy as Python's."""
    return value.item() if type(value).__module__ == "numpy" else value


def _size(value):
    """Its absolute value, infinite where that is no float."""
    return math.hypot(value.real, value.imag) if isinstance(value, complex) else abs(value)


def _is_array(value):
    return isinstance(value, Tensor) or type(value).__name__ == "ndarray"


class _Checks:
    def __init__(self, rtol, atol, equal_nan, device, dtype, stride):
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.device, self.dtype, self.stride = device, dtype, stride

    def walk(self, actual, expected, place):
        """The first problem as text; None where there is none."""
        if isinstance(actual, Mapping) and isinstance(expected, Mapping):
            return self._mappings(actual, expected, place)
        both = actual, expected
        if all(isinstance(v, Sequence) and not isinstance(v, str) for v in both):
            return self._sequences(actual, expected, place)
        found = self._leaves(actual, expected)
        if found is None or not place:
            return found
        return f"{found}\n\nThe failure occurred for item {''.join(f'[{k!r}]' for k in place)}"

    def _sequences(self, actual, expected, place):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        return self._first(zip(range(len(actual)), actual, expected), place)

    def _mappings(self, actual, expected, place):
        missing = [k for k in expected if k not in actual]
        added = [k for k in actual if k not in expected]
        if missing or added:
            return (
                "The keys of the mappings do not match:"
                + (f"\nMissing keys in the actual mapping: {sorted(missing)}" if missing else "")
                + (f"\nAdditional keys in the actual mapping: {sorted(added)}" if added else "")
            )
        return self._first(((k, actual[k], expected[k]) for k in actual), place)

    def _first(self, parts, place):
        for key, actual, expected in parts:
            problem = self.walk(actual, expected, (*place, key))
            if problem is not None:
                return problem
        return None

    def _leaves(self, actual, expected):
        if actual is None and expected is None:
            return None
        if isinstance(actual, bool) and isinstance(expected, bool):
            return None if actual is expected else f"Booleans mismatch: {actual} is not {expected}"
        if _is_number(actual) and _is_number(expected):
            return self._numbers(actual, expected)
        if _is_array(actual) and _is_array(expected):
            return self._tensors(as_tensor(actual).detach(), as_tensor(expected).detach())
        if actual is None or expected is None:
            return f"None mismatch: {actual} is not {expected}"
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and "
            f"{type(expected)}."
        )

    def _limits(self, *dtypes):
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [_TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
        return max(r for r, _ in found), max(a for _, a in found)

    def _numbers(self, actual, expected):
        actual, expected = map(_plain, (actual, expected))
        rtol, atol = self._limits(*(_KINDS.get(type(v), _INT64) for v in (actual, expected)))
        if _number_close(actual, expected, rtol, atol, self.equal_nan):
            return None
        return _number_report(actual, expected, rtol, atol)

    def _tensors(self, actual, expected):
        for wanted, name, mine, other in (
            (True, "shape", actual.shape, expected.shape),
            (self.device, "device", actual.device, expected.device),
            (self.dtype, "dtype", actual.dtype, expected.dtype),
            (self.stride, "stride()", actual.stride(), expected.stride()),
        ):
            if wanted and mine != other:
                return f"The values for attribute '{name}' do not match: {mine} != {other}."
        rtol, atol = self._limits(actual.dtype, expected.dtype)
        expected = expected.to(actual.device)
        if actual.dtype is not expected.dtype:
            wide = (actual.new_zeros(1) + expected.new_zeros(1)).dtype
            actual, expected = actual.to(wide), expected.to(wide)
        close = ops.TORCH["isclose"](actual, expected, rtol, atol, self.equal_nan)
        if bool(close.all()):
            return None
        if actual.dim() == 0:
            return _number_report(actual.item(), expected.item(), rtol, atol)
        return _tensor_report(actual, expected, close, rtol, atol)


def _number_close(actual, expected, rtol, atol, equal_nan):
    if actual == expected:
        return True
    if cmath.isnan(actual) or cmath.isnan(expected):
        return equal_nan and cmath.isnan(actual) and cmath.isnan(expected)
    far = _size(actual - expected)
    return math.isfinite(far) and far <= atol + rtol * _size(expected)


def _allowed(limit, exact):
    return "" if exact else f" (up to {limit} allowed)"


def _number_report(actual, expected, rtol, atol):
    exact = rtol == atol == 0
    far = _size(actual - expected)
    share = far / _size(expected) if expected else math.inf
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {far}{_allowed(atol, exact)}\n"
        f"Relative difference: {share}{_allowed(rtol, exact)}"
    )


def _tensor_report(actual, expected, close, rtol, atol):
    exact = rtol == atol == 0
    if actual.dtype is _BOOL:
        actual, expected = actual.to(_INT64), expected.to(_INT64)
    n, wrong = close.numel(), int((~close).sum())
    far = (actual - expected).abs()
    far[close] = 0  # equal infinities differ by NaN
    share = far / expected.abs()
    share[close] = 0

    def worst(kind, values, limit):
        at, index = int(values.argmax()), ()
        for size in reversed(values.shape):
            at, place = divmod(at, size)
            index = (place, *index)
        found = f"{values[index].item()} at index {index}"
        return f"Greatest {kind} difference: {found}{_allowed(limit, exact)}"

    return (
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {wrong} / {n} ({wrong / n:.1%})\n"
        f"{worst('absolute', far, atol)}\n{worst('relative', share, rtol)}"
    )
