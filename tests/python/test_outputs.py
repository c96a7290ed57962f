"""Every function with `out=`: into a view with strides, a tensor of another shape or dtype, one
that overlaps an operand or itself, and what is no tensor. Functions are found by the record, and a
call of each by trying operands, so that a new function is tested without an edit here."""

import json
import pathlib
import warnings

import flambeau as torch
import pytest

RECORD = pathlib.Path(__file__).resolve().parents[2] / "bindings" / "api.jsonl"
SPACES = {
    **{"torch": torch, "linalg": torch.linalg, "special": torch.special},
    "F": torch.nn.functional,
}
# Beside what the headers say: functions that Python makes of others, and those that make tensors.
MORE = (
    "torch.norm torch.nonzero torch.tensordot torch.angle torch.narrow_copy torch.unsqueeze_copy "
    "torch.normal linalg.vector_norm linalg.tensorinv"
).split()
MADE = "zeros ones empty full eye linspace logspace arange rand randn randint randperm".split()


def recorded():
    names = set(MORE)
    for line in RECORD.read_text().splitlines():
        row = json.loads(line)
        if "out" not in row.get("forms", ()):
            continue
        for spelling in row["torch"]:
            space, _, name = spelling.rpartition(".")
            space = space.removeprefix("torch.")
            of_torch = space == "F" and f"torch.{name}" in row["torch"]  # where torch has its out=
            if space in SPACES and not name.endswith("_") and not of_torch:
                names.add(f"{space}.{name}")
    return sorted(names)


def operands():
    torch.manual_seed(0)
    x = torch.eye(3) * 3 + torch.rand(3, 3)
    x, v, i = x + x.mT, torch.tensor([0.2, 0.5, 0.8]), torch.tensor([0, 1, 2])
    b, t, places = x > 1, torch.stack([x, x]), torch.zeros(3, 3, dtype=torch.int64)
    whole = torch.tensor([[4, 6], [9, 2]])
    return [
        *((x,), (v,), (x, x), (v, v), (x, 1), (x, 2), (1, v), ([x, x],), (whole, whole), (whole,)),
        *((x, 0, i), (x, i), (x, 0, i, x), (x, 0, places), (x, 0, places, x), (x, b), (b, x, x)),
        *((x, x, x), (x, v, v), (x, v), (t, t), (x, t, t), (t, t, t), (v, 0.5), (x, 1, 0), (b,)),
        *((v, 2), (x, x, 0.5), (x, [0, 1]), (x, 2, 0, 1.0), (x, 0, i, x, "sum"), (x, v, x), (v, i)),
        *((v, x, v), (x, 0, i, x, "prod"), (t, 2), (torch.stack([t, t]), 2)),
        *((x, 0, places, x, "sum"), (torch.linalg.lu_factor(x)[0], i.int() + 1, x), (x, x[0, :1])),
        *((0.0, 1.0, (3,)), (x, 0, 0, 2), (x, x, 1), (torch.eye(9).reshape(3, 3, 9), 2)),
    ]


def call_of(name):
    """A call that gives a tensor of several elements."""
    space, _, short = name.rpartition(".")
    function = getattr(SPACES[space], short)
    for args in operands():
        torch.manual_seed(0)
        try:
            found = function(*args)
        except Exception:
            continue
        if isinstance(found, torch.Tensor) and not found.requires_grad:
            return function, args, found
    pytest.fail(f"{name}: no operands here fit; add some")


def drawn(function, *args, out):
    torch.manual_seed(0)
    return function(*args, out=out)


def strided_like(found):
    """Every other element of a larger tensor, and what lies between them."""
    wide = torch.full((*found.shape, 2), 1, dtype=found.dtype)
    return wide[..., 0], wide[..., 1]


def same(a, b):
    a, b = (torch.view_as_real(t) if t.is_complex() else t for t in (a, b))
    return a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num())


SUMS_OF_THAT_DTYPE = "torch.sum torch.cumsum torch.cumprod torch.prod torch.bernoulli".split()
SOLVERS = {"linalg.solve_triangular": {"upper": True}}


@pytest.mark.parametrize("name", recorded())
def test_out_is_written_where_it_lies(name):
    if name in SOLVERS:
        x = torch.eye(3)
        function, args = torch.linalg.solve_triangular, (x, x)
        out, between = strided_like(x)
        assert same(function(*args, upper=True, out=out), x) and bool((between == 1).all())
        return
    function, args, found = call_of(name)
    out, between = strided_like(found)
    where = out.data_ptr(), out.stride()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert drawn(function, *args, out=out) is out
    assert same(out, found) and (out.data_ptr(), out.stride()) == where
    assert bool((between == 1).all()), "elements between those of the view were written"


