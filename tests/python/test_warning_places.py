"""A warning names the line of the program that led to it, whichever functions of the package lie
between, and however often the call is wrapped: the line is where the program has to change."""

import functools
import warnings

import flambeau as torch
import numpy as np
import pytest
from flambeau import _deprecated

PROGRAMS = [
    "torch.cross(torch.ones(4, 3), torch.ones(4, 3))",
    "torch.meshgrid(torch.ones(2), torch.ones(2))",
    "torch.range(0, 3)",
    "torch.ones(2).resize(2)",
    "torch.where(torch.ones(2, dtype=torch.uint8), torch.ones(2), torch.ones(2))",
    "torch.tensor([np.eye(2), np.eye(2)])",
    "torch.FloatTensor([np.eye(2), np.eye(2)])",
    "torch.ones(2, 3).new_tensor([np.eye(2)])",
    "torch.tensor(torch.ones(2))",
    "torch.from_numpy(np.broadcast_to(np.ones(1), 2))",
    "torch.add(torch.ones(2), 2, torch.ones(2))",
    "torch.ones(2).add_(2, torch.ones(2))",
    "torch.ones(2)[torch.ones(2, dtype=torch.uint8)]",
    "torch.ones(2).__setitem__(torch.ones(2, dtype=torch.uint8), 1.0)",
    "torch.ones(1, 2, 3).T",
    "torch.ones(()).mT",
    "torch.add(torch.ones(2), 1, out=torch.ones(3))",
    "torch.arange(3, out=torch.ones(2))",
    "torch.ones(6).expand(2, 6).index_fill_(1, torch.tensor([0]), 1.0)",
    "torch.ones(3).random_(0, 2**30)",
    "torch.ones(1).std()",
    "torch.nn.functional.mse_loss(torch.ones(2), torch.ones(1))",
    "torch.nn.HuberLoss()(torch.ones(2), torch.ones(1))",
    "torch.nn.functional.kl_div(torch.ones(2), torch.ones(2))",
    "(torch.ones(2, requires_grad=True) * 2).grad",
    "torch.nn.functional.softmax(torch.ones(2))",
    "torch.nn.Softmax()(torch.ones(2))",
    "torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2), size_average=True)",
    "torch.nn.functional.l1_loss(torch.ones(2), torch.ones(2), reduction='elementwise_mean')",
    "torch.nn.MSELoss(size_average=False)",
    "torch.nn.CrossEntropyLoss(reduce=False)",
    "torch.nn.functional.dropout2d(torch.ones(2, 3, 4))",
    "torch.nn.Dropout2d()(torch.ones(2, 3, 4))",
    "torch.nn.Sequential(torch.nn.Sequential(torch.nn.Dropout2d()))(torch.ones(2, 3, 4))",
    "torch.autograd.detect_anomaly()",
    "torch.no_grad()(int)",
    "torch.autograd.Variable(torch.ones(2), volatile=True)",
    "torch.cuda.amp.GradScaler(enabled=False)",
    "torch.cpu.amp.autocast(False)",
    "torch.autocast('cpu', torch.int32)",
    "torch.nn.functional.upsample(torch.ones(1, 1, 2), 4)",
    "torch.nn.init.uniform(torch.ones(2))",
    "torch.nn.init.kaiming_uniform_(torch.ones(2, 0))",
    "torch.nn.init.trunc_normal_(torch.ones(2), 9.0)",
    "torch.nn.Linear(0, 2)",
    "torch.nn.LSTM(2, 2, dropout=0.5)",
    "torch.nn.InstanceNorm1d(4)(torch.ones(2, 3, 5))",
    "torch.nn.utils.clip_grad_norm([torch.ones(2)], 1.0)",
    "torch.nn.utils.clip_grad_norm_((t for t in ()), 1.0)",
    "torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))",
    "torch.nn.utils.stateless.functional_call(torch.nn.Identity(), {}, torch.ones(2))",
    "torch.optim.SGD([torch.ones(2)] * 2)",
    "torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(2)]), 1).get_lr()",
    "torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(2)]), 1).step()",
    "torch.utils.checkpoint.checkpoint_sequential([torch.sin], 1, torch.ones(2))",
    "torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(2), use_reentrant=True)",
    "torch.profiler.schedule(wait=1, warmup=0, active=1)",
    "torch.testing.assert_allclose(1.0, 1.0)",
    "torch.jit.script(torch.sin)",
    "torch.compile(torch.sin)",
]


@pytest.mark.parametrize("inside", [False, True], ids=["plain", "in a module's forward"])
@pytest.mark.parametrize("line", PROGRAMS)
def test_a_warning_stands_at_the_line_of_the_program(line, inside, monkeypatch):
    monkeypatch.setattr(_deprecated, "_told", set())
    names = {"torch": torch, "np": np}
    exec(compile(f"def step():\n    pass\n    {line}\n", "program.py", "exec"), names)
    run = step = names["step"]
    if inside:
        layer = type("Layer", (torch.nn.Module,), {"forward": lambda self, x: step()})()
        layer.register_forward_pre_hook(lambda *_: None)
        run = functools.partial(torch.nn.Sequential(torch.nn.Identity(), layer), 1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run()
    assert [(w.filename, w.lineno) for w in told] == [("program.py", 3)]
