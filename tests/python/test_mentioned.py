"""Names that programs mention and seldom use: they exist, and where flambeau cannot do what they
stand for, the call says so."""

import copy
import functools
import gc
import importlib
import pickle
import sys
import warnings
import weakref

import pytest


def test_dtypes_that_no_tensor_has(torch):
    for name in ("complex32", "uint16", "uint64", "float8_e4m3fn", "qint8"):
        kind = getattr(torch, name)
        assert isinstance(kind, torch.dtype) and repr(kind) == "torch." + name
        assert kind == kind and kind != torch.float32
        assert pickle.loads(pickle.dumps(kind)) is kind and copy.deepcopy(kind) is kind
        for use in (
            lambda: torch.zeros(2, dtype=kind),
            lambda: torch.ones(2).to(kind),
            lambda: torch.ones(2).to(dtype=kind),
            lambda: torch.tensor([1.0], dtype=kind),
            lambda: torch.ones(2).type(kind),
            lambda: torch.ones(2).view(kind),
        ):
            with pytest.raises(NotImplementedError, match=f"torch.{name} is unsupported"):
                use()
    assert torch.cfloat is torch.complex64 and torch.cfloat.is_complex
    assert torch.cfloat.to_real() is torch.float32
    assert torch.uint32.itemsize == 4 and torch.float8_e5m2.is_floating_point
    assert torch.iinfo(torch.uint64).max == 2**64 - 1


def test_safetensors_own_package_can_read_our_dtypes(torch):
    table = {torch.float32: 4, torch.complex64: 8, torch.float8_e5m2: 1, torch.uint16: 2}
    assert table[torch.float32] == 4 and len(table) == 4


@pytest.mark.parametrize(
    "name",
    "masked.MaskedTensor masked.masked_tensor "
    "linalg.eig linalg.eigvals "
    "utils.checkpoint.create_selective_checkpoint_contexts".split(),
)
def test_what_is_left_out_says_so_by_its_name(torch, name):
    module, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(f"flambeau.{module}"), last)
    shown = functools.reduce(getattr, module.split("."), torch)
    assert getattr(shown, last) is found and found.__name__ == last
    with pytest.raises(NotImplementedError, match=f"torch.{name} is unsupported: "):
        found(torch.ones(2, 2))


def test_fx_is_mentioned_not_done(torch):
    @torch.fx.wrap
    def leaf(x):
        return x

    assert leaf(3) == 3
    module = torch.nn.Linear(2, 2)
    assert not isinstance(module, torch.fx.GraphModule)
    for use in (
        lambda: torch.fx.symbolic_trace(module),
        lambda: torch.fx.Tracer().trace(module),
        lambda: torch.fx.GraphModule(module, None),
        lambda: torch.onnx.export(module, torch.ones(2), "x.onnx"),
    ):
        with pytest.raises(NotImplementedError, match="is unsupported"):
            use()


def test_modules_that_programs_import_from(torch):
    from flambeau.functional import einsum, split
    from flambeau.hub import HASH_REGEX, download_url_to_file, urlparse  # noqa: F401
    from flambeau.jit.annotations import List

    assert einsum is torch.einsum and split is torch.split and List[int]
    assert HASH_REGEX.search("resnet18-f37072fd.pth").group(1) == "f37072fd"


def test_stance_of_the_compiler(torch):
    @torch.compiler.set_stance("force_eager")
    def double(x):
        return 2 * x

    assert double(2) == 4
    with torch.compiler.set_stance("default"):
        assert double(3) == 6
    with pytest.raises(RuntimeError, match="invalid torch.compile stance"):
        torch.compiler.set_stance("x")


def test_tensors_exchange_what_they_are(torch):
    a, b = torch.ones(2), torch.nn.Parameter(torch.zeros(3))
    a.note = "first"
    torch.utils.swap_tensors(a, b)
    assert isinstance(a, torch.nn.Parameter) and a.shape == (3,) and a.requires_grad
    assert type(b) is torch.Tensor and b.note == "first" and b.tolist() == [1, 1]


def test_hooks_go_where_their_tensor_goes(torch):
    class Seen(list):
        pass

    def hooked(t):
        seen = Seen()
        t.register_hook(lambda grad: seen.append(grad))
        return seen

    a, b = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    seen = hooked(a)
    gone = weakref.ref(seen)
    torch.utils.swap_tensors(a, b)
    a.sum().backward()
    assert seen == []
    b.sum().backward()
    assert len(seen) == 1
    seen.append(b)  # what the hook refers to refers to the tensor
    del b, seen
    gc.collect()
    assert gone() is None
    gc.collect()
    assert a.tolist() == [0, 0]


