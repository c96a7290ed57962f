"""What collectives cost by Hockney's model: a message of S bytes takes latency + S / bandwidth
(Parallel Computing 20, 1994). Links have a hierarchy: ranks of one node, and ports between nodes.

- ring: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009: 2 (n - 1) / n of the bytes, which
  is the least that any all-reduce moves.
- double tree: Sanders, Speck and Traff, Parallel Computing 35, 2009: two binary trees at once, the
  message cut into the number of pieces that is best.
- hierarchical: reduce-scatter inside of nodes, all-reduce of the parts between them, all-gather."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Link:
    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Group:
    """Ranks that call collectives together, `per_node` of them in a node; each has a port of its
    own between nodes. `inside` is what the ranks of one node share."""

    ranks: int
    per_node: int
    inside: Link
    port: Link

    def __post_init__(self):
        if self.ranks < 1 or self.per_node < 1:
            raise ValueError(f"a group of {self.ranks} ranks, {self.per_node} in a node")
        if self.ranks > self.per_node and self.ranks % self.per_node:
            raise ValueError(f"{self.ranks} ranks do not fill nodes of {self.per_node}")

    @property
    def nodes(self) -> int:
        return max(1, self.ranks // self.per_node)

    @property
    def local(self) -> int:
        """Ranks of one node."""
        return min(self.ranks, self.per_node)

    @property
    def ring(self) -> Link:
        """What a ring through all ranks sees: a piece that goes around leaves each node once, and
        as many rings as there are ports carry the bytes of a node."""
        if self.nodes == 1:
            return self.inside
        if self.local == 1:
            return self.port
        hops = self.nodes * self.port.latency + (self.ranks - self.nodes) * self.inside.latency
        rate = min(self.inside.bandwidth, self.local * self.port.bandwidth)
        return Link(hops / self.ranks, rate)

    def in_node(self) -> Group:
        return replace(self, ranks=self.local)

    def between(self) -> Group:
        """One rank of each node, over its own port."""
        return Group(self.nodes, 1, self.port, self.port)


def reduce_scatter(group: Group, size: float) -> float:
    """`size` is what each rank has before."""
    n, link = group.ranks, group.ring
    return (n - 1) * link.latency + (n - 1) / n * size / link.bandwidth


def all_gather(group: Group, size: float) -> float:
    """`size` is what each rank has afterwards; the same way back."""
    return reduce_scatter(group, size)


def broadcast(group: Group, size: float) -> float:
    """Over both trees."""
    return _two_trees(group.ranks, size, group.ring)


def ring_all_reduce(group: Group, size: float) -> float:
    return reduce_scatter(group, size) + all_gather(group, size)


def _two_trees(ranks: int, size: float, link: Link) -> float:
    """A broadcast, or a reduction, over two binary trees of depth h that each carry half: k pieces
    of a half take 2 (h + k - 1) steps."""
    if ranks == 1:
        return 0.0
    depth = math.ceil(math.log2(ranks))
    pieces = max(1.0, math.sqrt((depth - 1) * size / link.bandwidth / (2 * link.latency)))
    return 2 * (depth + pieces - 1) * (link.latency + size / (2 * pieces * link.bandwidth))


def tree_all_reduce(group: Group, size: float) -> float:
    """A reduction and a broadcast. Trees of whole nodes: in a node a chain, as NCCL has it."""
    if group.nodes == 1:
        return 2 * _two_trees(group.ranks, size, group.inside)
    chain = 2 * (group.local - 1) * group.inside.latency
    rate = min(group.inside.bandwidth, group.local * group.port.bandwidth)
    return chain + 2 * _two_trees(group.nodes, size, Link(group.port.latency, rate))


def hierarchical_all_reduce(group: Group, size: float) -> float:
    inside = group.in_node()
    between = ring_all_reduce(group.between(), size / group.local)
    return reduce_scatter(inside, size) + between + all_gather(inside, size)


def all_reduce(group: Group, size: float) -> float:
    """The best of them, which is what libraries choose by the size."""
    return min(
        way(group, size) for way in (ring_all_reduce, tree_all_reduce, hierarchical_all_reduce)
    )


def all_to_all(group: Group, size: float) -> float:
    """`size` is what each rank has; it sends an equal part to each other one. Both kinds of links
    carry theirs at once."""
    n, local = group.ranks, group.local
    inside = (local - 1) * (group.inside.latency + size / n / group.inside.bandwidth)
    outside = (n - local) * (group.port.latency + size / n / group.port.bandwidth)
    return max(inside, outside)


def bus_bandwidth(group: Group, size: float, seconds: float) -> float:
    """nccl-tests' measure of an all-reduce: the rate of the busiest link, were it a ring."""
    return 2 * (group.ranks - 1) / group.ranks * size / seconds
