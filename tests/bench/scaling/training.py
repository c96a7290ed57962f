"""The time of a training step: data parallelism plain or by ZeRO's stages, tensor parallelism
(Shoeybi et al. 2019), pipelines (Narayanan et al. 2021) and their product.

A layer's time is that of its products, at a fraction of the GPU's peak, and of what moves through
its memory: `passes` times the bytes that backward keeps. These two numbers are all that is fitted.
Transfers that may run beside computation hide behind it; the rest is added."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import collectives, memory
from .hardware import Cluster
from .memory import GRADIENT, OPTIMIZER, PARAMETER, Model


@dataclass(frozen=True)
class Efficiency:
    products: float  # fraction of the peak
    passes: float  # through memory, of each kept byte, per forward


@dataclass(frozen=True)
class Plan:
    gpus: int
    batch: int  # sequences of all ranks together, a step
    micro: int = 1  # sequences at once
    stage: int = 0
    tensor: int = 1
    pipeline: int = 1
    chunks: int = 1  # of layers on each rank of a pipeline, that take turns
    recompute: str = "full"
    split_sequence: bool = False
    overlap: bool = True  # gradients travel while backward goes on

    def __post_init__(self):
        if self.gpus % (self.tensor * self.pipeline):
            raise ValueError(f"{self.gpus} GPUs are no multiple of {self.tensor} x {self.pipeline}")
        if self.batch < self.data * self.micro:
            raise ValueError(
                f"a batch of {self.batch} is less than {self.data} ranks with {self.micro} each"
            )

    @property
    def data(self) -> int:
        return self.gpus // (self.tensor * self.pipeline)

    @property
    def bucket(self) -> float:
        """Bytes of gradients that travel together: 25 MiB as PyTorch's DDP has them; in stages 1
        and 2 a million elements per rank and at least 40, as Megatron-LM's distributed optimizer,
        since a ring's latency grows with its ranks."""
        return GRADIENT * max(40e6, 1e6 * self.data) if self.stage else 25 * 2**20

    @property
    def micro_batches(self) -> float:
        return self.batch / (self.data * self.micro)


@dataclass(frozen=True)
class Step:
    seconds: float
    memory: float
    parts: dict[str, float] = field(default_factory=dict)  # what the seconds are made of


def overlapped(backward: float, buckets: int, transfer: float) -> float:
    """Backward with its gradients' transfers: equal buckets are ready one after the other, and each
    waits for the one before it."""
    end = 0.0
    for i in range(1, buckets + 1):
        end = max(end, backward * i / buckets) + transfer
    return end


def gathered(layers: int, compute: float, before: float, after: float = 0.0) -> float:
    """Layers that need a transfer `before` each, made one layer ahead, and one `after` it."""
    return before + (layers - 1) * max(compute, before + after) + compute + after