@pytest.mark.parametrize("name", recorded())
def test_out_of_another_shape_is_resized_with_a_warning(name):
    if name in SOLVERS:
        pytest.skip("its call is above")
    function, args, found = call_of(name)
    out = found.new_ones((*found.shape, 5))
    with pytest.warns(UserWarning, match="was resized"):
        drawn(function, *args, out=out)
    assert same(out, found)
    empty = found.new_empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(drawn(function, *args, out=empty), found)


@pytest.mark.parametrize("name", recorded())
def test_out_that_no_result_can_be_written_to_is_refused(name):
    if name in SOLVERS:
        pytest.skip("its call is above")
    function, args, found = call_of(name)
    with pytest.raises(TypeError, match="'out' must be"):
        function(*args, out=[found])
    if found.numel() > 1:
        with pytest.raises(RuntimeError, match="more than one element"):
            function(*args, out=found.new_ones(1).expand(found.shape))
    if found.is_floating_point() and name not in SUMS_OF_THAT_DTYPE:
        before = torch.ones(found.shape, dtype=torch.int64)
        text = "can't be cast|to have dtype|requires dtype|but found Long"
        with pytest.raises(RuntimeError, match=text):
            function(*args, out=before)
        assert bool((before == 1).all())
    if found.is_floating_point():
        with pytest.raises(RuntimeError, match="out="):
            function(*args, out=found.clone().requires_grad_())


def made(name, **named):
    args = {"full": ((4,), 2), "randint": (0, 9, (4,)), "linspace": (0, 1, 4), "eye": (2, 3)}
    args["logspace"] = args["linspace"]
    torch.manual_seed(0)
    return getattr(torch, name)(*args.get(name, (4,)), **named)


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_in_out_has_its_dtype(name):
    for dtype in (torch.float64, torch.int64):
        if dtype is torch.int64 and name in ("rand", "randn"):
            continue
        want = made(name, dtype=dtype)
        out, between = strided_like(want)
        stride = out.stride()
        assert made(name, out=out) is out
        assert out.stride() == stride and bool((between == 1).all())
        assert name == "empty" or torch.equal(out, want)
        with pytest.raises(RuntimeError, match="does not match dtype of out"):
            made(name, out=out, dtype=torch.float16)
        with pytest.raises(TypeError, match="'out' must be Tensor"):
            made(name, out=2)
        with pytest.raises(RuntimeError, match="more than one element"):
            made(name, out=want.new_ones(1).expand(want.shape))


SPACED = {"arange": (0, 4), "linspace": (0, 3, 4), "logspace": (0, 3, 4), "range": (0, 3)}


@pytest.mark.filterwarnings("ignore:torch.range")
@pytest.mark.parametrize("name", SPACED)
def test_spaced_numbers_keep_the_shape_of_out(name):
    function, args = getattr(torch, name), SPACED[name]
    whole = torch.zeros(2, 3)
    function(*args, out=whole.narrow(1, 1, 2))
    assert torch.equal(whole[:, 1:].reshape(-1), function(*args).float())
    assert whole[:, 0].tolist() == [0, 0]


PAIRS = {"max": (0,), "min": (0,), "sort": (), "topk": (2,), "kthvalue": (1,), "mode": ()}
PAIRS |= {"cummax": (0,), "cummin": (0,), "median": (0,), "nanmedian": (0,), "aminmax": ()}
PAIRS |= {"frexp": ()}


@pytest.mark.parametrize("name", PAIRS)
def test_several_outs(name):
    x, function, more = torch.rand(3, 4), getattr(torch, name), PAIRS[name]
    found = function(x, *more)
    outs = [strided_like(t) for t in found]
    given = tuple(out for out, _ in outs)
    function(x, *more, out=given)
    for want, (out, between) in zip(found, outs):
        assert torch.equal(out, want) and bool((between == 1).all())
    with pytest.raises(TypeError):
        function(x, *more, out=given[:1])
    kept = torch.ones_like(given[0])
    with pytest.raises(
        RuntimeError, match=r"to have dtype|expected scalar_type \w+ but found|expected scalar type"
    ):
        function(x, *more, out=(kept, given[1].bool()))
    assert bool((kept == 1).all()), "written although the other output was refused"


