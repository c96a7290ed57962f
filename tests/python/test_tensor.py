"""Tensors as Python values: creation, inference of dtypes, conversions, operators, copies."""

import copy
import pickle

import numpy as np
import pytest


@pytest.mark.parametrize(
    "data, dtype, shape",
    [
        (1, "int64", ()),
        (1.5, "float32", ()),
        (True, "bool", ()),
        ([], "float32", (0,)),
        ([1, 2], "int64", (2,)),
        ([1, 2.5], "float32", (2,)),
        ([True, 2], "int64", (2,)),
        ([[1.0, 2], [3, 4]], "float32", (2, 2)),
        ([[]], "float32", (1, 0)),
        (np.float64(2), "float64", ()),
        (np.arange(3, dtype=np.int16), "int16", (3,)),
    ],
)
def test_inference(torch, data, dtype, shape):
    made = torch.tensor(data)
    assert made.dtype is getattr(torch, dtype)
    assert made.shape == torch.Size(shape)


def test_ragged_data_is_refused(torch):
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 1\)"):
        torch.tensor([[1, 2], [3]])
    with pytest.raises(TypeError, match="too many dimensions 'str'"):
        torch.tensor(["a"])


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
    ],
)
def test_round_trip_of_values(torch, device, dtype):
    t = torch.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(torch, dtype), device=device)
    assert t.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert t[1, 0].item() == 1
    assert type(t[1, 0].item()) is {"b": bool, "f": float}.get(
        "b" if dtype == "bool" else "f" if "float" in dtype else "i", int
    )


def test_numpy_shares_memory(torch):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    t = torch.from_numpy(a)
    t[0, 0] = 9
    assert a[0, 0] == 9
    back = t.t().numpy()
    assert back.shape == (3, 2) and back.strides == (4, 12)
    back[2, 1] = -1
    assert a[1, 2] == -1
    view = torch.ones(3).numpy()  # outlives its tensor
    assert view.tolist() == [1, 1, 1]


def test_numpy_refuses(torch):
    with pytest.raises(RuntimeError, match="Use tensor.detach"):
        torch.ones(2, requires_grad=True).numpy()
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(np.arange(3)[::-1])


