"""What others measured, beside what the model says: the ratio of the two is what it is held to, and
where it is known to be off, why. What the model was fitted to is marked, and proves nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import collectives, failures, hardware, memory, training
from .hardware import GB, GBIT
from .memory import Model
from .runs import Run, efficiency, foundry_runs, megatron_runs
from .training import Plan


@dataclass(frozen=True)
class Figure:
    source: str
    what: str
    gpus: int
    measured: float
    predicted: float
    unit: str
    tolerance: float = 0.15
    fitted: bool = False
    miss: str = ""  # why the model is known to be off here

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured


GPT3 = Model("GPT-3 175B", 96, 12288, 96)
GPT530 = Model("GPT 530B", 105, 20480, 128)
LLAMA = Model("Llama 3 405B", 126, 16384, 128, 128256, 8192, fused=True)

SLOW = {
    ("MPT 70b", 64): "two sequences at once on 64 GPUs ran at 0.73 of the speed of four on 128; "
    "neither traffic nor memory as the model has them says why",
    ("MPT 1b", 32): "the row falls out of its own column: the same on 16, 64 and 128 GPUs ran a "
    "fifth faster",
}
ONE_PORT = (
    "with twice the GPUs a step took as long (67 s of GPT-3, 180 s of 530B), which is stage 3's "
    "traffic at 16 to 18 GB/s a GPU, less than one of a node's eight ports gives; the model has "
    "all of them busy, behind computation"
)
STRAGGLERS = (
    "the paper's GPUs were a share of a cluster, eight behind one port; the model has ranks that "
    "wait for nobody and a network of their own"
)


def _training(run: Run) -> float:
    """Tokens per second and GPU."""
    step = training.step(run.model, run.plan, run.cluster, efficiency(run.cluster.gpu.name))
    return training.tokens_per_gpu(run.model, run.plan, step.seconds)


def _ways(plan: Plan) -> str:
    """ZeRO-3 x TP 8 x PP 16"""
    parts = [f"ZeRO-{plan.stage}" if plan.stage else ""]
    parts += [f"TP {plan.tensor}" if plan.tensor > 1 else ""]
    parts += [f"PP {plan.pipeline}" if plan.pipeline > 1 else ""]
    return " x ".join(part for part in parts if part) or "DDP"


def tables() -> list[Figure]:
    figures = []
    for run in megatron_runs() + foundry_runs():
        plan, cluster = run.plan, run.cluster
        source, where = "Narayanan 2021, table 1", _ways(plan)
        if plan.stage == 3:
            source, where = "llm-foundry", f"{plan.micro} at once, {cluster.name}"
        slow = SLOW.get((run.model.name, plan.gpus), "") if cluster is hardware.MOSAIC_40 else ""
        within = 0.12 if cluster.gpu.name == "A100" else 0.20
        figures.append(
            Figure(source, f"{run.model.name}, {where}", plan.gpus, run.tokens, _training(run),
                   "tokens/s/GPU", within, run.fitted, slow)
        )  # fmt: skip
    return figures


def recomputation() -> list[Figure]:
    """Korthikanti et al., MLSys 2023, table 5: seconds of an iteration with all layers computed
    again, and with attention's core alone and sequences split, on Selene."""
    rows = (
        # model, pipeline, chunks, GPUs, batch, micro-batch, seconds full and selective
        (Model("22B", 48, 6144, 64), 1, 1, 8, 4, 4, 1.42, 1.10),
        (GPT3, 8, 3, 64, 64, 1, 18.13, 13.75),
        (GPT530, 35, 3, 280, 280, 1, 49.05, 37.83),
        (Model("1T", 128, 25600, 160), 64, 1, 512, 512, 1, 94.42, 71.49),
    )
    figures = []
    for model, pipeline, chunks, gpus, batch, micro, *seconds in rows:
        for recompute, measured in zip(("full", "selective"), seconds):
            plan = Plan(gpus, batch, micro, 0, 8, pipeline, chunks, recompute,
                        recompute == "selective", overlap=False)  # fmt: skip
            step = training.step(model, plan, hardware.SELENE, efficiency("A100"))
            what = f"{model.name}, {recompute} recomputation"
            figures.append(
                Figure("Korthikanti 2023, table 5", what, gpus, measured, step.seconds, "s", 0.12)
            )
    # The abstract: 54.2 % and 42.1 % of the peak, of the model's own operations, on 2,240 GPUs.
    for recompute, share in ("full", 0.421), ("selective", 0.542):
        plan = Plan(2240, 2240, 1, 0, 8, 35, 3, recompute, recompute == "selective", False)
        measured = share * hardware.A100.flops / 1e12
        source, what = "Korthikanti 2023, abstract", f"{GPT530.name}, {recompute} recomputation"
        figure = _tflops(source, GPT530, plan, hardware.SELENE, measured, False, 0.12)
        figures.append(replace(figure, what=what))
    return figures


def _tflops(source, model, plan, cluster, measured, repeated, within=0.15, miss="") -> Figure:
    step = training.step(model, plan, cluster, efficiency(cluster.gpu.name))
    predicted = training.tflops(model, plan, step.seconds, repeated)
    what, unit = f"{model.name}, {_ways(plan)}, {plan.micro} at once", "TFLOP/s/GPU"
    return Figure(source, what, plan.gpus, measured, predicted, unit, within, miss=miss)


