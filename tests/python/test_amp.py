"""Mixed precision: the state of autocast and where it reaches, casts that are kept and made anew,
and the scaler's steps, reports and state."""

import contextlib
import copy
import functools
import pickle
import threading
import warnings

import numpy as np
import pytest

from tests.harness import child


@pytest.fixture
def lower(torch, device):
    """The kind of device, and the dtype that its autocast takes unasked."""
    return device, torch.bfloat16 if device == "cpu" else torch.float16


@pytest.fixture
def on_both(torch):
    """GradScaler of a device that may be a simulated GPU."""
    return lambda device, **options: torch.amp.GradScaler(device, **options)


def test_blocks_nest_and_restore(torch, lower):
    device, dtype = lower
    x = torch.randn(3, 3, device=device)
    other = torch.float16 if dtype is torch.bfloat16 else torch.bfloat16
    with torch.autocast(device):
        assert torch.is_autocast_enabled(device) and (x @ x).dtype == dtype
        with torch.autocast(device, enabled=False):
            assert (x @ x).dtype == torch.float32
            with torch.autocast(device, dtype=other):
                assert (x @ x).dtype == torch.get_autocast_dtype(device) == other
        with pytest.raises(ZeroDivisionError), torch.autocast(device, enabled=False):
            raise ZeroDivisionError
        assert (x @ x).dtype == dtype
    assert not torch.is_autocast_enabled(device) and (x @ x).dtype == torch.float32
    assert torch.get_autocast_dtype(device) == dtype


def test_a_block_is_a_decorator_and_can_be_entered_again(torch, lower):
    device, dtype = lower
    x = torch.randn(3, 3, device=device)
    block = torch.amp.autocast(device)

    @block
    def product(depth):
        return product(depth - 1) if depth else x @ x

    assert product(3).dtype == dtype and product.__name__ == "product"
    assert not torch.is_autocast_enabled(device)


def test_the_state_belongs_to_the_thread(torch, lower):
    device, _ = lower
    seen = []

    def look():
        seen.append(torch.is_autocast_enabled(device))
        with torch.autocast(device):
            seen.append(torch.is_autocast_enabled(device))

    with torch.autocast(device):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert seen == [False, True] and torch.is_autocast_enabled(device)


def test_in_place_and_out_forms_keep_their_dtype(torch, lower):
    device, _ = lower
    x, y = torch.ones(2, 2, device=device), torch.zeros(2, 2, device=device)
    with torch.autocast(device):
        assert torch.mm(x, x, out=y).dtype == torch.float32
        assert y.addmm_(x, x).dtype == torch.float32
    assert y.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_what_an_in_place_form_is_made_of_is_not_cast_either(torch, lower):
    device, dtype = lower
    a, b = torch.randn(3, 4, device=device), torch.randn(4, device=device)
    zeros, square = torch.zeros(3, device=device), torch.zeros(4, 4, device=device)
    want = torch.addmv(zeros, a, b), torch.addbmm(square, a[None].mT, a[None])
    with torch.autocast(device):
        written = torch.addmv(zeros, a, b, out=torch.empty(3, device=device))
        got = zeros.addmv_(a, b), square.addbmm_(a[None].mT, a[None])
        assert torch.mm(a, a.mT).dtype == dtype  # autocast goes on
    assert all(torch.equal(g, w) for g, w in zip((*got, written), (*want, want[0]), strict=True))


def test_backward_runs_in_the_dtypes_of_forward(torch, lower):
    device, dtype = lower
    layer = torch.nn.Linear(4, 2).to(device)
    x = torch.randn(3, 4, device=device, requires_grad=True)
    with torch.autocast(device):
        y = layer(x)
    seen = []
    y.register_hook(lambda g: seen.append(g.dtype))
    y.float().sum().backward()
    assert seen == [dtype]
    assert layer.weight.grad.dtype == x.grad.dtype == torch.float32


@pytest.mark.parametrize("inside", [True, False])
def test_a_loop_may_train_within_one_block(torch, lower, inside):
    """Casts that are kept see every step of the optimizer, and backward runs once per forward."""
    device, _ = lower

    def losses(block):
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 1).to(device)
        sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
        x, found = torch.ones(3, 4, device=device), []
        with block() if inside else contextlib.nullcontext():
            for _ in range(4):
                sgd.zero_grad()
                with contextlib.nullcontext() if inside else block():
                    loss = layer(x).float().square().mean()
                loss.backward()
                sgd.step()
                found.append(loss.item())
        return found

    lowered = losses(lambda: torch.autocast(device))
    assert lowered == losses(lambda: torch.autocast(device, cache_enabled=False))
    assert lowered[-1] < lowered[0]


