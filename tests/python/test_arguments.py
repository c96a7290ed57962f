"""Arguments in every form that torch takes, and those that it refuses: NumPy's numbers and 0-d
tensors for numbers of every function of the record, memory formats of all that makes tensors, what
may stand in an index, a size, a device or a set_."""

import itertools

import flambeau as torch
import numpy as np
import pytest
from flambeau import _call
from flambeau._gen import ops

CPU, F64 = torch.device("cpu"), torch.float64
MOVES = [
    ((), {}), ((CPU,), {}), (("cpu",), {}), ((None,), {}), ((F64,), {}), ((float,), {}),
    ((CPU, F64), {}), ((None, F64), {}), ((CPU, None), {}), ((CPU, F64, True), {}),
    ((CPU, F64, True, True), {}), ((F64, True), {}), ((F64, True, True), {}),
    ((torch.ones(1),), {}), ((torch.ones(1), True), {}), ((torch.ones(1), False, True), {}),
    ((CPU,), {"dtype": F64}), ((), {"dtype": F64, "device": "cpu"}),
]  # fmt: skip
NO_MOVES = [
    (CPU, True), (None, True), (CPU, CPU), (F64, F64), (F64, 1), (CPU, F64, 1), (True,), (1.5,),
    ([],), (torch.ones(1), F64), (torch.ones(1), CPU), (CPU, None, None), (F64, True, True, True),
    ("cpu", True, True), (CPU, F64, True, True, True),
]  # fmt: skip


@pytest.mark.parametrize("args, named", MOVES)
def test_where_a_tensor_and_a_module_move_to(args, named):
    x, m = torch.ones(2), torch.nn.Linear(1, 1)
    wanted = F64 if F64 in (*args, *named.values()) or float in args else torch.float32
    found = x.to(*args, **named)
    assert found.dtype is wanted
    copies = sum(a is True for a in args) > 1 or (False, True) == args[1:]
    assert (found is x) == (wanted is torch.float32 and not copies)
    flags = [a for a in args if isinstance(a, bool)]
    if len(flags) < 2:
        assert m.to(*args, **named).weight.dtype is wanted
    else:
        with pytest.raises(RuntimeError, match="does not accept copy"):
            m.to(*args, **named)


@pytest.mark.parametrize("args", NO_MOVES)
def test_what_says_no_place_and_no_dtype(args):
    for movable in torch.ones(2), torch.nn.Linear(1, 1):
        with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments"):
            movable.to(*args)


@pytest.mark.parametrize(
    "args, named",
    [
        ((CPU,), {"device": "cpu"}), ((None,), {"device": "cpu"}), ((F64,), {"dtype": F64}),
        ((CPU, F64), {"dtype": F64}), ((torch.ones(1),), {"dtype": F64}),
        ((torch.ones(1),), {"device": "cpu"}),
    ],
)  # fmt: skip
def test_a_place_or_a_dtype_is_not_said_twice(args, named):
    for movable in torch.ones(2), torch.nn.Linear(1, 1):
        with pytest.raises(TypeError):
            movable.to(*args, **named)


INTS = {}  # every function with an int among its parameters, by name: a call that takes one
for _name, _function in {**ops.TORCH, **ops.FUNCTIONAL}.items():
    rows = getattr(ops, f"_S_{_name}", None)
    if rows and rows[0][1] == "tensor" and len(rows) > 1 and rows[1][1:] == ("int", None, ""):
        if _function is getattr(ops, f"_{_name}") and all("o" in row[3] for row in rows[2:]):
            INTS[_name] = _function

LISTED, FACTORS = [], []  # (function, its parameter) for lists of ints and for floats
for _name, _function in {**ops.TORCH, **ops.FUNCTIONAL}.items():
    rows = getattr(ops, f"_S_{_name}", None) if _function is getattr(ops, f"_{_name}", 0) else None
    if rows and rows[0][1] == "tensor" and all("o" in row[3] for row in rows[2:]):
        LISTED += [(_function, row[0]) for row in rows[1:2] if row[1] == "ints"]
        others = [row[1] for row in rows[:2] if "o" not in row[3]]
        if others in (["tensor"], ["tensor"] * 2):
            FACTORS += [(_function, len(others), row[0]) for row in rows if row[1] == "double"]

