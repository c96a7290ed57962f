"""Streams and events of devices, in a process of its own with two simulated ones."""

import os
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"

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
"""


def test_streams_and_events_of_a_named_device():
    environment = dict(os.environ, FLAMBEAU_SIM="devices=2,as=cuda,memory=64MiB")
    environment["PYTHONPATH"] = str(PACKAGE)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
