"""Names in the modules where torch has them, and what those modules do."""

import importlib
import inspect

import numpy as np
import pytest

NAMES = {
    "nn.modules.module": "_IncompatibleKeys",
    "nn.modules.activation": "ReLU MultiheadAttention",
    "nn.modules.dropout": "Dropout2d",
    "nn.modules.normalization": "LayerNorm GroupNorm",
    "nn.modules.distance": "CosineSimilarity",
    "nn.modules.flatten": "Flatten",
    "nn.modules.pixelshuffle": "PixelShuffle",
    "nn.common_types": "_size_2_t _size_any_t _ratio_2_t",
    "optim.adamw": "AdamW",
    "utils.data._utils.collate": "default_collate",
    "utils.data._utils.worker": "get_worker_info",
    "storage": "TypedStorage UntypedStorage",
    "autograd.anomaly_mode": "detect_anomaly",
    "autograd.function": "InplaceFunction",
    "distributions.utils": "broadcast_all lazy_property _standard_normal",
    "distributions.transforms": "_InverseTransform",
    "distributions.constraints": "_Interval _CorrCholesky _IndependentConstraint",
    "serialization": "MAP_LOCATION",
    "_jit_internal": "Final _copy_to_script_wrapper",
    "fft": "rfft fftfreq",
}


@pytest.mark.parametrize("path", NAMES)
def test_a_name_is_where_torch_has_it(torch, path):
    module = importlib.import_module(f"flambeau.{path}")
    found = torch
    for part in path.split("."):
        found = getattr(found, part)
    assert found is module
    for name in NAMES[path].split():
        assert getattr(module, name) is not None


@pytest.mark.parametrize("kind", ["mkl", "mkldnn", "nnpack", "openmp", "opt_einsum"])
def test_libraries_of_pytorch_are_not_used(torch, kind):
    assert getattr(torch.backends, kind).is_available() is False


@pytest.mark.parametrize("kind", ["mkldnn", "nnpack", "opt_einsum"])
def test_switches_of_libraries_that_are_not_used(torch, kind):
    module = getattr(torch.backends, kind)
    before = module.enabled

    @module.flags(enabled=not before)
    def inside():
        return module.enabled

    assert inside() is (not before) and module.enabled is before
    with module.flags(enabled=False):
        assert module.enabled is False
    for function in (module.flags, module.set_flags):
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
            function(colour=1)
    assert module.set_flags(not before)[0] is before
    assert module.set_flags(_enabled=before)[0] is (not before) and module.enabled is before


def test_switches_of_libraries_have_pytorchs_signatures(torch):
    kinds = torch.backends.mkldnn, torch.backends.nnpack, torch.backends.opt_einsum
    before = [(kind.enabled, *kind.set_flags(None)[1:]) for kind in kinds]
    onednn, _, einsum = kinds
    with onednn.flags(False, True):
        assert onednn.set_flags() == (False, True, True, "none")
    with einsum.flags(True), einsum.flags(strategy="greedy"):
        assert (einsum.enabled, einsum.strategy) == (True, "greedy")
    assert before == [kind.set_flags(None) for kind in kinds]
    signatures = [str(inspect.signature(kind.flags)) for kind in kinds]
    assert signatures == [
        "(enabled=False, deterministic=False, allow_tf32=True, fp32_precision='none')",
        "(enabled=False)",
        "(enabled=None, strategy=None)",
    ]


def test_the_fast_path_of_transformers_is_a_switch(torch):
    mha = torch.backends.mha
    assert mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    assert not mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(True)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions(torch, device, n):
    torch.manual_seed(0)
    shape, options = (2, 4, *(7, 6, 5)[:n]), {"stride": 2, "padding": 1, "groups": 2}
    x = torch.randn(shape, dtype=torch.float64, device=device, requires_grad=True)
    w = torch.randn((6, 2, *(3, 2, 3)[:n]), dtype=torch.float64, device=device, requires_grad=True)
    y = getattr(torch.nn.functional, f"conv{n}d")(x, w, **options)
    dy = torch.randn_like(y)
    by_x, by_w = torch.autograd.grad(y, [x, w], dy)
    functions = torch.nn.grad
    with torch.no_grad():
        found = getattr(functions, f"conv{n}d_input")(shape, w, dy, **options)
        assert torch.allclose(found, by_x) and not found.requires_grad
        assert torch.allclose(
            getattr(functions, f"conv{n}d_weight")(x, w.shape, dy, **options), by_w
        )