# A record of another form would leave them empty, and nothing below would be tested.
assert len(INTS) >= 20 and len(LISTED) >= 20 and len(FACTORS) >= 40


def outcome(function, *args):
    torch.manual_seed(0)
    try:
        return function(*args)
    except (RuntimeError, IndexError):
        return None


@pytest.mark.parametrize("name", INTS)
def test_numbers_for_an_int(name):
    function = INTS[name]
    for x in torch.rand(3, 3), torch.ones(3, dtype=torch.int64), torch.rand(1, 4, 4, 4):
        want = outcome(function, x, 1)
        if want is not None and "drop" not in name and "shuffle" not in name:
            for one in (
                np.int64(1),
                np.int32(1),
                torch.tensor(1),
                torch.tensor(1, dtype=torch.uint8),
            ):
                found = outcome(function, x, one)
                assert type(found) is type(want)
                if isinstance(want, torch.Tensor):
                    assert torch.equal(found, want)
        for wrong in 1.0, np.float32(1), torch.tensor(1.0), True, "1":
            with pytest.raises(TypeError):
                function(x, wrong)
        for wrong in 2**64, -(2**63) - 1:
            with pytest.raises(ValueError, match="^Overflow when unpacking long long$"):
                function(x, wrong)


@pytest.mark.parametrize("function, parameter", LISTED, ids=[f.__name__ for f, _ in LISTED])
def test_parts_of_a_list_of_ints_are_whole(function, parameter):
    x = torch.ones(2, 2)
    for wrong in 1.5, torch.tensor(1.0), 2**64:
        with pytest.raises(TypeError, match=f"argument '{parameter}'.* must be tuple of ints"):
            function(x, [1, wrong])


@pytest.mark.parametrize("case", FACTORS, ids=[f"{f.__name__} {p}" for f, _, p in FACTORS])
def test_a_number_that_needs_a_gradient_is_no_argument(case):
    function, n, parameter = case
    number, x = torch.tensor(0.5, requires_grad=True), torch.rand(2, 3, 4, 4)
    with pytest.raises(TypeError, match=f"argument '{parameter}'.* must be Number, not Tensor"):
        function(*[x] * n, **{parameter: number})
    try:
        function(*[x] * n, **{parameter: number.detach()})
    except (RuntimeError, ValueError):  # of the operands, or the number's range
        pass


def test_seeds_have_64_bits():
    for seeded in torch.manual_seed, torch.Generator().manual_seed:
        for wrong in 2**64, -(2**63) - 1:
            with pytest.raises(ValueError, match="Overflow"):
                seeded(wrong)
        assert seeded(-1).initial_seed() == seeded(2**64 - 1).initial_seed() == 2**64 - 1


def test_operands_have_64_bits():
    x = torch.ones(2)
    for wrong in 2**70, -(2**70):
        for call in (
            lambda: x + wrong,
            lambda: wrong * x,
            lambda: torch.add(x, wrong),
            lambda: torch.full((1,), wrong),
            lambda: x.fill_(wrong),
        ):
            with pytest.raises(OverflowError):
                call()


def test_only_what_has_more_than_64_bits_is_said_to():
    def refuses(*_):
        raise OverflowError("can't convert negative number to unsigned")

    def call(*values):
        rows = [(name, "int", None, "") for name in "ab"]
        return _call._slow(refuses, "refuses", rows, values)

    for values in (-1, 2), (-(2**63), 2**63 - 1):
        with pytest.raises(OverflowError, match="negative number"):
            call(*values)
    for values in (-1, 2**63), (-(2**63) - 1, 0):
        with pytest.raises(ValueError, match="^Overflow when unpacking long long$"):
            call(*values)


LIKE = "empty_like zeros_like ones_like rand_like randn_like".split()


