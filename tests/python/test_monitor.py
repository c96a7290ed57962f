"""Monitoring under torch's names, the properties of a GPU, and the table for people."""

import functools
import os

import flambeau as torch
import pytest

from tests.harness import child

READINGS = "utilization memory_usage temperature power_draw clock_rate device_memory_used"
# What PyTorch's properties have.
PROPERTIES = {
    "name uuid": str,
    "major minor total_memory multi_processor_count warp_size L2_cache_size "
    "max_threads_per_multi_processor regs_per_multiprocessor shared_memory_per_block "
    "shared_memory_per_block_optin shared_memory_per_multiprocessor is_integrated "
    "is_multi_gpu_board clock_rate memory_clock_rate memory_bus_width": int,
}


@pytest.fixture(autouse=True)
def gpu(device):
    if device == "cpu":
        pytest.skip("needs a GPU")
    return device


@pytest.mark.parametrize("name", READINGS.split())
def test_readings_are_numbers_or_say_what_is_missing(name, gpu):
    ask = getattr(torch.cuda, name)
    try:
        found = ask()
    except RuntimeError as e:
        assert "sensor" in str(e) or "Not Supported" in str(e)
        return
    assert isinstance(found, int) and found >= 0
    assert all(type(ask(i)) is int for i in range(torch.cuda.device_count()))
    assert type(ask("cuda:0")) is int


def test_memory_in_use_counts_what_was_allocated(gpu):
    before = torch.cuda.device_memory_used()
    held = torch.empty(16 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.device_memory_used() >= before + held.nbytes or before >= held.nbytes


def test_processes_are_listed(gpu):
    torch.ones(2, device="cuda")
    first, *lines = torch.cuda.list_gpu_processes().splitlines()
    assert first == "GPU:0"
    (own,) = [line.split() for line in lines if str(os.getpid()) in line.split()]
    assert own[0] == "process" and own[-2:] == ["GPU", "memory"]
    last = torch.cuda.device_count() - 1
    assert torch.cuda.list_gpu_processes(last).startswith(f"GPU:{last}")


def test_properties_are_those_of_pytorch(gpu):
    found = torch.cuda.get_device_properties(0)
    for names, kind in PROPERTIES.items():
        for name in names.split():
            assert type(getattr(found, name)) is kind, name
    assert found.name == torch.cuda.get_device_name(0) and found.total_memory > 0
    assert (found.major, found.minor) == torch.cuda.get_device_capability(0)
    here = torch.cuda.get_device_capability()
    assert torch.cuda.is_tf32_supported() is torch.cuda.is_bf16_supported(False) is (here[0] >= 8)
    assert torch.cuda.is_bf16_supported()
    assert repr(found).startswith("_CudaDeviceProperties(name=")


def test_devices_that_are_not_there_are_refused(gpu):
    for ask in (torch.cuda.utilization, torch.cuda.list_gpu_processes):
        with pytest.raises(RuntimeError, match="cuda:99"):
            ask(99)
        with pytest.raises(ValueError, match="cpu"):
            ask("cpu")


command = functools.partial(child.python, "-m", "flambeau", "monitor")


def test_the_command_prints_a_table_once_where_nobody_watches(gpu):
    done = command()
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split()[:4] == ["GPU", "Model", "Busy", "Memory"]
    gpus = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    assert [line.split()[0] for line in lines if line.startswith("cuda")] == gpus
    assert max(map(len, (head, *lines))) <= 100


def test_the_command_says_why_there_is_no_gpu(gpu, monkeypatch):
    monkeypatch.delenv("FLAMBEAU_SIM", raising=False)
    done = command()
    assert done.returncode == 0 and done.stdout.startswith("There is no GPU: ")