def test_operators_take_numbers_on_both_sides(torch, device):
    x = torch.tensor([1.0, 2.0, 4.0], device=device)
    assert (x + 1).tolist() == [2, 3, 5]
    assert (1 - x).tolist() == [0, -1, -3]
    assert (2 * x).tolist() == [2, 4, 8]
    assert (8 / x).tolist() == [8, 4, 2]
    assert (x**2).tolist() == [1, 4, 16]
    assert (2**x).tolist() == [2, 4, 16]
    assert (x // 3).tolist() == [0, 0, 1]
    assert (x % 3).tolist() == [1, 2, 1]
    assert (-x).tolist() == [-1, -2, -4]
    assert (x > 1).tolist() == [False, True, True]
    assert (x == 2).tolist() == [False, True, False]
    assert ((x > 1) & (x < 3)).tolist() == [False, True, False]
    assert (~(x > 1)).tolist() == [True, False, False]


def test_negative_zero_is_not_taken_for_zero(torch):
    x = torch.tensor([-1.0])
    assert (x * 0.0).tolist()[0].hex() == "-0x0.0p+0"
    assert (x * -0.0).tolist()[0].hex() == "0x0.0p+0"


def test_operator_with_stranger_is_a_type_error(torch):
    with pytest.raises(TypeError):
        torch.ones(2) + "a"
    assert (torch.ones(2) == "a") is False


def test_in_place_returns_the_same_object(torch):
    x = torch.ones(2)
    before = id(x)
    x += 1
    assert id(x) == before and x.tolist() == [2, 2]
    assert x.mul_(3) is x


def test_promotion_by_category(torch):
    i = torch.tensor([1, 2])
    assert (i + 1).dtype is torch.int64
    assert (i + 1.5).dtype is torch.float32
    assert (i / 2).dtype is torch.float32
    assert (torch.ones(2, dtype=torch.float16) + 1.5).dtype is torch.float16


def test_to(torch, device):
    x = torch.ones(2)
    assert x.to("cpu") is x and x.to(torch.float32) is x
    assert x.to(device).device.type == device
    assert x.to(torch.float64).dtype is torch.float64
    assert x.to(device, torch.int32).dtype is torch.int32
    assert x.to(torch.zeros(1, dtype=torch.int8)).dtype is torch.int8
    assert x.to("cpu", copy=True) is not x
    assert x.double().dtype is torch.float64 and x.long().dtype is torch.int64


def test_scalars(torch):
    assert float(torch.tensor(2.5)) == 2.5 and int(torch.tensor(3)) == 3
    assert [10, 20, 30][torch.tensor(1)] == 20
    assert f"{torch.tensor(1.5):.2f}" == "1.50"
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(torch.ones(2))
    with pytest.raises(TypeError, match="0-d"):
        len(torch.tensor(1))


def test_copies_and_pickles(torch):
    x = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    again = pickle.loads(pickle.dumps(x.t()))
    assert again.tolist() == [[1, 3], [2, 4]] and again.dtype is torch.int32
    w = torch.ones(2, requires_grad=True)
    other = copy.deepcopy({"a": w, "b": w})
    assert other["a"] is other["b"] and other["a"] is not w and other["a"].requires_grad


def test_legacy_types(torch):
    assert torch.FloatTensor([1, 2]).dtype is torch.float32
    assert torch.LongTensor(2, 3).shape == (2, 3)
    assert torch.Tensor([1, 2]).dtype is torch.float32
    assert isinstance(torch.ones(1), torch.FloatTensor) and not isinstance(
        torch.ones(1), torch.LongTensor
    )
    assert torch.ones(1).type() == "torch.FloatTensor"


def test_dtype_device_and_size_print_as_torch_does(torch):
    assert repr(torch.float32) == "torch.float32"
    assert (
        repr(torch.device("cuda", 1)) == "device(type='cuda', index=1)"
        and str(torch.device("cuda:1")) == "cuda:1"
    )
    assert repr(torch.ones(2, 3).shape) == "torch.Size([2, 3])"
    assert torch.Size([2, 3]).numel() == 6 and isinstance(torch.Size([2, 3])[1:], torch.Size)


def test_dlpack_both_ways(torch):
    a = np.arange(4, dtype=np.float64)
    t = torch.from_dlpack(a)
    t[0] = 7
    assert a[0] == 7
    assert np.from_dlpack(torch.arange(3)).tolist() == [0, 1, 2]
    torch.ones(2).__dlpack__()  # a capsule that nobody takes
    with pytest.raises(BufferError):
        torch.ones(1, requires_grad=True).__dlpack__()


def test_broadcast_shapes(torch):
    assert torch.broadcast_shapes((2, 1), 3, (1, 1, 1)) == torch.Size([1, 2, 3])
    assert torch.broadcast_shapes() == torch.Size([])
    with pytest.raises(RuntimeError, match="dimension of length 4 at -1! Mismatching argument"):
        torch.broadcast_shapes((2, 3), (4,))


def test_geometry_beyond_memory_is_refused(torch):
    huge = 2**62
    for call in (
        lambda: torch.ones(4).view(huge + 1, 4),
        lambda: torch.ones(4).reshape(huge + 1, 4),
        lambda: torch.ones(0).view(2**32, 2**32),
        lambda: torch.ones(1).expand(2**40, 2**40),
        lambda: torch.ones(1).expand(-2),
        lambda: torch.empty_strided((2,), (2**61,), dtype=torch.float64),
        lambda: torch.ones(4).as_strided((2,), (2**61,)),
        lambda: torch.ones(4).as_strided((3,), (2**63 - 1,)),
        lambda: torch.ones(4).repeat(huge + 1),
    ):
        with pytest.raises(torch.ShapeError):
            call()
    with pytest.raises(IndexError, match="exceeds dimension size"):
        torch.arange(10).narrow(0, 3, 2**63 - 1)
    assert torch.arange(10)[:: 2**62].tolist() == [0]


def test_numbers_are_of_the_default_dtype(torch):
    for dtype in (torch.float64, torch.float16):
        torch.set_default_dtype(dtype)
        try:
            assert (torch.ones(2, dtype=torch.int64) * 1.5).dtype == dtype
            assert (torch.ones(2, dtype=torch.float32) * 1.5).dtype == torch.float32
            assert torch.where(torch.tensor([True]), 1.0, 0.0).dtype == dtype
        finally:
            torch.set_default_dtype(torch.float32)


def test_draws_from_impossible_distributions(torch):
    for call, text in (
        (lambda: torch.multinomial(torch.tensor([-1.0, 2.0]), 1), "element < 0"),
        (lambda: torch.multinomial(torch.tensor([float("nan"), 1.0]), 1), "nan"),
        (lambda: torch.multinomial(torch.zeros(2), 1), "sum of probabilities"),
        (lambda: torch.bernoulli(torch.tensor([2.0])), r"\[0, 1\]"),
        (lambda: torch.normal(torch.zeros(2), -torch.ones(2)), "std >= 0"),
        (lambda: torch.randint(0, 1000, (3,), dtype=torch.uint8), "uint8"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()


def test_sizes_of_new_tensors(torch):
    x = torch.ones(1, dtype=torch.float64)
    shapes = [(2, 3), ((2, 3),), ([2, 3],), (torch.Size([2, 3]),)]
    assert all(x.new_zeros(*s).shape == (2, 3) for s in shapes)
    assert x.new_ones(size=(2,)).tolist() == [1, 1] and x.new_empty(()).shape == ()
    assert x.new_zeros(4, layout=torch.strided, pin_memory=False).dtype is torch.float64
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        x.new_zeros(2, nothing=1)


def test_tensors_in_a_list_are_numbers(torch):
    one, two = torch.tensor([1.0]), torch.tensor([[2.5]])
    assert torch.tensor([one, two]).tolist() == [1.0, 2.5]
    assert torch.tensor([[one], [3.0]]).shape == (2, 1)
    assert torch.tensor([[1.0], one]).tolist() == [[1.0], [1.0]]
    assert torch.FloatTensor([one, one]).shape == torch.as_tensor([one, one]).shape == (2,)
    for data in ([torch.ones(2), torch.ones(2)], [torch.ones(0)], [torch.ones(2), 3.0]):
        with pytest.raises(ValueError, match="only one element tensors can be converted"):
            torch.tensor(data)
    with pytest.raises(TypeError, match="a nested sequence deeper than the first"):
        torch.tensor([1.0, [2.0]])


def test_from_buffers_with_every_wrong_count_and_offset(torch):
    held = bytearray(8)
    for count, offset, text in (
        (0, 0, r"buffer length \(8\) and count \(0\)"),
        (-1, 8, r"offset \(8 bytes\) must be"),
        (-1, -1, r"offset \(-1 bytes\) must be"),
        (-1, 3, r"buffer length \(5 bytes\) after offset \(3 bytes\) must be a multiple"),
        (2, 4, r"requested buffer length \(2 \* 4 bytes\) after offset \(4 bytes\)"),
    ):
        with pytest.raises(ValueError, match=text):
            torch.frombuffer(held, dtype=torch.float32, count=count, offset=offset)
    with pytest.raises(ValueError, match=r"buffer length \(0\)"):
        torch.frombuffer(bytearray(), dtype=torch.float32)
    with pytest.raises(ValueError, match="buffer protocol"):
        torch.frombuffer([1, 2], dtype=torch.float32)
    assert torch.frombuffer(held, dtype=torch.int16, count=2, offset=4).tolist() == [0, 0]


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int64", "int8", "bool"])
def test_lists_of_arrays_have_the_arrays_dtype(torch, kind):
    rows = [np.ones(2, kind), np.zeros(2, kind)]
    for given in (rows, tuple(rows), [rows, rows], [rows[0].sum(dtype=kind)] * 2):
        made = torch.tensor(given)
        assert made.dtype is getattr(torch, kind) and made.tolist() == np.array(given).tolist()
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        torch.asarray(rows[0][0], copy=False)
    assert torch.asarray(rows[0][0]).dtype is getattr(torch, kind)