def test_several_results_print_as_torchs(torch):
    x = torch.eye(2)
    assert repr(torch.linalg.qr(x)).startswith("torch.return_types.linalg_qr(\nQ=tensor(")
    assert repr(x.max(0)).startswith("torch.return_types.max(\nvalues=tensor(")
    assert type(torch.std_mean(x)) is tuple and type(torch.var_mean(x, 0)) is tuple


@pytest.mark.parametrize(
    "name, make",
    [
        ("max", lambda t, x: x.max(0)),
        ("sort", lambda t, x: t.sort(x)),
        ("topk", lambda t, x: x.topk(1)),
        ("linalg_qr", lambda t, x: t.linalg.qr(x)),
        ("svd", lambda t, x: t.svd(x)),
    ],
)
def test_classes_of_several_results(torch, name, make):
    found, kind = make(torch, torch.eye(2)), getattr(torch.return_types, name)
    assert type(found) is kind and name in dir(torch.return_types)
    for copied in (
        kind(list(found)),
        kind(*found),
        pickle.loads(pickle.dumps(found)),
        copy.deepcopy(found),
        torch.utils._pytree.tree_map(lambda t: t, found),
    ):
        assert type(copied) is kind and all(map(torch.equal, copied, found))
    with pytest.raises(TypeError, match="xpected"):
        kind([1])


def test_switches_of_back_ends(torch):
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    assert (cudnn.version() is not None) == cudnn.is_available()  # programs compare the version
    assert cuda.flash_sdp_enabled()
    with cuda.sdp_kernel(enable_flash=False, enable_math=True):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    cuda.enable_mem_efficient_sdp(False)
    assert cuda.flash_sdp_enabled() and not cuda.mem_efficient_sdp_enabled()
    cuda.enable_mem_efficient_sdp(True)


def test_private_helpers_that_programs_call(torch):
    from flambeau._utils import _flatten_dense_tensors, _unflatten_dense_tensors

    some = [torch.ones(2, 2), torch.zeros(3)]
    flat = _flatten_dense_tensors(some)
    assert flat.tolist() == [1, 1, 1, 1, 0, 0, 0]
    again = _unflatten_dense_tensors(flat, some)
    assert all(a.equal(b) for a, b in zip(again, some))
    torch._assert(True, "fine")
    torch._check(True)
    with pytest.raises(AssertionError, match="not fine"):
        torch._assert(False, "not fine")
    with pytest.raises(RuntimeError, match="wrong"):
        torch._check(False, lambda: "wrong")
    with pytest.raises(TypeError, match="cond must be a bool"):
        torch._check(1)


def test_devices_that_hold_no_tensors(torch):
    mps = torch.device("mps")
    assert mps == torch.device("mps") and mps != torch.device("cpu") and mps != torch.device("xpu")
    assert torch.ones(1).device != mps and isinstance(mps, torch.device)
    assert repr(torch.device("mps:1")) == "device(type='mps', index=1)"
    assert {mps: 1}[torch.device("mps")] == 1 and pickle.loads(pickle.dumps(mps)) == mps
    for use in (
        lambda: torch.zeros(2, device="mps"),
        lambda: torch.ones(2).to(mps),
        lambda: torch.nn.Linear(2, 2).to("mps"),
        lambda: torch.set_default_device("mps"),
        lambda: mps.__enter__(),
    ):
        with pytest.raises(NotImplementedError, match="device 'mps' is unsupported"):
            use()


def test_limits_of_foreign_dtypes(torch):
    limits = torch.finfo(torch.float8_e4m3fn)
    assert (limits.max, limits.eps, limits.bits) == (448.0, 0.125, 8)
    assert torch.finfo(torch.complex64).max == torch.finfo(torch.float32).max
    with pytest.raises(TypeError, match="requires a floating point input type"):
        torch.finfo(torch.uint16)


