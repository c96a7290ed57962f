"""Sequences of several lengths as one tensor: packed step by step, or padded."""

from ..._gen import ops as _ops
from ..._torch import tensor
from ..modules.packed_sequence import PackedSequence, invert_permutation


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs a padded batch, [length, n, ...] or [n, length, ...]; `lengths` says how much
    counts."""
    if not hasattr(lengths, "dim"):
        lengths = tensor([int(v) for v in lengths], device="cpu")
    if not len(lengths) or input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.device.type != "cpu" or lengths.dim() != 1:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D {lengths.device} {lengths.dtype} tensor"
        )
    sorted_indices = None
    if not enforce_sorted:
        order = sorted(range(len(lengths)), key=lambda i: -int(lengths[i]))
        order = tensor(order, device="cpu")
        sorted_indices, lengths = order.to(input.device), lengths[order]
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    counts = [int(v) for v in lengths.tolist()]
    if len(counts) != input.shape[0 if batch_first else 1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={input.shape[0 if batch_first else 1]})"
        )
    if any(a < b for a, b in zip(counts, counts[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    steps = input.transpose(0, 1) if batch_first else input
    if counts[0] > steps.shape[0]:
        raise RuntimeError(
            f"Expected `lengths` to be at most {steps.shape[0]}, the padded length, but got "
            f"{counts[0]}"
        )
    sizes = [sum(c > t for c in counts) for t in range(counts[0])]
    data = _ops._cat([steps[t, :size] for t, size in enumerate(sizes)])
    return PackedSequence(data, tensor(sizes, device="cpu"), sorted_indices, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """A padded batch and its lengths, from a packed one."""
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {longest}"
        )
    n, rest = sizes[0], sequence.data.shape[1:]
    steps, start = [], 0
    for size in sizes:
        step = sequence.data[start : start + size]
        start += size
        if size < n:
            fill = _ops._full(
                (n - size, *rest), padding_value, dtype=step.dtype, device=step.device
            )
            step = _ops._cat([step, fill])
        steps.append(step)
    data = sequence.data
    steps += [
        _ops._full((n, *rest), padding_value, dtype=data.dtype, device=data.device)
        for _ in range((total_length or longest) - longest)
    ]
    padded = _ops._stack(steps)
    lengths = tensor([sum(size > i for size in sizes) for i in range(n)], device="cpu")
    order = sequence.unsorted_indices
    if order is not None:
        padded, lengths = padded.index_select(1, order), lengths[order.cpu()]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences [length, ...] padded to the longest and stacked."""
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be 'left' or 'right', got {padding_side}")
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            f"Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    longest = max(s.shape[0] for s in sequences)
    made = []
    for s in sequences:
        missing = longest - s.shape[0]
        sides = (missing, 0) if padding_side == "left" else (0, missing)
        pads = [0] * (2 * (s.dim() - 1)) + list(sides)
        made.append(_ops.FUNCTIONAL["pad"](s, pads, "constant", padding_value) if missing else s)
    return _ops._stack(made, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded batch, each at its length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[: int(n)] for s, n in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs sequences [length, ...] of several lengths."""
    lengths = tensor([s.shape[0] for s in sequences], device="cpu")
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