@pytest.mark.parametrize("name", [*LIKE, "full_like", "randint_like"])
def test_memory_formats_of_what_is_like_another(name):
    function, more = getattr(torch, name), () if name in LIKE else (3,)
    plain = torch.rand(2, 3, 4, 5)
    image = plain.contiguous(memory_format=torch.channels_last)
    for x in plain, image:
        assert function(x, *more).stride() == x.stride()
        assert function(x, *more, memory_format=torch.preserve_format).stride() == x.stride()
        for memory_format, same in (torch.contiguous_format, plain), (torch.channels_last, image):
            made = function(x, *more, memory_format=memory_format, requires_grad=True)
            assert made.stride() == same.stride() and made.is_leaf and made.requires_grad
    with pytest.raises(RuntimeError, match="rank 4"):
        function(torch.rand(2, 3), *more, memory_format=torch.channels_last)


def test_bounds_of_integers_like_another():
    x = torch.zeros(1000, dtype=torch.int64)
    for args, named, bounds in (
        ((10,), {}, (0, 9)),
        ((), {"high": 10}, (0, 9)),
        ((3,), {"high": 10}, (3, 9)),
        ((), {"low": -4, "high": 2}, (-4, 1)),
        ((-4, 0), {}, (-4, -1)),
    ):
        one, two = (
            torch.randint_like(x, *args, generator=torch.Generator().manual_seed(1), **named)
            for _ in range(2)
        )
        assert (one.min().item(), one.max().item()) == bounds and torch.equal(one, two)
    with pytest.raises(TypeError, match="missing required argument: 'high'"):
        torch.randint_like(x)


IN_PLACE = """t_() transpose_(0,1) unsqueeze_(0) squeeze_(0) swapaxes_(0,1) swapdims_(0,1)
as_strided_((2,),(1,))""".split()


@pytest.mark.parametrize("call", IN_PLACE)
def test_views_in_place_of_expanded_tensors(call):
    x = torch.arange(3.0).unsqueeze(1).expand(3, 4)
    want = eval("x." + call.replace("_(", "("), {"x": x})
    assert torch.equal(eval("x." + call, {"x": x}), want)


NEGATIVE = torch.tensor([-1])
BY_INDEX = {
    "index_select": (0, NEGATIVE),
    "index_copy": (0, NEGATIVE, torch.ones(1)),
    "index_add": (0, NEGATIVE, torch.ones(1)),
    "index_reduce": (0, NEGATIVE, torch.ones(1), "prod"),
    "gather": (0, NEGATIVE),
    "scatter": (0, NEGATIVE, torch.ones(1)),
    "scatter_add": (0, NEGATIVE, torch.ones(1)),
    "scatter_reduce": (0, NEGATIVE, torch.ones(1), "sum"),
}


@pytest.mark.parametrize("name", BY_INDEX)
def test_indices_that_count_from_the_end_are_out_of_range(name):
    with pytest.raises(IndexError):
        getattr(torch.zeros(3), name)(*BY_INDEX[name])


def test_indices_that_may_count_from_the_end():
    x = torch.arange(3.0)
    assert x.take(NEGATIVE).item() == x[NEGATIVE].item() == 2
    assert torch.take_along_dim(x, NEGATIVE, 0).item() == 2
    assert x.index_fill(0, NEGATIVE, 7).tolist() == [0, 1, 7]


def test_values_put_at_indices_have_the_tensors_dtype():
    x = torch.zeros(2, 3, dtype=torch.float64)
    for index in [0], (slice(None), [1]), torch.tensor([0]):
        with pytest.raises(RuntimeError, match="dtypes match"):
            x[index] = torch.tensor([1])
    with pytest.raises(RuntimeError, match="dtypes match"):
        x.index_put_((torch.tensor([0]),), torch.tensor(1))
    x[0] = x[:, 1] = torch.tensor(1)  # views convert
    x[torch.tensor([True, False])] = torch.tensor(2)  # one value under a mask, too
    x[[1]] = 3
    assert x.tolist() == [[2, 2, 2], [3, 3, 3]]


def test_what_stands_in_an_index():
    x = torch.arange(4.0)
    for wrong in slice("0", "1"), slice(0.0, 1.0), "0":
        with pytest.raises(TypeError):
            x[wrong]
    for wrong in object(), {}, 1j, 1.0:
        with pytest.raises(IndexError):
            x[wrong]
    for step in 0, -1:
        with pytest.raises(ValueError, match="slice step"):
            x[::step]
    assert x[torch.tensor(1) : np.int64(3)].tolist() == [1, 2]


