"""Forks: looking for GPUs leaves a process free to fork; after one was used a child says so."""

import pytest

from tests.harness import child

LOOKS = """
import os
import flambeau as torch

assert torch.cuda.is_available() and torch.cuda.device_count() >= 1
child = os.fork()
if child == 0:
    x = torch.ones(3, device="cuda") + 1
    os._exit(0 if x.sum().item() == 6 else 1)
assert os.waitpid(child, 0)[1] == 0
assert torch.ones(2, device="cuda").sum().item() == 2
"""

USES = """
import os
import flambeau as torch

there = torch.ones(3, device="cuda")
child = os.fork()
if child == 0:
    assert torch.ones(3).sum().item() == 3, "the cpu stays"
    told = 0
    for use in (
        lambda: torch.ones(2, device="cuda"),
        lambda: there + 1,
        there.cpu,
        torch.cuda.synchronize,
        lambda: torch.cuda.Stream(),
        lambda: torch.cuda.Event().record(),
        torch.cuda.mem_get_info,
    ):
        try:
            use()
        except RuntimeError as e:
            told += "Cannot re-initialize CUDA in forked subprocess" in str(e) and "spawn" in str(e)
    del there
    torch.cuda.empty_cache()
    os._exit(0 if told == 7 else 1 + told)
assert os.waitpid(child, 0)[1] == 0
assert (there + 1).sum().item() == 6
"""


@pytest.fixture
def run(device):
    if device == "cpu":
        pytest.skip("needs a GPU")
    return child.output


def test_looking_for_gpus_leaves_a_process_free_to_fork(run):
    run(LOOKS)


def test_a_child_of_a_process_that_used_a_gpu_says_so(run):
    run(USES)
