"""Optimizers whose steps autograd records: they do what the library's steps do, with any two
options together, and parameters, gradients, states and rates have gradients through several
steps."""

import itertools

import flambeau as torch
import pytest
from flambeau.optim._recorded import _FORMULAS

from tests.golden import stepping

F64 = torch.float64
START = torch.tensor([[0.5, -1.25], [3.0, 0.75]], dtype=F64)
GRADS = [
    torch.tensor(g, dtype=F64) for g in ([[0.3, -2.0], [0.4, 1.5]], [[-0.2, -1.0], [2.0, 0.7]])
]
WAYS = ("foreach", "fused")  # of computing the same


def combined(name):
    names = [option for option in stepping.OPTIONS[name].split() if option not in WAYS]
    for count in 0, 1, 2:
        for some in itertools.combinations(names, count):
            options = {option: stepping.VALUES[option][0] for option in some}
            yield options | ({"momentum": 0.9} if {"nesterov"} == {*some} - {"lr"} else {})


CASES = [(name, options) for name in _FORMULAS for options in combined(name)]
CASES = [c for c in CASES if not ("nesterov" in c[1] and {"dampening"} & {*c[1]})]
CASES = [c for c in CASES if "nesterov" not in c[1] or c[1].setdefault("momentum", 0.9)]


@pytest.mark.parametrize("name, options", CASES)
def test_a_recorded_step_is_the_plain_one(name, options):
    kind = getattr(torch.optim, name)
    p = torch.nn.Parameter(START.clone())
    q = START.clone().requires_grad_() * 1
    plain, recorded = kind([p], **options), kind([q], **options, differentiable=True)
    for grad in GRADS * 4:
        p.grad, q.grad = grad.clone(), grad.clone()
        plain.step(), recorded.step()
    assert q.grad_fn is not None
    torch.testing.assert_close(q, p, rtol=1e-6, atol=1e-7)
    assert {*recorded.state[q]} == {*plain.state[p]}
    for key, value in plain.state[p].items():
        torch.testing.assert_close(recorded.state[q][key].to(value.dtype), value)


VARIABLES = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.9, "centered": True}}
VARIABLES |= {"Adadelta": {"eps": 0.1}}  # next to which differences are small
VARIABLES |= {name: {"amsgrad": True} for name in ("Adam", "AdamW")}


@pytest.mark.parametrize("name", _FORMULAS)
def test_what_a_step_is_made_of_has_gradients(name):
    """Also a rate that is a tensor, but for Rprop, whose first steps it is."""
    options = {"lr": 0.1, **VARIABLES.get(name, {}), "differentiable": True}
    begun = getattr(torch.optim, name)([torch.nn.Parameter(START.clone())], **options)
    begun.param_groups[0]["differentiable"] = False
    begun.param_groups[0]["params"][0].grad = GRADS[0]
    begun.step()
    (state,) = begun.state.values()
    names = [key for key, value in state.items() if value.shape == START.shape]

    def stepped(p, grad, lr, *values):
        p, given = p.clone(), dict(zip(names, values))
        optimizer = getattr(torch.optim, name)([p], **options)
        optimizer.param_groups[0]["lr"] = 0.1 if name == "Rprop" else lr
        optimizer.state[p].update({**state, **given})
        for factor in 1, 0.5:
            p.grad = factor * grad
            optimizer.step()
        return (p, *(optimizer.state[p][key] for key in names))

    inputs = [START, GRADS[1], torch.tensor(0.1, dtype=F64), *(state[key] for key in names)]
    if name == "Rprop":
        inputs[2] = torch.tensor(0.1, dtype=F64)
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    assert torch.autograd.gradcheck(stepped, inputs, atol=1e-4)


def test_a_learning_rate_is_learned():
    """The gradient of a loss after three steps, by the rate."""
    lr = torch.tensor(0.1, dtype=F64, requires_grad=True)
    w = torch.tensor([1.0, -2.0], dtype=F64, requires_grad=True) * 1
    optimizer = torch.optim.SGD([w], lr=0.1, differentiable=True)
    optimizer.param_groups[0]["lr"] = lr
    for _ in range(3):
        (w.grad,) = torch.autograd.grad((w * w).sum(), w, create_graph=True)
        optimizer.step()
    loss = (w * w).sum()
    loss.backward()  # of 5 (1 - 2 lr)^6
    assert loss.item() == pytest.approx(5 * 0.8**6)
    assert lr.grad.item() == pytest.approx(-60 * 0.8**5)


def test_what_has_no_formula_says_so():
    class Own(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1, "differentiable": True})

        def _update(self, group, params, grads):
            raise AssertionError

    p = torch.nn.Parameter(torch.ones(1))
    p.grad = torch.ones(1)
    with pytest.raises(NotImplementedError, match="unsupported: Own.differentiable=True."):
        Own([p]).step()
