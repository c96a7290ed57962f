#!/usr/bin/env python3
"""Trains the classifier of handwritten digits in several processes, each with its share of every
batch; gradients are averaged while backward goes on. The result is that of one process with the
whole batches, up to the order of additions.

- `python -m flambeau.distributed.run --nproc-per-node 2 examples/python/ddp.py`: two processes
- `python examples/python/ddp.py`: one, without a launcher
- on two machines: the same command on each, with `--nnodes 2 --node-rank 0` (and 1),
  `--master-addr` the first one's name and one `--job-key-file` for both

`FLAMBEAU_SIM=devices=2,as=cuda` and `--backend nccl` let it take its GPU path on a laptop.
"""

import argparse
import os
import sys
from pathlib import Path

import flambeau as torch
import flambeau.distributed as dist
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.nn.parallel import DistributedDataParallel
from flambeau.safetensors import load_file, save_file
from flambeau.utils.data import DataLoader, TensorDataset
from flambeau.utils.data.distributed import DistributedSampler
from flambeau.utils.progress import Progress

ROOT = Path(__file__).resolve().parents[2]


def digits(path):
    """(images, labels) to learn from and (images, labels) held out; pixels from 0 to 1."""
    data = load_file(path)
    return [
        (data[f"{part}.images"].float() / 240, data[f"{part}.labels"].long())
        for part in ("train", "test")
    ]


def join(backend):
    """This process's rank, the number of processes and its device. Started without a launcher it is
    the only one."""
    if "RANK" in os.environ:
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    local = int(os.environ.get("LOCAL_RANK", 0))
    if backend == "gloo":
        return dist.get_rank(), dist.get_world_size(), torch.device("cpu")
    torch.cuda.set_device(local)
    return dist.get_rank(), dist.get_world_size(), torch.device("cuda", local)


def train(model, learn, device, args):
    """Trains for `args.epochs`; the bar is that of the first process only."""
    world = dist.get_world_size()
    data = TensorDataset(*learn)
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, args.batch_size // world, sampler=sampler, drop_last=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    images = args.epochs * len(loader) * args.batch_size
    with Progress(images, "images", device=device) as bar:
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            total = torch.zeros((), device=device)
            for x, y in loader:
                loss = F.cross_entropy(model(x.to(device)), y.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach()
                bar.advance(args.batch_size)
            dist.all_reduce(total)  # of a loss each process has its share
            mean = total.item() / (len(loader) * world)
            if dist.get_rank() == 0:
                bar.say(f"epoch {epoch + 1:2}/{args.epochs}   loss {mean:.3f}")


@torch.no_grad()
def accuracy(model, images, labels, device):
    """Of held-out images, each process reading its share of them."""
    rank, world = dist.get_rank(), dist.get_world_size()
    share = slice(rank, None, world)
    logits = model(images[share].to(device))
    correct = (logits.argmax(1) == labels[share].to(device)).sum()
    dist.all_reduce(correct)
    return correct.item() / len(labels)


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--backend", default="gloo", choices=("gloo", "nccl", "mpi"))
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=32, help="of all processes together")
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--data", default=ROOT / "examples/data/digits.safetensors")
    p.add_argument("--save", help="where the weights go")
    return p.parse_args()


def main():
    args = arguments()
    rank, world, device = join(args.backend)
    if args.batch_size % world:
        raise ValueError(
            f"{world} processes cannot share a batch of {args.batch_size} images alike; give "
            "--batch-size a multiple of the number of processes"
        )
    torch.manual_seed(args.seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    model = DistributedDataParallel(model.to(device))
    learn, held_out = digits(args.data)
    if rank == 0:
        processes = "1 process" if world == 1 else f"{world} processes"
        print(f"{processes} on {device.type}, {args.batch_size // world} images of each batch")
    train(model, learn, device, args)
    score = accuracy(model, *held_out, device)
    if rank == 0:
        print(f"held-out accuracy {100 * score:.2f} %")
        if args.save:
            save_file(model.module.state_dict(), args.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except (OSError, RuntimeError, ValueError) as problem:  # its text says what mends it
        sys.exit(f"ddp.py: {problem}")