def sharded() -> list[Figure]:
    """Stage 3 by itself and with tensor parallelism; and Llama 3's product of four."""
    zero = "Narayanan 2021, table 2"
    rows = ((GPT3, 384, 4, 144), (GPT3, 768, 2, 88), (GPT3, 1536, 1, 44),
            (GPT530, 640, 4, 138), (GPT530, 1120, 2, 98), (GPT530, 2240, 1, 48))  # fmt: skip
    figures = [
        _tflops(zero, m, Plan(n, n * micro, micro, 3), hardware.SELENE, tflops, True, miss=ONE_PORT)
        for m, n, micro, tflops in rows
    ]
    # 2 Tbit/s a node, as the paper has it; one sequence and two on each GPU.
    roce = replace(hardware.SELENE, port=2000 * GBIT / 8)
    figures += [
        _tflops("Zhao 2023", GPT3, Plan(n, n * micro, micro, 3), roce, tflops, True)
        for micro, tflops in ((1, 173), (2, 186))
        for n in (128, 512)
    ]
    opt = Model("OPT-175B", 96, 12288, 96, 50272)  # a batch of 2M tokens, tensor parallelism of 8
    plan = Plan(992, 992, 8, 3, tensor=8)
    figures.append(_tflops("Zhang 2022 (OPT)", opt, plan, hardware.SELENE, 147, True))
    for n, tflops in (8192, 430), (16384, 400):
        # 126 layers, the embedding and the head are 16 times 8 pieces.
        plan = Plan(n, 2048, 1, 1, 8, 16, 8, "none", split_sequence=True)
        source = "Llama 3, table 4"
        figures.append(_tflops(source, LLAMA, plan, hardware.DGX_H100, tflops, False, 0.20))
    return figures


def rings() -> list[Figure]:
    """Bus bandwidth of large all-reduces, by a ring."""
    hdr4 = hardware.Cluster("", hardware.A100, 100 * GBIT)
    rows = (
        ("nccl 1048", "8 A100, NVLink", hdr4, 8, 232.5, False),
        ("nccl-tests 212", "8 H100, NVLink, no SHARP", hardware.DGX_H100, 8, 370, True),
        ("nccl-tests 100", "A100, 4 HDR ports a node", hdr4, 16, 91, False),
        ("nccl-tests 119", "A100, 4 HDR ports a node", hdr4, 24, 96, False),
        ("nccl 812", "A100, 8 HDR ports a node", hardware.SELENE, 16, 192, True),
        ("nccl-tests 29", "V100, 4 EDR ports a node",
         hardware.Cluster("", hardware.V100, 50 * GBIT), 16, 48, False),
    )  # fmt: skip
    figures = []
    for issue, what, cluster, ranks, measured, fitted in rows:
        group, size = cluster.group(ranks), 8 * GB
        seconds = collectives.ring_all_reduce(group, size)
        rate = collectives.bus_bandwidth(group, size, seconds) / GB
        what += f" ({issue})"
        figures.append(Figure("NCCL", what, ranks, measured, rate, "GB/s", 0.12, fitted))
    return figures


def data_parallel() -> list[Figure]:
    """Li et al., VLDB 2020, section 5.3: ResNet-50 on 256 V100, whose iterations take twice as long
    as that of one. 0.1 s for that one is assumed; any longer one hides more."""
    cluster = hardware.Cluster("", hardware.V100, 100 * GBIT / 8)
    size, alone = 4 * 25.6e6, 0.1
    buckets = round(size / (25 * 2**20))
    transfer = collectives.all_reduce(cluster.group(256), size / buckets)
    seconds = alone / 3 + training.overlapped(alone * 2 / 3, buckets, transfer)
    what = "ResNet-50, share of one GPU's speed"
    return [Figure("Li 2020", what, 256, 0.5, alone / seconds, "", miss=STRAGGLERS)]


def zero_memory() -> list[Figure]:
    """Rajbhandari et al., SC'20, table 1: GB for the states of 7.5 billion parameters."""
    rows = ((1, 120, 120, 120), (4, 52.5, 41.3, 30), (16, 35.6, 21.6, 7.5), (64, 31.4, 16.6, 1.88),
            (256, 30.4, 15.4, 0.47), (1024, 30.1, 15.1, 0.12))  # fmt: skip
    return [
        Figure("Rajbhandari 2020, table 1", f"7.5B, stage {stage}", data, measured,
               memory.states(7.5e9, data, stage) / GB, "GB", 0.03)
        for data, *measures in rows
        for stage, measured in enumerate(measures, 1)
    ]  # fmt: skip


def interruptions() -> list[Figure]:
    """Llama 3, section 3.3.4: 419 unexpected interruptions in 54 days, and more than 90 % of the
    time effective. 14 bytes a parameter at the storage's 2 TB/s; 10 minutes to start anew are
    assumed."""
    between = 54 * 86400 / 419
    save = 14 * LLAMA.parameters / 2e12
    share = failures.best_goodput(save, 600, between)
    return [
        Figure("Llama 3, section 3.3.4", "share of time that counts", 16384, 0.9, share, "", 0.05)
    ]


def figures() -> list[Figure]:
    parts = (rings, zero_memory, tables, recomputation, sharded, data_parallel, interruptions)
    return [figure for part in parts for figure in part()]