def test_sizes_grow_by_tuples():
    class Other:
        __radd__ = __add__ = lambda self, size: "other"

    size = torch.Size([1, 2])
    for found in size + (3,), torch.Size([1]) + torch.Size([2, 3]), (1,) + torch.Size([2, 3]):
        assert found == (1, 2, 3) and type(found) is torch.Size
    assert size + Other() == Other() + size == "other"
    for call in lambda: size + [3], lambda: [3] + size, lambda: size + range(2):
        with pytest.raises(TypeError, match="can only concatenate|unsupported operand"):
            call()


def test_sizes_and_devices():
    assert torch.Size([torch.tensor(2), np.int64(3), True]) == (2, 3, 1)
    assert all(type(n) is int for n in torch.Size([torch.tensor(2), np.int64(3)]))
    for wrong in [1.5], [torch.tensor(2.0)], "ab", [None]:
        with pytest.raises(TypeError, match="iterable of 'int'"):
            torch.Size(wrong)
    for wrong in (-1,), ("cuda", -1), ("cuda:-1",), ("cuda:01",):
        with pytest.raises(RuntimeError):
            torch.device(*wrong)
    for wrong in (1.5,), (1, 1), (torch.device("cpu"), 1):
        with pytest.raises(TypeError):
            torch.device(*wrong)


@pytest.mark.parametrize("name", "flip permute view reshape expand repeat tile resize_".split())
def test_a_list_of_sizes_may_be_empty_but_not_left_out(name):
    with pytest.raises(TypeError, match="missing 1 required"):
        getattr(torch.zeros(2), name)()
    assert getattr(torch.zeros(()), name)(()).shape == ()


def test_numbers_into_dtypes():
    assert torch.tensor([-1, 255], dtype=torch.uint8).tolist() == [255, 255]
    for value, dtype in (256, "uint8"), (-256, "uint8"), (-1.5, "uint8"), (128, "int8"):
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.tensor([value], dtype=getattr(torch, dtype))
    for value in float("nan"), float("inf"):
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.tensor([value], dtype=torch.int64)
    with pytest.raises(ValueError, match="Overflow"):
        torch.tensor([2**63])
    with pytest.raises(RuntimeError, match="argument beta"):
        torch.addr(torch.ones(2, 2).long(), torch.tensor([1, 2]), torch.tensor([1, 2]), beta=0.5)


@pytest.mark.parametrize("name", ["torch.add", "torch.sub", "torch.rsub", "add_", "sub_", "sub"])
def test_a_factor_is_of_a_kind_that_the_result_has(name):
    call = getattr(torch if "." in name else torch.Tensor, name.rpartition(".")[2])
    kinds = {bool: (True, np.True_, torch.tensor(True)), int: (2, np.int64(2), torch.tensor(2))}
    kinds[float] = (2.0, np.float32(2), torch.tensor(2.0))
    fitting = {torch.float32: (int, float), torch.int32: (int,), torch.bool: (int, bool)}
    for dtype, fit in [*fitting.items()][: 3 if "add" in name else 2]:  # bools have no difference
        t = torch.ones(2, dtype=dtype)
        for kind, factors in kinds.items():
            for factor, other in itertools.product(factors, (t, dtype is torch.bool or 1)):
                if kind in fit:
                    call(t.clone(), other, alpha=factor)
                else:
                    with pytest.raises(RuntimeError, match="alpha"):
                        call(t.clone(), other, alpha=factor)


def test_a_dimension_is_named_once():
    for x in (torch.ones(1, 2, 1), torch.ones(())):
        with pytest.raises(RuntimeError, match="dim 0 appears multiple times"):
            x.squeeze((0, -x.dim() if x.dim() else -1))
    assert torch.ones(1, 2, 1).squeeze((0, 2)).shape == (2,)


