"""Who writes what: a rule that every rank applies to what all of them hold, so that all come to the
same answer. A box that several ranks hold is written by the one with the fewest bytes so far, the
largest boxes first; a value by the first rank that has it."""

import math

from ..._types import NAMES
from .resharding import common


def described(found):
    """What a rank tells the others of its tensors."""
    return {
        name: (held.dtype._name, held.shape, [(p.offsets, p.sizes) for p in held.pieces])
        for name, held in found.items()
    }


def owners(names):
    """The first rank that has each of the names, of which every rank has told its own."""
    found = {}
    for rank, own in enumerate(names):
        for name in own:
            found.setdefault(name, rank)
    return found


def merged(plans):
    """Per tensor its dtype, shape, and the ranks that hold each of its boxes."""
    whole = {}
    for rank, plan in enumerate(plans):
        for name, (dtype, shape, boxes) in plan.items():
            first = whole.setdefault(name, (dtype, shape, {}, rank))
            if first[:2] != (dtype, shape):
                raise ValueError(
                    f"{name} is {first[0]} of shape {list(first[1])} on rank {first[3]}, and "
                    f"{dtype} of shape {list(shape)} on rank {rank}"
                )
            for box in boxes:
                if not math.prod(box[1]):
                    continue
                holders = first[2].setdefault(box, [])
                if rank not in holders:
                    holders.append(rank)
    for name, (_, shape, boxes, _) in whole.items():
        check_tiles(name, shape, boxes)
    return {name: (dtype, shape, boxes) for name, (dtype, shape, boxes, _) in whole.items()}


def check_tiles(name, shape, boxes):
    """Whether the boxes fill the tensor and none overlaps with another."""
    overlap = len(boxes) > 1 and _overlap(list(boxes))
    held = sum(math.prod(sizes) for _, sizes in boxes)
    if overlap or held != math.prod(shape):
        why = "overlap" if overlap else f"are {held} of {math.prod(shape)} elements"
        raise ValueError(f"{name}: the pieces that the ranks hold {why}")


def _overlap(boxes):
    """Whether two of the boxes share an element. They are looked at along the dimension that is cut
    most often, each beside those that have begun before and go on."""
    along = max(range(len(boxes[0][0])), key=lambda d: len({box[0][d] for box in boxes}))
    begun = []
    for offsets, sizes in sorted(boxes, key=lambda box: box[0][along]):
        begun = [one for one in begun if one[0][along] + one[1][along] > offsets[along]]
        if any(common(offsets, sizes, *other) for other in begun):
            return True
        begun.append((offsets, sizes))
    return False


def writers(whole, size, lowest=False):
    """The rank that writes each (name, box): where it is to be the `lowest`, the first that can."""
    loads, found = [0] * size, {}
    boxes = [
        (-math.prod(box[1]) * NAMES[dtype].itemsize, name, box, holders)
        for name, (dtype, _, boxes) in whole.items()
        for box, holders in boxes.items()
    ]
    for cost, name, box, holders in sorted(boxes):
        rank = min(holders, key=lambda r: (0 if lowest else loads[r], r))
        loads[rank] -= cost
        found[name, box] = rank
    return found
