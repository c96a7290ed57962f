"""What is derived from each row about gradients, in float64 and on devices."""

import flambeau

from . import binding, numeric
from .cases import big_cases, bits, cases, changes_operand, in_place, same, tensors_of


def gradients(row):
    if not row.grad:
        return
    for case in cases(row, "float64"):
        if any(case.differentiable):
            numeric.check_gradients(
                lambda *ts: case.call(ts, "cpu"),
                case.arrays,
                case.differentiable,
                case.what,
                row.second,
            )


def gradients_of(case, device, form=None):
    """The results of a call on leaves, and the gradients of all elements of these."""
    ts, wanted = case.leaves(device)
    y = form(ts) if form else case.call(ts, device)
    if not wanted:
        return tensors_of(y), []
    return tensors_of(y), list(flambeau.autograd.grad(numeric.weighted_sum(y, 1), wanted))


def in_place_gradient(row, device):
    """An in-place op on a tensor with a history has the plain op's gradient."""
    if in_place(row) is None or not row.grad:
        return
    for case in cases(row, "float64"):
        if not any(case.differentiable):
            continue
        plain = case.call(case.on(device), device)
        if plain.shape != case.tensors[0].shape and not changes_operand(row):
            continue
        want = gradients_of(case, device)[1]
        got = gradients_of(
            case, device, lambda ts: case.call_in_place([ts[0] * 1.0, *ts[1:]], device)
        )[1]
        same(got, want, f"{case.what}: gradient in place")


def device_agrees(row, device):
    """Values and gradients on the device are the cpu's."""
    for case in cases(row, "float32" if "float32" in row.dtypes else row.dtypes[0]):
        (host, slopes), (other, others) = [gradients_of(case, d) for d in ("cpu", device)]
        for h, o in zip(host + slopes, other + others, strict=True):
            numeric.assert_close(
                o,
                binding.array(h),
                binding.dtype_name(h),
                2 * row.ulp + 2,
                row.absolute(binding.dtype_name(h)) + 1e-6,
                f"{case.what} on {device}",
            )


def threads(row):
    """Bitwise the same results and gradients with one thread and with two."""
    before = flambeau.get_num_threads()
    try:
        for case in big_cases(row):
            found = []
            for n in (1, 2):
                flambeau.set_num_threads(n)
                found.append([bits(part) for part in gradients_of(case, "cpu")])
            assert found[0][0] == found[1][0], f"{case.what} differs with two threads"
            assert found[0][1] == found[1][1], f"{case.what}: gradient differs with two threads"
    finally:
        flambeau.set_num_threads(before)
