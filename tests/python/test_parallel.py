"""DataParallel and its steps over two devices, and the process group of one."""

import collections
import datetime
import os

import pytest

Pair = collections.namedtuple("Pair", ["a", "b"])


@pytest.fixture
def devices(torch, device):
    if device == "cpu" or torch.cuda.device_count() < 2:
        return ["cpu", "cpu"]
    return ["cuda:0", "cuda:1"]


@pytest.fixture
def net(torch, devices):
    nn = torch.nn
    torch.manual_seed(3)
    made = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 2))
    return made.to(devices[0])


def test_scatter_and_gather_keep_the_nest(torch, devices):
    from flambeau.nn.parallel import gather, scatter

    x = torch.arange(6.0, device=devices[0]).reshape(3, 2).requires_grad_()
    nest = {"pair": Pair(x, [x, 7]), "name": "n"}
    parts = scatter(nest, devices)
    assert [p["pair"].a.shape[0] for p in parts] == [2, 1]
    assert [str(p["pair"].a.device) for p in parts] == devices
    assert parts[1]["pair"].b[1] == 7 and parts[1]["name"] == "n"
    assert isinstance(parts[0]["pair"], Pair)
    back = gather([p["pair"].a * 2 for p in parts], devices[0])
    assert torch.equal(back, x * 2) and str(back.device) == devices[0]
    back.sum().backward()
    assert x.grad.tolist() == [[2, 2]] * 3
    with pytest.warns(UserWarning, match="all input tensors were scalars"):
        assert gather([x.sum(), x.sum()], devices[0]).shape == (2,)
    with pytest.raises(TypeError, match="replicas returned str"):
        gather(["a", "b"], devices[0])


def test_data_parallel_has_the_gradients_of_one_device(torch, net, devices):
    net.eval()  # batch statistics would be those of the halves
    x = torch.randn(7, 3, device=devices[0])
    net(x).square().sum().backward()
    wanted = {n: p.grad.clone() for n, p in net.named_parameters()}
    net.zero_grad()
    spread = torch.nn.DataParallel(net, device_ids=devices)
    y = spread(x)
    assert torch.allclose(y, net(x)) and str(y.device) == devices[0]
    y.square().sum().backward()
    for name, p in net.named_parameters():
        assert torch.allclose(p.grad, wanted[name], atol=1e-5), name
    assert list(spread.state_dict())[0] == "module.0.weight"


def test_replicas_leave_running_statistics_on_the_first_device(torch, net, devices):
    x = torch.randn(8, 3, device=devices[0])
    torch.nn.DataParallel(net, device_ids=devices)(x)
    assert net[1].num_batches_tracked.item() >= 1
    assert not torch.equal(net[1].running_mean, torch.zeros_like(net[1].running_mean))


def test_a_module_elsewhere_is_refused_with_the_line_to_write(torch, devices):
    if devices[0] == "cpu":
        pytest.skip("needs two devices")
    spread = torch.nn.DataParallel(torch.nn.Linear(2, 2), device_ids=devices)
    with pytest.raises(RuntimeError, match="on device: cpu\n  move it: module.to"):
        spread(torch.ones(4, 2, device=devices[0]))


def test_a_replica_that_fails_is_named(torch, net, devices):
    with pytest.raises(RuntimeError, match="Caught .* in replica 0"):
        torch.nn.DataParallel(net, device_ids=devices)(torch.ones(4, 9, device=devices[0]))


def test_data_parallel_without_a_gpu_calls_the_module(torch, net):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    spread = torch.nn.DataParallel(net)
    assert spread.device_ids == [] and spread(torch.ones(2, 3)).shape == (2, 2)
    assert torch.nn.parallel.data_parallel(net, torch.ones(2, 3)).shape == (2, 2)


@pytest.fixture
def group(torch, tmp_path):
    dist = torch.distributed
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/s", rank=0, world_size=1)
    yield dist
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_group_of_one(torch, group):
    assert group.get_rank() == 0 and group.get_world_size() == 1 and group.get_backend() == "gloo"
    x, into = torch.tensor([1.0, 2.0]), [torch.zeros(2)]
    assert group.all_reduce(x, op=group.ReduceOp.AVG) is None
    assert group.all_reduce(x, async_op=True).wait() and x.tolist() == [1, 2]
    group.all_gather(into, x)
    assert into[0].tolist() == [1, 2]
    objects = [None]
    group.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}]
    with pytest.raises(RuntimeError, match="one tensor per rank"):
        group.all_gather([x, x], x)
    with pytest.raises(RuntimeError, match="invalid root rank: 3"):
        group.broadcast(x, 3)
    with pytest.raises(TypeError, match="`tensor` of type torch.Tensor"):
        group.all_reduce(3)
    with pytest.raises(ValueError, match="twice"):
        group.init_process_group("gloo", rank=0, world_size=1)


def test_a_group_that_cannot_be_had(torch, monkeypatch):
    dist = torch.distributed
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.get_rank()
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected"):
        dist.init_process_group("gloo")
    soon = datetime.timedelta(seconds=0.2)
    with pytest.raises(dist.DistNetworkError, match="localhost:1"):
        dist.init_process_group(
            "gloo", init_method="tcp://localhost:1", rank=1, world_size=2, timeout=soon
        )
    with pytest.raises(ValueError, match="Invalid backend: 'foo'"):
        dist.init_process_group("foo", rank=0, world_size=1)
    assert not dist.is_initialized()


def test_distributed_data_parallel(torch, net, group, devices):
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    assert repr(ddp).startswith("DistributedDataParallel(\n  (module): Sequential(")
    x = torch.randn(4, 3, device=devices[0])
    with ddp.no_sync():
        ddp(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    assert list(ddp.state_dict())[0] == "module.0.weight"
    with pytest.raises(RuntimeError, match="doesn't have any parameter"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.ReLU())


def test_the_environment_of_a_launcher(torch, monkeypatch):
    wanted = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    for name, value in wanted.items():
        monkeypatch.setitem(os.environ, name, value)
    torch.distributed.init_process_group()
    torch.distributed.destroy_process_group()
    with pytest.raises(AssertionError):
        torch.distributed.destroy_process_group()


def test_a_replica_has_dictionaries_of_its_own_and_takes_any_tensors(torch, net):
    nn = torch.nn
    lists = nn.ParameterList([torch.ones(2), torch.zeros(1)])
    for module in net[1], lists, nn.ParameterDict({"a": torch.ones(2), "b": torch.zeros(1)}):
        kept = {name: id(p) for name, p in module.named_parameters()}
        made = module._replicate_for_data_parallel()
        assert type(made) is type(module) and made._is_replica
        assert not [*made.parameters()]
        assert [*map(id, made.buffers())] == [*map(id, module.buffers())]
        for name, p in module.named_parameters():
            setattr(made, name, p.view_as(p))
            assert getattr(made, name)._base is p
        made.register_buffer("more", torch.ones(1))
        assert {name: id(p) for name, p in module.named_parameters()} == kept
        assert "more" not in module._buffers
    copies = lists._replicate_for_data_parallel()
    for name, p in lists.named_parameters():
        setattr(copies, name, 2 * p)
    assert [p.tolist() for p in copies] == [[2, 2], [0]] and len(copies) == 2