def test_frozen_weights(torch, lower):
    """A cast made under no_grad is not the one that training goes through."""
    device, _ = lower
    layer = torch.nn.Linear(4, 2).to(device)
    x = torch.ones(3, 4, device=device)
    with torch.autocast(device):
        with torch.no_grad():
            before = layer(x)
        with torch.inference_mode():
            layer(x)
        after = layer(x)
    assert after.requires_grad and not before.requires_grad and bool((before == after).all())
    after.float().sum().backward()
    assert layer.weight.grad is not None and layer.bias.grad is not None


def test_new_data_is_cast_anew(torch, lower):
    device, _ = lower
    w, x = torch.nn.Parameter(torch.ones(2, 2, device=device)), torch.ones(2, 2, device=device)
    with torch.autocast(device):
        assert (x @ w)[0, 0].item() == 2
        w.data = torch.full((2, 2), 2.0, device=device)
        assert (x @ w)[0, 0].item() == 4
        with torch.no_grad():
            w.fill_(3.0)
        assert (x @ w)[0, 0].item() == 6
    assert (x @ w).dtype == torch.float32


def test_casts_are_kept_until_the_outermost_block_ends(torch, device):
    if device != "cuda":
        return  # the counters are those of devices
    layer, x = torch.nn.Linear(64, 64).to(device), torch.ones(1, 64, device=device)

    def held(**options):
        before = torch.cuda.memory_allocated()
        with torch.autocast(device, **options):
            with torch.autocast(device, **options):
                layer(x)
            grown = torch.cuda.memory_allocated() - before
        assert torch.cuda.memory_allocated() == before
        return grown

    assert held() >= 64 * 64 * 2 > held(cache_enabled=False)


def test_functions_of_the_programs_own(torch, lower):
    device, dtype = lower
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=device)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a.mm(b)

        @staticmethod
        @torch.amp.custom_bwd(device_type=device)
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append(torch.is_autocast_enabled(device))
            return grad.mm(b.t()).float(), a.t().mm(grad).float()

    class Exact(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=device, cast_inputs=torch.float32)
        def forward(ctx, a):
            seen.append((torch.is_autocast_enabled(device), a.dtype))
            return a * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type=device)
        def backward(ctx, grad):
            return grad * 2

    a = torch.randn(2, 2, device=device, requires_grad=True)
    with torch.autocast(device):
        y = Product.apply(a, a)
        assert y.dtype == dtype and Exact.apply(y).dtype == torch.float32
    y.float().sum().backward()
    assert seen == [(False, torch.float32), True] and a.grad.dtype == torch.float32


def test_what_cannot_be(torch):
    with pytest.raises(RuntimeError, match="at start of device string: abacus"):
        torch.autocast("abacus")
    for ask in torch.autocast, torch.amp.is_autocast_available, torch.get_autocast_dtype:
        with pytest.raises(RuntimeError, match="Invalid device string: 'no device at all'"):
            ask("no device at all")
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        torch.autocast("meta")
    assert torch.autocast("cpu:0").device == "cpu" and torch.get_autocast_dtype("cuda:0")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))
    with pytest.warns(UserWarning, match="only supports dtypes of torch.bfloat16"):
        assert not torch.autocast("cpu", dtype=torch.float64)._enabled
    with pytest.raises(TypeError, match="requires a callable"):
        torch.autocast("cpu")(3)
    assert torch.amp.is_autocast_available("cuda") and not torch.is_autocast_available("meta")


def test_older_spellings_warn(torch, device):
    if device == "cuda":
        with pytest.warns(FutureWarning, match=r"use `torch.amp.autocast\('cuda', args...\)`"):
            block = torch.cuda.amp.autocast()
        with block:
            assert torch.is_autocast_enabled() and torch.get_autocast_gpu_dtype() == torch.float16
        with pytest.warns(FutureWarning, match="torch.amp.GradScaler"):
            assert torch.cuda.amp.GradScaler().is_enabled()
    with pytest.warns(FutureWarning, match=r"use `torch.amp.autocast\('cpu', args...\)`"):
        block = torch.cpu.amp.autocast()
    with block:
        assert torch.is_autocast_cpu_enabled() and torch.get_autocast_cpu_dtype() == torch.bfloat16


# ---- gradient scaling ----------------------------------------------------------------------------


