"""GPUs and clusters by their data sheets, and what their links keep of it. Nothing here was
measured by this project: it has no GPUs of its own."""

from __future__ import annotations

from dataclasses import dataclass

from .collectives import Group, Link

GB = 1e9
GBIT = 1e9 / 8

# What NCCL's authors say that is left of a link: NVIDIA/nccl-tests issue 212 ("protocol overhead
# (~20%)" of NVLink), NVIDIA/nccl issue 812 (192 of 200 GB/s over 8 HDR ports, one DGX A100).
NVLINK_KEEPS = 0.80
NETWORK_KEEPS = 0.96
# A hop of NCCL's ring in its protocol LL128: src/graph/tuning.cc, hwLat (NVLINK, NET).
NVLINK_HOP = 1.9e-6
NETWORK_HOP = 4.0e-6


@dataclass(frozen=True)
class Gpu:
    name: str
    flops: float  # of bf16 or fp16 products, dense
    memory: float
    memory_rate: float
    link_rate: float  # of NVLink, in one direction


# NVIDIA's data sheets: V100 (SXM2), A100 (SXM4, 40 and 80 GB), H100 (SXM5).
V100 = Gpu("V100", 125e12, 32 * GB, 900 * GB, 150 * GB)
A100 = Gpu("A100", 312e12, 80 * GB, 2039 * GB, 300 * GB)
A100_40 = Gpu("A100", 312e12, 40 * GB, 1555 * GB, 300 * GB)
H100 = Gpu("H100", 989e12, 80 * GB, 3350 * GB, 450 * GB)


@dataclass(frozen=True)
class Cluster:
    """Nodes of 8 GPUs; `port` is a GPU's share of its node's network, in bytes per second."""

    name: str
    gpu: Gpu
    port: float
    per_node: int = 8

    def group(self, ranks: int, stride: int = 1) -> Group:
        """`ranks` GPUs that are `stride` apart, as data parallel ranks are of which each is
        `stride` GPUs with tensor parallelism."""
        inside = Link(NVLINK_HOP, NVLINK_KEEPS * self.gpu.link_rate)
        port = Link(NETWORK_HOP, NETWORK_KEEPS * self.port)
        return Group(ranks, max(1, self.per_node // stride), inside, port)


# Selene: 8 HDR ports a node (Narayanan et al. 2021). MosaicML's: 1600 Gbit/s a node (the table's
# heading). DGX H100: 8 NDR ports (its data sheet).
SELENE = Cluster("Selene, DGX A100", A100, 200 * GBIT)
MOSAIC = Cluster("A100 80 GB, 1600 Gbit/s", A100, 200 * GBIT)
MOSAIC_40 = Cluster("A100 40 GB, 1600 Gbit/s", A100_40, 200 * GBIT)
DGX_H100 = Cluster("DGX H100", H100, 400 * GBIT)
