"""Models in stages on ranks: outputs, losses and gradients of both orders are those of the whole
model in one process, batches may be trees of tensors, no stage holds more parts than its order
needs, and what stages and schedules cannot do is said."""

import inspect
import weakref

import pytest

from tests.dist import ranks

PARTS = 4


def layers(torch, size):
    torch.manual_seed(0)
    nn = torch.nn
    widths = [5, 7, 6, 3][:size] + [2]
    return [
        nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in zip(widths, widths[1:], strict=False)
    ]


def two_outputs(torch, stages):
    """The first stage gives an integer beside its output, and the second takes both."""

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = stages[0]

        def forward(self, x, scale=1.0):
            return self.inner(x) * scale, (x > 0).sum(1)

    class Second(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = stages[1]

        def forward(self, x, counts):
            return self.inner(x * counts.unsqueeze(1))

    return [First(), Second(), *stages[2:]]


def train(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    dist.init_process_group("gloo")
    loss_of, first, last = torch.nn.functional.mse_loss, rank == 0, rank == size - 1
    found = []
    for kind, parts, mean in (
        (ScheduleGPipe, PARTS, True),
        (Schedule1F1B, PARTS, True),
        (ScheduleGPipe, 1, True),
        (Schedule1F1B, 8, False),
    ):
        mine, whole = (two_outputs(torch, layers(torch, size)) for _ in range(2))
        stage = PipelineStage(mine[rank], rank, size, "cpu")
        schedule = kind(stage, parts, loss_fn=loss_of, scale_grads=mean)
        optimizer = torch.optim.SGD(mine[rank].parameters(), lr=0.1)
        reference = torch.optim.SGD([p for m in whole for p in m.parameters()], lr=0.1)
        for step in range(3):
            generator = torch.Generator().manual_seed(step)
            x, y = (torch.randn(16, n, generator=generator) for n in (5, 2))
            optimizer.zero_grad()
            reference.zero_grad()
            losses = [3]
            out = schedule.step(*([x] if first else []), target=y if last else None, losses=losses,
                                **({"scale": 0.5} if first else {}))  # fmt: skip
            wanted = whole[0](x, scale=0.5)
            for module in whole[1:]:
                wanted = module(*wanted) if isinstance(wanted, tuple) else module(wanted)
            loss = loss_of(wanted, y)
            (loss if mean else loss * parts).backward()
            pairs = zip(mine[rank].parameters(), whole[rank].parameters(), strict=True)
            found.append(all(torch.allclose(a.grad, b.grad, atol=1e-6) for a, b in pairs))
            if last:
                found.append(torch.allclose(out, wanted, atol=1e-6) and not out.requires_grad)
                found.append(len(losses) == parts)
                found.append(abs(sum(losses).item() / parts - loss.item()) < 1e-6)
            else:
                found.append(out is None)
            optimizer.step()
            reference.step()
        out = schedule.eval(*([x] if first else []), target=y if last else None)
        with torch.no_grad():
            wanted = whole[0](x)
            for module in whole[1:]:
                wanted = module(*wanted) if isinstance(wanted, tuple) else module(wanted)
        found.append(torch.allclose(out, wanted, atol=1e-6) if last else out is None)
    found += refused(torch, rank, size)
    dist.destroy_process_group()
    return found


def refused(torch, rank, size):
    """What raises, before anything is sent."""
    from flambeau.distributed import pipelining
    from flambeau.distributed.pipelining.schedules import get_schedule_class

    stage = pipelining.PipelineStage(torch.nn.Linear(2, 2), rank, size, "cpu")
    schedule = pipelining.ScheduleGPipe(stage, 3)
    with pytest.raises(ValueError, match="cannot be cut into 3 equal parts"):
        schedule.step(torch.ones(4, 2))
    with pytest.raises(ValueError, match="n_microbatches must be above 0, got 0"):
        pipelining.ScheduleGPipe(stage, 0)
    few = rf"\({size - 1}\) must be greater .* number of stages \({size}\)"
    with pytest.raises(ValueError, match=few):
        pipelining.Schedule1F1B(stage, size - 1)
    with pytest.raises(ValueError, match=f"Stage index 5 is out of range of {size}"):
        pipelining.PipelineStage(stage.submod, 5, size, "cpu")
    with pytest.raises(NotImplementedError, match="stage i is on rank i modulo their number"):
        pipelining.PipelineStage(stage.submod, (rank + 1) % size, 2 * size, "cpu")
    with pytest.raises(RuntimeError, match=f"group size {size} cannot be larger than .* stages 1"):
        pipelining.PipelineStage(stage.submod, 0, 1, "cpu")
    with pytest.raises(NotImplementedError, match="pipeline is unsupported: models are not traced"):
        pipelining.pipeline(stage.submod, (torch.ones(1, 2),))
    with pytest.raises(NotImplementedError, match="ScheduleZBVZeroBubble is unsupported"):
        get_schedule_class("ZBVZeroBubble")([stage], 3)
    with pytest.raises(ValueError, match="Unknown schedule name 'zigzag'. .* 1F1B, GPipe, Inter"):
        get_schedule_class("zigzag")
    half = pipelining.PipelineStage(stage.submod, rank, 2 * size, "cpu")
    with pytest.raises(ValueError, match=f"one stage on each rank, but there are {2 * size}"):
        pipelining.ScheduleGPipe(half, 3)
    with pytest.raises(ValueError, match=rf"has the stages .{rank}, {rank + size}. .* got .{rank}"):
        pipelining.ScheduleLoopedBFS([half], 3)
    with pytest.raises(TypeError, match="stages must be a list of stages, got a PipelineStage"):
        pipelining.ScheduleInterleaved1F1B(half, 3)
    for kind in pipelining.ScheduleInterleaved1F1B, pipelining.ScheduleLoopedBFS:
        with pytest.raises(ValueError, match="stages is empty; give this rank's stages"):
            kind([], 2)
        for most in -1, True, 1.5:
            with pytest.raises(ValueError, match=f"non-negative integer, got {most}"):
                kind([stage], size, max_outstanding_sends=most)
        kind([stage], size, max_outstanding_sends=0)
    with pytest.raises(ValueError, match=r"multiple of the number of rounds \(2\), but got"):
        pipelining.ScheduleInterleaved1F1B([stage], 2 * size + 1)
    return [get_schedule_class("1f1b") is pipelining.Schedule1F1B]


def test_stages_train_as_the_whole_model():
    for found in ranks.values(train, 3):
        assert found and all(found), found


def train_several(rank, size, local):
    """Several stages on each rank, by both orders; a stage gives an integer beside its output."""
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed import pipelining

    dist.init_process_group("gloo")
    count, loss_of = size * local, torch.nn.functional.mse_loss
    widths = [5, 7, 6, 3, 4, 6, 5][:count] + [2]
    here = range(rank, count, size)

    def model():
        torch.manual_seed(0)
        pairs = zip(widths, widths[1:], strict=False)
        return two_outputs(torch, [torch.nn.Linear(a, b) for a, b in pairs])

    found = []
    for kind, parts, mean in (
        (pipelining.ScheduleInterleaved1F1B, PARTS, True),
        (pipelining.ScheduleInterleaved1F1B, 1, True),
        (pipelining.ScheduleInterleaved1F1B, 8, False),
        (pipelining.ScheduleLoopedBFS, PARTS, True),
    ):
        mine, whole = model(), model()
        stages = [pipelining.PipelineStage(mine[i], i, count, "cpu") for i in here]
        schedule = kind(stages, parts, loss_fn=loss_of, scale_grads=mean)
        for step in range(2):
            generator = torch.Generator().manual_seed(step)
            x, y = (torch.randn(16, n, generator=generator) for n in (5, 2))
            given, more = ([x] if rank == 0 else []), {"target": y} if rank == size - 1 else {}
            losses = []
            out = schedule.step(*given, losses=losses, **more)
            wanted = whole[0](x)
            for module in whole[1:]:
                wanted = module(*wanted) if isinstance(wanted, tuple) else module(wanted)
            loss = loss_of(wanted, y)
            (loss if mean else loss * parts).backward()
            for i in here:
                pairs = zip(mine[i].parameters(), whole[i].parameters(), strict=True)
                found += [torch.allclose(a.grad, b.grad, atol=1e-6) for a, b in pairs]
            outs = [out, schedule.eval(*given, **more)]
            if rank == size - 1:
                found += [torch.allclose(o, wanted, atol=1e-6) for o in outs]
                found.append(abs(sum(losses).item() / parts - loss.item()) < 1e-6)
            else:
                found.append(outs == [None, None] and losses == [])
            found += [not stage._kept and not stage._gradients for stage in stages]
            for module in mine + whole:
                module.zero_grad()
    dist.destroy_process_group()
    return found


@pytest.mark.parametrize(("size", "local"), [(1, 3), (2, 3), (3, 2)])
def test_several_stages_on_each_rank_train_as_the_whole_model(size, local):
    for found in ranks.values(train_several, size, local):
        assert found and all(found), found


def train_tied(rank, size):
    """Each rank's first and last stage share a weight, as an embedding and the head do."""
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed import pipelining

    nn = torch.nn
    dist.init_process_group("gloo")

    class Embedding(nn.Embedding):
        def forward(self, x):
            return super().forward(x) if not x.is_floating_point() else x @ self.weight[:6]

    def model():
        torch.manual_seed(0)
        firsts, heads = zip(*((Embedding(8, 6), nn.Linear(6, 8)) for _ in range(size)))
        for first, head in zip(firsts, heads):
            head.weight = first.weight
        between = [nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(size)]
        ends = [nn.Sequential(h, *([nn.Linear(8, 6)] if i < size - 1 else []))
                for i, h in enumerate(heads)]  # fmt: skip
        return [*firsts, *between, *ends]

    found, here = [], range(rank, 3 * size, size)
    for kind in pipelining.ScheduleInterleaved1F1B, pipelining.ScheduleLoopedBFS:
        mine, whole = model(), model()
        stages = [pipelining.PipelineStage(mine[i], i, 3 * size, "cpu") for i in here]
        schedule = kind(stages, PARTS, loss_fn=nn.functional.cross_entropy)
        x, y = (torch.arange(16) * n % 8 for n in (3, 5))
        schedule.step(*([] if rank else [x]), target=y if rank == size - 1 else None)
        out = x
        for module in whole:
            out = module(out)
        nn.functional.cross_entropy(out, y).backward()
        for i in here:
            pairs = zip(mine[i].parameters(), whole[i].parameters(), strict=True)
            found += [torch.allclose(a.grad, b.grad, atol=1e-6) for a, b in pairs]
    dist.destroy_process_group()
    return found


@pytest.mark.parametrize("size", [1, 2])
def test_stages_of_a_rank_that_share_parameters(size):
    for found in ranks.values(train_tied, size):
        assert found and all(found), found


@pytest.mark.parametrize("name", ["ScheduleInterleaved1F1B", "ScheduleLoopedBFS"])
def test_orders_of_ranks_fit_together(name):
    """Each part passes each stage once each way, and no rank waits for one that waits for it."""
    from flambeau.distributed import pipelining
    from flambeau.distributed.pipelining._several import rounds

    for size, local, parts in [(1, 1, 1), (1, 3, 4), (2, 2, 4), (4, 2, 10), (4, 3, 3), (3, 2, 9)]:
        orders = []
        for rank in range(size):
            stages = [
                _Stage(stage_index=i, num_stages=size * local, group_rank=rank, group_size=size,
                       is_last=i == size * local - 1)
                for i in range(rank, size * local, size)
            ]  # fmt: skip
            schedule = getattr(pipelining, name)(stages, parts)
            orders.append(schedule._order_of(rank))
            assert [len(order) for order in orders] == [2 * local * parts] * len(orders)
        found = rounds(orders)
        made = [action for actions in found for action in actions]
        all_of_them = {(k, s, p) for k in "FB" for s in range(size * local) for p in range(parts)}
        assert len(made) == len(set(made)) and set(made) == all_of_them
        if name == "ScheduleInterleaved1F1B" and size > 1 and parts % size == 0:
            # Breadth-first keeps all parts of all stages, depth-first fewer.
            assert _most_kept(orders[-1]) <= (local - 1) * size + 1 < local * parts
    with pytest.raises(RuntimeError, match="orders of the ranks wait for each other"):
        rounds([[("B", 0, 0), ("F", 0, 0)], [("F", 1, 0), ("B", 1, 0)]])


class _Stage:
    """What a schedule asks of a stage before its first step."""

    def __init__(self, **about):
        vars(self).update(about)


def _most_kept(order):
    kept = most = 0
    for kind, *_ in order:
        kept += 1 if kind == "F" else -1
        most = max(most, kept)
    return most


def trees(torch):
    """Two stages: the first takes a batch in a list and a dict, the last returns a dict."""

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(3, 4)

        def forward(self, x, masks, more=None, power=1):
            return self.inner(x * masks[0] + more["add"][0]) ** power, x.sum(1, keepdim=True)

    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(4, 2)

        def forward(self, x, sums):
            return {"out": self.inner(x), "pair": [self.inner(x) * sums, (sums,)]}

    torch.manual_seed(0)
    return [First(), Last()]


def loss_of_trees(found, target, weight=1.0):
    first, second = target
    return ((found["out"] - first) ** 2).mean() * weight + (found["pair"][0] - second).abs().mean()


def train_trees(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed import pipelining
    from flambeau.utils._pytree import tree_flatten

    dist.init_process_group("gloo")
    mine, whole = trees(torch)[rank], trees(torch)
    stage, last = pipelining.PipelineStage(mine, rank, size, "cpu"), rank == size - 1
    x, mask, add, one, two = (torch.randn(8, n) for n in (3, 3, 3, 2, 2))
    named, weight = {"more": {"add": (add,)}, "power": 2}, {"weight": 0.5}
    wanted = whole[1](*whole[0](x, [mask], **named))
    loss_of_trees(wanted, (one, two), **weight).backward()

    def same(out):
        grads = zip(mine.parameters(), whole[rank].parameters(), strict=True)
        assert all(torch.allclose(a.grad, b.grad, atol=1e-5) for a, b in grads)
        mine.zero_grad()
        if not last:
            assert out is None
            return
        (leaves, spec), (right, kind) = tree_flatten(out), tree_flatten(wanted)
        assert spec == kind and not any(t.requires_grad for t in leaves)
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(leaves, right, strict=True))

    # Schedules with parts of other sizes take turns on one stage.
    schedules = [
        kind(stage, n, loss_fn=loss_of_trees)
        for kind, n in ((pipelining.ScheduleGPipe, 2), (pipelining.Schedule1F1B, 4))
    ]
    for schedule in schedules * 2:
        given = () if rank else (x, [mask])
        more = {"target": (one, two)} if last else named
        same(schedule.step(*given, loss_kwargs=weight, finalize_gradients=False, **more))
    cut = [slice(0, 4), slice(4, 8)]
    parts = {"target_mbs": [(one[c], two[c]) for c in cut]} if last else {
        "arg_mbs": [(x[c], [mask[c]]) for c in cut],
        "kwarg_mbs": [{"more": {"add": (add[c],)}, "power": 2} for c in cut],
    }  # fmt: skip
    same(schedules[0].step(loss_kwargs=weight, **parts))
    out = schedules[0].eval(**parts)
    assert not last or torch.allclose(out["out"], wanted["out"], atol=1e-5)
    refused_of_steps(torch, schedules[0], parts)
    refused_of_stages(pipelining, torch.nn.Linear(2, 2), rank, size)
    dist.destroy_process_group()
    return True


def refused_of_steps(torch, schedule, parts):
    """What raises on every rank before anything is sent."""
    with torch.no_grad(), pytest.raises(RuntimeError, match=r"call eval\(\) instead"):
        schedule.step(**parts)
    with pytest.raises(ValueError, match="args, scale cannot be given beside them"):
        schedule.step(torch.ones(2, 2), scale=3, **parts)
    with pytest.raises(ValueError, match="Expecting 2 kwarg_mbs but got 1"):
        schedule.eval(kwarg_mbs=[{}])
    with pytest.raises(TypeError, match=r"arg_mbs\[1\] must be a tuple but got a"):
        schedule.eval(arg_mbs=[(), []])
    with pytest.raises(TypeError, match="losses must be a list"):
        schedule.step(losses=(), **parts)


def refused_of_stages(pipelining, module, rank, size):
    """Torch's parameters of a stage in torch's order, and a stage whose gradients are sharded."""
    from flambeau.distributed.fsdp import fully_shard

    names = (
        "submodule stage_index num_stages device input_args output_args output_grads input_grads "
        "group dw_builder get_mesh"
    )
    assert list(inspect.signature(pipelining.PipelineStage).parameters) == names.split()
    for name in ("dw_builder", "get_mesh"):
        with pytest.raises(NotImplementedError, match=f"{name} is unsupported"):
            pipelining.PipelineStage(module, rank, size, "cpu", **{name: print})
    stage = pipelining.PipelineStage(fully_shard(module), rank, size, "cpu")
    with pytest.raises(NotImplementedError, match="finalize_gradients=False is unsupported"):
        pipelining.ScheduleGPipe(stage, 2).step(finalize_gradients=False)


def test_batches_and_outputs_are_trees_on_two_ranks():
    assert all(ranks.values(train_trees, 2))


def held(rank, size):
    """How many outputs of the stage, and tensors to be sent, are left when another begins."""
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed import pipelining
    from flambeau.distributed.pipelining import _schedule

    dist.init_process_group("gloo")
    made, sent, most = [], [], {"made": 0, "sent": 0}

    def note(name, references):
        alive = sum(reference() is not None for reference in references)
        most[name] = max(most[name], alive)

    class Noting(torch.nn.Linear):
        def forward(self, x):
            note("made", made)
            out = super().forward(x)
            made.append(weakref.ref(out))
            return out

    begin = _schedule.batch_isend_irecv

    def noting(transfers):
        note("sent", sent)
        sent.extend(weakref.ref(t.tensor) for t in transfers if t.op is dist.isend)
        return begin(transfers)

    _schedule.batch_isend_irecv = noting
    found = {}
    for kind in (pipelining.ScheduleGPipe, pipelining.Schedule1F1B):
        stage = pipelining.PipelineStage(Noting(4, 4), rank, size, "cpu")
        schedule = kind(stage, 8, loss_fn=lambda out, target: (out - target).abs().mean())
        for call in (schedule.step, schedule.eval):
            most.update(made=0, sent=0)
            given = {"target": torch.ones(8, 4)} if rank == size - 1 else {}
            call(*([] if rank else [torch.ones(8, 4)]), return_outputs=False, **given)
            found[f"{kind.__name__}.{call.__name__}"] = dict(most)
    dist.destroy_process_group()
    return found


def test_stages_hold_no_more_parts_than_their_order_needs():
    size = 2
    for rank, found in enumerate(ranks.values(held, size)):
        assert found["ScheduleGPipe.step"]["made"] == 7
        assert found["Schedule1F1B.step"]["made"] == size - rank - 1
        assert found["Schedule1F1B.eval"]["made"] == 0 == found["ScheduleGPipe.eval"]["made"]
        assert all(most["sent"] <= 1 for most in found.values()), found


def test_parts_are_cut_and_joined_in_trees():
    import flambeau as torch
    from flambeau.distributed.pipelining import microbatch
    from flambeau.nn.attention.flex_attention import create_block_mask

    x = torch.arange(8).reshape(4, 2)
    args, kwargs = microbatch.split_args_kwargs_into_chunks(
        ([x, {"a": (x, 3)}],), {"masks": [x], "name": "n"}, 2
    )
    for i, part in enumerate((x[:2], x[2:])):
        first, nested = args[i][0]
        for cut in (first, nested["a"][0], kwargs[i]["masks"][0]):
            assert cut.tolist() == part.tolist()
        assert nested["a"][1] == 3 and kwargs[i]["name"] == "n"
    joined = microbatch.merge_chunks([part[0][0] for part in args])
    assert joined.tolist() == x.tolist()
    with pytest.raises(TypeError, match="type int cannot be joined"):
        microbatch.merge_chunks([(x, 1), (x, 1)])
    with pytest.raises(ValueError, match="merge_chunks: part 1 is"):
        microbatch.merge_chunks([{"a": x}, {"b": x}])

    def causal(b, h, q, kv):
        return q >= kv

    shared = create_block_mask(causal, None, None, 128, 128, device="cpu")
    assert microbatch.parts_of([shared], 2) == [[shared], [shared]]
    with pytest.raises(NotImplementedError, match="a BlockMask of 4 batches cannot be cut"):
        microbatch.parts_of([create_block_mask(causal, 4, None, 128, 128, device="cpu")], 2)


def test_specs_say_how_parts_are_cut_and_joined():
    import flambeau as torch
    from flambeau.distributed.pipelining.microbatch import (
        TensorChunkSpec,
        _CustomReducer,
        _Replicate,
        merge_chunks,
        split_args_kwargs_into_chunks,
    )

    x = torch.arange(8).reshape(2, 4)
    args, kwargs = split_args_kwargs_into_chunks(
        (x, x), {"a": x, "n": 3}, 2,
        (TensorChunkSpec(1), _Replicate), {"a": TensorChunkSpec(-1), "n": _Replicate()},
    )  # fmt: skip
    for i, cut in enumerate(x.chunk(2, 1)):
        assert args[i][0].tolist() == kwargs[i]["a"].tolist() == cut.tolist()
        assert args[i][1] is x and kwargs[i]["n"] == 3
    outs = [{"out": arg[0], "sum": arg[0].sum(), "same": 7} for arg in args]
    spec = {"out": TensorChunkSpec(1), "sum": _CustomReducer(0, lambda a, b: a + b), "same": None}
    joined = merge_chunks(outs, spec)
    assert joined["out"].tolist() == x.tolist() and joined["same"] == 7
    assert joined["sum"].item() == x.sum().item()
    with pytest.raises(ValueError, match="values of parts differ: .7, 8."):
        merge_chunks([7, 8], "the same")
    turned = dict(reversed(spec.items()))  # keys say which spec is whose, and no order
    assert merge_chunks(outs, turned)["out"].tolist() == x.tolist()
    _, kwargs = split_args_kwargs_into_chunks(
        (), {"b": x, "a": [x, {"d": x, "c": 3}]}, 2, None,
        {"a": [TensorChunkSpec(0), {"c": _Replicate, "d": TensorChunkSpec(1)}],
         "b": TensorChunkSpec(1)},
    )  # fmt: skip
    assert [part["b"].tolist() for part in kwargs] == [cut.tolist() for cut in x.chunk(2, 1)]
    assert [part["a"][0].tolist() for part in kwargs] == [cut.tolist() for cut in x.chunk(2)]
    assert [part["a"][1]["d"].tolist() for part in kwargs] == [c.tolist() for c in x.chunk(2, 1)]
    for kind in tuple, list:
        joined = merge_chunks([x, x], kind([TensorChunkSpec(0)]))
        assert type(joined) is kind and joined[0].shape == (4, 4) and len(joined) == 1
    for wrong in (TensorChunkSpec(0),), TensorChunkSpec(0), dict(spec, more=None), [*spec.values()]:
        with pytest.raises(ValueError, match="how to join outputs is said by .*mismatch"):
            merge_chunks(outs, wrong)
    for value, wrong in (x, {"b": TensorChunkSpec(0)}), ([x], {"a": (TensorChunkSpec(0),)}):
        with pytest.raises(ValueError, match="how to cut values is said by .*mismatch"):
            split_args_kwargs_into_chunks((), {"a": value}, 2, None, wrong)
    with pytest.raises(ValueError, match="merge_chunks: there are no parts"):
        merge_chunks([])
    with pytest.raises(ValueError, match="type int cannot be cut as TensorChunkSpec.0. says"):
        split_args_kwargs_into_chunks((3,), None, 2, TensorChunkSpec.from_tuple((0,)))
    with pytest.raises(ValueError, match="expected 2, but got 1"):
        split_args_kwargs_into_chunks((x, x), None, 2, TensorChunkSpec.from_tuple((0,)))
    with pytest.raises(ValueError, match="into 3 equal parts along its dimension 1"):
        split_args_kwargs_into_chunks((), {"a": x}, 3, None, TensorChunkSpec.from_dict({"a": 1}))
    assert str(TensorChunkSpec(2)) == "TensorChunkSpec(2)"


def test_names_of_torch_are_refused_by_name():
    from flambeau.distributed import pipelining
    from flambeau.distributed.pipelining import stage

    assert stage.PipelineStageInfo is pipelining.PipelineStageInfo
    for refused, given in (
        (pipelining.PipelineStageInfo, {"stage_index": 0, "microbatch_index": 0}),
        (pipelining.build_stage, {}),
        (pipelining.ScheduleDualPipeV, {}),
    ):
        with pytest.raises(NotImplementedError, match=f"{refused.__name__} is unsupported"):
            refused(**given)
