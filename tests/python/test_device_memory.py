"""Device memory as a program sees it: what an out-of-memory error says, and what happens to host
code that reads it. Each program is a process of its own with simulated devices."""

import re

import pytest

from tests.harness import child

STEP = """
import sys
import flambeau as torch
from flambeau import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024))
        self.head = nn.Linear(1024, 4)

    def forward(self, x):
        return self.head(torch.tanh(self.layers(x)))

def step(batch):
    x = torch.randn(batch, 256, device="cuda")
    with torch.set_grad_enabled(sys.argv[1] == "train"):
        loss = net(x).square().mean()
    if sys.argv[1] == "train":
        loss.backward()

net = Net().to("cuda")
step(16)
try:
    step(8192 if sys.argv[1] == "train" else 16384)
except torch.cuda.OutOfMemoryError as problem:
    print(problem)
torch.cuda.empty_cache()
step(int(sys.argv[2]))
print("fits")
"""

OTHERS_FIRST = """
import sys
import flambeau as torch

kept = torch.relu(torch.randn(1024, 1024, device="cuda"))
make, size = getattr(torch, sys.argv[1]), int(sys.argv[2])
small = make(size >> 6, device="cuda")
kept = torch.relu(kept)
try:
    make(size, device="cuda")
except torch.OutOfMemoryError as problem:
    print(problem)
"""


def run(program, *arguments):
    simulated = "devices=1,as=cuda,memory=96MiB"
    return child.python("-c", program, *arguments, FLAMBEAU_SIM=simulated)


def test_out_of_memory_names_holders_and_a_batch_that_fits():
    text = run(STEP, "train", 1).stdout
    assert re.search(r"CUDA out of memory\. Tried to allocate [\d.]+ MiB on cuda:0; ", text), text
    assert re.search(r"held by relu in layers\.1: 32\.00 MiB in 1 block", text), text
    batch = int(
        re.search(r"batch (\d+) would fit, backward included; this step's is 8192", text)[1]
    )
    assert 2048 < batch < 8192
    assert "fits" in run(STEP, "train", batch).stdout


def test_out_of_memory_without_a_step_counts_rows():
    text = run(STEP, "eval", 1).stdout
    rows = int(re.search(r"a batch of (\d+) rows would fit; this call has 16384", text)[1])
    assert 1024 < rows < 16384
    assert "fits" in run(STEP, "eval", rows).stdout


@pytest.mark.parametrize("make", ["empty", "zeros", "ones", "rand", "arange", "eye"])
def test_out_of_memory_is_of_the_call_that_asks(make):
    size = 1 << (13 if make == "eye" else 26)
    text = run(OTHERS_FIRST, make, size).stdout
    assert re.search(rf"CUDA out of memory.*\n  {make}\(.*device: cuda", text), text
    assert "held by relu: " in text and f"held by {make}: " in text and "rows" not in text, text


def test_numbers_hold_no_memory_of_their_own(torch):
    x = torch.ones(3)
    kept = [x * (i + 0.28125) for i in range(100)]
    with pytest.raises(MemoryError, match="held by") as found:
        torch.empty(1 << 45)
    assert "scalar" not in str(found.value) and len(kept) == 100, found.value


def test_host_access_is_named():
    reader = (
        "import ctypes, flambeau as torch\n"
        "x = torch.relu(torch.ones(4, device='cuda'))\n"
        "ctypes.c_float.from_address(x.data_ptr() + 8).value"
    )
    done = run(reader)
    assert done.returncode != 0
    assert re.search(
        r"host code read device memory: cuda:0, address 0x[0-9a-f]+, byte 8 of a block of 16 bytes "
        r"from relu",
        done.stderr,
    ), done.stderr