def test_modules_for_several_ranks(torch):
    from flambeau.distributed._functional_collectives import wait_tensor
    from flambeau.distributed.tensor import DTensor, Replicate, Shard
    from flambeau.distributed.tensor.placement_types import Placement

    x = torch.ones(2)
    assert not isinstance(x, DTensor) and wait_tensor(x) is x
    assert Shard(0) == Shard(0) != Shard(1) and isinstance(Replicate(), Placement)
    assert Shard(1).is_shard(1) and not Shard(1).is_replicate()
    for use in (lambda: torch.distributed.rpc.init_rpc("x"),):
        with pytest.raises(NotImplementedError, match="is unsupported: "):
            use()
    assert not torch.cuda.is_current_stream_capturing()


def test_hints_of_a_module_can_be_read(torch):
    import typing

    class Own(torch.nn.Module):
        width: int = 3

    hints = typing.get_type_hints(Own)
    assert hints["width"] is int and "forward" in hints and hints["training"] is bool


def test_classes_are_where_torch_keeps_them(torch):
    import flambeau.nn.modules.dropout as dropout
    from flambeau.nn.modules.activation import MultiheadAttention, ReLU
    from flambeau.nn.modules.loss import MSELoss, TripletMarginLoss
    from flambeau.nn.modules.normalization import LayerNorm
    from flambeau.optim.adamw import AdamW
    from flambeau.utils.data._utils.collate import default_collate

    nn = torch.nn
    assert ReLU is nn.ReLU and MultiheadAttention is nn.MultiheadAttention
    assert LayerNorm is nn.LayerNorm and dropout.Dropout2d is nn.Dropout2d
    assert MSELoss is nn.MSELoss and TripletMarginLoss is nn.TripletMarginLoss
    assert nn.modules.activation.GELU is nn.GELU and AdamW is torch.optim.AdamW
    assert default_collate is torch.utils.data.default_collate
    assert torch.cuda._initialized == torch.cuda.is_initialized()
    assert type(pickle.loads(pickle.dumps(nn.ReLU()))) is nn.ReLU


def test_methods_of_torchs_dispatcher_say_so_by_their_names(torch):
    for name in ("_make_wrapper_subclass", "_lazy_clone", "_view_func"):
        with pytest.raises(NotImplementedError, match=f"torch.Tensor.{name} is unsupported: "):
            getattr(torch.Tensor, name)(torch.ones(2))


def test_what_packages_ask_on_their_way(torch):
    """Whether a program is traced, compiled or differentiated forward: it never is."""
    assert torch.torch is torch and torch.Future is torch.futures.Future
    assert not any(isinstance(3, getattr(torch, f"Sym{kind}")) for kind in ("Int", "Float", "Bool"))
    x = torch.ones(1)
    found = torch.autograd.forward_ad.unpack_dual(x)
    assert found.primal is x and found.tangent is None
    assert not any(torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda", "mps", "xpu"))
    with pytest.raises(RuntimeError):
        torch.is_autocast_enabled("nonsense")


@pytest.mark.parametrize(
    "statement",
    [
        "from torch.fx.node import Node",
        "from torch.fx.experimental.proxy_tensor import get_proxy_mode as g; assert g() is None",
        "from torch._subclasses.fake_tensor import is_fake, FakeTensor; assert not is_fake(1)",
        "import torch._inductor.config as config; config.coordinate_descent_tuning = True",
        "import torch._inductor.config as c\nwith c.patch('a', 1): assert c.a == 1\n"
        "assert not hasattr(c, 'a') and c.patch(b=2)(lambda: c.b)() == 2",
        "from torch.utils.data.dataloader import _collate_fn_t",
        "from torch.futures import Future, collect_all",
        "from torch.distributed.optim import ZeroRedundancyOptimizer",
        "from torch.distributed._tensor import DTensor",
        "from torch.distributed._tensor.experimental import implicit_replication",
        "from torch import Tensor; from torch.futures import Future; Future[Tensor]",
        "import torch.utils.data._utils.collate as c; c.default_collate([1])",
    ],
)
def test_modules_that_packages_import_from(statement, monkeypatch):
    from flambeau import as_torch

    finder = as_torch._Finder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    before = {name for name in sys.modules if name.split(".")[0] == "torch"}
    exec(statement, {})
    for name in {n for n in sys.modules if n.split(".")[0] == "torch"} - before:
        del sys.modules[name]


def test_what_is_dense_already(torch):
    x = torch.ones(2, requires_grad=True)
    assert x.to_dense() is x and x.to_dense(torch.float32, masked_grad=True) is x
    assert x.to_dense(torch.float64).dtype is torch.float64
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=torch.serialization.SourceChangeWarning)
