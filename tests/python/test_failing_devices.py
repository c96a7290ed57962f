"""A training over the stand-in for CUDA's runtime, one call of which fails: the program gets the
error that this means, goes on with the next step, where a device is not lost, learns as without it,
and holds no more memory than before.
"""

import json

import pytest

from tests.harness import child

PROGRAM = """
import json
import flambeau as torch

torch.manual_seed(0)
x = torch.randn(32, 8)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

def step():
    large = torch.zeros(4 << 20, device="cuda")  # memory that each step asks the device for
    given = x.cuda()
    optimizer.zero_grad(set_to_none=True)
    loss = (net(given) - given.sum(1, keepdim=True)).square().mean() + 0 * large[0]
    loss.backward()
    optimizer.step()
    return loss.item()

steps, held = [], []
for _ in range(40):
    try:
        steps.append(step())
    except Exception as problem:
        steps.append((type(problem).__name__, str(problem)))
    optimizer.zero_grad(set_to_none=True)
    held.append(torch.cuda.memory_allocated())
    torch.cuda.empty_cache()
print(json.dumps([steps, held]))
"""

ONCE, ALWAYS = 1, 1 << 30
LOST = "the device is lost", "restart the process"
# call, error, calls that pass before it, how often; the class and texts of what the program gets
FAILURES = [
    ("cudaMalloc", 2, 20, 3, "OutOfMemoryError", ("CUDA out of memory", "16.00 MiB")),
    ("cudaLaunchKernel", 209, 300, ONCE, "DeviceError", ("no code for this GPU's architecture",)),
    ("cudaMemcpyAsync", 999, 20, ONCE, "Error", ("cudaErrorUnknown",)),
    ("cudaLaunchKernel", 700, 300, ONCE, "DeviceError", (*LOST, "an illegal memory access")),
    ("cudaMemcpyAsync", 214, 20, ONCE, "DeviceError", (*LOST, "uncorrectable ECC error")),
    ("cudaStreamSynchronize", 911, 10, ONCE, "DeviceError", (*LOST, "external entity")),
]


def trained(**environment):
    gpus = child.gpus("devices=1,memory=64MiB,schedule=lazy")
    return json.loads(child.output(PROGRAM, **gpus, **environment))


@pytest.mark.parametrize(("call", "error", "passed", "times", "name", "texts"), FAILURES)
def test_a_training_goes_on_or_ends_as_the_failure_means(
    call, error, passed, times, name, texts, request
):
    if request.config.getoption("--device") != "standin":
        pytest.skip("only the stand-in fails on request")
    failure = f"{call}:{error}:{passed}:{times}"
    steps, held = trained(FLAMBEAU_STANDIN_FAIL=failure)
    first = next(i for i, outcome in enumerate(steps) if isinstance(outcome, list))
    assert first > 3 and steps[first][0] == name
    for text in texts:
        assert text in steps[first][1], steps[first]
    if LOST[0] in texts:
        assert all(outcome[0] == name and LOST[0] in outcome[1] for outcome in steps[first:])
    else:
        learnt = steps[:first] + steps[first + 1 :]
        assert all(isinstance(loss, float) for loss in learnt) and learnt[-1] < learnt[0] / 4
    assert held == held[:1] * 40
