"""Files: round trips, what is refused, and files of the real PyTorch where there is one."""

import collections
import io
import os
import pickle
import subprocess
import zipfile

import pytest

TORCH = os.environ.get("FLAMBEAU_TEST_TORCH", "")  # a Python that has PyTorch


def round_trip(torch, value, **options):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


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
