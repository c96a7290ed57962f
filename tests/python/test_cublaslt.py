"""Products by cuBLASLt through the package, over the stand-in for it: switches that reach it at
once, and which library is opened in folders with that of CUDA 12, of 13, both or none.
"""

import os
import pathlib
import shutil

import pytest

from tests.harness import child

STANDIN = pathlib.Path(os.environ.get("FLAMBEAU_LIBRARY", "")).parent.absolute()
PROGRAM = """
import warnings
import flambeau as torch
from flambeau.utils.collect_env import doctor
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for _ in range(2):
        y = torch.ones(8, 16, device="cuda") @ torch.ones(16, 4, device="cuda")
assert y.tolist() == [[16] * 4] * 8
print(*(f"told: {w.message}" for w in told), sep="\\n")
with torch.profiler.profile():
    y.sum()
doctor()
"""


@pytest.fixture(autouse=True)
def standin(request):
    if request.config.getoption("--device") != "standin":
        pytest.skip("the stand-in alone shows what cuBLASLt was asked for, and can be absent")


def test_switches_of_precision_reach_the_next_product(torch):
    """1 + 2**-12 has more bits than TF32: a product that may lose them is one of ones."""
    a = torch.full((8, 16), 1 + 2**-12, device="cuda")
    b = torch.ones(16, 4, device="cuda")
    exact, rounded = 16 + 2**-8, 16.0
    matmul = torch.backends.cuda.matmul

    def product():
        return {(a @ b)[0, 0].item(), torch.nn.functional.linear(a, b.T)[0, 0].item()}

    assert product() == {exact}
    for allow in (True, False, True, False):
        matmul.allow_tf32 = allow
        assert product() == {rounded if allow else exact}
    for precision in ("high", "highest", "medium", "highest"):
        torch.set_float32_matmul_precision(precision)
        assert product() == {exact if precision == "highest" else rounded}
    for precision, wanted in (("tf32", rounded), ("ieee", exact)):
        matmul.fp32_precision = precision
        assert product() == {wanted}
    matmul.fp32_precision = "none"


def searched(tmp_path, *sonames, runtime="13000", driver="13000"):
    """Which of these names were opened, in a folder with them and nothing else of the toolkit, and
    all that a program said that multiplies and profiles.
    """
    # A copy: beside the file that a link leads to, libraries are looked for, too.
    shutil.copy(STANDIN / "libflambeau.so.0", tmp_path)
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        (tmp_path / name).symlink_to(STANDIN / name)
    for name in sonames:
        (tmp_path / name).symlink_to(next(STANDIN.glob(name.rsplit(".", 1)[0] + ".1*")))
    versions = {"FLAMBEAU_STANDIN_RUNTIME": runtime, "FLAMBEAU_STANDIN_DRIVER": driver}
    paths = {"FLAMBEAU_LIBRARY": str(tmp_path / "libflambeau.so.0"), "LD_LIBRARY_PATH": ""}
    said = child.output(PROGRAM, **versions, **paths)
    used = {n for n in sonames if f"{tmp_path}/{n} (beside libflambeau): used" in said}
    return used, said


TWELVE = ("libcublasLt.so.12", "libcupti.so.12")
THIRTEEN = ("libcublasLt.so.13", "libcupti.so.13")


def test_the_library_of_the_linked_major_is_opened_else_the_other(tmp_path):
    for case, (there, runtime, driver, wanted) in enumerate(
        [
            (TWELVE + THIRTEEN, "13000", "13000", THIRTEEN),
            (TWELVE + THIRTEEN, "12090", "13000", TWELVE),
            (TWELVE, "13000", "13000", TWELVE),
            (THIRTEEN, "12090", "13000", THIRTEEN),
            (THIRTEEN, "12090", "12080", ()),  # such a driver does not serve it
        ]
    ):
        folder = tmp_path / str(case)
        folder.mkdir()
        used, said = searched(folder, *there, runtime=runtime, driver=driver)
        assert used == set(wanted), said
        assert ("flambeau's own kernels" in said) is (not wanted), said


def test_products_without_any_library_are_ours_and_say_so_once(tmp_path):
    for name in THIRTEEN + TWELVE:
        if not child.python("-c", f"__import__('ctypes').CDLL('{name}')").returncode:
            pytest.skip(f"this system has {name}")
    _, said = searched(tmp_path, runtime="12090")
    assert said.count("told: Products of matrices run on flambeau's own kernels") == 1
    assert "pip install nvidia-cublas-cu12" in said
    assert said.index("libcublasLt.so.12") < said.index("libcublasLt.so.13")
    assert said.index("nvidia/cublas/lib/") < said.index("nvidia/cu13/lib/")  # CUDA 12's wheels
