"""What tensors, devices and modules say about themselves, and their conversions, as torch spells
them."""

import pytest


def test_facts_of_a_tensor(torch, device):
    x = torch.ones(2, 3, device=device)
    assert x.dim() == x.ndim == x.ndimension() == 2 and x.nelement() == x.numel() == 6
    assert x.is_cuda is (device == "cuda") and not x.is_sparse and not x.is_quantized
    assert not (x.is_xpu or x.is_mps or x.is_meta or x.is_mkldnn or x.is_nested)
    assert x.type_as(torch.ones(1, dtype=torch.int32)).dtype is torch.int32
    assert x.int().dtype is torch.int32 and x.byte().dtype is torch.uint8
    image = torch.randn(2, 3, 4, 5, device=device)
    for last in (
        image.contiguous(memory_format=torch.channels_last),
        image.to(memory_format=torch.channels_last),
    ):
        assert last.stride() == (60, 1, 15, 3) and last.tolist() == image.tolist()
        assert last.is_contiguous(memory_format=torch.channels_last) and not last.is_contiguous()
    assert image.clone(memory_format=torch.preserve_format).is_contiguous()


def test_tensors_like_another(torch, device):
    x = torch.ones(2, dtype=torch.float64, device=device)
    for made, values in (
        (x.new_zeros(2, 2), [[0, 0], [0, 0]]),
        (x.new_ones((2,)), [1, 1]),
        (x.new_tensor([3, 4]), [3, 4]),
        (x.new([5, 6]), [5, 6]),
    ):
        assert made.tolist() == values and made.dtype is x.dtype and made.device == x.device
    drawn = torch.empty(200, dtype=torch.int64, device=device).random_(3)
    assert set(drawn.tolist()) == {0, 1, 2}
    assert torch.as_tensor([1, 2], device=device).tolist() == [1, 2]