@pytest.mark.parametrize("name", ["kthvalue", "max", "min", "median", "mode", "argmax", "amin"])
def test_nothing_is_chosen_along_an_empty_dimension(name):
    x = torch.ones(2, 0, 4)
    choose = getattr(torch, name)
    with pytest.raises(IndexError, match="Expected reduction dim 1 to have non-zero size"):
        choose(x, **{"dim": 1, **({"k": 1} if name == "kthvalue" else {})})


@pytest.mark.parametrize("name", ["beta", "alpha"])
def test_a_factor_of_an_outer_product_is_of_a_kind_that_the_result_has(name):
    fitting = {torch.float32: (2, 2.5), torch.int32: (2,), torch.bool: (2, True)}
    for dtype, fit in fitting.items():
        m, v = torch.ones(2, 2, dtype=dtype), torch.ones(2, dtype=dtype)
        for factor in (2, 2.0, 2.5, True, torch.tensor(2.0), torch.tensor(True)):
            kind = type(factor.item() if hasattr(factor, "item") else factor)
            for call in (torch.addr, m.clone().addr_):
                given = (m, v, v) if call is torch.addr else (v, v)
                if kind in map(type, fit):
                    call(*given, **{name: factor})
                else:
                    with pytest.raises(RuntimeError, match=name):
                        call(*given, **{name: factor})


@pytest.mark.parametrize("given", ["0.5", b"1"])
def test_a_text_is_no_number(given):
    for call in (torch.dropout, torch.nn.functional.alpha_dropout, torch.nn.functional.softplus):
        with pytest.raises(TypeError):
            call(torch.ones(2), given, True)
    with pytest.raises(TypeError):
        torch.quantile(torch.ones(2), [0.5, given])


MOST = {"uint8": 255, "int8": 127, "int16": 32767, "float16": 2048, "bfloat16": 256}


@pytest.mark.parametrize("dtype", MOST)
def test_a_permutation_holds_each_number(dtype):
    most = MOST[dtype]
    found = torch.randperm(most + 1, dtype=getattr(torch, dtype))
    assert found.double().sort().values.equal(torch.arange(most + 1.0).double())
    with pytest.raises(RuntimeError, match=f"greater than {most}"):
        torch.randperm(most + 2, dtype=getattr(torch, dtype))


@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_a_factor_is_a_number_alone(name):
    call, t = getattr(torch, name), torch.ones(2)
    for factor in (torch.tensor(0.5, requires_grad=True), torch.ones(1), np.ones(1), "1", [1.0]):
        with pytest.raises(TypeError, match="alpha"):
            call(t, t, alpha=factor)
    with pytest.raises(TypeError, match="other|input"):
        call(t.long(), "a", alpha=0.5)


def test_names_and_arguments():
    assert torch.div(torch.ones(2), 2, rounding_mode=None).tolist() == [0.5, 0.5]
    assert torch.arange(3, dtype=int).dtype is torch.int64
    assert torch.randint(high=5, size=(2,)).shape == torch.randint(5, (2,)).shape == (2,)
    assert torch.zeros(2).bernoulli_(torch.tensor([0.0, 1.0], dtype=torch.float64)).tolist() == [
        0,
        1,
    ]
    assert torch.cat([torch.empty(0), torch.empty(0)], dim=1).shape == (0,)
    assert torch.gather(torch.arange(3.0), 0, torch.tensor([1]), sparse_grad=False).item() == 1
    x = torch.rand(2, 3)
    assert torch.equal(x.mH, x.mT) and torch.equal(reversed(x), x.flip(0))
    with pytest.raises(RuntimeError, match="only supported on matrices"):
        _ = x[0].mT
    assert torch.equal(torch.swapaxes(x, axis0=0, axis1=1), x.swapaxes(axis0=0, axis1=1))
    assert x.clone().swapaxes_(axis0=0, axis1=1).shape == (3, 2)
    whole = torch.tensor([1, 2])
    whole <<= 2
    whole >>= 1
    assert whole.tolist() == [2, 4] and torch.tensor([2.0]).__rdiv__(1).item() == 0.5
    steps = torch.gradient(torch.tensor([1.0, 2, 4]), spacing=(torch.arange(3.0).double(),))[0]
    assert steps.dtype is torch.float64


