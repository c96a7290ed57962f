"""Blocks around a forward that recomputations of its parts in backward, after the block has ended,
enter again: what they compute is to be what the forward computed."""

import contextlib

from ._thread_state import ThreadState

_state = ThreadState(blocks=())


@contextlib.contextmanager
def _around(blocks, *entered):
    before, _state.blocks = _state.blocks, blocks
    try:
        with contextlib.ExitStack() as stack:
            for block in entered:
                stack.enter_context(block)
            yield
    finally:
        _state.blocks = before


def around_recomputation(block):
    """A `with` block of this one, which can be entered several times, also by threads at once."""
    return _around((*_state.blocks, block), block)


def blocks_around():
    """Those that the calling thread is in."""
    return _state.blocks


def inside(blocks):
    """A `with` block in which the calling thread is in those blocks again, for its
    recomputation."""
    return _around(blocks, *blocks)
