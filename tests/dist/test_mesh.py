"""Meshes of four ranks in one and two dimensions: places, groups, slices, what is refused."""

import functools
import pickle

from tests.dist import ranks
from tests.dist.sharding import message


def on_some(torch, mesh):
    """What ranks in a mesh compute while the others only pass by; all of them go on after it."""
    import flambeau.distributed as dist
    from flambeau.distributed.tensor import DTensor, Shard, distribute_tensor

    laid = distribute_tensor(torch.arange(5.0), mesh, [Shard(0)])
    most = torch.tensor([float(dist.get_rank())])
    laid._reduce_max(most)
    found = [laid.sum().full_tensor().item(), laid.full_tensor().tolist(), most.item()]
    DTensor.from_local(torch.ones(2), mesh, run_check=True)
    laid[0] = 7.0
    one = distribute_tensor(torch.tensor([3.0]), mesh, [Shard(0)])
    found += [laid.sum().full_tensor().item(), float(one), int(one), one.item()]
    dist.barrier()
    return found


def refusals(grid, line):
    from flambeau.distributed.device_mesh import DeviceMesh, init_device_mesh

    return [
        message(lambda: grid["pp"], KeyError),
        message(lambda: grid["tp", "dp"], KeyError),
        message(lambda: line["dp"], RuntimeError),
        message(lambda: grid.get_group(), RuntimeError),
        message(lambda: init_device_mesh("cpu", (8,)), RuntimeError),
        message(lambda: init_device_mesh("cuda:0", (4,)), RuntimeError),
        message(lambda: init_device_mesh("cpu", (4,), mesh_dim_names=("a", "b")), RuntimeError),
        message(lambda: DeviceMesh("cpu", [0, 0]), RuntimeError),
        message(lambda: DeviceMesh("cpu", [[0, 1], [2]]), ValueError),
        message(lambda: grid["dp", "all"], KeyError),
        message(lambda: grid._flatten("other", "gloo"), NotImplementedError),
        message(lambda: init_device_mesh("cpu", (4,), backend_override=1), NotImplementedError),
    ]


def unflattened(torch, dist):
    """Meshes with several dimensions in place of one, of a whole mesh and of a slice."""
    from flambeau.distributed.device_mesh import DeviceMesh, init_device_mesh

    line = init_device_mesh("cpu", (4,), mesh_dim_names=("all",))
    grid = line._unflatten(0, (2, 2), ("dp", "tp"))
    cube = init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "rest"))
    part = cube["rest"]._unflatten("rest", (2, 1), ("dp", "tp"))
    total = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(total, group=grid["tp"].get_group())
    return {
        "ranks": [dist.get_process_group_ranks(g) for g in grid.get_all_groups()],
        "names": [grid.mesh_dim_names, part.mesh_dim_names],
        "part": [part.mesh.tolist(), dist.get_process_group_ranks(part.get_group("dp"))],
        "sum": total.item(),
        "again": [
            DeviceMesh._concatenate([grid["dp"], grid["tp"]]) is grid,
            grid["tp"]._unflatten(0, (2,), ("t",)).mesh.tolist() == grid["tp"].mesh.tolist(),
            grid._get_root_mesh() is line and grid["tp"]._get_root_mesh() is line,
            grid._unflatten(1, (1, 2), ("a", "b"))["a", "b"]._get_root_mesh() is line,
            part._get_root_mesh() is cube,
        ],
        "turned": turned(torch, dist, grid),
        "refused": [
            message(lambda: line._unflatten(1, (4,), ("a",)), ValueError),
            message(lambda: line._unflatten("b", (4,), ("a",)), ValueError),
            message(lambda: line._unflatten(0, (3, 2), ("a", "b")), ValueError),
            message(lambda: line._unflatten(0, (4,), ("a", "b")), RuntimeError),
            message(lambda: cube._unflatten("rest", (2,), ("pp",)), RuntimeError),
            message(lambda: grid._flatten("f")._unflatten(0, (4,), ("a",)), ValueError),
            message(lambda: DeviceMesh._concatenate([grid["dp"], cube["pp"]]), RuntimeError),
            message(lambda: DeviceMesh._concatenate([grid["dp"], line]), RuntimeError),
            message(lambda: DeviceMesh._concatenate([grid["dp"], grid["f"]]), RuntimeError),
            message(lambda: DeviceMesh._concatenate([]), RuntimeError),
            message(lambda: grid["dp", "dp"], KeyError),
            message(lambda: grid["tp", "dp"], KeyError),
        ],
    }


