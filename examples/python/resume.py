#!/usr/bin/env python3
"""Trains a classifier of handwritten digits so that whatever ends it costs no more than the steps
since the last snapshot: started again, it prints the losses that it would have printed.

- `python examples/python/resume.py --snapshots DIR`: by itself; Ctrl-C it and start it again
- `python -m flambeau.distributed.run --max-restarts 1 examples/python/resume.py --snapshots DIR
  --die-at 100`: is killed after 100 steps, and started again by the launcher

What makes the loop resumable is three lines of `train`: the one that makes `run`, and both `for`.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

import flambeau as torch
import flambeau.distributed as dist
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.distributed.elastic import resumable
from flambeau.nn.parallel import DistributedDataParallel
from flambeau.safetensors import load_file
from flambeau.utils.data import DataLoader, TensorDataset
from flambeau.utils.data.distributed import DistributedSampler

ROOT = Path(__file__).resolve().parents[2]


def digits(part):
    """Images with pixels from 0 to 1, and their labels."""
    data = load_file(ROOT / "examples/data/digits.safetensors")
    return data[f"{part}.images"].float() / 240, data[f"{part}.labels"].long()


def say(text):
    """Prints on the first rank."""
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(text, flush=True)


def die(step, at):
    """Ends the process at this step of its first life, as a machine that fails would."""
    if step == at and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
        os.kill(os.getpid(), signal.SIGKILL)


def train(model, args):
    """Trains, from the last snapshot on where there is one."""
    data = TensorDataset(*digits("train"))
    sampler = DistributedSampler(data) if dist.is_initialized() else None
    loader = DataLoader(data, args.batch_size, shuffle=sampler is None, sampler=sampler)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader}

    run = resumable(args.snapshots, every=args.every, **parts)
    if run.epoch >= args.epochs:
        say(f"is finished: {args.snapshots} holds all {run.epoch} epochs; delete it to begin anew")
    else:
        say(f"begins at step {run.step} of epoch {run.epoch + 1}")
    for epoch in run.epochs(args.epochs):
        total = run.state.setdefault("total", torch.zeros(()))
        for images, labels in run.batches():
            die(run.step, args.die_at)
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        say(f"epoch {epoch + 1:2}   loss {total.item() / len(loader):.9f}")
        total.zero_()
        scheduler.step()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--snapshots", required=True, help="a directory; delete it to begin anew")
    p.add_argument("--every", type=int, default=50, help="steps between snapshots")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--die-at", type=int, default=-1, help="a step at which the process is killed")
    args = p.parse_args()
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 10)
    )
    train(DistributedDataParallel(model) if dist.is_initialized() else model, args)
    images, labels = digits("test")
    model.eval()
    correct = (model(images).argmax(1) == labels).float().mean().item()
    say(f"held-out accuracy {100 * correct:.2f} %")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except (OSError, RuntimeError, ValueError) as problem:  # its text says what mends it
        sys.exit(f"resume.py: {problem}")