def test_stateless_call(torch):
    from flambeau.nn.utils import stateless

    layer = torch.nn.Linear(2, 1)
    with pytest.warns(FutureWarning, match="torch.func.functional_call"):
        found = stateless.functional_call(
            layer, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(2)
        )
    assert found.tolist() == [2]


def test_ranges_of_nvtx_are_ranges_of_the_profiler(torch):
    from flambeau.cuda import nvtx

    with torch.profiler.profile() as profile:
        assert nvtx.range_push("outer") == 0 and nvtx.range_push("inner") == 1
        assert nvtx.range_pop() == 1 and nvtx.range_pop() == 0 and nvtx.range_pop() == -1
        nvtx.mark("here")
        with nvtx.range("step {}", 3):
            torch.ones(2).exp()
    names = {event.name for event in profile.events()}
    assert {"outer", "inner", "here", "step 3"} <= names


def test_globals_that_may_be_loaded_for_a_while(torch, tmp_path):
    serialization = torch.serialization
    torch.save({"point": np.random.PCG64}, tmp_path / "x.pt")
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(tmp_path / "x.pt")
    kind = np.random.PCG64
    before = serialization.get_safe_globals()  # what DTensors are made of, once they are imported
    try:
        serialization.clear_safe_globals()
        with serialization.safe_globals([(kind, "numpy.random._pcg64.PCG64")]):
            assert serialization.get_safe_globals() == [kind]
            assert torch.load(tmp_path / "x.pt")["point"] is kind
        assert serialization.get_safe_globals() == []
        serialization.add_safe_globals([kind])
        serialization.clear_safe_globals()
        assert serialization.get_safe_globals() == []
    finally:
        serialization.add_safe_globals(before)


def test_an_inplace_function(torch):
    class Doubled(torch.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    assert Doubled.apply(y) is y
    y.sum().backward()
    assert x.grad.tolist() == [2, 2] and Doubled(True).inplace


def test_copies_over_several_gpus(torch, device):
    if device == "cpu":
        with pytest.raises(RuntimeError):
            torch.cuda.comm.broadcast(torch.ones(2), [0])
        return
    comm, devices = torch.cuda.comm, [device, device]
    x = torch.arange(6.0, device=device).reshape(3, 2).requires_grad_()
    first, second = comm.broadcast(x, devices)
    assert comm.reduce_add([first, second], device).equal(2 * x)
    sums = torch.nn.parallel.comm.reduce_add_coalesced([[first, x], [second, x]], device)
    assert all(total.equal(2 * x) for total in sums) and len(sums) == 2
    parts = comm.scatter(x, devices, chunk_sizes=[1, 2])
    assert [len(p) for p in parts] == [1, 2] and comm.gather(parts, 0, device).equal(x)
    parts[1].sum().backward()
    assert x.grad.sum(1).tolist() == [0, 2, 2]
    (copies,) = comm.broadcast_coalesced([x, x], devices[:1])
    assert copies[1].equal(x)
    with pytest.raises(RuntimeError, match="Exactly one"):
        comm.broadcast(x)
    with pytest.raises(ValueError, match="input shapes must match"):
        comm.reduce_add([x, x[:1]], device)


@pytest.mark.parametrize("name, count", [("fftfreq", 6), ("rfftfreq", 4)])
def test_frequencies_in_an_output(torch, name, count):
    make = getattr(torch.fft, name)
    shaped = torch.empty(2, count // 2, dtype=torch.float64)
    assert make(6, 0.5, out=shaped) is shaped and shaped.shape == (2, count // 2)
    assert shaped.flatten().equal(make(6, 0.5, dtype=torch.float64))
    small = torch.empty(2)
    with pytest.warns(UserWarning, match="computed number of elements.*out tensor will be resized"):
        assert make(6, out=small).equal(make(6)) and small.shape == (count,)
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        make(6, out=small, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="floating point"):
        make(6, dtype=torch.int64)


def test_frequencies_and_shifts(torch):
    fft = torch.fft
    assert fft.fftfreq(5, 0.5).tolist() == pytest.approx([0, 0.4, 0.8, -0.8, -0.4])
    assert fft.rfftfreq(4).tolist() == [0, 0.25, 0.5]
    x = torch.arange(10.0).reshape(2, 5)
    assert fft.fftshift(x, dim=1)[0].tolist() == [3, 4, 0, 1, 2]
    assert fft.ifftshift(fft.fftshift(x)).equal(x)
    with pytest.raises(
        RuntimeError, match="torch.fft.rfft is unsupported: flambeau has complex numbers"
    ):
        fft.rfft(x)
    with pytest.raises(AttributeError):
        torch.distributions.constraints._Nothing  # noqa: B018
