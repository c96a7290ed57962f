"""Storages, tensors over memory and files of others: `asarray`, `from_file`, `TypedStorage`."""

import copy
import pickle
import warnings

import flambeau as torch
import numpy as np
import pytest
from flambeau import _deprecated


def test_asarray_shares_copies_or_refuses():
    array = np.arange(4.0)
    t = torch.asarray(array)
    t[0] = 7
    assert array[0] == 7 and t.dtype is torch.float64
    torch.asarray(array, copy=True)[0] = 9
    assert array[0] == 7 and torch.asarray(t) is t and torch.asarray(t, copy=False) is t
    assert torch.asarray(array, dtype=torch.float32).dtype is torch.float32
    assert torch.asarray([1, 2], copy=True).tolist() == [1, 2]
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'torch.float64'"):
        torch.asarray(array, dtype=torch.float32, copy=False)
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        torch.asarray([1, 2], copy=False)
    assert torch.asarray(bytearray(b"\0\0\x80?"), dtype=torch.float32).tolist() == [1.0]
    assert torch.asarray(b"ab").dtype is torch.uint8


def test_asarray_keeps_or_drops_the_history():
    leaf = torch.ones(2, requires_grad=True)
    assert torch.asarray(leaf) is leaf
    assert torch.asarray(leaf, copy=True).grad_fn.name() == "CloneBackward0"
    assert not torch.asarray(leaf, requires_grad=False).requires_grad
    assert torch.asarray([1.0], requires_grad=True).is_leaf


def test_from_file(tmp_path):
    path = tmp_path / "values"
    path.write_bytes(np.arange(4, dtype=np.float32).tobytes())
    own = torch.from_file(str(path), shared=False, size=3)
    own[0] = 5
    assert own.tolist() == [5, 1, 2] and np.fromfile(path, dtype=np.float32)[0] == 0
    shared = torch.from_file(str(path), shared=True, size=6)
    shared[4] = 9
    assert np.fromfile(path, dtype=np.float32).tolist() == [0, 1, 2, 3, 9, 0]
    made = torch.from_file(str(tmp_path / "new"), shared=True, size=2, dtype=torch.int64)
    assert made.dtype is torch.int64 and (tmp_path / "new").stat().st_size == 16
    assert torch.from_file(str(path), size=0).shape == (0,)
    with pytest.raises(NotImplementedError, match="memory of the cpu, not of cuda"):
        torch.from_file(str(path), size=3, device="cuda")
    with pytest.raises(RuntimeError, match="has 24 bytes, and 7 elements"):
        torch.from_file(str(path), size=7)
    with pytest.raises(RuntimeError, match="unable to open file .*No such file"):
        torch.from_file(str(tmp_path / "none"), size=1)


def test_storages_of_their_own():
    assert torch.TypedStorage(5, dtype=torch.float64).nbytes() == 40
    assert torch.TypedStorage([1, 2], dtype=torch.int32).tolist() == [1, 2]
    assert torch.TypedStorage(3).dtype is torch.float32 and len(torch.UntypedStorage(3)) == 3
    assert repr(torch.UntypedStorage([1, 2])) == (
        " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
    )
    part = torch.tensor([1.0, 2.0])[1:]
    assert part.storage().tolist() == [1, 2]
    assert part.untyped_storage().tolist() == [0, 0, 128, 63, 0, 0, 0, 64]
    assert torch.is_storage(part.storage()) and torch.is_storage(torch.UntypedStorage())


STORAGES = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()


@pytest.mark.parametrize("name", [*STORAGES, "Untyped"])
def test_storages_are_lists_of_one_type(name, tmp_path):
    kind = getattr(torch, name + "Storage")
    own = kind([1, 0, 1, 1])
    assert isinstance(own, kind) and isinstance(own, torch.UntypedStorage)
    assert own.tolist() == list(own) == [1, 0, 1, 1] and len(own) == own.size() == 4
    own[1], own[-1] = 1, 0
    assert [own[0], own[1], own[-1]] == [1, 1, 0] and not own.is_cuda
    own[1:3] = 0
    assert own.tolist() == [1, 0, 0, 0] and own.nbytes() == 4 * own.element_size()
    for index in 4, -5:
        with pytest.raises(IndexError, match=f"index {index} out of range for storage of size 4"):
            own[index]
    for copied in own.clone(), copy.copy(own), copy.deepcopy(own), pickle.loads(pickle.dumps(own)):
        copied.fill_(1)
        assert own.tolist() == [1, 0, 0, 0] and copied.tolist() == [1] * 4
        assert own.copy_(copied).tolist() == [1] * 4 and own[0] == 1
        own.copy_(kind([1, 0, 0, 0]))
    assert len(own.new()) == 0 and own.cpu() is own and own.type().endswith(name + "Storage")
    for other in STORAGES:
        converted = getattr(own, other.lower())()
        assert isinstance(converted, getattr(torch, other + "Storage"))
        assert converted.tolist() == own.tolist()
    other = own._tensor
    own.resize_(6)
    assert len(own) == 6 and own.tolist()[:4] == [1, 0, 0, 0]
    own[0] = 0
    assert other[0] == 0  # the tensor's memory grew with it
    with pytest.raises(NotImplementedError, match="does not shrink"):
        own.resize_(2)
    path = str(tmp_path / "values")
    shared = kind.from_file(path, True, 3)
    shared[2] = 1
    assert kind.from_file(path, False, 3).tolist() == [0, 0, 1]


