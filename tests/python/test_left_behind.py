"""What programs call in every step leaves no tensor for Python's collector: memory comes back with
the last reference, as in a loop that runs without the collector (`timeit` stops it)."""

import gc
import io

import pytest

CALLS = {
    "grad": lambda T, net, x: T.func.grad(lambda w: (w * w).sum())(x),
    "vmap": lambda T, net, x: T.func.vmap(lambda v: v * 2)(x),
    "per sample": lambda T, net, x: per_sample(T, net, x),
    "jacrev": lambda T, net, x: T.func.jacrev(lambda w: w * w)(x[0]),
    "jacfwd": lambda T, net, x: T.func.jacfwd(lambda w: w * w)(x[0]),
    "hessian": lambda T, net, x: T.func.hessian(lambda w: (w**3).sum())(x[0]),
    "vjp": lambda T, net, x: T.func.vjp(lambda w: w * w, x)[1](x),
    "functional": lambda T, net, x: T.autograd.functional.hessian(lambda w: (w**3).sum(), x[0]),
    "step": lambda T, net, x: net(x).sum().backward(),
    "twice": lambda T, net, x: twice(T, x),
    "checkpoint": lambda T, net, x: checkpointed(T, net, x, False).backward(),
    "reentrant": lambda T, net, x: checkpointed(T, net, x, True).backward(),
    "attention": lambda T, net, x: T.nn.TransformerEncoderLayer(4, 2, 8)(x[None]),
    "lstm": lambda T, net, x: T.nn.LSTM(4, 3)(x)[0].sum().backward(),
    "optimizer": lambda T, net, x: optimized(T, x),
    "loader": lambda T, net, x: list(T.utils.data.DataLoader(x, 2)),
    "state": lambda T, net, x: net.load_state_dict(net.state_dict()),
    "wrong state": lambda T, net, x: refused(lambda: net.load_state_dict({"a": x})),
    "file": lambda T, net, x: saved(T, net),
    "tree": lambda T, net, x: T.utils._pytree.tree_map(lambda t: t * 2, {"a": [x, (x, x)]}),
    "refused": lambda T, net, x: refused(lambda: net(x[:, :3])),
    "gradcheck": lambda T, net, x: T.autograd.gradcheck(
        lambda w: w * w, x.double().requires_grad_()
    ),
    "printed": lambda T, net, x: repr(x) + repr(net),
}


def per_sample(torch, net, x):
    state = {name: p.detach() for name, p in net.named_parameters()}

    def loss(state, row):
        return torch.func.functional_call(net, state, (row,)).sum()

    return torch.func.vmap(torch.func.grad(loss), (None, 0))(state, x)


def twice(torch, x):
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    slope.sum().backward()


def checkpointed(torch, net, x, reentrant):
    x = x.clone().requires_grad_()
    return torch.utils.checkpoint.checkpoint(net, x, use_reentrant=reentrant).sum()


def optimized(torch, x):
    net = torch.nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(net.parameters())
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    net(x).sum().backward()
    optimizer.step()


def saved(torch, net):
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    torch.load(file, weights_only=False)


def refused(call):
    with pytest.raises(RuntimeError):
        call()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_no_tensor_in_a_cycle(torch, name):
    def tensors():
        return sum(type(o) is torch.Tensor for o in gc.get_objects())

    net, x = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh()), torch.randn(2, 4)
    CALLS[name](torch, net, x)
    gc.collect()
    gc.disable()
    try:
        before = tensors()
        for _ in range(5):
            CALLS[name](torch, net, x)
        assert tensors() <= before
    finally:
        gc.enable()