def turned(torch, dist, grid):
    """A mesh's dimensions in another order: its ranks, groups, place and pickled self."""
    from flambeau.distributed.device_mesh import DeviceMesh

    mesh = DeviceMesh._concatenate([grid["tp"], grid["dp"]])
    again = pickle.loads(pickle.dumps(mesh))
    groups = [dist.get_process_group_ranks(g) for g in again.get_all_groups()]
    return [mesh.mesh.tolist(), mesh.get_coordinate(), groups, mesh == again, repr(mesh)]


def on_each_rank(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import DeviceMesh, init_device_mesh

    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    line = init_device_mesh("cpu", (size,))
    dp, tp = grid["dp"], grid["tp"]
    total = torch.tensor([float(rank)])
    dist.all_reduce(total, group=dp.get_group())
    row = torch.tensor([float(rank)])
    dist.all_reduce(row, group=grid.get_group("tp"))
    flat = grid._flatten("all")
    swapped = DeviceMesh("cpu", [[3, 1], [2, 0]], mesh_dim_names=("a", "b"))
    along = torch.empty(2)
    dist.all_gather_into_tensor(along, torch.tensor([float(rank)]), group=swapped.get_group("a"))
    part = DeviceMesh("cpu", [0, 2])
    cube = init_device_mesh("cpu", (2, 2, 1), mesh_dim_names=("a", "b", "c"))
    found = {
        "outside": message(part.get_group, RuntimeError),
        "initialized": dist.is_initialized(),
        "coordinate": grid.get_coordinate(),
        "of kind": type(grid.get_coordinate()).__name__,
        "local": [grid.get_local_rank("dp"), grid.get_local_rank(1), tp.get_local_rank()],
        "sizes": [grid.size(), grid.size(0), dp.size(), flat.size(), list(grid.shape), grid.ndim],
        "mesh": [grid.mesh.tolist(), dp.mesh.tolist(), tp.mesh.tolist(), flat.mesh.tolist()],
        "sums": [total.item(), row.item()],
        "ranks": [dist.get_process_group_ranks(g) for g in grid.get_all_groups()],
        "along": along.tolist(),
        "whole": line.get_group() is dist.group.WORLD,
        "same": [grid["dp", "tp"] is grid, flat is grid._flatten("all"), grid["all"] is flat],
        "parts of parts": [
            cube["a", "b"]["b"]._get_root_mesh() is cube,
            cube["a", "b"]["b"].mesh.tolist() == cube["b"].mesh.tolist(),
            flat._flatten("again").mesh.tolist() == flat.mesh.tolist(),
        ],
        "part": part.get_coordinate(),
        "in part": on_some(torch, part),
        "equal": grid == init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")),
        "shown": [repr(mesh) for mesh in (grid, line, dp, flat, cube, cube["a", "c"]["a"],
                                          cube["a", "c"]._flatten("ac"))],
        "of group": DeviceMesh.from_group(dist.group.WORLD, "cpu").mesh.tolist(),
        "refused": refusals(grid, line),
        "unflattened": unflattened(torch, dist),
    }
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 4, timeout=60)


