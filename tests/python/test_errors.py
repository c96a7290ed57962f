"""Errors: their classes, their texts, and that nothing stays pending."""

import pickle
import re
import sys
import traceback
import warnings

import pytest

from tests.golden import modules


def test_classes(torch):
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError and issubclass(
        torch.OutOfMemoryError, RuntimeError
    )
    with pytest.raises(torch.ShapeError) as found:
        torch.ones(3) + torch.ones(4)
    assert isinstance(found.value, RuntimeError) and found.value.code == 2
    with pytest.raises(IndexError):
        torch.ones(2).sum(5)
    assert (torch.ones(1) + 1).item() == 2


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda torch, x: torch.add(x, "a"),
            r"add\(\): argument 'other' \(position 2\) must be Tensor, not str",
        ),
        (
            lambda torch, x: x.sum("a"),
            r"sum\(\): argument 'dim' \(position 2\) must be tuple of ints, not str",
        ),
        (lambda torch, x: x.unsqueeze(), r"missing.*'dim'"),
        (
            lambda torch, x: torch.max(x, "a"),
            r"max\(\) received an invalid combination of arguments - got \(Tensor, str\)",
        ),
        (
            lambda torch, x: torch.zeros(2, shape=3),
            r"zeros\(\) got an unexpected keyword argument 'shape'",
        ),
    ],
)
def test_type_errors_name_the_argument(torch, call, text):
    with pytest.raises(TypeError, match=text):
        call(torch, torch.ones(2))


def test_factors_of_integers_are_integers(torch, device):
    x = torch.ones(2, 2, dtype=torch.int64, device=device)
    at = torch.tensor([0, 1], device=device)
    for call in (
        lambda f: torch.add(x, x, alpha=f),
        lambda f: x.sub_(x, alpha=f),
        lambda f: torch.rsub(x, 1, alpha=f),
        lambda f: x.index_add(0, at, x, alpha=f),
        lambda f: torch.addr(x, at, at, alpha=f),
    ):
        with pytest.raises(RuntimeError, match="^For integral input tensors, argument alpha must"):
            call(2.5)
    mask = x > 0
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        mask - mask
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        1 - mask


@pytest.mark.parametrize("number", [2**53 + 1, 10**15, -3, True, 0.1, 1e300])
def test_numbers_are_said_as_given(torch, number):
    with pytest.raises(RuntimeError) as found:
        torch.masked_fill(torch.ones(2), torch.ones(2), number)
    shown = re.search(r"value: (\S+)\)", str(found.value))[1]
    assert {"true": True}.get(shown) is number or type(number)(shown) == number


def test_calls_are_said_as_programs_make_them(torch):
    x, F = torch.ones(2, 3), torch.nn.functional
    for call, said in (
        (lambda: x[:, 9], "index(input: f32[2, 3] on cpu)"),
        (lambda: x.unfold(5, 1, 1), "unfold(input: f32[2, 3] on cpu, dimension: 5, "),
        (lambda: torch.linalg.inv(x), "linalg.inv(A: f32[2, 3] on cpu)"),
        (lambda: torch.add(x, 1, out=torch.ones(2, 3).long()), "add(input: f32[2, 3] on cpu, oth"),
        (lambda: F.max_pool2d(x, 2), "max_pool2d(input: f32[2, 3] on cpu, kernel_size: [2], padd"),
        (lambda: F.max_pool2d(x.reshape(1, 1, 2, 3), 9), "max_pool2d(input: f32[1, 1, 2, 3] on "),
    ):
        with pytest.raises((RuntimeError, IndexError)) as found:
            call()
        text = str(found.value)
        assert f"\n  {said}" in text and text.count("(input: ") + text.count("(A: ") == 1, text
        assert "[]" not in text, text


def test_enum_words(torch):
    with pytest.raises(
        ValueError, match=r"reduction can only be 'none' or 'mean' or 'sum'.*, not 'avg'"
    ):
        torch.nn.functional.mse_loss(torch.ones(1), torch.ones(1), reduction="avg")


def test_no_gpu_says_why(torch):
    if torch.cuda.is_available():
        assert torch.cuda.unavailable_reason() == ""
    else:
        assert torch.cuda.unavailable_reason()
        with pytest.raises(torch.DeviceError, match="cuda is not available"):
            torch.zeros(1, device="cuda")


def test_device_mismatch(torch, device):
    if device == "cpu":
        with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, meta, sim device type"):
            torch.device("gpu")
        return
    with pytest.raises(torch.DeviceMismatchError, match="other: f32\\[2\\] on cpu"):
        torch.ones(2, device=device) + torch.ones(2)
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        torch.ones(2, device=device).numpy()


