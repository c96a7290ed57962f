"""Checkpoints of one process: what is saved comes back, whatever it is; pieces fit other pieces;
wrong requests and damaged files are errors that name what is wrong, and change nothing."""

import json
import os
import subprocess
import sys
import warnings
from collections import OrderedDict
from pathlib import Path

import pytest

import flambeau as torch
import flambeau.distributed.checkpoint as dcp
from flambeau import nn
from flambeau.distributed.checkpoint import format_utils
from flambeau.distributed.checkpoint import state_dict as sd
from flambeau.safetensors import load_file
from tests.dist.launching import environment

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
ROOT = Path(__file__).resolve().parents[2]


def save(folder, state, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Detected an existing checkpoint")
        return dcp.save(state, checkpoint_id=folder, **options)


def load(folder, state, **options):
    dcp.load(state, checkpoint_id=folder, **options)
    return state


def refused(text, call, *args, **options):
    with pytest.raises(dcp.CheckpointException, match=text) as caught:
        call(*args, **options)
    assert str(caught.value).count("rank 0: ") == 1
    return caught.value.failures[0][0]


def equal(a, b):
    return a.dtype is b.dtype and a.shape == b.shape and torch.equal(a, b)


def test_every_dtype_and_shape(tmp_path):
    state = {}
    for dtype in torch._types.DTYPES:
        for shape in ((), (0,), (3, 0, 2), (5,), (2, 3, 4)):
            state[f"{dtype}{shape}"] = (torch.rand(shape) * 100).to(dtype)
    state["strided"] = torch.arange(24.0).reshape(4, 6).t()[1:4]
    state["parameter"] = nn.Parameter(torch.randn(3))
    metadata = save(tmp_path, state)
    assert metadata.state_dict_metadata["strided"].size == torch.Size([3, 4])
    found = {name: torch.zeros_like(value) for name, value in state.items()}
    views = dict(found)
    load(tmp_path, found)
    for name, value in state.items():
        assert found[name] is views[name] and equal(found[name], value.detach()), name


def test_values_that_are_no_tensors(tmp_path):
    values = {
        "numbers": [1, -(2**70), 0.1, float("inf"), True, None],
        "tuple": (1, (2.5, "é\ud800"), [3]),
        "mixed": ({"a": (1,)}, {2: "b", None: 1.5}),
        "dtype": (torch.float16, torch.device("cpu"), torch.Size([2, 3])),
        "set": {1, 2},
        "tensor in a tuple": (torch.ones(2), 5),
        "nested": {"list": [{"x": 1}, torch.ones(3)], "empty": {}, 7: "seven"},
        "bytes": b"\0\xff",
    }
    save(tmp_path, values)
    found = load(tmp_path, {k: None for k in values if k != "nested"})
    for name in found:
        if name != "tensor in a tuple":
            assert found[name] == values[name] and type(found[name]) is type(values[name])
    assert equal(found["tensor in a tuple"][0], torch.ones(2))
    nested = {"list": [{"x": 0}, torch.zeros(3)], "empty": {}, 7: ""}
    load(tmp_path, {"nested": nested})
    assert nested["list"][0] == {"x": 1} and nested[7] == "seven"
    assert equal(nested["list"][1], torch.ones(3))


class Counter:
    def __init__(self, count):
        self.count = count

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_objects_with_a_state(tmp_path):
    torch.manual_seed(0)
    model, counter = nn.Linear(3, 2), Counter(5)
    save(tmp_path, {"model": model, "counter": counter, "step": 7})
    other, mine = nn.Linear(3, 2), Counter(0)
    state = {"model": other, "counter": mine, "step": 0}
    load(tmp_path, state)
    assert state == {"model": other, "counter": mine, "step": 7} and mine.count == 5
    assert equal(other.weight.data, model.weight.data)


def test_files_are_safetensors_and_old_ones_go(tmp_path):
    keep = tmp_path / "save-mine.safetensors"
    keep.write_text("not one of the checkpoint's")
    for i in range(3):
        save(tmp_path, {"a": torch.full((4,), float(i)), "__metadata__": torch.ones(2)})
        files = sorted(p.name for p in tmp_path.iterdir())
        assert len(files) == 3 and files[0] == "index.json" and keep.name in files
    (file,) = tmp_path.glob("save-*-r0.safetensors")
    found = load_file(str(file))
    assert equal(found["a"], torch.full((4,), 2.0)) and len(found) == 2
    assert json.loads((tmp_path / "index.json").read_text())["flambeau_checkpoint"] == 1


def pieces(local, shape, *boxes):
    """A tensor that holds boxes of a larger one: (offsets there, offsets here, sizes) each."""
    local.global_shape = shape
    local.global_offsets, local.local_offsets, local.local_sizes = map(tuple, zip(*boxes))
    return local


def test_pieces_fit_other_pieces(tmp_path):
    whole = torch.arange(7 * 5 * 2).reshape(7, 5, 2)
    local = torch.zeros(9, 5, 2, dtype=torch.int64)  # the second two of its rows are padding
    local[:3], local[5:] = whole[:3], whole[3:]
    rows = pieces(local, (7, 5, 2), ((0, 0, 0), (0, 0, 0), (3, 5, 2)),
                  ((3, 0, 0), (5, 0, 0), (4, 5, 2)))  # fmt: skip
    save(tmp_path, {"w": rows})
    assert equal(load(tmp_path, {"w": torch.zeros_like(whole)})["w"], whole)
    for row, column, height, width in ((0, 0, 7, 5), (2, 1, 3, 3), (6, 4, 1, 1), (1, 0, 1, 5)):
        box = ((row, column, 0), (0, 0, 0), (height, width, 2))
        part = pieces(torch.zeros(height, width, 2, dtype=torch.int64), (7, 5, 2), box)
        load(tmp_path, {"w": part})
        assert torch.equal(part, whole[row : row + height, column : column + width])
    format_utils.dcp_to_torch_save(tmp_path, tmp_path / "whole.pt")
    assert equal(torch.load(tmp_path / "whole.pt")["w"], whole)


@pytest.mark.parametrize(
    "boxes, text",
    [
        ([((0,), (0,), (3,))], "w: the pieces that the ranks hold are 3 of 4 elements"),
        ([((0,), (0,), (3,)), ((2,), (0,), (1,))], "w: the pieces that the ranks hold overlap"),
        ([((2,), (0,), (3,))], r"a piece at \[2\] of sizes \[3\] is not inside of a tensor of sha"),
        ([((0,), (2,), (3,))], r"a piece at \[2\] of sizes \[3\] is not inside of a tensor of sha"),
    ],
)
def test_wrong_pieces(tmp_path, boxes, text):
    refused(text, save, tmp_path, {"w": pieces(torch.zeros(4), (4,), *boxes)})
    assert list(tmp_path.iterdir()) == []


def test_a_grid_of_pieces(tmp_path):
    cells = [((3 * i, 2 * j), (3 * i, 2 * j), (3, 2)) for i in range(30) for j in range(30)]
    whole = torch.arange(90.0 * 60).reshape(90, 60)
    save(tmp_path, {"w": pieces(whole.clone(), (90, 60), *cells)})
    assert equal(load(tmp_path, {"w": torch.zeros(90, 60)})["w"], whole)
    cells[444] = ((42, 49), (0, 0), (3, 2))
    refused("overlap", save, tmp_path, {"w": pieces(whole.clone(), (90, 60), *cells)})


def test_what_an_index_means():
    from flambeau.distributed.checkpoint.metadata import MetadataIndex
    from flambeau.distributed.checkpoint.utils import find_state_dict_object, find_tensor_shard

    plain, local = torch.ones(2, 3), torch.arange(6).reshape(3, 2)
    two = pieces(local, (5, 2), ((0, 0), (0, 0), (1, 2)), ((3, 0), (1, 0), (2, 2)))
    one = pieces(local.clone(), (5, 2), ((2, 0), (0, 0), (3, 2)))
    state = {"plain": plain, "two": two, "one": one, "n": 7}

    def find(name, *where):
        return find_state_dict_object(state, MetadataIndex(name, *where))

    assert find("n") == 7 and find("plain") is plain and find("plain", (0, 0)) is plain
    assert find("two", (0, 0)).tolist() == [[0, 1]]
    assert find("two", (3, 0), 1).tolist() == [[2, 3], [4, 5]]
    assert find("one").tolist() == local.tolist() == find("one", (2, 0), 9).tolist()
    find("one").zero_()
    assert not one.any()  # it is the tensor's own memory
    for name, where, text in (
        ("gone", (), "Could not find FQN: 'gone'"),
        ("n", ((0,),), "FQN: 'n' has no piece at the offset"),
        ("plain", ((1, 0),), "FQN: 'plain' has no piece at the offset"),
        ("plain", ((0,),), "FQN: 'plain' has no piece at the offset"),
        ("plain", ((),), "FQN: 'plain' has no piece at the offset"),
        ("two", ((1, 0),), "FQN: 'two' has no piece at the offset"),
        ("two", (), "two has 2 pieces on this rank: the index needs the offset of one"),
    ):
        with pytest.raises(ValueError, match=text):
            find(name, *where)
    assert find_tensor_shard(plain, MetadataIndex("any")) is plain


def test_what_two_pieces_share():
    from flambeau.distributed.checkpoint import ChunkStorageMetadata, resharding

    def share(saved, wanted):
        return resharding._check_shard_metadata_pair_overlap(
            saved, wanted
        ) and resharding._shards_get_overlap_region_wrt_saved_tensor(saved, wanted)

    chunk = ChunkStorageMetadata
    saved = chunk((2, 0), (4, 3))
    assert share(saved, chunk((0, 1), (4, 2))) == [(0, 0, 2, 2), (1, 1, 0, 2)]
    assert share(saved, saved) == [(0, 0, 0, 4), (1, 0, 0, 3)]
    assert share(saved, chunk((6, 0), (1, 3))) is False
    assert share(chunk((), ()), chunk((), ())) == []
    with pytest.raises(ValueError, match="share no element"):
        resharding._shards_get_overlap_region_wrt_saved_tensor(saved, chunk((6, 0), (1, 3)))


def test_only_what_overlaps_is_read(tmp_path, monkeypatch):
    save(tmp_path, {"w": torch.arange(4e6).reshape(4000, 1000)})  # 16 MB
    taken, real = [], os.preadv
    monkeypatch.setattr(os, "preadv", lambda *a: taken.append(real(*a)) or taken[-1])
    part = pieces(torch.zeros(10, 1000), (4000, 1000), ((2000, 0), (0, 0), (10, 1000)))
    load(tmp_path, {"w": part})
    assert part[3, 5] == 2003005 and sum(taken) <= 2 << 20


def test_wrong_requests(tmp_path):
    save(tmp_path, {"w": torch.ones(3), "n": 1})
    target = torch.zeros(3)
    problem = refused("Missing key in checkpoint state_dict: x.", load, tmp_path,
                      {"w": target, "x": target})  # fmt: skip
    assert type(problem) is RuntimeError
    refused(r"Size mismatch between saved torch.Size\(\[3\]\) and current: torch.Size\(\[2\]\)",
            load, tmp_path, {"n": 0, "w": torch.zeros(2)})  # fmt: skip
    refused("n is no tensor in the checkpoint", load, tmp_path, {"w": target, "n": torch.ones(1)})
    refused("w is a tensor in the checkpoint", load, tmp_path, {"w": 1})
    refused("share memory", load, tmp_path, {"w": torch.zeros(1).expand(3)})
    assert target.tolist() == [0, 0, 0]
    partial = dcp.DefaultLoadPlanner(allow_partial_load=True)
    found = load(tmp_path, {"w": target, "x": 5}, planner=partial)
    assert target.tolist() == [1, 1, 1] and found["x"] == 5
    refused("holds no checkpoint: there is no such directory", load, tmp_path / "no", {"w": target})
    (tmp_path / "empty").mkdir()
    refused("the directory has no index.json", load, tmp_path / "empty", {"w": target})
    (tmp_path / "empty" / ".metadata").touch()
    refused("PyTorch's own layout", load, tmp_path / "empty", {"w": target})
    refused("duplicated flatten key a.b", save, tmp_path, {"a.b": 1, "a": {"b": 2}})
    refused("f: a function cannot be saved in a checkpoint", save, tmp_path, {"f": lambda: 1})
    with pytest.raises(RuntimeError, match="checkpoint_id must be specified"):
        dcp.save({})
    kinds = dcp.DefaultSavePlanner, dcp.DefaultLoadPlanner
    names = "resolve_data", "load_bytes"
    planners = [type("Own", (kind,), {name: None}) for kind, name in zip(kinds, names)]
    with pytest.raises(NotImplementedError, match="Own.resolve_data: planners of programs are"):
        dcp.save({"w": target}, checkpoint_id=tmp_path, planner=planners[0]())
    with pytest.raises(NotImplementedError, match="Own.load_bytes: planners of programs are"):
        dcp.load({"w": target}, checkpoint_id=tmp_path, planner=planners[1]())
    assert all(map(issubclass, kinds, (dcp.SavePlanner, dcp.LoadPlanner)))
    with pytest.raises(NotImplementedError, match="storage_writer of type object"):
        dcp.save({}, storage_writer=object())
    writer = dcp.FileSystemWriter(tmp_path, overwrite=False)
    refused("Checkpoint already exists", dcp.save, {"w": target}, storage_writer=writer)
    with pytest.warns(UserWarning, match="Detected an existing checkpoint"):
        dcp.save({"w": target}, checkpoint_id=tmp_path)


def test_old_names_and_what_is_unsupported(tmp_path):
    with pytest.warns(FutureWarning, match="Please use `save` instead"):
        dcp.save_state_dict({"w": torch.ones(2)}, dcp.FileSystemWriter(tmp_path))
    target = torch.zeros(2)
    with pytest.warns(FutureWarning, match="Please use `load` instead"):
        dcp.load_state_dict({"w": target}, dcp.FileSystemReader(tmp_path))
    assert target.tolist() == [1, 1]
    kinds = dcp.state_dict_saver.AsyncCheckpointerType
    for call in (
        lambda: dcp.save({}, checkpoint_id=tmp_path, use_collectives=False),
        lambda: dcp.async_save({}, checkpoint_id=tmp_path, async_stager=object()),
        lambda: dcp.async_save({}, checkpoint_id=tmp_path, async_checkpointer_type=kinds.PROCESS),
        lambda: dcp.load({}, storage_reader=object()),
        lambda: dcp.load({}, checkpoint_id=tmp_path, planner=object()),
        lambda: dcp.HuggingFaceStorageReader(tmp_path),
        lambda: format_utils.BroadcastingTorchSaveReader(),
        lambda: sd.get_model_state_dict(nn.Linear(1, 1), submodules={1}),
        lambda: dcp.FileSystemWriter(tmp_path, _extensions=[1]),
    ):
        with pytest.raises(NotImplementedError, match="unsupported"):
            call()
    refused("state_dict must be a dict, got list", save, tmp_path, [])
    refused("state_dict must be a dict, got NoneType", load, tmp_path, None)


def test_what_there_is_without_knowing_it(tmp_path):
    state = {"model": {"w": torch.arange(4.0), "b": torch.ones(2)}, "steps": [1, {"n": "x"}]}
    writer = dcp.FileSystemWriter(
        tmp_path, serialization_format=dcp.filesystem.SerializationFormat.SAFETENSORS
    )
    dcp.save(state, storage_writer=writer)
    reader, empty = dcp.FileSystemReader(tmp_path), format_utils._EmptyStateDictLoadPlanner
    for keys, names in (
        (None, {"model": {"w", "b"}, "steps": None}),
        ({"model.w"}, {"model": {"w"}}),
        ({"model", "steps"}, {"model": {"w", "b"}, "steps": None}),
        ("nothing", {}),
    ):
        found = {}
        format_utils._load_state_dict(found, reader, planner=empty(keys), no_dist=True)
        assert found.keys() == names.keys()
        assert all(names[k] is None or found[k].keys() == names[k] for k in names)
        again = dcp.state_dict_loader._load_state_dict_from_keys(keys, checkpoint_id=tmp_path)
        assert again.keys() == found.keys()
    dcp.load(found, storage_reader=reader, planner=empty())
    assert equal(found["model"]["w"], state["model"]["w"]) and found["steps"] == state["steps"]
    refused("takes an empty dict, but there are model, steps", load, tmp_path, found,
            planner=empty())  # fmt: skip
    at = dcp.metadata.MetadataIndex
    assert at("w", [1, 2], 3) == at("w", torch.Size([1, 2])) and hash(at("w")) != hash(at("v"))
    assert isinstance(at("w", [1]).offset, torch.Size) and at("w") != at("w", [0])


def test_only_plain_classes_are_loaded(tmp_path):
    with torch.serialization.safe_globals([OrderedDict, Counter]):
        save(tmp_path, {"value": (Counter(3),), "w": torch.ones(1)})
        assert load(tmp_path, {"value": None})["value"][0].count == 3
    target = torch.zeros(1)
    refused("value cannot be loaded: .*Counter", load, tmp_path, {"w": target, "value": None})
    assert target == 0


def test_the_package_alone_has_its_modules():
    script = (
        "import pkgutil, flambeau.distributed.checkpoint as dcp\n"
        "names = [m.name for m in pkgutil.iter_modules(dcp.__path__) if m.name[0] != '_']\n"
        "assert 'planner' in names, names\n"
        "assert all(getattr(dcp, n).__name__ == f'{dcp.__name__}.{n}' for n in names)\n"
    )
    subprocess.run([sys.executable, "-c", script], env=environment(), timeout=60, check=True)


def test_async_save(tmp_path):
    weight = torch.zeros(1000)
    futures = []
    for i in range(4):
        weight.fill_(i)
        futures.append(dcp.async_save({"w": weight, "i": i}, checkpoint_id=tmp_path / str(i)))
        weight.fill_(-1)
    assert futures[-1].result().state_dict_metadata.keys() == {"w", "i"}
    for i, future in enumerate(futures):
        assert future.done()
        assert load(tmp_path / str(i), {"w": weight, "i": 0})["i"] == i == weight[-1]
    (tmp_path / "file").touch()
    with pytest.raises(dcp.CheckpointException, match="rank 0: (FileExists|NotADirectory)Error"):
        dcp.async_save({"w": weight}, checkpoint_id=tmp_path / "file")


def test_the_program_waits_for_a_save(tmp_path):
    script = f"""
import flambeau as torch, flambeau.distributed.checkpoint as dcp
dcp.async_save({{"w": torch.ones(1 << 20)}}, checkpoint_id={str(tmp_path)!r}, no_dist=True)
"""
    subprocess.run([sys.executable, "-c", script], env=environment(), timeout=40, check=True)
    assert load(tmp_path, {"w": torch.zeros(1 << 20)})["w"].sum() == 1 << 20


# ---- state dicts by name


def built(seed, wrapped=False):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    rest = [*model[1].parameters(), *model[2].parameters()]
    groups = [{"params": model[0].parameters(), "lr": 1e-2}, {"params": rest}]
    optimizer = torch.optim.AdamW(groups)
    return torch.nn.parallel.DistributedDataParallel(model) if wrapped else model, optimizer


def losses(model, optimizer, count):
    torch.manual_seed(1)
    found = []
    for _ in range(count):
        loss = model(torch.randn(8, 3)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.fixture
def group():
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"flatten_optimizer_state_dict": True},
        {"full_state_dict": True, "cpu_offload": True},
        {"full_state_dict": True, "broadcast_from_rank0": True},
    ],
)
def test_state_dicts_fit_other_wrappings(tmp_path, group, options):
    options = sd.StateDictOptions(**options)
    model, optimizer = built(0)
    losses(model, optimizer, 3)
    own, state = sd.get_state_dict(model, optimizer, options=options)
    save(tmp_path, {"model": own, "optimizer": state})
    expected = losses(model, optimizer, 3)
    model, optimizer = built(5, wrapped=True)
    own, state = sd.get_state_dict(model, optimizer, options=options)
    assert "0.weight" in own
    load(tmp_path, {"model": own, "optimizer": state})
    found = sd.set_state_dict(
        model, optimizer, model_state_dict=own, optim_state_dict=state, options=options
    )
    assert not found.missing_keys and losses(model, optimizer, 3) == expected