def test_set_takes_tensors_and_storages():
    x = torch.arange(6.0)
    for source in x, x.storage(), x.untyped_storage():
        assert torch.zeros(0).set_(source).tolist() == x.tolist()
        part = torch.zeros(0).set_(source, 1, (2, 2), (2, 1))
        assert part.tolist() == [[1, 2], [3, 4]] and part.data_ptr() == x[1:].data_ptr()
        assert torch.zeros(0).set_(source, storage_offset=4, size=(2,)).tolist() == [4, 5]
    assert torch.ones(2).set_().shape == (0,)


def test_set_grows_a_storage_as_far_as_it_reaches():
    def over(source, *given):
        return torch.zeros(0).set_(source, *given)

    for take in (torch.Tensor.untyped_storage, torch.Tensor.storage, lambda t: t):
        for offset, size, stride, elements in (
            (0, (4,), (1,), 4),
            (0, (8,), (1,), 8),
            (2, (4,), (1,), 6),
            (3, (2, 3), (5, 1), 11),
            (1, (2, 2), (0, 1), 4),
            (0, (0, 9), (9, 1), 4),
        ):
            x = torch.arange(4.0)
            found = over(take(x), offset, size, stride)
            assert (found.shape, found.stride(), found.storage_offset()) == (size, stride, offset)
            assert x.untyped_storage().nbytes() == 4 * elements
            assert x.untyped_storage().data_ptr() == found.untyped_storage().data_ptr()
            assert x.tolist() == [0, 1, 2, 3]
    for wrong in ((-1, (2,), (1,)), (0, (2,), (-1,)), (0, (2, 2), (1,))):
        with pytest.raises(RuntimeError):
            over(torch.arange(4.0).untyped_storage(), *wrong)
    fixed = torch.frombuffer(bytearray(16), dtype=torch.float32)
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        over(fixed.untyped_storage(), 0, (8,), (1,))


def test_digits_of_devices_are_plain():
    with pytest.raises(RuntimeError, match="Invalid device string"):
        torch.device("cuda:²")


@pytest.mark.parametrize("size", [3, [3, 7], (3, 7)], ids=repr)
def test_split_takes_sizes_under_one_name(size):
    x = torch.arange(10).reshape(1, 10)
    wanted = [(1, 3), (1, 3), (1, 3), (1, 1)] if size == 3 else [(1, 3), (1, 7)]
    for parts in (
        x.split(split_size=size, dim=1),
        x.split(size, -1),
        torch.split(x, split_size_or_sections=size, dim=1),
        torch.split(tensor=x, split_size_or_sections=size, dim=1),
    ):
        assert isinstance(parts, tuple) and [p.shape for p in parts] == wanted
        assert torch.cat(parts, 1).equal(x) and all(p._is_view() for p in parts)
    with pytest.raises(TypeError, match="split"):
        x.split("3")
    with pytest.raises(TypeError, match="unexpected keyword argument 'split_sizes'"):
        x.split(split_sizes=[3, 7])


def test_words_of_torch_name_what_c_calls_otherwise():
    x = torch.eye(2) * 2
    assert torch.det(input=x) == 4 and torch.matrix_power(input=x, n=2).equal(x * 2)
    assert torch.inverse(input=x).equal(x / 4) and torch.slogdet(input=x)[0] == 1
    assert torch.dropout(x, 0.5, train=False).equal(x)
    assert torch.cholesky_solve(input=x, input2=x).equal(x / 4)
    assert x.cholesky_solve(input2=x).equal(x / 4)
    assert (
        torch.isin(element=2, test_elements=x) and torch.isin(elements=x, test_element=2).sum() == 2
    )
    assert torch.index_put(input=x, indices=[torch.tensor(0)], values=torch.tensor(1.0))[0, 1] == 1
    with pytest.raises(TypeError, match="both 'input' and 'A'"):
        torch.det(input=x, A=x)
    with pytest.raises(RuntimeError, match="at least one tensor of indices"):
        x.index_put_([], torch.tensor(1.0))


