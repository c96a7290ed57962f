"""Tensors that lie over ranks, and meshes, as pickles: in memory, in files of `torch.save`, in
object collectives, and in a process of another job."""

import copy
import io
import pickle

from tests.dist import ranks


def through_file(torch, value, **options):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


def same(a, b):
    return (
        type(a) is type(b)
        and a.placements == b.placements
        and a.device_mesh == b.device_mesh
        and a.device_mesh.get_all_groups() == b.device_mesh.get_all_groups()
        and a.shape == b.shape
        and a.to_local().tolist() == b.to_local().tolist()
    )


def pickled(rank, size, path):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import init_device_mesh
    from flambeau.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    whole = torch.arange(21.0).reshape(7, 3)
    laid = distribute_tensor(whole, mesh, [Shard(0), Replicate()])
    sliced = distribute_tensor(whole, mesh["b"], [Shard(1)])
    flat = distribute_tensor(whole, mesh._flatten("both"), [Shard(0)])
    parameter = torch.nn.Parameter(sliced)
    wrong = []
    for one in (laid, sliced, flat, parameter):
        one.extra = {"lr": [0.5]}
    for one in (laid, sliced, flat, parameter):
        ways = {
            "pickle": pickle.loads(pickle.dumps(one)),
            "file": through_file(torch, one),
            "trusted": through_file(torch, {"x": [one]}, weights_only=False)["x"][0],
            "copy": copy.deepcopy(one),
        }
        wrong += [f"{name} of {one}" for name, made in ways.items() if not same(made, one)]
        wrong += [n for n, m in ways.items() if not torch.equal(m.full_tensor(), whole)]
        wrong += [f"{n}'s extra" for n, m in ways.items() if m.extra != {"lr": [0.5]}]
        wrong += [f"{n}'s own" for n, m in ways.items() if m.extra is one.extra]
    made = pickle.loads(pickle.dumps(parameter))
    kept = isinstance(made, torch.nn.Parameter), made.requires_grad, made.is_leaf
    wrong += [] if all(kept) else [f"parameter {kept}"]
    for one in (mesh, mesh["a"], mesh["both"]):
        for made in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            groups = [m.get_all_groups() for m in (made, one)]
            wrong += [] if made == one and groups[0] == groups[1] else [repr(one)]
    every = [None] * size
    dist.all_gather_object(every, laid)
    parts = [one.to_local().tolist() for one in every]
    wrong += [] if parts == [whole[:4].tolist()] * 2 + [whole[4:].tolist()] * 2 else [parts]
    wrong += [] if all(one.device_mesh is mesh for one in every) else ["gathered meshes"]
    others = [None] * size  # a slice through another rank has none of this one's groups
    dist.all_gather_object(others, mesh["b"])
    has = [one == mesh["b"] and one.get_group() is mesh["b"].get_group() for one in others
           if rank in one.mesh.tolist()]  # fmt: skip
    wrong += [] if has == [True, True] else [has]
    if rank == 1:
        torch.save({"laid": laid, "parameter": parameter}, path)
    dist.destroy_process_group()
    return wrong


def bare(rank, size):
    """A mesh without groups, of a job that is over or by the user's wish, stands for no other."""
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import DeviceMesh, init_device_mesh

    mesh = init_device_mesh("cpu", (size,))
    bare = DeviceMesh("cpu", list(range(size)), _init_backend=False)
    file = pickle.dumps(mesh)
    found = [pickle.loads(file) is mesh]
    del mesh
    found += [pickle.loads(file) is not bare]
    mesh = DeviceMesh.from_group(dist.group.WORLD, "cpu")
    found += [pickle.loads(file) is mesh]
    dist.destroy_process_group()
    found += [pickle.loads(file) is not mesh, pickle.loads(file) == mesh]
    return found


def test_a_mesh_without_groups_takes_no_place():
    assert ranks.values(bare, 2) == [[True] * 5] * 2


def test_tensors_and_meshes_come_back_over_the_same_mesh(tmp_path):
    path = str(tmp_path / "parts.pt")
    assert ranks.values(pickled, 4, path) == [[]] * 4
    import flambeau as torch
    import flambeau.distributed.tensor as dt

    found = torch.load(path)  # where there is no job: the part, and how it lies
    laid = found["laid"]
    assert isinstance(laid, dt.DTensor) and laid.shape == (7, 3)
    assert laid.to_local().tolist() == torch.arange(21.0).reshape(7, 3)[:4].tolist()
    assert laid.placements == (dt.Shard(0), dt.Replicate())
    assert laid.device_mesh.mesh.tolist() == [[0, 1], [2, 3]]
    assert laid.device_mesh.mesh_dim_names == ("a", "b")
    assert found["parameter"].to_local().shape == (7, 1)
    try:
        laid.device_mesh.get_group("a")
    except RuntimeError as error:
        assert "not initialized" in str(error)
    else:
        raise AssertionError("a mesh of another job has groups")