class _Step:
    """The parts of one step, in terms of one micro-batch on one rank."""

    def __init__(self, model: Model, plan: Plan, cluster: Cluster, efficiency: Efficiency):
        self.model, self.plan, self.cluster = model, plan, cluster
        self.tokens = plan.micro * model.length
        self.layers = model.layers / plan.pipeline
        self.own = model.parameters / (plan.tensor * plan.pipeline)
        self.group = cluster.group(plan.data, plan.tensor * plan.pipeline)
        rate = efficiency.products * cluster.gpu.flops * plan.tensor
        kept = model.activation(plan.tensor, plan.split_sequence)
        moved = efficiency.passes * kept / cluster.gpu.memory_rate
        self.layer = self.tokens * (model.layer_flops() / rate + moved)
        self.head = self.tokens * model.head_flops() / rate / plan.pipeline

    def again(self) -> float:
        """Forwards that backward repeats: all of it, or attention's core."""
        if self.plan.recompute == "full":
            return 1.0
        if self.plan.recompute == "none" or self.model.fused:
            return 0.0
        core = 4 * self.model.length * self.model.hidden
        return core / self.model.layer_flops()

    def tensor_parallel(self) -> float:
        """All-reduces of activations: two forward and two backward in each layer, and two where
        forward is repeated."""
        if self.plan.tensor == 1:
            return 0.0
        group = self.cluster.group(self.plan.tensor)
        size = 2 * self.tokens * self.model.hidden
        times = 6 if self.plan.recompute == "full" else 4
        return times * self.layers * collectives.all_reduce(group, size)

    def pipeline_transfers(self) -> float:
        if self.plan.pipeline == 1:
            return 0.0
        port = self.cluster.group(2, self.cluster.per_node).port
        size = 2 * self.tokens * self.model.hidden / self.plan.tensor
        return 2 * self.plan.chunks * (port.latency + size / port.bandwidth)

    def forward(self) -> float:
        return self.layers * self.layer + self.head

    def backward(self) -> float:
        return self.layers * self.layer * (2 + self.again()) + 2 * self.head

    def sharded_parameters(self) -> float:
        """Stage 3: each layer is collected before it is used, twice, and its gradients are
        scattered behind it."""
        layers = max(1, round(self.layers))
        part = self.own / layers
        before = collectives.all_gather(self.group, PARAMETER * part)
        after = collectives.reduce_scatter(self.group, GRADIENT * part)
        forward, backward = self.forward() / layers, self.backward() / layers
        if not self.plan.overlap:
            return self.forward() + self.backward() + layers * (2 * before + after)
        return gathered(layers, forward, before) + gathered(layers, backward, before, after)

    def reduced_gradients(self, transfer) -> float:
        """Backward whose gradients travel."""
        size = GRADIENT * self.own
        if not self.plan.overlap:
            return self.backward() + transfer(self.group, size)
        buckets = max(1, round(size / self.plan.bucket))
        return overlapped(self.backward(), buckets, transfer(self.group, size / buckets))

    def all_micro_batches(self) -> float:
        plan, n = self.plan, self.plan.micro_batches
        if plan.stage == 3:
            return n * self.sharded_parameters()
        transfer = collectives.reduce_scatter if plan.stage else collectives.all_reduce
        if plan.stage == 2:  # gradients are in parts after each micro-batch
            return n * (self.forward() + self.reduced_gradients(transfer))
        most = (n - 1) * (self.forward() + self.backward())
        return most + self.forward() + self.reduced_gradients(transfer)

    def optimizer(self) -> float:
        """Reads and writes each state and the parameter, reads the gradient."""
        part = self.own / (self.plan.data if self.plan.stage else 1)
        moved = part * (2 * OPTIMIZER + PARAMETER + GRADIENT) / self.cluster.gpu.memory_rate
        if self.plan.stage in (1, 2):
            moved += collectives.all_gather(self.group, PARAMETER * self.own)
        return moved


def step(model: Model, plan: Plan, cluster: Cluster, efficiency: Efficiency) -> Step:
    s, n = _Step(model, plan, cluster, efficiency), plan.micro_batches
    compute = n * (s.forward() + s.backward())
    data = s.all_micro_batches() - compute
    tensor = n * s.tensor_parallel()
    pipeline = n * s.pipeline_transfers()
    bubble = (plan.pipeline - 1) / (n * plan.chunks) * (compute + tensor)
    parts = {"compute": compute, "data": data, "tensor": tensor, "pipeline": pipeline,
             "bubble": bubble, "optimizer": s.optimizer()}  # fmt: skip
    held = min(n, plan.pipeline)  # micro-batches in flight on the first rank of a pipeline
    kept = (s.tokens, s.layers, plan.recompute, plan.tensor, plan.split_sequence, held)
    room = memory.states(s.own, plan.data, plan.stage) + memory.activations(model, *kept)
    return Step(sum(parts.values()), room, parts)


def model_flops(model: Model, plan: Plan, repeated: bool = False) -> float:
    """Of one step; with what is computed again where papers count that."""
    tokens = plan.batch * model.length
    times = 4 if repeated and plan.recompute == "full" else 3
    return tokens * (times * model.layers * model.layer_flops() + 3 * model.head_flops())


def tflops(model: Model, plan: Plan, seconds: float, repeated: bool = False) -> float:
    """Per GPU, in 10^12 a second."""
    return model_flops(model, plan, repeated) / plan.gpus / seconds / 1e12


def tokens_per_gpu(model: Model, plan: Plan, seconds: float) -> float:
    return plan.batch * model.length / plan.gpus / seconds