def test_a_part_of_the_bytes_shares_them():
    values = torch.arange(4, dtype=torch.uint8)
    part = values.untyped_storage()[1:3]
    part[0] = 9
    assert values.tolist() == [0, 9, 2, 3] and len(part) == 2 and part[:1].tolist() == [9]
    del values
    assert part.tolist() == [9, 2]
    with pytest.raises(RuntimeError, match="only a step of 1 is supported"):
        part[::2]
    with pytest.raises(RuntimeError, match="slices are only supported in UntypedStorage"):
        torch.ones(3).storage()[1:]


def test_names_of_types():
    assert torch.typename(torch.ones(1)) == "torch.FloatTensor"
    assert torch.typename(torch.nn.Parameter).endswith("nn.parameter.Parameter")
    assert torch.typename(torch.nn.Linear(1, 1)).endswith("linear.Linear")
    assert torch.typename(3) == "int" and torch.typename(len) == "len"


def test_tensors_over_one_memory_show_one_storage():
    x = torch.ones(4)
    held = x.untyped_storage()
    held.note = "kept"
    assert x[1:].untyped_storage() is held is x.view(2, 2).storage().untyped()
    assert x.clone().untyped_storage() is not held
    assert x.untyped_storage().note == "kept"


def test_storages_become_tensors_of_their_dtype_only():
    x = torch.arange(6.0)
    typed, plain = x.storage(), x.untyped_storage()
    assert torch.FloatTensor(typed).data_ptr() == x.data_ptr() == x.new(plain).data_ptr()
    for given in (typed, plain):
        made = torch.tensor(given, dtype=torch.float32)
        assert torch.equal(made, x) and made.data_ptr() != x.data_ptr()
        assert torch.equal(torch.empty(0).set_(given), x)
    assert torch.equal(torch.tensor(typed), x)
    assert torch.empty(0, dtype=torch.int32).set_(plain).tolist() == x.view(torch.int32).tolist()
    whole = torch.empty(0, dtype=torch.int32)
    for wrong in (
        lambda: whole.set_(typed),
        lambda: whole.set_(x),
        lambda: torch.tensor(typed, dtype=torch.int32),
        lambda: torch.IntTensor(typed),
        lambda: whole.new(typed),
    ):
        with pytest.raises(RuntimeError, match="[Ee]xpected a"):
            wrong()
    assert x._version == 0 and x.new(size=(2, 3)).shape == (2, 3)
    assert x.storage()._cdata == x[2:].storage()._cdata != x.clone().storage()._cdata
    assert torch.ones(2, dtype=torch.int8).type(torch.Tensor).dtype is torch.get_default_dtype()


def test_memory_that_begins_alike_is_not_one_storage(tmp_path):
    array = np.arange(8.0)
    part, whole = torch.from_numpy(array[:4]), torch.from_numpy(array)
    held = part.untyped_storage()
    assert whole.untyped_storage().nbytes() == 64 and held.nbytes() == 32
    torch.save([part, whole], tmp_path / "both.pt")
    for a, b in torch.load(tmp_path / "both.pt"), copy.deepcopy([part, whole]):
        assert a.tolist() == array[:4].tolist() and b.tolist() == array.tolist()


def test_asarray_goes_over_a_dlpack_capsule_and_its_maker():
    x = torch.arange(6.0)
    maker = type("Maker", (), {})()
    maker.__dlpack__ = x.__dlpack__
    for given in (lambda: torch.utils.dlpack.to_dlpack(x), lambda: maker):
        for copies in (None, False, True):
            made = torch.asarray(given(), copy=copies)
            assert torch.equal(made, x) and (made.data_ptr() != x.data_ptr()) is bool(copies)
        assert torch.asarray(given(), dtype=torch.float64).dtype is torch.float64
        with pytest.raises(ValueError, match="can't alias tensor with dtype"):
            torch.asarray(given(), dtype=torch.float64, copy=False)


