"""Every exported function with NULL, extreme, negative, zero and unknown arguments: none may end
the process, go on without end, or fail without an error that says why.

The functions, their parameters and the structs' fields come from the ledger; a new function is
called as soon as it is declared.
"""

import subprocess
import sys

import parent
import pytest
import record
import worker
import working


@pytest.mark.parametrize("quarter", range(4))
def test_every_function_takes_extreme_arguments(device, quarter):
    ledger = record.read()
    groups = parent.groups(ledger, list(ledger.functions))[quarter::4]
    names = {name for group in groups for name in group}
    findings = parent.Findings()
    for group in groups:
        parent.run(ledger, group, device, findings)
    for line in findings.faults:
        print(line)
    missing = sorted(names - set(findings.called))
    idle = sorted(names - findings.works)
    print(f"{sum(findings.called.values())} calls; no plain call works of {idle}")
    assert not missing, f"not called: {missing}"
    assert not findings.faults, f"{len(findings.faults)} calls: see above"
    # What fails before it looks at an argument tells nothing of it: see working.py.
    idle = [name for name in idle if not name.startswith(working.BY_DEVICE)]
    assert idle == sorted(names & set(working.WITHOUT))


def test_no_working_call_is_of_a_function_that_is_gone():
    names = set(record.read().functions)
    assert {f"flam_{name}" for name in working.CALLS} | set(working.WITHOUT) <= names


def test_crashes_hangs_and_silence_are_seen():
    """What the limits and the look at the error record are for, in a child that misbehaves."""
    import signal

    assert parent.death(-signal.SIGSEGV) == "ends the process: SIGSEGV"
    assert parent.death(-signal.SIGPROF) == "does not end"
    spin = "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.05)\nwhile True: pass"
    child = subprocess.run([sys.executable, "-c", spin])
    assert parent.death(child.returncode) == "does not end"
    handle = {"kind": "handle", "nullable": False}
    assert worker.known_to_fail(handle, None) and not worker.known_to_fail(handle, 1)
    assert worker.known_to_fail({"kind": "status"}, 3)


def test_declarations_are_read_whole():
    result, name, params = record.prototype(
        "flam_tensor *flam_x(const flam_tensor *const *xs, size_t n_xs, void (*drop)(void *, int))"
    )
    assert (result, name) == ("flam_tensor *", "flam_x")
    assert [p["name"] for p in params] == ["xs", "n_xs", "drop"]
    assert [p["type"] for p in params] == [
        "const flam_tensor *const *",
        "size_t",
        "void (*)(void *, int)",
    ]
