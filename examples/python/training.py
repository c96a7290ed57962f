"""The part that the models of this folder share (`gpt2.py`, `resnet50.py`, `lstm.py`): their common
options, devices and ranks, mixed precision, gradient accumulation, checkpoints, and the bar.

A step takes one batch of the loader, cut into `--accumulate` parts whose gradients are added. It is
one batch so that a checkpoint always lies between two steps: a run that was killed goes on with the
losses that it would have had, bit for bit.
"""

import argparse
import math
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import flambeau as torch
import flambeau.distributed as dist
import rates
from flambeau import nn
from flambeau.distributed.elastic import resumable
from flambeau.nn.parallel import DistributedDataParallel
from flambeau.optim import lr_scheduler
from flambeau.utils.data import Sampler
from flambeau.utils.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


# ---- options


def at_least(least, kind=int):
    """A finite number from the command line, checked before anything is made."""

    def number(text):
        value = kind(text)
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not a number of at least {least}")
        return value

    number.__name__ = kind.__name__  # argparse names it where the text is no number
    return number


def weights_file(text):
    """The name of a file for weights, checked before anything is trained."""
    if not text.endswith(".safetensors"):
        raise argparse.ArgumentTypeError(f"{text} does not end with .safetensors")
    if not os.path.isdir(os.path.dirname(text) or "."):
        raise argparse.ArgumentTypeError(f"the directory of {text} does not exist")
    return text


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Says defaults that are values; what stands for None or False the text says itself."""

    def _get_help_string(self, action):
        if action.default is None or action.default is False or "default:" in action.help:
            return action.help
        return super()._get_help_string(action)


def options(description, **defaults):
    """A parser with the options of every model."""
    p = argparse.ArgumentParser(description=description, formatter_class=_Help)
    p.add_argument("--steps", type=at_least(1), help="updates of the weights")
    p.add_argument("--batch-size", type=at_least(1), help="of one forward on one process")
    p.add_argument("--accumulate", type=at_least(1), default=1, help="forwards of one step")
    p.add_argument("--lr", type=at_least(0, float), help="the highest learning rate")
    p.add_argument("--warmup", type=at_least(0), help="steps until there; a cosine follows")
    p.add_argument("--weight-decay", type=at_least(0, float), help="of what has two dimensions")
    p.add_argument("--clip", type=at_least(0, float), help="largest norm of gradients; 0: any")
    p.add_argument("--dtype", choices=DTYPES, default="f32", help="of products, by autocast")
    p.add_argument("--device", default="auto", help="default: a GPU where there is one")
    p.add_argument("--checkpoint", metavar="DIR", help="where checkpoints go")
    p.add_argument("--resume", action="store_true", help="go on from the last checkpoint, if any")
    p.add_argument("--save", type=weights_file, help="where the weights go: a .safetensors file")
    p.add_argument("--every", type=at_least(1), default=100, help="steps between checkpoints")
    p.add_argument("--report", type=at_least(1), default=10, help="steps between lines")
    p.add_argument("--seed", type=at_least(0), default=0, help="of weights, order and dropout")
    p.set_defaults(**defaults)
    return p


def counted(count, one, several=None):
    """`1 layer`, `2 layers`."""
    return f"{count} {one if count == 1 else several or one + 's'}"


# ---- devices and ranks


class Job:
    """One of the processes that train one model: its rank, its device, its precision. Without a
    launcher it is the only one."""

    def __init__(self, args):
        if args.resume and not args.checkpoint:
            raise ValueError("--resume needs --checkpoint DIR, the directory to go on from")
        gpu = torch.cuda.is_available()
        name = ("cuda" if gpu else "cpu") if args.device == "auto" else args.device
        self.device, self.dtype, self.named = torch.device(name), DTYPES[args.dtype], args.dtype
        if "RANK" in os.environ:
            if self.device.type == "cuda":
                self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            dist.init_process_group("nccl" if self.device.type == "cuda" else "gloo")
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        torch.zeros((), device=self.device)  # a device that is not there is said now
        shared = dist.is_initialized()
        self.rank = dist.get_rank() if shared else 0
        self.world = dist.get_world_size() if shared else 1
        self.seed = args.seed
        torch.manual_seed(args.seed)

    def __str__(self):
        processes = counted(self.world, "process", "processes")
        return f"{self.device}, {processes}, {self.named}"

    def autocast(self):
        """The scope in which products are made in the dtype that was asked for."""
        lower = self.dtype != torch.float32
        return torch.autocast(self.device.type, self.dtype, enabled=lower)

    def everywhere(self, model):
        """The model on the job's device, with gradients averaged over its processes."""
        if self.rank:  # dropout of its own; the model was drawn alike
            torch.manual_seed(self.seed + self.rank)
        model = model.to(self.device)
        return DistributedDataParallel(model) if self.world > 1 else model

    def mean(self, value):
        """The mean over processes of a tensor, as a number: waits for the device."""
        if self.world > 1:
            dist.all_reduce(value, dist.ReduceOp.SUM)
            value = value / self.world
        return value.item()

    def say(self, text):
        """Prints on the first rank."""
        if self.rank == 0:
            print(text, flush=True)


