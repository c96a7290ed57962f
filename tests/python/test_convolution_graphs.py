"""Gradients of convolutions by their weights whose sums are made of parts: a captured graph, which
has no tickets for the last block, gives the bits of a pass that is launched, and both are the
host's within rounding.
"""

import flambeau as torch
import pytest
from flambeau.nn import functional as F

TOLERANCE = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1e-2}


def drawn(*sizes, seed):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("height", [4, 20, 40])  # one part, a few, and more than a block joins
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_a_graph_has_the_bits_of_a_launched_pass(dtype, height, device):
    if device == "cpu":
        pytest.skip("graphs are a device's")
    x, dy = (drawn(2, c, height, 15, seed=c).to(dtype) for c in (8, 16))
    w = drawn(16, 8, 3, 3, seed=1).to(dtype)

    def gradient(*operands):
        x, w, dy = operands
        w.requires_grad_()
        return torch.autograd.grad(F.conv2d(x, w, padding=1), w, dy)[0]

    there = [t.to(device) for t in (x, w, dy)]
    launched = gradient(*there)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = gradient(*there)
    graph.replay()
    assert torch.equal(captured, launched)
    exact = gradient(*(t.detach().double() for t in (x, w, dy)))
    allowed = TOLERANCE[dtype] * float(exact.abs().max())
    torch.testing.assert_close(launched.cpu().double(), exact, rtol=0, atol=allowed)