def test_state_dicts_by_name():
    model, optimizer = built(0)
    model[0].bias.requires_grad_(False)
    state = sd.get_optimizer_state_dict(model, optimizer)
    assert state["param_groups"][0]["params"] == ["0.weight", "0.bias"]
    assert state["state"].keys() == {n for n, p in model.named_parameters() if p.requires_grad}
    frozen = sd.StateDictOptions(ignore_frozen_params=True)
    assert "0.bias" not in sd.get_model_state_dict(model, options=frozen)
    with pytest.raises(RuntimeError, match="Missing optimizer state for parameter '0.weight'"):
        del state["state"]["0.weight"]
        sd.set_optimizer_state_dict(model, optimizer, state)
    loose = sd.StateDictOptions(strict=False)
    sd.set_optimizer_state_dict(model, optimizer, state, options=loose)
    assert sd.set_model_state_dict(model, {}, options=loose).missing_keys
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        sd.get_model_state_dict(model, options=sd.StateDictOptions(broadcast_from_rank0=True))
    with pytest.raises(TypeError, match="model must be a torch.nn.Module, got NoneType"):
        sd.get_model_state_dict(None)


def test_one_file_and_back(tmp_path):
    model, optimizer = built(0)
    losses(model, optimizer, 2)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "n": (1, [2])}
    torch.save(state, tmp_path / "a.pt")
    format_utils.main(["torch_to_dcp", str(tmp_path / "a.pt"), str(tmp_path / "dcp")])
    format_utils.main(["dcp_to_torch", str(tmp_path / "dcp"), str(tmp_path / "b.pt")])
    found = torch.load(tmp_path / "b.pt")
    assert found["n"] == (1, [2])
    assert found["optimizer"]["param_groups"] == state["optimizer"]["param_groups"]
    assert found["optimizer"]["state"].keys() == state["optimizer"]["state"].keys()
    mean, saved = (one["optimizer"]["state"][0]["exp_avg"] for one in (found, state))
    assert equal(mean, saved)
    other, again = built(5)
    other.load_state_dict(found["model"])
    again.load_state_dict(found["optimizer"])
    assert losses(other, again, 3) == losses(model, optimizer, 3)
