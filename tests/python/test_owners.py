"""When a tensor's handle is released: with the object, whatever its class does, and not before."""

import gc

from flambeau._call import _text
from flambeau._library import fast, owner


def leaks(work):
    """What is alive after `work` that was not before."""
    gc.collect()
    fast.flam_set_leak_tracking_enabled(True)
    try:
        work()
        gc.collect()
        return _text(fast.flam_leak_report())
    finally:
        fast.flam_set_leak_tracking_enabled(False)


def test_a_class_with_a_finalizer_of_its_own_releases(torch):
    ended = []
    marked = type(
        "Marked", (torch.nn.Parameter,), {"__del__": lambda self: ended.append(self.sum())}
    )
    work = lambda: [marked(torch.ones(3)) for _ in range(5)] and None
    work()
    ended.clear()
    assert leaks(lambda: (work(), ended.clear())) == ""


def test_others_of_a_dead_cycle_see_a_whole_tensor(torch):
    seen = []

    class Holder:
        def __init__(self, tensor):
            self.tensor, self.itself = tensor, self

        def __del__(self):
            seen.append((self.tensor.sum().item(), self.tensor))

    def work():
        Holder(torch.ones(3))
        gc.collect()
        (total, tensor), *rest = seen
        assert total == 3 and tensor.tolist() == [1, 1, 1] and not rest
        seen.clear()

    assert leaks(work) == ""


def test_nothing_is_remembered_of_dead_cycles(torch):
    gc.collect()
    before = len(owner.objects)
    for _ in range(100):
        leaf = torch.ones(3).requires_grad_()
        leaf.itself, leaf.view_of_it = leaf, leaf.view(3, 1)
    del leaf
    gc.collect()
    assert len(owner.objects) <= before