def test_graph_of_a_tensor(torch, device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    assert y.grad.tolist() == [1, 1] and x.grad.tolist() == [2, 2]
    assert (x * 2).detach_().grad_fn is None
    assert type(y.grad_fn).__name__ == "MulBackward0" and y.grad_fn == y.grad_fn


def test_views_of_the_storage_begin_where_they_are_told(torch, device):
    x = torch.arange(10.0, device=device, requires_grad=True)
    part = x[3:6]
    assert part.as_strided((2,), (1,), 0).tolist() == [0, 1]
    assert part.as_strided((2,), (1,)).tolist() == [3, 4]
    part.as_strided((2,), (1,), 2).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    square = torch.zeros(4, 4, device=device)[1:, 1:]
    square.fill_diagonal_(1)
    assert square.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    large = torch.tensor([2**60 + 1], device=device)
    assert not torch.isclose(large, torch.tensor([2**60], device=device), rtol=0, atol=0).item()


def test_the_cuda_module(torch, device):
    if device == "cpu" and not torch.cuda.is_available():
        assert torch.cuda.device_count() == 0 and torch.accelerator.current_accelerator() is None
        return
    torch.cuda.set_device(0)
    torch.cuda.manual_seed_all(1)
    torch.cuda.synchronize()
    held = torch.ones(1000, device="cuda")
    assert torch.cuda.device_count() >= 1 and torch.cuda.get_device_name(0)
    assert torch.cuda.memory_reserved() >= held.nbytes
    del held
    torch.cuda.empty_cache()
    assert torch.accelerator.current_accelerator().type in ("cuda", "sim")


def test_default_device(torch):
    assert torch.get_default_device() == torch.device("cpu")
    torch.set_default_device("cpu")
    assert torch.ones(1).device.type == "cpu"


def test_switches_and_versions(torch):
    assert torch.pi > 3 and torch.inf > 1e300
    assert torch.__version__ >= "2" and torch.backends.cudnn.benchmark is False
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark = False
    assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("low")
    matmul = torch.backends.cuda.matmul
    assert matmul.allow_tf32 is False and matmul.fp32_precision == "none"
    for allow in (True, False):
        matmul.allow_tf32 = allow
        assert matmul.allow_tf32 is allow
        assert matmul.fp32_precision == ("tf32" if allow else "ieee")
        assert torch.get_float32_matmul_precision() == ("high" if allow else "highest")
    matmul.fp32_precision = "tf32"
    assert matmul.allow_tf32
    matmul.fp32_precision = "none"
    with pytest.raises(RuntimeError, match="'ieee', 'tf32' and 'none', not 'bf16'"):
        matmul.fp32_precision = "bf16"
    assert torch.get_float32_matmul_precision() == "highest" and matmul.fp32_precision == "none"


def test_the_tree_of_a_module(torch):
    nn = torch.nn
    net = nn.Module()
    net.add_module("a", nn.Linear(1, 1))
    net.b = nn.Identity()
    net.c = nn.ModuleDict({"x": nn.ReLU()})
    assert [n for n, _ in net.named_children()] == ["a", "b", "c"]
    assert list(net.children()) == [net.a, net.b, net.c]
    net.set_submodule("c.x", nn.Tanh())
    assert isinstance(net.get_submodule("c.x"), nn.Tanh)
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        net(1)
    assert net.a.forward(torch.ones(1, 1)).shape == (1, 1)
    assert all(isinstance(p, nn.Parameter) for p in net.to_empty(device="cpu").parameters())
    assert len(nn.Sequential(nn.ReLU(), nn.Tanh()) * 2) == 4


def test_backward_hooks(torch, device):
    seen = []
    layer = torch.nn.Linear(2, 1).to(device)
    handle = layer.register_backward_hook(lambda m, dx, dy: seen.append(dy[0].tolist()))
    layer(torch.ones(1, 2, device=device, requires_grad=True)).sum().backward()
    handle.remove()
    assert seen == [[[1.0]]]
    kept = []
    layer = torch.nn.Linear(2, 1).to(device)  # one module has either kind
    layer.register_full_backward_hook(lambda m, dx, dy: kept.append((dx, dy[0].tolist())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(torch.ones(1, 2, device=device)).sum().backward()
    assert kept == [((None,), [[1.0]])]


def test_hooks_see_every_argument_in_its_place(torch, device):
    class Three(torch.nn.Module):
        def forward(self, a, n, b):
            return a * n, b, n

    net, seen = Three(), []
    net.register_full_backward_hook(lambda m, dx, dy: seen.append((dx, dy)))
    a = torch.ones(1, device=device, requires_grad=True)
    x, y, n = net(torch.zeros(1, device=device), 2, a)
    (x.sum() + y.sum()).backward()
    ((dx, dy),) = seen
    assert dx[:2] == (None, None) and dx[2].item() == 1 and dy[0] is None and dy[1].item() == 1
    assert n == 2 and len(dy) == 3 and a.grad.item() == 1


def test_gradients_of_what_is_no_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="that is not a leaf Tensor is being accessed"):
        assert (x * 2).grad is None
    with pytest.raises(RuntimeError, match="must be a bool"):
        x.requires_grad = 1


def test_optimizers_are_optimizers(torch):
    for kind in torch.optim.Adadelta, torch.optim.RAdam:
        p = torch.nn.Parameter(torch.ones(2))
        optimizer = kind([p])
        assert isinstance(optimizer, torch.optim.Optimizer)
        p.sum().backward()
        optimizer.step()
        assert (p < 1).all()


def test_data_sets(torch):
    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return i * i

    part = torch.utils.data.Subset(Squares(), [3, 1])
    assert len(part) == 2 and [part[i] for i in range(2)] == [9, 1]


def test_summary_writer(torch, tmp_path):
    with torch.utils.tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert any(f.stat().st_size for f in tmp_path.iterdir())


def test_a_kind_of_device_has_its_module(torch, device):
    for kind in ("cpu", "cuda"):
        for named in (kind, f"{kind}:0", torch.device(kind)):
            assert torch.get_device_module(named) is getattr(torch, kind)
    usual = torch.cuda if torch.cuda.is_available() else torch.cpu
    assert torch.get_device_module() is usual
    with pytest.raises(RuntimeError, match="Device 'meta' does not have a corresponding module"):
        torch.get_device_module("meta")


def test_anomaly_mode_begins_with_its_block(torch):
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = torch.autograd.detect_anomaly()
    assert not torch.is_anomaly_enabled()
    with mode:
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


def test_anomaly_mode_names_the_formula(torch, device):
    x = torch.zeros(2, device=device, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        with pytest.raises(
            RuntimeError, match="Function 'PowBackward0' returned nan values in its"
        ):
            ((x - x) ** -1.0 * 0).sum().backward()
    ((x - x) ** -1.0 * 0).sum().backward()
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        (x * 2).sum().backward()


def test_dtypes_of_operations(torch):
    i32, f16, f32, f64 = torch.int32, torch.float16, torch.float32, torch.float64
    assert torch.promote_types(i32, f16) is f16 and torch.promote_types(
        torch.uint8, torch.int8
    ) is (torch.int16)
    assert torch.result_type(torch.ones(2, dtype=i32), 1.5) is f32
    assert torch.result_type(torch.ones(2, dtype=f16), torch.tensor(1.0, dtype=f64)) is f16
    assert torch.can_cast(i32, f16) and not torch.can_cast(f32, i32)
    assert not torch.can_cast(i32, torch.bool)
    assert torch.zeros(2, dtype=int).dtype is torch.int64 and torch.ones(1).to(float).dtype is f64
    assert torch.tensor([1, 0], dtype=bool).tolist() == [True, False]
    assert torch.zeros(2, dtype=float).type(torch.int).dtype is i32


@pytest.mark.parametrize("name, count", [("apply_", 0), ("map_", 1), ("map2_", 2)])
def test_functions_of_elements(torch, name, count):
    def of(t, *others):
        return getattr(t, name)(*others, lambda *row: sum(row) + len(row))

    x, beside = torch.ones(2, 3), [torch.arange(3.0)] * count
    want = torch.ones(2, 3) + sum(beside) + count + 1
    assert of(x, *beside) is x and x.equal(want)
    with pytest.raises(RuntimeError, match=f"detach.*{name}"):
        of(x.clone().requires_grad_(), *beside)
    for other in beside[:1]:
        for wrong in (other.double(), 3):
            with pytest.raises(TypeError, match=name):
                of(x, *beside[1:], wrong)
        with pytest.raises(RuntimeError, match=f"detach.*{name}"):
            of(x, *beside[1:], other.clone().requires_grad_())
        with pytest.raises(RuntimeError, match="expand"):
            of(torch.ones(3), *beside[1:], x)


def test_writes_at_indices(torch, device):
    x = torch.zeros(2, 3, device=device)
    rows = torch.tensor([0, 1, 0], device=device)
    ones = torch.ones(3, device=device)
    assert x.index_put_((rows, rows), ones, accumulate=True) is x
    assert x.tolist() == [[2, 0, 0], [0, 1, 0]]
    assert x.index_put((None, rows[:1]), torch.tensor(5.0, device=device)).tolist() == [
        [5, 0, 0],
        [5, 1, 0],
    ]
    assert x[0, 0] == 2
    assert torch.ones(2, 3, device=device).sum_to_size(1, 3).tolist() == [[2, 2, 2]]
    assert torch.ones(4, 2, 3, device=device).sum_to_size((2, 1)).tolist() == [[12], [12]]
    with pytest.raises(RuntimeError, match="is not expandable to size"):
        torch.ones(2, 3).sum_to_size(2, 2)
    y = torch.zeros(1, device=device)
    assert y.set_(x) is y and y.data_ptr() == x.data_ptr() and y.shape == (2, 3)
    assert torch.scalar_tensor(3).dtype is torch.float32 and not torch.is_inference(x)


def test_threads_and_modules_of_devices(torch):
    torch.set_num_interop_threads(2)
    assert torch.get_num_interop_threads() == 1 and torch.set_flush_denormal(True) is False
    assert torch.get_device_module("cuda") is torch.cuda and torch.ones(2)[torch.newaxis].dim() == 2


def test_modules_of_a_programs_own_build_on_torchs(torch):
    from flambeau.nn.modules.conv import _ConvNd
    from flambeau.nn.modules.utils import _pair, _reverse_repeat_tuple
    from flambeau.types import Number
    from flambeau.utils.hooks import RemovableHandle

    assert _pair(3) == (3, 3) == _pair([3, 3]) and _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    layer = torch.nn.Conv2d(1, 1, 1)
    assert isinstance(layer, _ConvNd) and isinstance(1.5, Number)
    assert isinstance(layer.register_forward_hook(print), RemovableHandle)


def test_hub_runs_a_folder_of_this_machine(torch, tmp_path):
    (tmp_path / "hubconf.py").write_text("def net(n=1):\n    'A net.'\n    return n + 1\n")
    assert torch.hub.load(str(tmp_path), "net", 2, source="local") == 3
    assert torch.hub.list(str(tmp_path), source="local") == ["net"]
    assert torch.hub.help(str(tmp_path), "net", source="local") == "A net."
    with pytest.raises(NotImplementedError, match="clone it and pass source='local'"):
        torch.hub.load("owner/name", "net")
    torch.save({"w": torch.ones(2)}, tmp_path / "w-.pt")
    url = (tmp_path / "w-.pt").as_uri()
    torch.hub.set_dir(str(tmp_path / "hub"))
    assert torch.hub.load_state_dict_from_url(url, file_name="a.pt")["w"].tolist() == [1, 1]
    assert (tmp_path / "hub" / "checkpoints" / "a.pt").is_file()
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.download_url_to_file(url, str(tmp_path / "b.pt"), hash_prefix="00")
    assert not (tmp_path / "b.pt").exists() and not list(tmp_path.glob("*.part"))


def test_a_gpu_that_is_not_there_has_no_name(torch):
    with pytest.raises(RuntimeError, match="is not available|does not exist|invalid device"):
        torch.cuda.get_device_name(63)


def test_a_generator_is_asked_for_by_its_name(torch):
    with pytest.raises(TypeError, match="argument 'generator' .* must be torch.Generator, not int"):
        torch.rand(2, generator=3)