def test_unknown_names(torch):
    with pytest.raises(AttributeError, match="has no attribute 'nothing' in flambeau$"):
        _ = torch.nothing
    for module, typo, meant in (
        (torch, "rnadn", "randn"),
        (torch.nn, "Linaer", "Linear"),
        (torch.nn.functional, "sofmax", "softmax"),
    ):
        with pytest.raises(AttributeError, match=f"Did you mean: '{meant}'") as found:
            getattr(module, typo)
        again, text = pickle.loads(pickle.dumps(found.value)), str(found.value)
        assert type(found.value) is type(again) is AttributeError and str(again) == text
        assert found.value.args == (text,) and text in repr(found.value)
        said = traceback.format_exception_only(found.value)
        assert "".join(said).count("Did you mean") == 1 and found.value.name == typo
    with pytest.raises(RuntimeError, match="at start of device string: abacus"):
        torch.amp.autocast("abacus")


def test_unknown_names_of_a_module_that_was_unloaded(torch, monkeypatch):
    for module in (torch, torch.nn, torch.nn.functional):
        monkeypatch.delitem(sys.modules, module.__name__)
        assert not hasattr(module, "nothing")


def test_operands_that_kernels_read_share_a_device(torch, device):
    if device == "cpu":
        pytest.skip("needs a device beside the cpu: --device=sim")
    F, x = torch.nn.functional, torch.ones(3, device=device)
    at = torch.tensor([1], device=device)
    for call in (
        lambda: torch.add(x, x, out=torch.empty(3)),
        lambda: torch.add(torch.ones(3), 1.0, out=torch.empty(3, device=device)),
        lambda: torch.sum(x, dim=0, out=torch.empty(())),
        lambda: torch.tensor(1.0).add_(torch.tensor(2.0, device=device)),
        lambda: F.batch_norm(x.reshape(1, 3), torch.zeros(3), torch.ones(3), training=False),
        lambda: x.index_add(0, at, torch.tensor(2.0)),
        lambda: x.index_copy(0, at, torch.tensor(2.0)),
        lambda: x.gather(0, torch.tensor([1])),
        lambda: x.index_select(0, torch.tensor([1])),
        lambda: F.cross_entropy(x, torch.tensor(1)),
        lambda: F.linear(x, torch.ones(2, 3, device=device), torch.tensor(1.0)),
    ):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call()


def test_errors_name_the_module_by_its_path(torch, device):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(4, 4))

        def forward(self, x):
            return self.trunk(x)

    net = Net()
    with pytest.raises(RuntimeError, match=r'weight is parameter weight of "trunk\.1" \(Linear\)'):
        net(torch.ones(1, 2))
    if device != "cpu":
        with pytest.raises(RuntimeError, match=r'parameter weight of "trunk\.0" \(Linear\)'):
            net(torch.ones(1, 2, device=device))
    layer = net.trunk[1]
    net.trunk = torch.nn.Sequential(layer)
    with pytest.raises(RuntimeError, match=r'parameter weight of "trunk\.0" \(Linear\)'):
        net(torch.ones(1, 2))