class Plain:
    """An optimizer written against torch.optim.Optimizer, which knows nothing of scaling."""

    @staticmethod
    def of(torch, params, lr):
        class Own(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

            @torch.no_grad()
            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.sub_(p.grad, alpha=lr)

        return Own(params)


FUSED = ["Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"]


def optimizers(torch):
    return {
        "SGD": lambda p: torch.optim.SGD(p, lr=0.5),
        "damped SGD": lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.9, dampening=0.5),
        "Adam": lambda p: torch.optim.Adam(p, lr=0.5),
        "AdamW": lambda p: torch.optim.AdamW(p, lr=0.5, amsgrad=True),
        **{kind: functools.partial(getattr(torch.optim, kind), lr=0.5) for kind in FUSED},
        "own": lambda p: Plain.of(torch, p, 0.5),
    }


@pytest.mark.parametrize("kind", ["SGD", "damped SGD", "Adam", "AdamW", *FUSED, "own"])
def test_steps_are_skipped_and_reported(torch, device, on_both, kind):
    """The steps that count are those of a program without scaling, to the bit."""

    def train(scaler, factors):
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 2).to(device)
        optimizer = optimizers(torch)[kind](layer.parameters())
        for factor in factors:
            optimizer.zero_grad()
            before = layer.weight.detach().clone()
            loss = layer(torch.ones(4, 3, device=device)).square().sum() * factor
            scaler.scale(loss).backward() if scaler else loss.backward()
            if scaler is None:
                optimizer.step()
                continue
            scaler.step(optimizer)
            scaler.update()
            finite = np.isfinite(factor)
            assert scaler.skipped(optimizer) == (not finite)
            found = scaler.first_nonfinite(optimizer)
            assert found is None if finite else found is layer.weight
            assert finite or bool((layer.weight == before).all())
        return layer.weight.detach().cpu().numpy()

    scaler = on_both(device, init_scale=8.0, growth_interval=2)
    scaled = train(scaler, [float("inf"), 1, float("nan"), 1, 1])
    assert scaler.get_scale() == 4.0  # halved twice, doubled after two that counted
    np.testing.assert_array_equal(scaled, train(None, [1, 1, 1]))


LAZY = """
import flambeau as torch

layer = torch.nn.Linear(3, 2).to("cuda")
x = torch.ones(4, 3, device="cuda")
for kind in torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW:
    optimizer, scaler = kind(layer.parameters(), lr=0.1), torch.amp.GradScaler("cuda", 16.0)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = layer(x).float().sum()
        scaler.scale(loss).backward()
        torch.cuda.synchronize()
        work = torch.cuda.Event()
        x * 2
        work.record()
        scaler.step(optimizer)
        scaler.update()
        assert not work.query(), f"{kind.__name__}: somebody waited"
        assert scaler.get_scale() == 16 and work.query()
"""


def test_a_step_waits_for_nothing():
    """A lazy simulated device leaves its work undone until somebody waits for it."""
    child.output(LAZY, **child.gpus("devices=1,schedule=lazy"))


def test_the_factor_can_be_looked_at(torch, device):
    scaler = torch.amp.GradScaler(device, init_scale=4.0)
    assert scaler._scale is None and scaler.get_scale() == 4.0
    loss = torch.ones((), device=device)
    assert scaler.scale(loss).item() == scaler._scale.item() == scaler.get_scale() == 4.0
    assert scaler._scale.device.type == torch.device(device).type
    scaler._scale.fill_(8.0)  # what is written into it counts
    assert (
        scaler.scale(loss).item() == scaler.get_scale() == scaler._get_scale_async().item() == 8.0
    )


def test_what_was_found_can_be_looked_at(torch, device, on_both):
    w = torch.nn.Parameter(torch.ones(2, device=device))
    sgd, scaler = torch.optim.SGD([w], lr=1.0), on_both(device)
    for factor, found in ((1.0, 0.0), (float("inf"), 1.0)):
        sgd.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.unscale_(sgd)
        (place, inf), *others = scaler._found_inf_per_device(sgd).items()
        assert not others and place == w.grad.device == inf.device and inf.item() == found
        scaler.step(sgd)
        scaler.update()


def test_gradients_can_be_clipped_between(torch, device, on_both):
    w = torch.nn.Parameter(torch.ones(2, device=device))
    sgd, scaler = torch.optim.SGD([w], lr=1.0), on_both(device, init_scale=4.0)
    scaler.scale((w * 3).sum()).backward()
    assert w.grad.tolist() == [12.0, 12.0]
    scaler.unscale_(sgd)
    assert w.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called"):
        scaler.unscale_(sgd)
    w.grad.clamp_(max=1.0)
    scaler.step(sgd)
    assert w.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(sgd)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) is being called after step"):
        scaler.unscale_(sgd)


