"""Files: round trips, what is refused, and files of the real PyTorch where there is one."""

import codecs
import collections
import copy
import io
import os
import pickle
import subprocess
import sys
import types
import zipfile

import numpy as np
import pytest

TORCH = os.environ.get("FLAMBEAU_TEST_TORCH", "")  # a Python that has PyTorch


def round_trip(torch, value, **options):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


def test_whether_gradients_are_wanted_is_kept(torch):
    leaf = torch.ones(2, requires_grad=True)
    for value in (leaf, (leaf * 2).sum(), leaf.detach()):
        for again in (
            round_trip(torch, {"loss": value})["loss"],
            pickle.loads(pickle.dumps(value)),
        ):
            assert again.requires_grad == value.requires_grad and again.is_leaf
            assert torch.equal(again, value)


def test_round_trip(torch):
    base = torch.arange(12.0).reshape(3, 4)
    value = collections.OrderedDict(
        a=base.t(),
        b=base[1:, 2],
        c=[1, 2.5, "x", None, True],
        d=torch.Size([1]),
        e=torch.float16,
        f=torch.device("cpu"),
        g=torch.nn.Parameter(torch.ones(2)),
    )
    found = round_trip(torch, value)
    assert found["a"].tolist() == base.t().tolist() and found["a"].stride() == (1, 4)
    assert found["b"].tolist() == [6, 10]
    assert found["c"] == value["c"] and found["d"] == (1,) and found["e"] is torch.float16
    assert isinstance(found["g"], torch.nn.Parameter) and found["g"].requires_grad
    found["a"][0, 1] = -1  # views of one storage still share it
    assert found["a"].data_ptr() != base.data_ptr()


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
def test_dtypes(torch, dtype):
    t = torch.tensor([0, 1, 1]).to(getattr(torch, dtype))
    found = round_trip(torch, t)
    assert found.dtype is t.dtype and found.tolist() == t.tolist()


class Tagged:
    """A subclass of Tensor is made of it where torch is there."""


def kinds(torch):
    """A value of every kind that a program may save."""
    generator = torch.Generator().manual_seed(3)
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2)])
    lazy = torch.nn.LazyLinear(2)
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    plain = torch.arange(3)
    plain.tag = parameter.tag = {"a": 1}
    return [
        *(torch.float32, torch.bool, torch.Size([1, 2]), torch.device("cpu"), torch.strided),
        *(torch.channels_last, torch.nn.Linear, torch.optim.Adam, torch.Tensor, torch.FloatStorage),
        *(torch.distributions.Normal, torch.tanh, type(None), int, len),
        *(plain, parameter, torch.ones(2, requires_grad=True), torch.ones(2, 3).t(), lazy.weight),
        *(torch.nn.Buffer(torch.ones(1)), plain.storage(), plain.untyped_storage()),
        *(generator, packed, torch.nn.Linear(2, 1), lazy, torch.optim.SGD([parameter], 0.1)),
        *(torch.distributions.Normal(0.0, 1.0), None, ..., {1}, frozenset(), 2**70, 1j, b"x"),
    ]


def same(torch, a, b):
    if isinstance(a, torch.Tensor) and not torch.nn.parameter.is_lazy(a):
        alike = a.tolist() == b.tolist() and a.stride() == b.stride() and a.dtype is b.dtype
        return alike and a.requires_grad == b.requires_grad and a.__dict__ == b.__dict__
    if hasattr(a, "untyped") or isinstance(a, torch.UntypedStorage):
        return a.tolist() == b.tolist()
    known = isinstance(a, (type, torch.dtype, torch.Size, torch.device, set, int, bytes))
    return a == b if known or callable(a) and not isinstance(a, torch.nn.Module) else True


@pytest.mark.parametrize("place", range(40))
def test_equal_values_may_stand_twice(torch, place):
    """The value itself, an equal one made anew, and one inside of others: read as they were."""
    if place >= len(kinds(torch)):
        return
    first, second = kinds(torch)[place], kinds(torch)[place]
    found = round_trip(torch, [first, first, {"in": (second, first)}], weights_only=False)
    assert found[0] is found[1] is found[2]["in"][1] or isinstance(first, int)
    assert type(found[0]) in (type(first), torch.Tensor, torch.TypedStorage)
    for value in found[0], found[2]["in"][0]:
        assert same(torch, first, value)


def test_subclasses_and_their_attributes_come_back(torch):
    global Tagged

    class Tagged(torch.Tensor):  # where a file finds it again
        __torch_function__ = torch.nn.Parameter.__dict__["__torch_function__"]

    Tagged.__qualname__ = "Tagged"
    mine = torch.ones(2).as_subclass(Tagged)
    mine.tag = [1]
    found = round_trip(torch, mine, weights_only=False)
    assert type(found) is Tagged and found.tag == [1]
    with pytest.raises(pickle.UnpicklingError, match="Tagged"):
        round_trip(torch, mine)
    with torch.serialization.safe_globals([Tagged]):
        assert type(round_trip(torch, mine)) is Tagged