def parent(torch, child):
    """A network that holds a module as `enc.0` and passes on what it is given."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = torch.nn.ModuleList([child])

        def forward(self, *given):
            return self.enc[0](*given)

    return Net()


WRONG = {
    "nothing": lambda torch: (),
    "words": lambda torch: ("a",) * 3,
    "a list": lambda torch: ([torch.ones(2)],),
    "no dimensions": lambda torch: (torch.ones(()),),
    "nine dimensions": lambda torch: (torch.ones((1,) * 9),) * 3,
    "other sizes": lambda torch: (torch.ones(2, 3, 5), torch.ones(5, 3)),
    "truth values": lambda torch: (torch.ones(2, 4, 4, dtype=torch.bool),),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", modules.CASES)
def test_whatever_a_layer_refuses_names_its_path_once(torch, name):
    refused = 0
    for what, given in WRONG.items():
        net = parent(torch, getattr(torch.nn, name)(**modules.CASES[name]))
        try:
            net(*given(torch))
        except Exception as problem:
            refused += 1
            places = [line for line in str(problem).split("\n")[1:] if '"enc.0' in line]
            assert len(places) == 1 and "Net" not in str(problem), (what, problem)
    assert refused > 1


class Unusual(ValueError):
    pass


@pytest.mark.parametrize(
    "problem",
    [
        ValueError("mine"),
        Unusual("mine"),
        KeyError("mine"),
        RuntimeError("mine", 2),
        OSError(2, ""),
    ],
)
def test_what_a_program_raises_in_a_module_stays_as_it_is(torch, problem):
    class Own(torch.nn.Module):
        def forward(self, x):
            raise problem

    given = problem.args
    with pytest.raises(type(problem)) as found:
        parent(torch, Own())(1)
    assert found.value is problem and problem.args == given

    class Wraps(torch.nn.Module):
        def forward(self, x):
            try:
                return torch.nn.functional.linear("a", x)
            except TypeError as below:
                raise problem from below

    with pytest.raises(type(problem)) as found:
        parent(torch, Wraps())(1)
    assert found.value is problem and problem.args == given


def test_keys_and_warnings_stay_as_they_are(torch):
    class Own(torch.nn.Module):
        def forward(self, x):
            return torch.nn.ModuleDict()[x] if isinstance(x, str) else torch.range(0, x)

    with pytest.raises(KeyError) as found:
        parent(torch, Own())("absent")
    assert found.value.args == ("absent",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"^torch\.range is deprecated.*end\)\.$"):
            parent(torch, Own())(2)


def test_what_the_package_raises_for_a_program_names_the_module(torch):
    class Own(torch.nn.Module):
        def forward(self, *given):
            return torch.nn.functional.linear(*given)

    with pytest.raises(TypeError, match=r'(?s)^linear\(\): .*not str\n  in "enc\.0" \(Own\)$'):
        parent(torch, Own())("a", "b")
    with pytest.raises(TypeError, match=r"(?s)not str\n  in Own$"):
        Own()("a", "b")
    with pytest.raises(TypeError, match=r"not str$"):
        Own().forward("a", "b")


def test_checks_raise_the_error_of_their_name(torch):
    table = {
        torch._check: RuntimeError,
        torch._check_index: IndexError,
        torch._check_value: ValueError,
        torch._check_type: TypeError,
        torch._check_not_implemented: NotImplementedError,
    }
    for check, error in table.items():
        check(True)
        with pytest.raises(error, match="Expected cond to be True"):
            check(False)
        with pytest.raises(error, match="of 3"):
            check(False, lambda: f"of {3}")
        with pytest.raises(TypeError, match="must be a bool"):
            check(torch.tensor(True))
    torch._check_tensor_all(torch.tensor([True, True]))
    with pytest.raises(RuntimeError, match="Expected cond"):
        torch._check_tensor_all(torch.tensor([True, False]))
    for wrong in (True, torch.ones(2)):
        with pytest.raises(TypeError, match="cond"):
            torch._check_tensor_all(wrong)
    with pytest.raises(RuntimeError, match="single nonzero value"):
        torch._assert_async(torch.tensor(0.0))
    for kind in (torch.finfo, torch.iinfo):
        for wrong in ("float32", 3, torch.complex64 if kind is torch.iinfo else torch.int8):
            with pytest.raises(TypeError):
                kind(wrong)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_bounds_are_numbers_of_the_dtype(torch, device, name):
    x = torch.empty(3, dtype=getattr(torch, name), device=device)
    most = torch.finfo(x.dtype).max
    assert ((x.uniform_(0, most) >= 0) & (x <= most)).all()
    beyond = most * 1.01 if name != "float64" else float("inf")
    for low, high, which in ((0, beyond, "to"), (-beyond, 0, "from"), (float("nan"), 1, "from")):
        with pytest.raises(RuntimeError, match=f"{which} is out of bounds"):
            x.uniform_(low, high)


def test_windows_that_do_not_fit_and_planes_without_elements(torch, device):
    F = torch.nn.functional
    for n in (1, 2, 3):
        image = torch.ones(1, 1, *[4] * n, device=device)
        none = torch.ones(1, 0, *[4] * n, device=device)
        for kind in ("max", "avg"):
            pool = getattr(F, f"{kind}_pool{n}d")
            with pytest.raises(RuntimeError, match="too small"):
                pool(image, 6, stride=2)
            with pytest.raises(RuntimeError, match="stride should not be zero"):
                pool(image, 2, stride=0)
        with pytest.raises(RuntimeError, match=f"Expected .* {n + 1}D or {n + 2}D"):
            getattr(F, f"adaptive_max_pool{n}d")(none, 2)
    image = torch.ones(2, 3, 8, 8, device=device)
    assert F.fractional_max_pool2d(image, 2, output_size=(0, 1)).shape == (2, 3, 0, 1)
    with pytest.raises(RuntimeError, match="Expect _random_samples"):
        F.fractional_max_pool2d(
            image, 2, output_size=1, _random_samples=torch.rand(1, 3, 2, device=device)
        )
    for source, destination, which in (((0, 0), (0, 1), "source"), ((0, 1), (1, 1), "destination")):
        with pytest.raises(RuntimeError, match=f"repeated dim in `{which}`"):
            torch.movedim(image, source, destination)


def test_bags_name_what_their_rows_are_asked_for(torch):
    bag, table = torch.nn.functional.embedding_bag, torch.ones(3, 2)
    first = torch.tensor([0])
    for wrong in (3, -1):
        with pytest.raises(RuntimeError, match="Expected idx >= 0 && idx < num_embeddings"):
            bag(torch.tensor([wrong]), table, first)
    for wrong in (3, -4):
        with pytest.raises(RuntimeError, match="within the number of embeddings, -3 through 2"):
            bag(first, table, first, padding_idx=wrong)
    with pytest.raises(NotImplementedError, match="only supported for mode='sum'"):
        bag(first, table, first, per_sample_weights=torch.ones(1))
