"""Collectives of Python objects: lengths first, then bytes by the collectives of tensors."""

from .._torch import empty, int64, tensor, uint8
from . import _collectives as c
from . import _pairs
from ._group import group_of, root_of
from ._sealed import as_bytes, as_tensor, call_of, carrier, check_lengths, opened, sealed


def _group_of(group, what):
    """The group, when what it moves is there as soon as a call returns."""
    g = group_of(group, what)
    if g is not None and g._collected is not None:
        raise RuntimeError(f"{what}: objects cannot be sent in a block that waits at its end")
    return g


def _unsupported(weights_only):
    if weights_only:
        raise NotImplementedError(
            "weights_only=True is unsupported: objects are checked by the job's key before they "
            "are unpickled"
        )


def _lengths(group, kind, own, device):
    """How many bytes each rank's object has."""
    all_of_them = empty(group._size, dtype=int64, device=device)
    mine = tensor([own], dtype=int64, device=device)
    c.all_gather_into_tensor(all_of_them, mine, group)
    return check_lengths(kind, all_of_them.tolist())


def _opened_rows(group, call, rows, lengths):
    return [opened(group, call, rank, as_bytes(row, n))
            for rank, (row, n) in enumerate(zip(rows, lengths))]  # fmt: skip


def all_gather_object(object_list, obj, group=None, weights_only=False):
    """Fills `object_list` with every rank's object."""
    g = _group_of(group, "all_gather_object")
    if g is None:
        return
    _unsupported(weights_only)
    _room("all_gather_object", object_list, g)
    kind, device = "all_gather_object", carrier(g)
    call, [data] = sealed(g, kind, [obj])
    lengths = _lengths(g, kind, len(data), device)
    most = max(lengths)
    rows = empty(g._size, most, dtype=uint8, device=device)
    c.all_gather_into_tensor(rows, as_tensor(data, device, most), g)
    object_list[: g._size] = _opened_rows(g, call, rows, lengths)


def _room(kind, objects, group):
    """Refuses a list that is too short for one object per rank."""
    if len(objects) < group._size:
        raise IndexError(
            f"{kind}: expected a list with one object per rank ({group._size}), got {len(objects)}"
        )


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None,
                  weights_only=False):  # fmt: skip
    """Fills `object_gather_list` on rank `dst` (default 0)."""
    g = _group_of(group, "gather_object")
    if g is None:
        return
    _unsupported(weights_only)
    kind, device, root = "gather_object", carrier(g), root_of(g, dst, group_dst, default=0)
    receives = g._rank == root
    if receives and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if receives:
        _room(kind, object_gather_list, g)
    elif object_gather_list:
        raise ValueError(
            "Argument ``object_gather_list`` must NOT be specified on non-destination ranks."
        )
    call, [data] = sealed(g, kind, [obj])
    lengths = _lengths(g, kind, len(data), device)
    most = max(lengths)
    rows = empty(g._size, most, dtype=uint8, device=device) if receives else None
    c.gather_single(as_tensor(data, device, most), rows, group=g, group_dst=root)
    if receives:
        object_gather_list[: g._size] = _opened_rows(g, call, rows, lengths)


def _split(data, lengths):
    """The pieces of a buffer, one after the other."""
    at = 0
    for n in lengths:
        yield data[at : at + n]
        at += n


def _packed(group, kind, objects, device):
    """Objects as a tensor of their lengths and one of their bytes."""
    _, pieces = sealed(group, kind, objects)
    lengths = tensor([len(piece) for piece in pieces], dtype=int64, device=device)
    return lengths, as_tensor(b"".join(pieces), device)


def _unpacked(group, call, sender, objects, lengths, data):
    """Leaves what came as `_packed` in a list, whole or not at all."""
    found = as_bytes(data, data.numel())
    objects[:] = [opened(group, call, sender, piece) for piece in _split(found, lengths)]


def _some(kind, objects):
    if not objects:
        raise ValueError(f"{kind}: expected a list of at least one object, got {objects!r}")


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None,
                          weights_only=False):  # fmt: skip
    """Leaves rank `src`'s (default 0) objects in `object_list`, as long on all ranks."""
    g = _group_of(group, "broadcast_object_list")
    if g is None:
        return
    _unsupported(weights_only)
    kind, root = "broadcast_object_list", root_of(g, src, group_src, default=0)
    c.check_root(kind, g, root)
    _some(kind, object_list)
    device = carrier(g, device)
    if g._rank == root:
        for part in _packed(g, kind, object_list, device):
            c.broadcast(part, group=g, group_src=root)
        return
    call, sizes = call_of(g, kind), empty(len(object_list), dtype=int64, device=device)
    c.broadcast(sizes, group=g, group_src=root)
    lengths = check_lengths(kind, sizes.tolist())
    data = empty(sum(lengths), dtype=uint8, device=device)
    c.broadcast(data, group=g, group_src=root)
    _unpacked(g, call, root, object_list, lengths, data)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None,
                        group=None, group_src=None, weights_only=False):  # fmt: skip
    """Leaves this rank's entry of rank `src`'s (default 0) list in the output list's first
    place."""
    g = _group_of(group, "scatter_object_list")
    if g is None:
        return
    _unsupported(weights_only)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    kind, device, root = "scatter_object_list", carrier(g), root_of(g, src, group_src, default=0)
    sizes, rows, most = None, None, empty(2, dtype=int64, device=device)
    if g._rank == root:
        given = scatter_object_input_list or []
        if len(given) != g._size:
            raise RuntimeError(
                f"{kind}: expected a list with one object per rank ({g._size}), got {len(given)}"
            )
        call, pieces = sealed(g, kind, given)
        widest = max(map(len, pieces))
        sizes = tensor([[len(p), widest] for p in pieces], dtype=int64, device=device)
        rows = [as_tensor(piece, device, widest) for piece in pieces]
        sizes = list(sizes)
    else:
        call = call_of(g, kind)
    c.scatter(most, sizes, group=g, group_src=root)
    n, widest = check_lengths(kind, most.tolist())
    data = empty(widest, dtype=uint8, device=device)
    c.scatter(data, rows, group=g, group_src=root)
    scatter_object_output_list[0] = opened(g, call, root, as_bytes(data, min(n, widest)))


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None,
                     use_batch=False, weights_only=False):  # fmt: skip
    """Sends objects to a rank that receives as many."""
    g = _group_of(group, "send_object_list")
    if g is None:
        return
    _unsupported(weights_only)
    _some("send_object_list", object_list)
    to = root_of(g, dst, group_dst)
    for part in _packed(g, f"object list to {to}", object_list, carrier(g, device)):
        _pairs.send(part, group=g, group_dst=to)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None,
                     use_batch=False, weights_only=False):  # fmt: skip
    """Receives objects from a rank, or from any; who sent them, -1 outside the group."""
    g = _group_of(group, "recv_object_list")
    if g is None:
        return -1
    _unsupported(weights_only)
    _some("recv_object_list", object_list)
    device = carrier(g, device)
    source = None if src is None and group_src is None else root_of(g, src, group_src)
    sizes = empty(len(object_list), dtype=int64, device=device)
    rank = _pairs.recv(sizes, group=g, group_src=source)
    sender = g._ranks.index(rank)
    call = call_of(g, f"object list to {g._rank}", sender)
    lengths = check_lengths("recv_object_list", sizes.tolist())
    data = empty(sum(lengths), dtype=uint8, device=device)
    _pairs.recv(data, group=g, group_src=sender)
    _unpacked(g, call, sender, object_list, lengths, data)
    return rank