def test_a_module_may_return_its_dictionary(torch):
    global Whole

    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(2, 1)

        def __getstate__(self):
            return self.__dict__

    Whole.__qualname__ = "Whole"
    module = Whole()
    for copied in (
        round_trip(torch, module, weights_only=False),
        pickle.loads(pickle.dumps(module)),
        copy.deepcopy(module),
    ):
        copied.more = torch.nn.Linear(1, 1)
        assert copied.inner.weight.tolist() == module.inner.weight.tolist()
        assert not hasattr(module, "more")


def test_storages_share_their_memory_with_tensors(torch):
    base = torch.arange(4.0)
    found = round_trip(torch, [base[1:], base.storage(), base.untyped_storage()])
    found[1][1] = 9
    assert found[0].tolist() == [9, 2, 3] and found[2].dtype is torch.uint8
    moved = round_trip(torch, base, map_location=lambda storage, place: storage.double().float())
    assert moved.tolist() == base.tolist()


def test_what_load_refuses(torch, tmp_path):
    with pytest.raises(EOFError):
        torch.load(io.BytesIO(b""))
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        torch.load(io.BytesIO(b"1"), pickle_module=pickle, weights_only=True)
    with pytest.raises(ValueError, match="must be a file path"):
        round_trip(torch, [1], mmap=True)
    plain = tmp_path / "plain"
    plain.write_bytes(b"no archive")
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(plain, mmap=True)


