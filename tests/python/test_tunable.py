"""torch.cuda.tunable over the stand-in for cuBLASLt, which is told how many algorithms it has and
what each costs: an algorithm that costs n takes n launches on the device's virtual clock.
"""

import json
import os
import pathlib
import re

import pytest

from tests.harness import child

PROGRAM = """
import json
import flambeau as torch
from flambeau.cuda import tunable
from flambeau.profiler import profile

a = torch.ones(8, 16, device="cuda")
b = torch.ones(16, 4, device="cuda")
said = {{}}

def cost(f=lambda: a @ b):
    with profile() as found:
        y = f()
    assert y.tolist() == [[16] * y.shape[1]] * y.shape[0]
    return [k.name for e in found.events() for k in e.kernels].count("cublasLtMatmul")

{body}
print(json.dumps(said))
"""


@pytest.fixture(autouse=True)
def standin(request):
    if request.config.getoption("--device") != "standin":
        pytest.skip("the stand-in alone has algorithms of known costs")


def run(body, costs="4,2,5,1,3", **environment):
    program = PROGRAM.format(body=body)
    said = child.output(program, FLAMBEAU_STANDIN_CUBLASLT_COSTS=costs, **environment)
    return json.loads(said.splitlines()[-1])


def test_the_fastest_is_found_once_and_used_again():
    said = run("""
said["before"] = cost()
tunable.enable()
said["tuning"] = cost()
said["after"] = [cost() for _ in range(3)]
said["results"] = tunable.get_results()
said["other"] = cost(lambda: a @ torch.ones(16, 5, device="cuda"))
said["count"] = len(tunable.get_results())
tunable.enable(False)
said["off"] = cost()
tunable.enable()
torch.use_deterministic_algorithms(True)
said["deterministic"] = cost()
torch.use_deterministic_algorithms(False)
said["again"] = cost()
""")
    assert said["before"] == 4
    assert said["tuning"] > 2 * (4 + 2 + 5 + 1 + 3)  # each of the five, more than once
    assert said["after"] == [1, 1, 1]
    ((operation, parameters, way, milliseconds),) = said["results"]
    assert operation == "GemmTunableOp_float32" and parameters.startswith("8_4_16_1_")
    assert re.fullmatch("Gemm_Cublaslt_[0-9a-f]{16}", way) and milliseconds > 0
    assert said["other"] > 1 and said["count"] == 2
    assert (said["off"], said["deterministic"], said["again"]) == (4, 4, 1)


def test_nothing_is_measured_where_that_is_off_or_a_graph_is_captured():
    said = run("""
tunable.enable()
tunable.tuning_enable(False)
said["off"] = cost()
tunable.tuning_enable()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = a @ b
graph.replay()
assert y.tolist() == [[16] * 4] * 8
said["results"] = tunable.get_results()
""")
    assert said == {"off": 4, "results": []}


def test_limits_hold():
    body = """
tunable.enable()
tunable.set_max_tuning_iterations(1)
said["once"] = cost()
tunable.set_max_tuning_iterations(10)
a = torch.ones(9, 16, device="cuda")
said["ten"] = cost()
tunable.set_max_tuning_duration(0)
a = torch.ones(10, 16, device="cuda")
said["none"] = cost()
try:
    tunable.set_max_tuning_duration(-1)
except (RuntimeError, ValueError) as e:
    said["error"] = str(e)
"""
    said = run(body, costs="2,1")
    assert said["once"] == said["none"] == 2 * (2 + 1) + 1  # it loads its code, and is measured
    assert said["ten"] == 12 * (2 + 1) + 1
    assert "milliseconds must not be negative, and is -1" in said["error"]


def test_an_addend_that_is_the_destination_is_added_once():
    said = run("""
tunable.enable()
y = torch.ones(8, 4, device="cuda")
y.addmm_(a, b)
said["y"] = y.tolist()
""")
    assert said["y"] == [[17] * 4] * 8


def test_files_carry_results_to_other_processes(tmp_path):
    path = str(tmp_path / "found.csv")
    write = f"""
tunable.enable()
cost()
tunable.set_filename({path!r})
assert tunable.get_filename() == {path!r}
said["written"] = tunable.write_file()
said["results"] = tunable.get_results()
said["validators"] = tunable.get_validators()
"""
    read = f"""
tunable.enable()
tunable.tuning_enable(False)
said["read"] = tunable.read_file({path!r})
said["missing"] = tunable.read_file({path + ".no"!r})
said["results"] = tunable.get_results()
said["cost"] = cost()
"""
    written, found = run(write), run(read)
    assert written["written"] and found["read"] and not found["missing"]
    assert found["results"] == written["results"] and found["cost"] == 1
    assert [name for name, _ in written["validators"]] == [
        "FLAMBEAU_VERSION",
        "CUBLASLT_VERSION",
        "CUDA_RUNTIME_VERSION",
        "GPUS",
    ]
    assert os.listdir(tmp_path) == ["found.csv"]


def test_a_foreign_or_broken_file_is_refused_whole(tmp_path):
    path = tmp_path / "found.csv"
    good = run(f"""
tunable.enable()
cost()
tunable.write_file({str(path)!r})
said["text"] = open({str(path)!r}).read()
""")["text"]
    changes = {
        "measured with CUBLASLT_VERSION 7, here it is 130100": (
            "CUBLASLT_VERSION,130100",
            "CUBLASLT_VERSION,7",
        ),
        "it does not say its GPUS": ("Validator,GPUS", "Validator,SCREENS"),
        'is not "operation,parameters,algorithm,time"': ("Gemm_Cublaslt_", "Gemm,Cublaslt_"),
    }
    for number, (old, new) in enumerate(changes.values()):
        assert old in good
        pathlib.Path(f"{path}.{number}").write_text(good.replace(old, new))
    said = run(f"""
said["errors"] = []
for number in range({len(changes)}):
    try:
        tunable.read_file({str(path)!r} + f".{{number}}")
        said["errors"].append("none")
    except RuntimeError as e:
        said["errors"].append(str(e))
said["results"] = tunable.get_results()
""")
    assert said["results"] == []
    for error, expected in zip(said["errors"], changes):
        assert expected in error and "measure anew on this machine" in error


def test_the_environment_says_what_holds_at_the_start():
    said = run(
        """
said["start"] = [
    tunable.is_enabled(), tunable.tuning_is_enabled(), tunable.get_max_tuning_duration(),
    tunable.get_max_tuning_iterations(), tunable.get_filename(),
]
""",
        PYTORCH_TUNABLEOP_ENABLED="1",
        PYTORCH_TUNABLEOP_TUNING="0",
        PYTORCH_TUNABLEOP_FILENAME="some.csv",
        PYTORCH_TUNABLEOP_MAX_TUNING_ITERATIONS="7",
    )
    assert said["start"] == [True, False, 30, 7, "some0.csv"]