ELEMENTWISE = "add mul sub div maximum atan2 pow".split()


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_operands_that_overlap_what_is_written(name):
    function, refused = getattr(torch, name), "refer to a single memory location"
    x = torch.rand(6)
    with pytest.raises(RuntimeError, match=refused):
        function(x[1:], torch.tensor(2.0), out=x[:-1])
    with pytest.raises(RuntimeError, match=refused):
        function(x[:-1], x[:-1], out=x[1:])
    square = torch.rand(3, 3)
    with pytest.raises(RuntimeError, match=refused):
        function(square.t(), square.t(), out=square)
    want = function(square, square)
    assert torch.equal(function(square, square, out=square), want)  # the same elements are no harm


def test_copies_between_overlapping_views():
    x = torch.arange(5.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[1:].copy_(x[:-1])
    assert x.tolist() == [0, 1, 2, 3, 4]
    square = torch.arange(9.0).reshape(3, 3)
    square[1:, 1:].copy_(square[:-1, :-1].clone())
    assert square[2].tolist() == [6, 3, 4]


def test_resizing():
    column = torch.zeros(3, 3)[:, 2]
    before = column._version
    assert column.resize_(3).stride() == (3,) and column._version == before
    x = torch.zeros(3)
    x.resize_(2)
    assert x._version == 1
    y = x.exp()
    y.requires_grad_()
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        y.resize_(2)
    image = torch.zeros(1).resize_((1, 2, 2, 2), memory_format=torch.channels_last)
    assert image.stride() == (8, 1, 4, 2)


def test_in_place_on_an_overlapping_operand():
    x = torch.rand(3, 3)
    for other in (x.t(), x[0]):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            x.add_(other)
    assert torch.equal(x.clone().add_(x), x + x)


WRITERS = {
    "index_add_": lambda x, at, source: x.index_add_(0, at, source),
    "index_copy_": lambda x, at, source: x.index_copy_(0, at, source),
    "index_put_": lambda x, at, source: x.index_put_((at,), source),
    "index_reduce_": lambda x, at, source: x.index_reduce_(0, at, source, "prod"),
    "put_": lambda x, at, source: x.put_(at, source),
    "scatter_": lambda x, at, source: x.scatter_(0, at, source),
    "scatter_add_": lambda x, at, source: x.scatter_add_(0, at, source),
    "scatter_reduce_": lambda x, at, source: x.scatter_reduce_(0, at, source, "sum"),
    "setitem": lambda x, at, source: x.__setitem__(at, source) or x,
}


@pytest.mark.parametrize("name", WRITERS)
def test_places_and_sources_that_overlap_what_is_written(name):
    write, at, x = WRITERS[name], torch.tensor([2, 1, 0]), torch.arange(6.0)
    for source in (x[:3], x[3:], x[1:4]) if name != "scatter_" else (x[:3],):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            write(x, at, source)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        write(at, at, at.clone())
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        write(at, at.clone(), at)
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and at.tolist() == [2, 1, 0]
    # With gaps it is not plain to see; then all is read before anything is written.
    want = write(torch.arange(6.0), at, torch.tensor([0.0, 2.0, 4.0]))
    assert torch.equal(write(x, at, x[::2]), want)


def test_a_number_is_read_before_the_target_changes():
    mask = torch.tensor([True, False, True, True])
    for write in (
        lambda x: x.masked_fill_(mask, x[2]),
        lambda x: x.index_fill_(0, torch.tensor([0, 2, 3]), x[2]),
        lambda x: x.__setitem__(mask, x[2]) or x,
    ):
        assert write(torch.arange(4.0)).tolist() == [2, 1, 2, 2]
    x = torch.arange(4.0)
    assert x.masked_scatter_(mask, x).tolist() == [0, 1, 1, 2]


def test_one_value_is_written_to_what_repeats_itself():
    x = torch.zeros(2, 1)
    assert x.expand(2, 3).fill_(2.0).tolist() == [[2, 2, 2]] * 2 and x.tolist() == [[2], [2]]
    assert x.expand(2, 3).zero_().tolist() == [[0, 0, 0]] * 2
    with pytest.raises(RuntimeError, match="more than one element"):
        x.expand(2, 3).add_(1)


def test_empty_tensors_are_written_to_whatever_their_strides():
    assert torch.zeros(0, 1).expand(0, 3).add_(1).shape == (0, 3)
    assert torch.zeros(1, 0).expand(4, 0).zero_().shape == (4, 0)
