"""Operations of a program's own: `torch.library.custom_op` and `torch.ops`."""

import pytest


def test_an_operation_with_a_gradient(torch, device):
    calls = []

    @torch.library.custom_op("mine::scaled_sin", mutates_args=())
    def scaled_sin(x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
        calls.append(torch.is_grad_enabled())
        return scale * x.sin()

    x = torch.linspace(0, 1, 4, device=device).requires_grad_()
    assert scaled_sin(x).requires_grad and calls == [False]  # below autograd, as in torch
    with pytest.raises(RuntimeError, match="mine::scaled_sin but no autograd formula"):
        scaled_sin(x).sum().backward()
    calls.clear()

    def setup(ctx, inputs, output):
        x, ctx.scale = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        return grad * ctx.scale * ctx.saved_tensors[0].cos(), None

    scaled_sin.register_autograd(backward, setup_context=setup)
    y = torch.ops.mine.scaled_sin(x, scale=3.0)
    y.sum().backward()
    assert torch.allclose(y, 3 * x.sin()) and torch.allclose(x.grad, 3 * x.cos())
    assert torch.ops.mine.scaled_sin.default(x, 3.0).equal(y)


def test_gradients_of_lists_and_keywords(torch, device):
    seen = []

    @torch.library.custom_op("mine::weighted", mutates_args=())
    def weighted(xs: list[torch.Tensor], w: torch.Tensor, *, k: float) -> list[torch.Tensor]:
        return [x * w * k for x in xs]

    def setup(ctx, inputs, keyword_only_inputs, output):
        (first, second), w = inputs
        seen.append((ctx.needs_input_grad, len(output)))
        ctx.save_for_backward(w)
        ctx.k = keyword_only_inputs["k"]

    def backward(ctx, grads):
        seen.append(ctx.needs_input_grad)
        return [g * ctx.saved_tensors[0] * ctx.k for g in grads], None

    weighted.register_autograd(backward, setup_context=setup)
    a, b = (torch.full((2,), v, device=device, requires_grad=v > 1) for v in (1.0, 2.0))
    w = torch.tensor([3.0, 4.0], device=device)
    first, second = weighted([a, b], w, k=2.0)
    (first + 10 * second).sum().backward()
    assert second.tolist() == [12, 16] and a.grad is None and b.grad.tolist() == [60, 80]
    assert seen == [(([False, True], False), 2), ([False, True], False)]
    with torch.no_grad():
        assert not weighted([a, b], w, k=2.0)[1].requires_grad and len(seen) == 2
    weighted.register_autograd(lambda ctx, grads: grads, setup_context=setup)
    with pytest.raises(RuntimeError, match=r"mine::weighted .*expected 2, got 1"):
        weighted([a, b], w, k=2.0)[0].sum().backward()


def test_a_form_per_device(torch, device):
    op = torch.library.custom_op("mine::where", lambda x: x + 1, mutates_args=())
    x = torch.zeros(2, device=device)
    assert op(x).tolist() == [1, 1]
    torch.library.register_kernel("mine::where", x.device.type, lambda x: x + 2)
    assert op(x).tolist() == [2, 2]
    only = torch.library.custom_op(
        "mine::elsewhere", lambda x: x, mutates_args=(), device_types="tpu"
    )
    with pytest.raises(NotImplementedError, match="'mine::elsewhere' on device .*defined for tpu"):
        only(x)


def test_what_is_refused(torch):
    with pytest.raises(ValueError, match="namespace::name"):
        torch.library.custom_op("name", lambda x: x, mutates_args=())
    with pytest.raises(AttributeError, match="torch.ops.mine"):
        torch.ops.mine.nothing()
    with pytest.raises(RuntimeError, match="mine::nothing does not exist"):
        torch.library.register_autograd("mine::nothing", lambda ctx, grad: grad)
    with pytest.raises(OSError, match="compiled against libtorch"):
        torch.ops.load_library("x.so")
    with pytest.raises(NotImplementedError, match="torch.library.Library is unsupported"):
        torch.library.Library("mine", "IMPL")


def test_names_that_packages_import(torch, device):
    from flambeau._dynamo import OptimizedModule
    from flambeau._dynamo.utils import is_compile_supported
    from flambeau.ao.quantization import DeQuantStub, QuantStub
    from flambeau.utils.model_zoo import load_url, tqdm

    assert callable(load_url) and callable(tqdm) and not is_compile_supported("cpu")
    assert not isinstance(torch.nn.Linear(1, 1), OptimizedModule)
    assert torch.nn.Sequential(QuantStub(), DeQuantStub())(3) == 3
    with pytest.raises(NotImplementedError, match="quantization.convert is unsupported"):
        torch.ao.quantization.convert(None)
    assert not isinstance(torch.nn.Linear(1, 1), torch.ao.quantization.FakeQuantize)
    with pytest.raises(NotImplementedError, match="quantization.FakeQuantize is unsupported"):
        torch.ao.quantization.FakeQuantize()
    assert torch._C._get_tracing_state() is None
    assert torch._C._LinAlgError is torch.linalg.LinAlgError
    keys = torch._C.DispatchKey
    kind = "cpu" if device == "cpu" else "cuda"
    with (
        torch.autocast(kind, torch.bfloat16),
        torch._C._ExcludeDispatchKeyGuard(
            torch._C.DispatchKeySet(keys.AutocastCPU) | torch._C.DispatchKeySet(keys.AutocastCUDA)
        ),
    ):
        assert not torch.is_autocast_enabled(kind)


def test_a_scan_by_a_function_of_the_program(torch, device):
    from flambeau._higher_order_ops import associative_scan

    def step(left, right):  # of y[t] = a[t] y[t - 1] + b[t]
        return left[0] * right[0], left[1] * right[0] + right[1]

    a = torch.linspace(0.5, 1.5, 10, device=device).view(2, 5).requires_grad_()
    b = torch.ones(2, 5, device=device)
    y = associative_scan(step, (a, b), 1)[1]
    want, state = [], torch.zeros(2, device=device)
    for t in range(5):
        state = a[:, t] * state + b[:, t]
        want.append(state)
    assert torch.allclose(y, torch.stack(want, 1))
    (grad,) = torch.autograd.grad(y.sum(), a)
    assert torch.allclose(grad, torch.autograd.grad(torch.stack(want, 1).sum(), a)[0])
    back = associative_scan(torch.add, b, 1, reverse=True)
    assert back[0].tolist() == [5, 4, 3, 2, 1]
    with pytest.raises(ValueError, match="combine_fn|Combine_fn"):
        associative_scan(None, b, 1)