def test_what_was_forgotten(torch, device, on_both):
    w = torch.nn.Parameter(torch.ones(2, device=device))
    sgd, scaler = torch.optim.SGD([w], lr=1.0), on_both(device)
    for attempt, call in (
        ("step", lambda: scaler.step(sgd)),
        ("unscale_", lambda: scaler.unscale_(sgd)),
        ("update", scaler.update),
    ):
        with pytest.raises(AssertionError, match=f"^Attempted {attempt} but _scale is None"):
            call()
    scaler.scale(w.sum())
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(sgd)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        on_both(device).scale(w.sum()), scaler.update()
    half = torch.nn.Parameter(torch.ones(2, device=device, dtype=torch.float16))
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.step(torch.optim.SGD([half], lr=1.0))
    with pytest.raises(AssertionError, match="growth factor must be > 1"):
        on_both(device, growth_factor=1.0)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(sgd, closure=lambda: None)


def test_two_optimizers_share_a_scale(torch, device, on_both):
    a, b = (torch.nn.Parameter(torch.ones(2, device=device)) for _ in range(2))
    first, second = torch.optim.SGD([a], lr=1.0), torch.optim.SGD([b], lr=1.0)
    scaler = on_both(device, init_scale=2.0)
    for out in scaler.scale([a.sum(), (b * float("inf")).sum()]):
        out.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (scaler.skipped(first), scaler.skipped(second)) == (False, True)
    assert a.tolist() == [0.0, 0.0] and b.tolist() == [1.0, 1.0] and scaler.get_scale() == 1.0


def test_parameters_on_two_devices(torch, device, on_both):
    if device != "cuda" or torch.cuda.device_count() < 2:
        pytest.skip("it takes two devices")
    a = torch.nn.Parameter(torch.ones(2, device="cuda:0"))
    b = torch.nn.Parameter(torch.ones(2, device="cuda:1"))
    for bad in (True, False):
        sgd, scaler = torch.optim.SGD([a, b], lr=0.5), on_both(device, init_scale=2.0)
        sgd.zero_grad()
        loss = a.sum() + (b * (float("inf") if bad else 1.0)).sum().to("cuda:0")
        scaler.scale(loss).backward()
        scaler.step(sgd)
        assert scaler.skipped(sgd) == bad
        assert a.tolist() == b.tolist() == ([1.0, 1.0] if bad else [0.5, 0.5])


def test_state_and_pickles(torch, device, on_both):
    w = torch.nn.Parameter(torch.ones(2, device=device))
    sgd, scaler = torch.optim.SGD([w], lr=1.0), on_both(device, init_scale=4.0, growth_interval=5)
    scaler.scale(w.sum()).backward()
    scaler.step(sgd)
    scaler.update()
    want = {
        "scale": 4.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 5,
        "_growth_tracker": 1,
    }
    assert scaler.state_dict() == want
    other = on_both(device)
    other.load_state_dict(want)
    for same in (other, pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):
        assert same.state_dict() == want
    scaler.update(new_scale=3.0)
    assert scaler.get_scale() == 3.0
    scaler.set_growth_factor(4.0)
    assert scaler.state_dict()["growth_factor"] == scaler.get_growth_factor() == 4.0
    off = on_both(device, enabled=False)
    assert off.state_dict() == {} and off.get_scale() == 1.0 and off.scale(w) is w
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        scaler.load_state_dict({})


def test_where_there_is_no_gpu(torch, device):
    if device == "cuda":
        return
    if torch.cuda.is_available():
        return
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not torch.amp.autocast("cuda")._enabled
    with pytest.warns(UserWarning, match="Disabling"):
        assert not torch.amp.GradScaler("cuda").is_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.amp.GradScaler("cuda", enabled=False)


def test_an_optimizer_that_scales_itself_is_given_what_it_asks_for(torch):
    seen = []

    class Reads(torch.optim.Optimizer):
        _step_supports_amp_scaling = True

        def __init__(self, params):
            super().__init__(params, {})

        def step(self, closure=None):
            seen.append((self.grad_scale, self.found_inf.item()))

    class Asks(Reads):
        _step_supports_amp_scaling = True  # with a step of its own

        def step(self, closure=None, *, grad_scaler=None):
            seen.append((grad_scaler, hasattr(self, "found_inf")))

    scaler, w = torch.amp.GradScaler("cpu", init_scale=4.0), torch.ones(2, requires_grad=True)
    scaler.scale(w.sum()).backward()
    reads, asks = Reads([w]), Asks([w])
    scaler.step(reads)
    with pytest.warns(FutureWarning, match="grad_scale and found_inf"):
        scaler.step(asks)
    assert seen == [(None, 0.0), (scaler, False)] and w.grad.tolist() == [0.25, 0.25]
