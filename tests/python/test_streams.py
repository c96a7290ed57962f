"""Streams and events of devices, and what the environment decides of their launches and memory, in
processes of their own with simulated devices."""

import os

import pytest

from tests.harness import child

PROGRAM = """
import flambeau as torch

stream = torch.Stream("cuda:1")
assert isinstance(stream, torch.cuda.Stream) and stream.device == torch.device("cuda:1")
assert repr(stream).startswith("torch.Stream device_type=cuda, device_index=1, stream_id=")
with stream:
    assert torch.cuda.current_stream("cuda:1") == stream
    x = torch.ones(4, device="cuda:1") + 1
event = torch.Event("cuda:1", enable_timing=True)
assert event.query() and repr(event) == "torch.Event device_type=cuda, device_index=1"
event.record(stream)
event.synchronize()
assert event.query() and x.tolist() == [2] * 4
later = torch.Event("cuda:1", enable_timing=True)
later.record(stream)
later.synchronize()
assert event.elapsed_time(later) >= 0 and torch.Event().device == torch.device("cuda")

least, greatest = torch.cuda.Stream.priority_range()
assert torch.cuda.Stream(priority=greatest).priority == greatest < least == stream.priority
others = torch.cuda.ExternalStream(stream.cuda_stream, "cuda:1")
assert others == stream and others.cuda_stream == stream.cuda_stream
assert torch.cuda.can_device_access_peer(0, 1) and torch.cuda.can_device_access_peer("cuda:1", 0)

torch.cuda.set_per_process_memory_fraction(0.5, "cuda:1")
assert torch.cuda.get_per_process_memory_fraction(1) == 0.5
assert torch.cuda.get_per_process_memory_fraction(0) == 1
torch.ones(10 << 20, device="cuda:0")
for refused, problem in (
    (lambda: torch.ones(10 << 20, device="cuda:1"), "limit by set_per_process_memory_fraction"),
    (lambda: torch.cuda.Event(interprocess=True), "interprocess"),
    (lambda: torch.cuda.cudart(), "mem_get_info"),
    (lambda: torch.cuda.memory.change_current_allocator(None), "own"),
):
    try:
        refused()
    except RuntimeError as e:
        assert problem in str(e), e
    else:
        raise AssertionError(problem)
"""

BLAMES = """
import flambeau as torch

x, bad = torch.arange(3.0, device="cuda"), torch.tensor([7], device="cuda")
try:
    y = x[bad]
    print("went on")
    y.tolist()
except RuntimeError as e:
    print(e)
"""

SETTINGS = """
import flambeau as torch

x = torch.ones(1 << 20, device="cuda")
segments = [s for s in torch.cuda.memory_snapshot() if s["device_type"] == "cuda"]
assert segments and all(s["is_expandable"] for s in segments)
assert torch.cuda.get_allocator_backend() == "native"
torch.cuda.memory._set_allocator_settings("max_split_size_mb:64")
y = torch.ones(6 << 20, device="cuda")
try:
    torch.cuda.memory._set_allocator_settings("backend:cudaMallocAsync")
except ValueError as e:
    print(e)
"""


def run(program, **environment):
    users = "ALLOC_CONF", "LAUNCH_BLOCKING"  # what the caller has set is not what is tested
    unset = {name: "" for name in os.environ if name.endswith(users)}
    return child.output(program, **unset | child.gpus("devices=2,memory=64MiB") | environment)


def test_streams_and_events_of_a_named_device():
    run(PROGRAM)


@pytest.mark.parametrize("name", ["CUDA_LAUNCH_BLOCKING", "FLAMBEAU_LAUNCH_BLOCKING"])
def test_launches_that_block_fail_where_they_are_called(name):
    lazy = child.gpus("devices=1,schedule=lazy")
    assert run(BLAMES, **lazy).startswith("went on\n")
    told = run(BLAMES, **lazy, **{name: "1"})
    assert "went on" not in told and "index 7 is out of bounds" in told
    assert run(BLAMES, **lazy, **{name: "1x"}).startswith("went on\n")


def test_an_empty_variable_hides_none_of_cudas():
    lazy = child.gpus("devices=1,schedule=lazy")
    told = run(BLAMES, **lazy, CUDA_LAUNCH_BLOCKING="1", FLAMBEAU_LAUNCH_BLOCKING="")
    assert "went on" not in told and "index 7 is out of bounds" in told


CAPTURES = """
import flambeau as torch

x, at = torch.arange(4.0, device="cuda"), torch.zeros(2, dtype=torch.long, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x[at] * 2
at.fill_(3)
graph.replay()
assert y.tolist() == [6, 6]
at.fill_(7)
try:
    graph.replay()
    print("went on")
    torch.cuda.synchronize()
except RuntimeError as e:
    print(e)
"""


@pytest.mark.parametrize("blocks", ["", "1"])
def test_launches_that_block_can_be_captured(blocks):
    lazy = {"FLAMBEAU_SIM": "devices=1,as=cuda,schedule=lazy"}
    told = run(CAPTURES, **lazy, CUDA_LAUNCH_BLOCKING=blocks)
    assert told.startswith("went on\n") == (not blocks) and "index 7 is out of bounds" in told


PINS = """
import flambeau as torch

for _ in range(3):
    assert torch.arange(1000).pin_memory().sum() == 499500
try:
    torch.ones(2, device="cuda")
except ValueError as e:
    print(e)
"""


def test_settings_that_are_not_understood_leave_pinned_memory_whole():
    assert '"nonsense"; accepted are' in run(PINS, FLAMBEAU_ALLOC_CONF="nonsense")


@pytest.mark.parametrize(
    "name", ["FLAMBEAU_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"]
)
def test_settings_of_the_allocator_have_the_words_of_torch(name):
    named = {"FLAMBEAU_ALLOC_CONF": "", name: "backend:native, expandable_segments:True"}
    told = run(SETTINGS, **named)  # what is empty hides nothing
    assert '"backend:cudaMallocAsync"; accepted are expandable_segments:True|False' in told
