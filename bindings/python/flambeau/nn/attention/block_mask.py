"""Masks of attention as functions of (batch, head, query, key), and which blocks of them hold
anything."""

import inspect
import operator

from ... import _torch as torch
from ... import accelerator
from ..functional import pad

_BLOCK = 128


def places(shape, device):
    """Indices of every dimension of [batch, heads, queries, keys], shaped so that they broadcast
    to it."""
    found = []
    for d, n in enumerate(shape):
        sizes = [n if d == i else 1 for i in range(len(shape))]
        found.append(torch.arange(n, device=device).reshape(sizes))
    return found


def noop_mask(batch, head, token_q, token_kv):
    """A mask that allows everything."""
    return torch.ones((), dtype=torch.bool, device=token_q.device)


def _joined(mask_mods, empty, join):
    if not all(callable(mask_mod) for mask_mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b, h, q, kv):
        found = b.new_full((), empty, dtype=torch.bool)
        for mask_mod in mask_mods:
            found = join(found, mask_mod(b, h, q, kv))
        return found

    return mask


def and_masks(*mask_mods):
    """A mask that allows what all of these allow."""
    return _joined(mask_mods, True, operator.and_)


def or_masks(*mask_mods):
    """A mask that allows what any of these allows."""
    return _joined(mask_mods, False, operator.or_)


def _takes_score(function):
    """Whether it is a function of (score, batch, head, query, key), not of the last four."""
    given = inspect.signature(function).parameters.values()
    count = sum(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in given
    )
    if count not in (4, 5):
        raise ValueError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """What a mask allows, bool [B or 1, H or 1, Q_LEN, KV_LEN]; of a function of scores, which
    takes the score first, what it does to zeros."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    device = device or accelerator.current_accelerator() or "cpu"
    given = places(shape, device)
    if _takes_score(mod_fn):
        return mod_fn(torch.zeros(shape, device=device), *given).expand(shape)
    return mod_fn(*given).expand(shape).contiguous()


class BlockMask:
    """A mask and its blocks: `kv_num_blocks` [B, H, rows] and `kv_indices` [B, H, rows, columns]
    name the blocks of each row of which a part is allowed, `full_kv_num_blocks` and
    `full_kv_indices` those that are allowed wholly, all int32; the indices of the others follow.

    Attention here evaluates `mask_mod` for every pair; the blocks are for looking at."""

    def __init__(self, mask_mod, shape, block_size, partial, full):
        self.mask_mod, self.BLOCK_SIZE = mask_mod, block_size
        self.shape, self.seq_lengths = tuple(shape), tuple(shape[2:])
        self._partial, self._full = partial, full
        self.kv_num_blocks, self.kv_indices = _ordered(partial)
        self.full_kv_num_blocks, self.full_kv_indices = _ordered(full)

    @classmethod
    def of(cls, mask_mod, mask, block_size, separate_full=True):
        """The blocks of a mask, bool [B, H, queries, keys]; full ones not by themselves where
        `separate_full` is False."""
        (high, wide), (q, kv) = block_size, mask.shape[2:]
        rows, columns = -(-q // high), -(-kv // wide)
        padded = pad(mask, (0, columns * wide - kv, 0, rows * high - q))
        counts = padded.reshape(*mask.shape[:2], rows, high, columns, wide).sum((3, 5))
        full = counts == high * wide
        if not separate_full:
            found = cls(mask_mod, mask.shape, block_size, counts > 0, full & False)
            found.full_kv_num_blocks = found.full_kv_indices = None
            return found
        return cls(mask_mod, mask.shape, block_size, (counts > 0) & ~full, full)

    def to_dense(self):
        """Which blocks hold anything: int32 [B, H, rows, columns]."""
        return (self._partial | self._full).int()

    def sparsity(self):
        """Percentage of the blocks that hold nothing."""
        return 100 * (1 - self.to_dense().double().mean().item())

    def numel(self):
        """Elements of the mask."""
        return self.shape[0] * self.shape[1] * self.shape[2] * self.shape[3]

    def to(self, device):
        """The same on another device; tensors that `mask_mod` uses stay where they are."""
        moved = [t.to(device) for t in (self._partial, self._full)]
        found = BlockMask(self.mask_mod, self.shape, self.BLOCK_SIZE, *moved)
        if self.full_kv_num_blocks is None:
            found.full_kv_num_blocks = found.full_kv_indices = None
        return found

    def check_lengths(self, q, kv):
        """Refuses a query or keys of other lengths than the mask's."""
        if (q, kv) != self.seq_lengths:
            raise RuntimeError(
                f"block_mask was created for {self.seq_lengths[0]} queries and "
                f"{self.seq_lengths[1]} keys, but there are {q} and {kv}. Create one with "
                f"create_block_mask(mask_mod, B, H, {q}, {kv})"
            )

    def to_string(self, limit=4):
        """The blocks as a picture per batch and head: full █, partial ░."""
        found = []
        for b in range(min(self.shape[0], limit)):
            for h in range(min(self.shape[1], limit)):
                found.append(f"({b}, {h})")
                rows = zip(self._partial[b, h].tolist(), self._full[b, h].tolist())
                for partial, full in rows:
                    cells = ("██" if f else "░░" if p else "  " for p, f in zip(partial, full))
                    found.append("".join(cells))
        return "\n".join(found)

    def __repr__(self):
        return (
            f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%,\n{self.to_string()}\n)"
        )


def _ordered(blocks):
    """How many blocks of a row are meant, and the indices of a row with those first."""
    indices = torch.argsort(blocks.int(), dim=-1, descending=True, stable=True)
    return blocks.sum(-1).int(), indices.int()


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_BLOCK, _compile=False,
                      separate_full_blocks=True, compute_dq_write_order=False,
                      dq_kv_order=True):  # fmt: skip
    """The mask of a function of (batch, head, query, key); B or H is None where it is the same
    for all. Without `separate_full_blocks` the full blocks are among the others. `_compile`,
    `compute_dq_write_order` and `dq_kv_order` are for torch's fused kernels and change nothing."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    return BlockMask.of(mask_mod, mask, size, separate_full_blocks)