def test_one_dimension_becomes_several():
    texts = ["dim 1 spec", "dim b spec", "4 ranks along 0", "same length", "unique", "several"]
    texts += ["one mesh", "unflatten the mesh to all", "overlapping", "with mesh_dim_names"]
    texts += ["named twice", "ascending order, as they are in ('dp', 'tp')"]
    for rank, one in enumerate(found()):
        (i, j), made = divmod(rank, 2), one["unflattened"]
        assert made["ranks"] == [[j, j + 2], [2 * i, 2 * i + 1]] and made["sum"] == 4 * i + 1
        assert made["names"] == [["dp", "tp"]] * 2
        assert made["part"] == [[[2 * i], [2 * i + 1]], [2 * i, 2 * i + 1]]
        assert made["again"] == [True] * 5
        at = [[[0, 2], [1, 3]], [j, i], [[2 * i, 2 * i + 1], [j, j + 2]], True]
        assert made["turned"] == [*at, "DeviceMesh((tp=2, dp=2), 'cpu', stride=(1, 2))"]
        assert all(words in text for words, text in zip(texts, made["refused"], strict=True)), made


def test_places():
    for rank, one in enumerate(found()):
        i, j = divmod(rank, 2)
        assert one["initialized"] and one["coordinate"] == [i, j]
        assert one["of kind"] == "tuple" and one["local"] == [i, j, j]
        assert one["sizes"] == [4, 2, 2, 4, [2, 2], 2]
        columns, rows = [j, j + 2], [2 * i, 2 * i + 1]
        assert one["mesh"] == [[[0, 1], [2, 3]], columns, rows, [0, 1, 2, 3]]
        assert one["part"] == ([[0, 2].index(rank)] if rank in (0, 2) else None)
        inside = rank in (0, 2)
        assert one["in part"] == [
            10.0 * inside, [0.0, 1.0, 2.0, 3.0, 4.0] * inside, 2.0 if inside else rank,
            17.0 * inside, *[3.0 * inside] * 3,
        ]  # fmt: skip
        assert inside or f"rank {rank} is not in DeviceMesh" in one["outside"]
        assert one["parts of parts"] == [True] * 3
        assert one["equal"] and one["whole"] and one["same"] == [True] * 3
        assert one["of group"] == [0, 1, 2, 3]


def test_groups():
    for rank, one in enumerate(found()):
        i, j = divmod(rank, 2)
        assert one["sums"] == [2.0 * j + 2, 4.0 * i + 1]
        assert one["ranks"] == [[j, j + 2], [2 * i, 2 * i + 1]]
        assert one["along"] == ([1.0, 0.0] if rank in (0, 1) else [3.0, 2.0])


def test_refusals_and_text():
    one = found()[0]
    assert one["shown"] == [
        f"DeviceMesh(({sizes}), 'cpu', stride=({steps}))"
        for sizes, steps in (
            ("dp=2, tp=2", "2, 1"),
            ("4,", "1,"),
            ("dp=2", "2,"),
            ("all=4", "1,"),
            ("a=2, b=2, c=1", "2, 1, ()"),
            ("a=2", "2,"),
            ("ac=2", "2,"),
        )
    ]
    for text, part in zip(
        one["refused"],
        ("Invalid mesh_dim_names ('pp',)", "ascending order", "Cannot slice a DeviceMesh without",
         "Optional kwarg `mesh_dim`", "Mesh should not be bigger than default world size 4",
         "Device type with index is not supported", "mesh_shape and mesh_dim_names should have",
         "duplicate", "are no array", "Valid mesh_dim_names are ['dp', 'tp'].",
         "backend_override is unsupp", "backend_override is unsupp"),
        strict=True,
    ):  # fmt: skip
        assert part in text


def on_gpus(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cuda", (size,))
    own = torch.ones(1, device="cuda")
    dist.all_reduce(own, group=mesh.get_group())
    found = [torch.cuda.current_device(), str(own.device), own.item()]
    dist.destroy_process_group()
    return found


def test_each_rank_gets_its_gpu():
    found = ranks.values(on_gpus, 2, timeout=60, FLAMBEAU_SIM="devices=2,as=cuda")
    assert found == [[0, "cuda:0", 2.0], [1, "cuda:1", 2.0]]