def test_an_only_argument_by_its_name():
    assert torch.arange(end=3).tolist() == [0, 1, 2] == torch.arange(3).tolist()
    assert torch.arange(end=torch.tensor(4), step=2, start=0).tolist() == [0, 2]
    with pytest.raises(TypeError, match='missing .* "end"'):
        torch.arange()
    assert torch.repeat_interleave(repeats=torch.tensor([1, 2])).tolist() == [0, 1, 1]


def test_one_probability_for_all():
    x = torch.empty(1000)
    assert 350 < torch.bernoulli(x, 0.5).sum() < 650 and x.bernoulli(p=1.0).sum() == 1000
    out = torch.empty(0)
    assert torch.bernoulli(x, 0.0, out=out) is out and out.sum() == 0
    with pytest.raises(RuntimeError, match="p"):
        x.bernoulli(2.0)


WRITERS = {
    "fill_": lambda x, v: x.fill_(v),
    "full_like": lambda x, v: torch.full_like(x, v),
    "full": lambda x, v: torch.full((2,), v, dtype=x.dtype),
    "masked_fill": lambda x, v: x.masked_fill(x == 0, v),
    "index_fill": lambda x, v: x.index_fill(0, torch.tensor([0]), v),
    "scatter": lambda x, v: x.scatter(0, torch.tensor([0]), v),
    "pad": lambda x, v: torch.nn.functional.pad(x, (1, 1), value=v),
    "threshold": lambda x, v: torch.nn.functional.threshold(x, 0, v),
    "x[mask]": lambda x, v: x.__setitem__(x == 0, v),
    "x[list]": lambda x, v: x.__setitem__([0], v),
}
BEYOND = {"uint8": (256, -256, 300.0), "int8": (128, -129), "int16": (2**15,), "int32": (2**31,)}
BEYOND.update(int64=(1e19, float("inf"), float("nan")), float16=(1e5, -1e9), bfloat16=(1e39,))
BEYOND["float32"] = (1e39, -1e300)


@pytest.mark.parametrize("name", WRITERS)
def test_numbers_that_a_dtype_has_not_are_not_written(name):
    for dtype, numbers in BEYOND.items():
        x = torch.zeros(3, dtype=getattr(torch, dtype))
        for number in numbers:
            with pytest.raises(RuntimeError, match="without overflow"):
                WRITERS[name](x, number)
            assert x.tolist() == [0, 0, 0]
        WRITERS[name](x, float("-inf") if x.is_floating_point() else 100)
    if name not in ("threshold", "pad"):  # these take a float
        WRITERS[name](torch.zeros(3, dtype=torch.uint8), -1)  # as in torch, bytes count down


@pytest.mark.parametrize("call", [torch.clamp, torch.nn.functional.hardtanh])
def test_bounds_beyond_an_integral_dtype(call):
    for dtype, least, most in (("uint8", 0, 255), ("int8", -128, 127)):
        x = torch.tensor([0, 1, 100], dtype=getattr(torch, dtype))
        assert call(x, -1000, 1000).equal(x) and call(x, -1000, 1).tolist() == [0, 1, 1]
        assert call(x, 1, 1000).tolist() == [1, 1, 100]
        for low, high in ((most + 1, most + 2), (least - 2, least - 1)):
            with pytest.raises(RuntimeError, match="outside the representable range"):
                call(x, low, high)


def test_powers_that_have_no_value_of_their_own():
    least = 2.0**-149
    x = torch.tensor([least, 0.0, 1.5], requires_grad=True)
    assert torch.ldexp(x, torch.tensor([276, 255, -150])).tolist() == [2.0**127, 0, least]
    torch.ldexp(x, torch.tensor([[3], [-1]])).sum().backward()
    assert x.grad.tolist() == [8.5] * 3
    half = torch.tensor(2.0**-14, dtype=torch.float16)
    assert torch.ldexp(half, torch.tensor(29)).item() == 2.0**15


def test_fractions_are_cut_off():
    for dtype, number in ((torch.uint8, 255.5), (torch.int8, 127.9), (torch.int32, 2**31 - 0.5)):
        assert torch.zeros(2, dtype=dtype).fill_(number)[0] == int(number)
        with pytest.raises(RuntimeError, match="without overflow"):
            torch.zeros(2, dtype=dtype).fill_(int(number) + 1.0)
