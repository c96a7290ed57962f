"""Steps of optimizers on a GPU: each is one launch, which counts itself, and leaves the parameters,
states and counts of the host's steps; in a graph it has the same bits.
"""

import inspect

import flambeau as torch
import pytest
from flambeau.profiler import profile

RULES = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam")
RULES += ("ASGD", "Rprop")
SIZES = ((3,), (90, 101), (4, 5), (1,))


class Steps:
    def __init__(self, rule, device, **options):
        made = torch.Generator().manual_seed(0)
        self.leaves = [torch.randn(*s, generator=made).to(device) for s in SIZES]
        slopes = [torch.randn(*s, generator=made).to(device) for s in SIZES]
        for leaf, slope in zip(self.leaves, slopes, strict=True):
            leaf.requires_grad_().grad = slope
        self.optimizer = getattr(torch.optim, rule)(self.leaves, **options)

    def __call__(self):
        self.optimizer.step()

    def numbers(self):
        kept = [self.optimizer.state[p] for p in self.leaves]
        states = [t for s in kept for t in s.values() if torch.is_tensor(t)]
        return [t.detach().cpu().clone() for t in [*self.leaves, *states]]


@pytest.mark.parametrize("rule", RULES)
def test_is_the_hosts(rule, device):
    ours, hosts = Steps(rule, device), Steps(rule, "cpu")
    for _ in range(3):
        ours(), hosts()
    for found, wanted in zip(ours.numbers(), hosts.numbers(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_is_one_launch(rule, device, request):
    if request.config.getoption("--device") != "standin":
        pytest.skip("the stand-in alone says what was launched, and no more")
    step = Steps(rule, device)
    step()
    with profile() as found:
        step()
    assert len([k for e in found.events() for k in e.kernels]) == 1


@pytest.mark.parametrize("rule", RULES)
def test_graphs_have_the_same_bits(rule, device, request):
    if request.config.getoption("--device") not in ("cuda", "standin"):
        pytest.skip("only GPUs have such graphs")
    takes = inspect.signature(getattr(torch.optim, rule)).parameters
    options = {"capturable": True} if "capturable" in takes else {}
    once, captured = Steps(rule, device, **options), Steps(rule, device, **options)
    for _ in range(4):
        once()
    captured()
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        captured()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    for found, wanted in zip(captured.numbers(), once.numbers(), strict=True):
        assert bool((found == wanted).all())