def test_a_file_cannot_run_code(torch, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    path = tmp_path / "evil.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("evil/data.pkl", pickle.dumps(Evil(), 2))
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed.*mkdir"):
        torch.load(path)
    assert not (tmp_path / "made").exists()


def test_nothing_half_written(torch, tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"a": 1}, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        torch.save({"a": lambda: 0}, path)
    assert torch.load(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt"]


def test_missing_file(torch, tmp_path):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")


@pytest.mark.skipif(not TORCH, reason="FLAMBEAU_TEST_TORCH names no Python with PyTorch")
def test_with_pytorch(torch, tmp_path):
    torch.save(
        {"w": torch.arange(6.0).reshape(2, 3).t(), "p": torch.nn.Parameter(torch.ones(2))},
        tmp_path / "ours.pt",
    )
    code = (
        "import torch, sys; d = torch.load('ours.pt'); assert d['w'].tolist() == [[0, 3], [1, 4], "
        "[2, 5]]; "
        "torch.save({'h': torch.ones(2).half(), 'n': torch.nn.Linear(2, 1).state_dict()}, "
        "'theirs.pt')"
    )
    subprocess.run([TORCH, "-c", code], cwd=tmp_path, check=True)
    theirs = torch.load(tmp_path / "theirs.pt")
    assert theirs["h"].dtype is torch.float16 and list(theirs["n"]) == ["weight", "bias"]


@pytest.mark.parametrize(
    "name", ["uint8", "bool", "int16", "float16", "int32", "float64", "complex64", "complex128"]
)
def test_files_of_the_other_byte_order(torch, name):
    values = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(torch, name))
    if values.is_complex():
        values.imag = 1 - 2 * values.real
    unit = values.itemsize // (2 if values.is_complex() else 1)
    saved, z = io.BytesIO(), torch.serialization
    torch.save(values, saved)

    def rewritten(says):
        made = io.BytesIO()
        with zipfile.ZipFile(saved) as old, zipfile.ZipFile(made, "w") as new:
            for entry in old.namelist():
                data = old.read(entry)
                if "/data/" in entry:
                    data = np.frombuffer(data, f"u{unit}").byteswap().tobytes()
                if not entry.endswith("/byteorder"):
                    new.writestr(entry, data)
                elif says:
                    new.writestr(entry, says)
        return io.BytesIO(made.getvalue())

    other = "big" if sys.byteorder == "little" else "little"
    assert torch.equal(torch.load(rewritten(other)), values)
    same = torch.load(rewritten(None))
    assert torch.equal(same, values) == (values.itemsize == 1)
    assert z.get_default_load_endianness() is None
    try:
        z.set_default_load_endianness(z.LoadEndianness(other))
        assert z.get_default_load_endianness() is z.LoadEndianness(other)
        assert torch.equal(torch.load(rewritten(None)), values)
        assert torch.equal(torch.load(io.BytesIO(saved.getvalue())), values)
    finally:
        z.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        z.set_default_load_endianness(other)


def test_a_pickle_module_of_the_programs_reads(torch, tmp_path):
    class Unpickler(pickle.Unpickler):
        def load(self):
            return "read", super().load()

    module = types.SimpleNamespace(Unpickler=Unpickler)
    path = tmp_path / "x.pt"
    torch.save(torch.eye(3), path)
    for source in path, io.BytesIO(path.read_bytes()):
        word, found = torch.load(source, pickle_module=module, weights_only=False)
        assert word == "read" and torch.equal(found, torch.eye(3))
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        torch.load(path, pickle_module=module, weights_only=True)


def test_whole_modules_load_where_their_classes_are_allowed(torch, tmp_path):
    nn, path = torch.nn, tmp_path / "whole.pt"
    classes = [nn.Sequential, nn.Dropout, nn.LayerNorm, nn.Flatten, nn.MultiheadAttention]
    classes += [nn.modules.linear.NonDynamicallyQuantizableLinear, nn.modules.activation.ReLU]
    attention = nn.MultiheadAttention(4, 2)
    torch.save(
        nn.Sequential(nn.Dropout(), nn.LayerNorm(4), nn.Flatten(), nn.ReLU(), attention), path
    )
    with torch.serialization.safe_globals(classes):
        found = torch.load(path)
    assert [type(m) for m in found] == [*classes[1:4], classes[-1], classes[4]]
    assert type(found[-1].out_proj) is classes[-2]
    for absent in classes:
        allowed = [c for c in classes if c is not absent]
        with torch.serialization.safe_globals(allowed):
            with pytest.raises(pickle.UnpicklingError, match=f"Weights only.*{absent.__name__}"):
                torch.load(path)


class Direct(io.BytesIO):
    """Reads into memory that is given, a few bytes at a time."""

    read_into = 0

    def readinto(self, part):
        self.read_into += 1
        return super().readinto(memoryview(part)[:7])


class Plain:
    """Knows no more than a file has to."""

    def __init__(self, data):
        file = io.BytesIO(data)
        self.seek, self.tell, self.read = file.seek, file.tell, file.read


@pytest.mark.parametrize("sums", [True, False])
def test_files_are_read_as_they_come(torch, sums):
    torch.serialization.set_crc32_options(sums)
    try:
        assert torch.serialization.get_crc32_options() is sums
        file = io.BytesIO()
        torch.save({"x": torch.arange(20.0)}, file)
    finally:
        torch.serialization.set_crc32_options(True)
    direct = Direct(file.getvalue())
    for source in direct, io.BytesIO(file.getvalue()), Plain(file.getvalue()):
        assert torch.load(source)["x"].tolist() == list(range(20))
    assert direct.read_into > 10
    with zipfile.ZipFile(file) as archive:
        assert (archive.testzip() is None) is sums


def test_a_file_that_was_cut_is_refused(torch, tmp_path):
    path = tmp_path / "cut.pt"
    torch.save(torch.arange(100.0), path)
    with zipfile.ZipFile(path) as archive:
        entry = next(n for n in archive.namelist() if n.endswith("data/0"))
        archive.getinfo(entry).file_size = 10**6
        with pytest.raises(EOFError, match="data/0 ends after"):
            torch.serialization._stored(archive, entry)


def test_half_of_a_file_is_not_taken_for_an_old_one(torch, tmp_path):
    path = tmp_path / "half.pt"
    torch.save(torch.arange(100.0), path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(RuntimeError, match="failed finding central directory.*not written"):
        torch.load(path)
    path.write_bytes(b"no checkpoint at all")
    with pytest.raises(RuntimeError, match="before 1.6"):
        torch.load(path)


def test_values_of_python_need_no_trust(torch, tmp_path):
    path = tmp_path / "values.pt"
    values = {"bytes": b"\x00\xff", "more": bytearray(b"ab"), "z": 1 - 2j, "kinds": {1, 2}}
    torch.save(values, path)
    assert torch.load(path, weights_only=True) == values


def test_bytes_of_another_encoding_are_refused(torch, tmp_path):
    class Unpacked:
        def __reduce__(self):
            return codecs.encode, ("a", "zip")

    path = tmp_path / "unpacked.pt"
    torch.save({"x": Unpacked()}, path)
    with pytest.raises(pickle.UnpicklingError, match="'zip', not latin1"):
        torch.load(path, weights_only=True)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_bytes_of_all_protocols_need_no_trust(torch, tmp_path, protocol):
    path, values = tmp_path / "bytes.pt", [b"", b"a\xff", bytearray(), bytearray(b"b\xff")]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bytes/data.pkl", pickle.dumps(values, protocol))
    found = torch.load(path, weights_only=True)
    assert found == values and list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize("arguments", [(1 << 20,), ([1, 2],), ("ab", "utf-7"), ("ab",)])
def test_a_number_of_bytes_is_not_asked_for_by_a_file(torch, tmp_path, kind, arguments):
    class Asks:
        def __reduce__(self):
            return kind, arguments

    path = tmp_path / "asks.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("asks/data.pkl", pickle.dumps(Asks(), 2))
    with pytest.raises(
        pickle.UnpicklingError, match=f"{kind.__name__} of an object of type .*latin-1"
    ):
        torch.load(path, weights_only=True)