@pytest.mark.parametrize("share", ["numpy", "__array__", "__dlpack__"])
def test_memory_that_others_see_does_not_move(share):
    x = torch.ones(4)
    view, shared = x[1:], getattr(x, share)()
    for t in (x, view):
        with pytest.raises(RuntimeError, match="storage that is not resizable"):
            t.resize_(1000)
        with pytest.raises(RuntimeError, match="not resizable"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.add(torch.ones(1000), 1, out=t)
        assert t.resize_(2).tolist() == [1.0, 1.0]
    if share != "__dlpack__":
        x.fill_(3)
        assert shared.tolist() == [3.0, 3.0, 1.0, 1.0]
    assert torch.ones(4).resize_(1000).shape == (1000,)


def test_words_among_numbers_and_numbers_among_rows_are_refused():
    for given, text in (
        ([0, "torch"], "invalid data type 'str'"),
        ("torch", "invalid data type 'str'"),
        ([[1, 2], 3], "not a sequence"),
        ([[np.ones(3), 1.0]], "not a sequence"),
    ):
        for make in (torch.tensor, torch.as_tensor, torch.asarray):
            with pytest.raises(TypeError, match=text):
                make(given)


def test_a_read_only_array_is_told_of_once(monkeypatch):
    monkeypatch.setattr(_deprecated, "_told", set())
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable, and there are no non-writable tensors"):
        torch.from_numpy(array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.from_numpy(array)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "bfloat16"])
def test_finfo_is_of_the_default_dtype(name):
    dtype, before = getattr(torch, name), torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        assert torch.finfo() == torch.finfo(dtype) and torch.finfo().dtype == name
    finally:
        torch.set_default_dtype(before)
    assert torch.finfo(dtype) != torch.finfo(torch.float64 if name != "float64" else torch.float32)
    assert torch.iinfo(torch.int8) == torch.iinfo(torch.int8) != torch.iinfo(torch.int16)
    assert len({torch.finfo(dtype)}) == 1


def test_storages_by_dtype_and_their_size():
    for dtype, name in torch.storage._dtype_to_storage_type_map().items():
        t = torch.ones(10, dtype=dtype)
        assert t.storage_type() is getattr(torch, name) and isinstance(
            t.storage(), t.storage_type()
        )
        empty, larger = torch.ones(0, dtype=dtype).storage(), torch.ones(100, dtype=dtype).storage()
        assert t.storage().__sizeof__() - empty.__sizeof__() == 10 * dtype.itemsize
        assert larger.__sizeof__() - empty.__sizeof__() == 100 * dtype.itemsize


@pytest.mark.parametrize("order", ["big", "little", "native"])
@pytest.mark.parametrize(
    "kind",
    ["Short", "Int", "Long", "Float", "Double", "Byte", "Bool", "ComplexFloat", "ComplexDouble"],
)
def test_a_buffer_is_read_in_its_order_of_bytes(kind, order):
    made = getattr(torch, f"{kind}Storage")
    numbers = (
        torch.tensor([1, 0, 1], dtype=torch.uint8) if kind == "Bool" else torch.tensor([1, 2, 300])
    )
    whole = numbers.to(torch.uint8 if kind == "Byte" else made.dtype).numpy()
    data = whole.astype(whole.dtype.newbyteorder({"big": ">", "little": "<", "native": "="}[order]))
    found = made.from_buffer(bytearray(data.tobytes()), order)
    assert isinstance(found, made) and found.tolist() == whole.tolist()
    part = made.from_buffer(bytearray(data.tobytes()), order, 1, data.itemsize)
    assert part.tolist() == whole[1:2].tolist()


def test_a_buffer_of_other_lengths_or_orders_is_refused():
    with pytest.raises(ValueError, match="no whole number"):
        torch.IntStorage.from_buffer(bytearray(6), "little")
    with pytest.raises(ValueError, match="byte_order"):
        torch.IntStorage.from_buffer(bytearray(4), "middle")


@pytest.mark.parametrize(
    "dtype",
    [torch.uint8, torch.int16, torch.bfloat16, torch.int32, torch.float64, torch.complex64],
)
def test_bytes_of_elements_turn_around(dtype):
    made = torch.UntypedStorage(list(range(16)))
    made.byteswap(dtype)
    n = dtype.itemsize // (2 if dtype.is_complex else 1)
    assert made.tolist() == [i // n * n + n - 1 - i % n for i in range(16)]
    assert made.resizable() and made._resize_(20) is made and len(made) == 20


def test_a_view_of_a_storage_stays_within_it_unless_its_shape_is_new():
    t = torch.randn(2)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
        t.set_(t.untyped_storage(), 99, (2,))
    assert t.set_(t.untyped_storage(), 99, (1, 2)).storage_offset() == 99
    assert t.untyped_storage().nbytes() == 101 * 4
