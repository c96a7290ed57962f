"""The n-th allocation of a call fails, for every n: an error comes back, no memory or handle is
lost, every operand is as it was, and a retry succeeds.
"""

import json

import flambeau

from . import binding, numeric
from .cases import cases, first_case, in_place, same, tensors_of
from .gen import api

MOST = 500  # allocations that one call may make


def failing_allocations(row, device):
    """The op itself, in place, into a given tensor, and its backward."""
    case = first_case(row)

    def plain():
        ts = case.on(device)
        return lambda: case.call(ts, device), ts

    survives(plain, device, case.what)
    if binding.has_out(row.name) and not row.call:

        def into():
            ts = case.on(device)
            target = flambeau.ones_like(case.call(ts, device))
            return lambda: case.call(ts, device, out=target), [*ts, target]

        survives(into, device, f"{case.what} with out=")
    if any(case.tracked):

        def backward():  # of a graph of its own, as a failed walk may have used it up
            ts, wanted = case.leaves(device)
            total = numeric.weighted_sum(case.call(ts, device), 1)
            return lambda: flambeau.autograd.grad(total, wanted), ts

        survives(backward, device, f"{case.what} backward")
    fitting = in_place_case(row, device)
    if fitting:

        def changing():
            ts = [t.clone() for t in fitting.on(device)]
            return lambda: fitting.call_in_place(ts, device), ts

        survives(changing, device, f"{fitting.what} in place")


def in_place_case(row, device):
    """The first case whose result fits its first operand."""
    if in_place(row) is None:
        return None
    for case in cases(row, row.dtypes[0]):
        ts = case.on(device)
        if ts[0].numel() and case.call(ts, device).shape == ts[0].shape:
            return case
    return None


def survives(prepare, device, what):
    """`prepare` gives a call, and the tensors that it must leave alone where it fails."""
    want = tensors_of(prepare()[0]())  # also fills what the library keeps for good
    for n in range(1, MOST):
        call, operands = prepare()
        kept = [t.detach().clone() for t in operands]
        before = allocated(device)
        api.set_leak_tracking_enabled(True)
        alive = api.leak_report()
        got, failed = attempt(call, n, what)
        lost = api.leak_report() if failed else alive
        api.set_leak_tracking_enabled(False)
        if not failed:
            return same(tensors_of(got), want, f"{what} after failures")
        more = allocated(device) - before
        assert more <= 0, f"{what}: allocation {n} failed and left {more} bytes behind"
        assert lost == alive, f"{what}: allocation {n} failed and left handles behind: {lost}"
        for t, k in zip(operands, kept):
            same(t.detach(), k, f"{what}: allocation {n} failed, and an operand changed")
    raise AssertionError(f"{what}: {MOST} allocations")


def attempt(call, n, what):
    """What the call gives while its n-th allocation fails, and whether it came so far."""
    before = failures()
    got, error = [], None
    api.memory_fail_allocation(n)
    try:
        got = [call()]
    except (flambeau.OutOfMemoryError, MemoryError) as e:
        error = str(e)
    finally:
        api.memory_fail_allocation(0)
    failed = failures() - before
    assert bool(failed) == bool(error), (
        f"{what}: {failed} of its allocations failed, and the call says {error or 'nothing'}"
    )
    return (got[0] if got else None), bool(failed)


def devices():
    return ["cpu", *(f"{d}:{i}" for d in ("sim", "cuda") for i in range(api.device_count(d)))]


def failures():
    return sum(json.loads(api.memory_stats(d))["num_ooms"] for d in devices())


def allocated(device):
    api.device_synchronize(device)
    return sum(api.memory_allocated(d) for d in devices())