class Passes(Sampler):
    """This rank's samples of all steps: one pass over the data after the other, each in an order of
    its own that follows from the seed."""

    def __init__(self, samples, total, job, seed):
        self.samples, self.total, self.job, self.seed = samples, total, job, seed

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        drawn, place = [], self.job.rank
        for _ in range(self.total):
            while place >= len(drawn):
                place -= len(drawn)
                drawn = torch.randperm(self.samples, generator=generator).tolist()
            yield drawn[place]
            place += self.job.world

    def __len__(self):
        return self.total


# ---- the loop


def cosine(optimizer, args):
    """The learning rate: up on a line while `--warmup` lasts, then down to a tenth along a
    cosine."""
    rest = max(1, args.steps - args.warmup)
    down = lr_scheduler.CosineAnnealingLR(optimizer, rest, eta_min=args.lr / 10)
    if args.warmup == 0:
        return down
    up = lr_scheduler.LinearLR(optimizer, 1 / (args.warmup + 1), total_iters=args.warmup)
    return lr_scheduler.SequentialLR(optimizer, [up, down], milestones=[args.warmup])


def groups(model, decay):
    """Parameters for an optimizer: weights of products, convolutions and embeddings decay, biases
    and norms do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


class Training:
    """A model's training: `run` makes the steps that are left.

    - `model`: as `Job.everywhere` gives it.
    - `loader`: as many batches as there are steps, each of `args.accumulate` parts.
    - `unit`, `units`: what the bar counts, and how many of it a step of one process has.
    - `flops`: of training on one unit, from `rates`.

    `state` is a dictionary of what else goes into checkpoints; `step` counts from 1."""

    def __init__(self, job, args, model, optimizer, loader, *, unit, units, flops):
        self.job, self.args, self.model, self.optimizer = job, args, model, optimizer
        self.unit, self.units, self.flops = unit, units * job.world, flops
        self.schedule = cosine(optimizer, args)
        f16 = job.dtype == torch.float16  # whose small gradients vanish unless they are scaled
        self.scaler = torch.amp.GradScaler(job.device.type, enabled=f16)
        self.loader, self.snapshots, self.state, self.begun = loader, None, {}, 0
        self.peak = rates.peak(job.device, job.named)
        self.step = self.lr = 0
        if args.checkpoint:
            self._resume()

    def _resume(self):
        self.snapshots = resumable(
            self.args.checkpoint,
            every=self.args.every,
            model=self.model,
            optimizer=self.optimizer,
            schedule=self.schedule,
            scaler=self.scaler,
            loader=self.loader,
        )
        self.state, self.begun = self.snapshots.state, self.snapshots.step
        if self.snapshots.resumed and not self.args.resume:
            raise ValueError(
                f"--checkpoint {self.args.checkpoint} holds a training of {self.begun} steps; add "
                "--resume to go on with it, or name another directory"
            )
        steps = self.state.setdefault("steps", self.args.steps)
        if steps != self.args.steps:
            raise ValueError(
                f"--checkpoint {self.args.checkpoint} holds a training of --steps {steps}, whose "
                "learning rates and data end there; give the same, or another directory"
            )
        if self.begun == steps:
            self.job.say(
                f"is finished: --checkpoint {self.args.checkpoint} holds all {steps} steps; name "
                "another directory to train anew"
            )
        else:
            self.job.say(f"begins at step {self.begun} of {steps}")

    def _batches(self):
        """The batches of the steps that are left; a checkpoint is written between them."""
        if self.snapshots is None:
            yield from self.loader
            return
        for _ in self.snapshots.epochs(1):  # the loader holds all passes over the data
            yield from self.snapshots.batches()

    def run(self, loss_of, evaluate=None, every=0):
        """Trains. `loss_of(part, *tensors)` is the mean loss of one part of a batch, that of this
        number; `evaluate()` is a line on held-out data, asked for at the end, and each `every`
        steps."""
        total = self.units * (self.args.steps - self.begun)
        out = ... if self.job.rank == 0 else None
        with Progress(total, self.unit, device=self.job.device, out=out) as bar:
            rate = _Rate(self, bar)
            for step, batch in enumerate(self._batches(), self.begun + 1):
                self.step = step
                loss, norm = self._step(batch, loss_of)
                rate.advance(loss)
                if step % self.args.report == 0 or step in (1, self.args.steps):
                    rate.say(step, self.job.mean(loss), norm)
                if evaluate and (step == self.args.steps or every and step % every == 0):
                    bar.say(f"step {step}   {evaluate()}")

    def _step(self, batch, loss_of):
        """One update of the weights: the mean loss and the norm of its gradient, on the device."""
        job, count = self.job, self.args.accumulate
        moved = [t.to(job.device, non_blocking=True) for t in batch]
        total = torch.zeros((), device=job.device)
        for i, part in enumerate(zip(*(t.chunk(count) for t in moved))):
            summed = i == count - 1 or job.world == 1
            with nullcontext() if summed else self.model.no_sync():
                with job.autocast():
                    loss = loss_of(i, *part) / count
                self.scaler.scale(loss).backward()
            total += loss.detach()
        self.scaler.unscale_(self.optimizer)
        limit = self.args.clip or math.inf
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.lr = self.schedule.get_last_lr()[0]
        self.schedule.step()
        return total, norm


class _Rate:
    """The bar's numbers: what is asked of the device, only where a drawing is due."""

    def __init__(self, training, bar):
        self.training, self.bar = training, bar
        self.since, self.done = time.perf_counter(), 0

    def advance(self, loss):
        t = self.training
        values = {"loss": loss}
        if t.peak:
            values["of peak"] = lambda: t.flops * self.bar.rate / (t.peak * t.job.world)
        self.bar.advance(t.units, **values)

    def say(self, step, loss, norm):
        """The line of a step. Its rate is that since the line before."""
        t, now = self.training, time.perf_counter()
        rate = (self.bar.done - self.done) / max(now - self.since, 1e-9)
        self.since, self.done = now, self.bar.done
        line = f"step {step:>5}   loss {loss:.6f}   lr {t.lr:.2e}"
        line += f"   norm {norm.item():.3f}   {rate:.{0 if rate >= 10 else 2}f} {t.unit}/s"
        if t.peak:
            line += f"   {100 * t.flops * rate / (t.peak * t.job.world):.1f} % of peak"
        self.bar.say(line)


def program(name, main):
    """Runs a program, whose errors are one line that says what mends them."""
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except (OSError, RuntimeError, ValueError) as problem:
        sys.exit(f"{name}: {problem}")
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
