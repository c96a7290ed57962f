"""`torch.distributed.checkpoint.resharding`: what a piece that was saved and a piece that is wanted
have in common. Both are boxes in one tensor; saves and loads ask here, and so may programs that
read metadata."""

__all__ = []


def common(offsets, sizes, other_offsets, other_sizes):
    """Where the elements begin that two boxes share, and their number along each dimension; None
    where there are none."""
    start = [max(a, b) for a, b in zip(offsets, other_offsets)]
    shared = [
        min(a + n, b + m) - s
        for a, n, b, m, s in zip(offsets, sizes, other_offsets, other_sizes, start)
    ]
    return (start, shared) if all(n > 0 for n in shared) else None


def _check_shard_metadata_pair_overlap(shard1, shard2):
    """Whether two pieces share an element."""
    return common(shard1.offsets, shard1.sizes, shard2.offsets, shard2.sizes) is not None


def _shards_get_overlap_region_wrt_saved_tensor(saved_shard, current_shard):
    """Of pieces that share elements, by dimension: its number, where these begin in the one and in
    the other, and how many there are."""
    boxes = saved_shard.offsets, saved_shard.sizes, current_shard.offsets, current_shard.sizes
    found = common(*boxes)
    if found is None:
        raise ValueError(f"the pieces {saved_shard} and {current_shard} share no element")
    return [
        (dim, at - saved, at - current, n)
        for dim, (at, n, saved, current) in enumerate(zip(*found, boxes[0], boxes[2]))
    ]
