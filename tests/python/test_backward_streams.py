"""Backward on several streams, on simulated devices whose checker knows what nothing orders: each
node runs where its forward ran, gradients that cross streams wait, and what the pass made is ready
for the stream that called it. Every program runs under all schedules.
"""

import pytest

from tests.harness import child

PREAMBLE = """
import flambeau as torch

main, side, other = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
x = torch.arange(1000, device="cuda", dtype=torch.float32).requires_grad_()
w = torch.full((1000,), 2.0, device="cuda").requires_grad_()

def on(stream, f, *operands):
    stream.wait_stream(main)
    with torch.cuda.stream(stream):
        for t in operands:
            t.record_stream(stream)
        y = f(*operands)
    y.record_stream(main)
    return y

def same(t, expected):
    assert t.device == x.device
    torch.testing.assert_close(t.cpu(), expected)

numbers = torch.arange(1000, dtype=torch.float32)
"""

PROGRAMS = {
    "forward on a side stream": """
for _ in range(3):
    x.grad = w.grad = None
    loss = on(side, lambda x, w: ((x * w).sigmoid() * 0 + x * w).sum(), x, w)
    loss.backward()
    same(x.grad, torch.full((1000,), 2.0))
    same(w.grad, numbers)
""",
    "branches on two streams meet": """
for _ in range(3):
    x.grad = None
    a = on(side, lambda x: (x * 3).square(), x)
    b = on(other, lambda x: x * x * x, x)
    main.wait_stream(side)
    main.wait_stream(other)
    (a + b + x).sum().backward()
    same(x.grad, 18 * numbers + 3 * numbers**2 + 1)
""",
    "backward called on a side stream": """
loss = ((x * w) * x).sum()
side.wait_stream(main)
with torch.cuda.stream(side):
    loss.backward()
main.wait_stream(side)
same(x.grad, 4 * numbers)
same(w.grad, numbers**2)
""",
    "gradients that are asked for": """
for _ in range(3):
    y = on(side, lambda x, w: x * w * w, x, w)
    gx, gw = torch.autograd.grad(y, (x, w), torch.ones_like(x), create_graph=True)
    same(gx.detach(), torch.full((1000,), 4.0))
    (again,) = torch.autograd.grad(gw.sum(), w)
    same(again, 2 * numbers)
    del gx, gw, again, y
""",
    "kept gradients and hooks": """
seen = []
y = on(side, lambda x: x * 2, x)
y.retain_grad()
y.register_hook(lambda g: seen.append(torch.cuda.current_stream()) or g * 3)
x.register_hook(lambda g: seen.append(torch.cuda.current_stream()))
main.wait_stream(side)
(y * y).sum().backward()
same(y.grad, 12 * numbers)
same(x.grad, 24 * numbers)
assert seen == [side, main], seen
""",
    "a function of the program": """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, dy):
        assert torch.cuda.current_stream() == side
        (x,) = ctx.saved_tensors
        return 3 * x * x * dy

on(side, lambda x: Cube.apply(x).sum(), x).backward()
same(x.grad, 3 * numbers**2)
assert torch.cuda.current_stream() == main
""",
    "written in place": """
y = on(side, lambda x, w: (x * 2).mul_(w), x, w)
main.wait_stream(side)
y[100:200].zero_()
y.sum().backward()
""",
    "from device to device": """
assert torch.cuda.device_count() == 2
far = torch.cuda.Stream("cuda:1")
with torch.cuda.stream(far):
    y = x.to("cuda:1")
    z = (y * y).sum()
assert torch.cuda.current_device() == 0
z.backward()
same(x.grad, 2 * numbers)
host = on(side, lambda x: x * x, x)
torch.cuda.current_stream().wait_stream(side)
x.grad = None
(host.cpu() * 2).sum().backward()
same(x.grad, 4 * numbers)
""",
    "a pass that fails": """
kept = []

class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        kept.append(dy * 3)
        raise KeyError("no gradient")

y = on(side, lambda x: (Fails.apply(x) * 5).sum(), x)
try:
    y.backward()
except KeyError:
    same(kept[0], torch.full((1000,), 15.0))
else:
    raise AssertionError("nothing failed")
""",
    "recomputed": """
from flambeau.utils.checkpoint import checkpoint
loss = on(side, lambda x: checkpoint(lambda t: (t * t).square(), x, use_reentrant=False).sum(), x)
loss.backward()
same(x.grad, 4 * numbers**3)
""",
}


@pytest.mark.parametrize("schedule", ["eager", "lazy", "random(3)", "threads"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_backward_runs_where_forward_ran(name, schedule):
    program = PREAMBLE + PROGRAMS[name] + "\ntorch.cuda.synchronize()\n"
    child.output(program, **child.gpus(f"devices=2,memory=64MiB,schedule={schedule}"))
