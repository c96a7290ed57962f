"""Trainings that others measured on 8 to 3,072 GPUs, in tables that say how. Those marked as fitted
give the two numbers of `Efficiency` of their GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import hardware, training
from .memory import Model
from .training import Efficiency, Plan

# Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
# Megatron-LM", SC'21, table 1: vocabulary 51,200, sequences of 2,048, all layers computed again,
# interleaved pipelines. The micro-batch is not in it: 1, or 2 where two fit, is assumed.
MEGATRON = (
    # layers, hidden, heads, tensor, pipeline, GPUs, batch, TFLOP/s per GPU
    (24, 2304, 24, 1, 1, 32, 512, 137),
    (30, 3072, 32, 2, 1, 64, 512, 138),
    (36, 4096, 32, 4, 1, 128, 512, 142),
    (40, 6144, 48, 8, 1, 256, 1024, 135),
    (48, 8192, 64, 8, 2, 512, 1536, 138),
    (60, 10240, 80, 8, 4, 1024, 1792, 140),
    (80, 12288, 96, 8, 8, 1536, 2304, 148),
    (96, 16384, 128, 8, 16, 1920, 2160, 155),
    (105, 20480, 128, 8, 35, 2520, 2520, 163),
    (128, 25600, 160, 8, 64, 3072, 3072, 163),
)
# MosaicML, llm-foundry, scripts/train/benchmarking/README.md: FSDP (FULL_SHARD), sequences of
# 2,048, Triton FlashAttention; all rows of more than a node from 760m on, since smaller models wait
# for launches, which the model does not know. Per model: layers, hidden, heads.
MPT = {
    "760m": (24, 1536, 12), "1b": (24, 2048, 16), "3b": (32, 2560, 20), "7b": (32, 4096, 32),
    "13b": (40, 5120, 40), "30b": (48, 7168, 56), "70b": (80, 8192, 64),
}  # fmt: skip
FOUNDRY = {
    # model, GPUs, micro-batch, micro-batches, computed again, tokens per second and GPU
    hardware.MOSAIC: (
        ("1b", 8, 14, 4, False, 20513), ("3b", 8, 10, 2, False, 10811),
        ("7b", 8, 6, 2, False, 4641), ("13b", 8, 2, 3, False, 2262), ("30b", 8, 3, 21, True, 916),
        ("70b", 32, 2, 16, True, 373), ("70b", 64, 8, 4, True, 410),
    ),
    hardware.MOSAIC_40: (
        ("760m", 16, 12, 1, False, 29607), ("760m", 32, 12, 1, False, 29648),
        ("760m", 64, 12, 1, False, 29344), ("760m", 128, 12, 1, False, 28940),
        ("1b", 16, 8, 1, False, 19085), ("1b", 32, 10, 1, False, 15555),
        ("1b", 64, 10, 1, False, 19001), ("1b", 128, 10, 1, False, 18647),
        ("3b", 16, 5, 1, False, 9750), ("3b", 32, 6, 1, False, 9914),
        ("3b", 64, 6, 1, False, 9736), ("3b", 128, 6, 1, False, 9538),
        ("7b", 16, 16, 1, True, 3645), ("7b", 32, 18, 1, True, 3725),
        ("7b", 64, 18, 1, True, 3665), ("7b", 128, 18, 1, True, 3623),
        ("13b", 16, 10, 1, True, 1993), ("13b", 32, 14, 1, True, 1998),
        ("13b", 64, 16, 1, True, 1976), ("13b", 128, 16, 1, True, 1972),
        ("30b", 32, 4, 1, True, 857), ("30b", 128, 6, 1, True, 865),
        ("70b", 64, 2, 1, True, 276), ("70b", 128, 4, 1, True, 376),
    ),
    hardware.DGX_H100: (
        ("1b", 8, 14, 1, False, 45455), ("7b", 8, 6, 1, False, 10643),
        ("13b", 8, 2, 1, False, 4792), ("30b", 8, 3, 21, True, 2002),
        ("760m", 16, 24, 1, False, 68551), ("760m", 32, 24, 1, False, 67971),
        ("1b", 16, 20, 1, False, 46037), ("1b", 32, 20, 1, False, 45130),
        ("1b", 64, 20, 1, False, 44402), ("3b", 16, 10, 3, False, 24142),
        ("3b", 32, 6, 3, False, 23021), ("3b", 64, 6, 3, False, 22525),
        ("13b", 16, 2, 1, False, 4767), ("13b", 32, 2, 1, False, 4811),
        ("13b", 64, 2, 1, False, 4800), ("30b", 16, 10, 3, True, 2263),
        ("30b", 32, 14, 3, True, 2308), ("70b", 32, 2, 16, True, 882),
        ("70b", 64, 8, 4, True, 1039),
    ),
}  # fmt: skip
FITTED_GPUS = 8  # of the foundry's rows; and Megatron's first, whose attention is not fused


@dataclass(frozen=True)
class Run:
    model: Model
    plan: Plan
    cluster: hardware.Cluster
    tokens: float  # per second and GPU
    fitted: bool


def megatron_runs() -> list[Run]:
    runs = []
    for layers, hidden, heads, tensor, pipeline, gpus, batch, tflops in MEGATRON:
        name = f"GPT {Model('', layers, hidden, heads).parameters / 1e9:.1f}B"
        model = Model(name, layers, hidden, heads)
        chunks = 2 if pipeline > 1 and layers % (2 * pipeline) == 0 else 1
        micro = 2 if batch % (2 * gpus // (tensor * pipeline)) == 0 and pipeline == 1 else 1
        plan = Plan(gpus, batch, micro, 0, tensor, pipeline, chunks, overlap=False)
        per_token = training.model_flops(model, plan, repeated=True) / batch / model.length
        runs.append(Run(model, plan, hardware.SELENE, 1e12 * tflops / per_token, gpus == 32))
    return runs


def foundry_runs() -> list[Run]:
    runs = []
    for cluster, rows in FOUNDRY.items():
        for name, gpus, micro, times, again, tokens in rows:
            model = Model(f"MPT {name}", *MPT[name], vocabulary=50368, fused=True)
            recompute = "full" if again else "none"
            plan = Plan(gpus, gpus * micro * times, micro, 3, recompute=recompute)
            runs.append(Run(model, plan, cluster, tokens, gpus == FITTED_GPUS))
    return runs


@lru_cache
def efficiency(gpu: str) -> Efficiency:
    """Least squares, in relative terms, over the runs that are marked for it: a token's time is
    linear in the two numbers, what travels hides in them."""
    rows = []
    for run in megatron_runs() + foundry_runs():
        if not run.fitted or run.cluster.gpu.name != gpu:
            continue
        model, times = run.model, 4 if run.plan.recompute == "full" else 3
        flops = times * model.layers * model.layer_flops() + 3 * model.head_flops()
        kept = times * model.layers * model.activation()
        rate = run.cluster.gpu
        rows.append([run.tokens * flops / rate.flops, run.tokens * kept / rate.memory_rate])
    inverse, passes = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)[0]
    return Efficiency(1 / inverse, passes)
