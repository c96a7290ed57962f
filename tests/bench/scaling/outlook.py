"""The model run up to 16,384 GPUs: strong scaling of two models on DGX H100, memory by how it is
shared, and the share of time that counts by failure rate. All assumptions are the constants
here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import failures, training
from .chart import Panel
from .hardware import DGX_H100, GB
from .memory import Model
from .runs import efficiency
from .training import Plan, Step

GPUS = tuple(2**k for k in range(3, 15))
RANGE = (GPUS[0], GPUS[-1])
SHOWN = (8, 64, 256, 1024, 4096, 16384)
SMALL = Model("3B", 32, 2560, 20, 50368, 2048, fused=True)
LARGE = Model("70B", 80, 8192, 64, 50368, 4096, fused=True)
BATCH = {SMALL: 2048, LARGE: 4096}  # sequences a step: 4 and 17 million tokens

WAYS = {
    SMALL: {
        "DDP": Plan(8, 2048, recompute="none"),
        "ZeRO-1": Plan(8, 2048, stage=1, recompute="none"),
        "ZeRO-2": Plan(8, 2048, stage=2, recompute="none"),
        "ZeRO-3 (FSDP)": Plan(8, 2048, stage=3, recompute="none"),
        "TP 8 x DDP": Plan(8, 2048, tensor=8, recompute="none", split_sequence=True),
    },
    LARGE: {
        "DDP": Plan(8, 4096),
        "ZeRO-1": Plan(8, 4096, stage=1),
        "ZeRO-2": Plan(8, 4096, stage=2),
        "ZeRO-3 (FSDP)": Plan(8, 4096, stage=3),
        "TP 8 x ZeRO-1": Plan(8, 4096, stage=1, tensor=8, split_sequence=True),
        "TP 8 x ZeRO-3": Plan(8, 4096, stage=3, tensor=8, split_sequence=True),
    },
}

# Failures: Llama 3's rate (419 in 54 days on 16,384 GPUs: one in 50,700 hours of a GPU), and ten
# times as many and as few. A node writes 2 GB/s, all together 2 TB/s (Llama 3's storage); a job
# starts anew in 10 minutes.
HOUR = 3600.0
RATE = 16384 * 54 * 24 / 419 * HOUR
RATES = {"a tenth of them": 10 * RATE, "Llama 3's rate": RATE, "ten times as many": RATE / 10}
NODE_WRITES, ALL_WRITE, RESTART = 2 * GB, 2000 * GB, 600.0


@dataclass(frozen=True)
class Row:
    gpus: int
    plan: Plan
    step: Step
    model: Model

    @property
    def tokens(self) -> float:
        return training.tokens_per_gpu(self.model, self.plan, self.step.seconds)

    @property
    def fits(self) -> bool:
        return self.step.memory <= DGX_H100.gpu.memory


def rows(model: Model, way: str) -> list[Row]:
    """As far as each data parallel rank has a sequence. As many sequences at once as a rank has, up
    to 4, and to 1 where more do not fit."""
    found = []
    for gpus in GPUS:
        data = gpus // WAYS[model][way].tensor
        most = BATCH[model] // data
        tried = []
        for micro in (m for m in (4, 2, 1) if m <= most):
            plan = replace(WAYS[model][way], gpus=gpus, micro=micro)
            step = training.step(model, plan, DGX_H100, efficiency("H100"))
            tried.append(Row(gpus, plan, step, model))
        if tried:
            found.append(next((row for row in tried if row.fits), tried[-1]))
    return found


@dataclass(frozen=True)
class Reliability:
    gpus: int
    between: float  # failures of the job
    save: float
    interval: float
    share: float


def reliability(model: Model, gpus: int, rate: float) -> Reliability:
    between = rate / gpus
    rate_of_all = min(ALL_WRITE, NODE_WRITES * max(1, gpus // DGX_H100.per_node))
    save = 14 * model.parameters / rate_of_all
    interval = failures.daly(save, between)
    share = failures.goodput(interval, save, RESTART, between)
    return Reliability(gpus, between, save, interval, share)


def _times(model: Model, title: str) -> Panel:
    panel = Panel(title, "GPUs (DGX H100)", "seconds a step", RANGE)
    for way in WAYS[model]:
        fitting = [row for row in rows(model, way) if row.fits]
        if fitting:
            at = [float(row.gpus) for row in fitting]
            panel.curves.append((way, at, [row.step.seconds for row in fitting]))
    return panel


def panels() -> list[Panel]:
    small = _times(SMALL, "3B, 4 million tokens a step, what fits")
    large = _times(LARGE, "70B, 17 million tokens a step, what fits")
    room = Panel("70B: memory of a rank, with its activations", "GPUs (DGX H100)", "GB", RANGE)
    for way in WAYS[LARGE]:
        found = rows(LARGE, way)
        at = [float(row.gpus) for row in found]
        room.curves.append((way, at, [row.step.memory / GB for row in found]))
    room.marks.append((DGX_H100.gpu.memory / GB, "80 GB"))
    time = Panel(
        "70B: time that counts, by failures", "GPUs", "share of the time", RANGE, logarithmic=False
    )
    for name, rate in RATES.items():
        shares = [reliability(LARGE, n, rate).share for n in GPUS]
        time.curves.append((name, [float(n) for n in GPUS], shares))
    return [small, large, room, time]
