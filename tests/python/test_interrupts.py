"""Ctrl-C at any moment: it reaches the program every time, what a call had made is released, and no
mode outlives its block.

Python delivers a signal between two of its instructions, wherever they are: between a call and the
owner of what it returned, or in a `__del__`, whose exceptions it prints and drops. A timer fires at
random moments of small steps that use every kind of result; none may be lost, and no handle."""

import string
import textwrap

import pytest

from tests.harness import child

PROGRAM = string.Template("""
import gc, random, signal, sys
import flambeau as torch
from flambeau._call import _text
from flambeau._library import fast

class Stop(BaseException):
    pass

def handler(*_):
    if armed:
        raise Stop

armed, lost = False, []
sys.unraisablehook = lambda problem: lost.append(f"{problem.exc_value!r} in {problem.object}")
signal.signal(signal.SIGALRM, handler)
x = torch.rand(8, 8)
$setup

def step():
$step

def interrupted():
    global armed
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-5, 2e-3))
        for _ in range(100_000):
            step()
    except Stop:
        return True
    finally:
        armed = False
    return False

for _ in range(20):
    step()
fast.flam_set_leak_tracking_enabled(True)
random.seed(0)
if not all(interrupted() for _ in range(400)):
    lost.append("an interrupt did not arrive")
if not torch.is_grad_enabled() or torch.is_autocast_enabled("cpu") or torch.is_inference(x + x):
    lost.append("a mode stayed on after its block")
step()
gc.collect()
print(*lost, _text(fast.flam_leak_report()), sep="\\n")
""")

ROWS = {
    "new tensors": "x + x; x.relu(); 2 * x; torch.add(x, 1.5); torch.arange(10); x @ x; x.sum(0)",
    "views": "x[1:3].t().reshape(-1); x[0]; x.split(3); x.unbind()[0]; x.view(-1)",
    "several results": "x.topk(3); x.max(0); torch.linalg.qr(x); torch.histogramdd(x[:, :2], 3)",
    "in place": ("x.clone().mul_(2).add_(x); torch.add(x, x, out=y)", "y = torch.zeros(8, 8)"),
    "gradients": (
        "(w @ x).sum().backward(); w.grad = None; torch.autograd.grad((w * 2).sum(), w)",
        "w = torch.rand(8, 8, requires_grad=True)",
    ),
    "values": "x.sum().item(); x.tolist(); x.numpy(); repr(x)",
    "modules": (
        "model(x).sum().backward(); optimizer.step(); optimizer.zero_grad()",
        "model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())\n"
        "optimizer = torch.optim.Adam(model.parameters())",
    ),
    "copies": "x.to(torch.float64); x.detach(); torch.nn.Parameter(x); torch.tensor([1.0, 2.0])",
    "modes": (
        "with torch.no_grad(): x + x\n"
        "with torch.autocast('cpu'): x @ x\n"
        "with torch.inference_mode(): x + x"
    ),
    "batches": (
        "list(torch.utils.data.DataLoader(data, 2))",
        "data = torch.utils.data.TensorDataset(torch.rand(6, 3))",
    ),
}


@pytest.mark.parametrize("kind", ROWS)
def test_every_interrupt_arrives(kind):
    row = ROWS[kind]
    step, setup = (row, "") if isinstance(row, str) else row
    step = textwrap.indent(step.replace("; ", "\n"), "    ")
    program = PROGRAM.substitute(step=step, setup=setup)
    done = child.python("-c", program, timeout=120)
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("", "", 0)
