"""Where the output of ranks goes: the console as it is, with a rank in front, files, or nowhere."""

import json
import os
import pickle
import re
import signal
import warnings

import pytest

from tests.dist.launching import runs

TWO = ("--nproc-per-node", "2")


def logs(folder, name):
    """The files of that name, by rank, of the only job that logged there."""
    return [path.read_text() for path in sorted(folder.glob(f"*/attempt_0/*/{name}"))]


def test_output_is_the_console_by_default(launch):
    script = "import flambeau; print('out', rank); print('err', rank, file=sys.stderr)"
    out, err = launch(script, *TWO).done(0)
    assert sorted(out.splitlines()) == ["out 0", "out 1"]
    assert sorted(err.splitlines()) == ["err 0", "err 1"]


def test_lines_of_ranks_stay_whole(launch):
    script = "import flambeau\nfor i in range(500): print('line', i, 'of', rank)"
    out, _ = launch(script, *TWO).done(0)
    whole = sorted(f"line {i} of {r}" for i in range(500) for r in range(2))
    assert sorted(out.splitlines()) == whole


def test_what_is_flushed_is_shown_before_its_line_ends(launch):
    job = launch("import flambeau; print('.', end='', flush=True); time.sleep(60)", *TWO)
    assert job.stdout.read(2) == ".."
    assert job.poll() is None


def test_tee_writes_whole_lines_with_their_rank(launch, tmp_path):
    script = """
for i in range(200):
    for piece in f"line {i} ", "x" * 5000, "\\n":
        os.write(1, piece.encode())
os.write(2, b"no end")
"""
    job = launch(script, *TWO, "--tee", "3", "--log-dir", tmp_path / "logs", "--role", "w")
    out, err = job.done(0)
    for rank in range(2):
        lines = [line for line in out.splitlines() if line.startswith(f"[w{rank}]:")]
        assert lines == [f"[w{rank}]:line {i} {'x' * 5000}" for i in range(200)]
    assert len(out.splitlines()) == 400
    assert sorted(err.splitlines()) == ["[w0]:no end", "[w1]:no end"]
    assert logs(tmp_path / "logs", "stderr.log") == ["no end"] * 2
    whole = "".join(f"line {i} {'x' * 5000}\n" for i in range(200))
    assert logs(tmp_path / "logs", "stdout.log") == [whole] * 2


def test_a_line_is_shown_when_it_is_complete(launch):
    job = launch("os.write(1, b'now\\nlater'); time.sleep(60)", "--tee", "1")
    assert job.stdout.readline() == "[default0]:now\n"
    assert job.poll() is None


def test_a_pipe_that_others_keep_open_ends_with_the_job(launch):
    script = """
child = subprocess.Popen(["sleep", "60"], start_new_session=True, stderr=subprocess.DEVNULL)
say("child", child.pid)
print("bye")
"""
    job = launch(script, "--tee", "1")
    assert job.stdout.readline() == "[default0]:bye\n"
    assert job.wait(40) == 0
    (child,) = job.said("child")
    assert runs(child)
    os.kill(child, signal.SIGKILL)


def test_streams_by_rank(launch, tmp_path):
    script = "import flambeau; print('out', rank); print('err', rank, file=sys.stderr)"
    options = ("-r", "0:1", "-t", "1:2", "--log_dir", str(tmp_path / "logs"))
    out, err = launch(script, *TWO, *options).done(0)
    assert out == "out 1\n"
    assert sorted(err.splitlines()) == ["[default1]:err 1", "err 0"]
    assert logs(tmp_path / "logs", "std*.log") == ["out 0\n", "err 1\n"]


def test_shown_ranks_prefixes_and_filters(launch, tmp_path):
    script = "print('loss', rank); print('time', rank)"
    more = ("--log-line-prefix-template", "${role_name}/${rank}/${local_rank} ")
    more += ("--duplicate-stdout-filters", "loss,accuracy", "--log-dir", str(tmp_path / "logs"))
    out, _ = launch(script, *TWO, "-t", "1", "--local-ranks-filter", "1", *more).done(0)
    assert out == "default/1/1 loss 1\ndefault/1/1 time 1\n"
    assert logs(tmp_path / "logs", "stdout.log") == [f"loss {r}\ntime {r}\n" for r in (0, 1)]
    filtered = next((tmp_path / "logs").glob("*/attempt_0/filtered_stdout.log")).read_text()
    assert filtered == "default/1/1 loss 1\n"
    out, _ = launch(script, *TWO, "--local-ranks-filter", "0", folder="plain").done(0)
    assert out == "loss 0\ntime 0\n"


@pytest.mark.parametrize("option, stays", [("--redirects", True), ("--tee", False)])
def test_logs_without_a_folder(launch, tmp_path, option, stays):
    _, err = launch("print(rank)", option, "1", TMPDIR=str(tmp_path)).done(0)
    assert len(logs(tmp_path, "stdout.log")) == stays
    assert ("logs are in" in err) == stays


def test_each_attempt_has_its_logs(launch, tmp_path):
    script = """
from flambeau.distributed.elastic.multiprocessing.errors import record
@record
def main():
    print("attempt", attempt)
    if attempt == 0: raise ValueError("again")
main()
"""
    options = ("--max-restarts", "1", "-r", "3", "--log-dir", str(tmp_path / "logs"))
    launch(script, *options).done(0)
    for attempt in range(2):
        found = next((tmp_path / "logs").glob(f"*/attempt_{attempt}/0/stdout.log"))
        assert found.read_text() == f"attempt {attempt}\n"
    error = json.loads(next((tmp_path / "logs").glob("*/attempt_0/0/error.json")).read_text())
    assert error["message"]["message"] == "ValueError: again"
    assert "in main" in error["message"]["extraInfo"]["py_callstack"]
    assert not list((tmp_path / "logs").glob("*/attempt_1/0/error*"))


def test_a_reader_that_leaves_does_not_end_the_job(launch, tmp_path):
    script = "for i in range(2000): print('x' * 1000)\nsay('done', rank)"
    job = launch(script, "--tee", "1", "--log-dir", str(tmp_path / "logs"))
    job.stdout.readline()
    job.stdout.close()
    job.stdout = None
    job.done(0)
    assert job.said("done") == [0]
    assert len(logs(tmp_path / "logs", "stdout.log")[0]) == 2000 * 1001


def test_a_full_disk_ends_the_log_and_not_the_output(capfdbinary):
    from flambeau.distributed.elastic.multiprocessing._streams import Streams

    streams = Streams()
    end = streams.pipe("stdout", "/dev/full", "[rank0]:")
    os.write(end, b"all of it\n" * 3 + b"to the end")
    os.close(end)
    streams.close()
    out, err = capfdbinary.readouterr()
    assert out == b"[rank0]:all of it\n" * 3 + b"[rank0]:to the end\n"
    assert err.startswith(b"the log /dev/full ends here: ") and err.count(b"\n") == 1


def test_streams_leave_no_descriptor(tmp_path):
    from flambeau.distributed.elastic.multiprocessing._streams import Streams

    before = os.listdir("/proc/self/fd")
    for kept in False, True:
        streams = Streams()
        end = streams.pipe("stdout", tmp_path / "log", "", ("a",), tmp_path / "filtered")
        if not kept:
            os.close(end)
        streams.close()
        if kept:
            os.close(end)
    assert os.listdir("/proc/self/fd") == before


def test_record(tmp_path, monkeypatch):
    from flambeau.distributed.elastic.multiprocessing import errors

    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    monkeypatch.setattr(errors.ErrorHandler, "initialize", lambda self: None)

    @errors.record
    def leave(how, value):
        if how == "raise":
            raise value
        return value

    assert leave("return", 5) == 5 and leave("raise", SystemExit(0)) is None
    with pytest.raises(SystemExit):
        leave("raise", SystemExit(2))
    assert not path.exists()
    with pytest.raises(KeyError):
        leave("raise", KeyError("k"))
    failure = errors.ProcessFailure(1, 77, 1, str(path))
    assert re.search("(?s)Traceback.*in leave.*KeyError: 'k'", failure.traceback())
    assert abs(failure.timestamp - failure.seconds) < 1.5 and path.name in os.listdir(tmp_path)
    killed = errors.ProcessFailure(0, 78, -9, str(tmp_path / "none"))
    assert killed.signal_name() == "SIGKILL" and killed.error_file == "<N/A>"
    problem = errors.ChildFailedError("train", {0: killed, 1: failure})
    assert problem.get_first_failure() == (1, failure)  # by time
    path.unlink()
    with pytest.raises(errors.ChildFailedError):
        leave("raise", problem)
    assert json.loads(path.read_text())["message"]["errorCode"] == 1
    path.write_text('{"message": ')  # torn
    assert errors.ProcessFailure(0, 79, 1, str(path)).error_file == "<N/A>"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "no" / "folder"))
    with warnings.catch_warnings(record=True) as said, pytest.raises(KeyError):
        warnings.simplefilter("always")
        leave("raise", KeyError("k"))
    assert "Unable to write error to file. FileNotFoundError" in str(said[0].message)


def test_the_first_failure_is_not_one_that_followed(tmp_path):
    from flambeau.distributed.elastic.multiprocessing import errors

    class PeerLostError(RuntimeError):
        """As a rank raises it whose peer is gone."""

    path = tmp_path / "error.json"
    handler = errors.ErrorHandler()
    handler._get_error_file_path = lambda: str(path)
    handler.record_exception(PeerLostError("rank 1 is gone"))
    followed = errors.ProcessFailure(0, 80, 1, str(path))
    killed = errors.ProcessFailure(1, 81, -9, "")  # noticed a moment later
    assert followed.seconds < killed.seconds
    problem = errors.ChildFailedError("train", {0: followed, 1: killed})
    assert problem.get_first_failure()[0] == 1
    text = str(problem)
    assert re.search(r"\n  rank 0 exited with code 1: .*PeerLostError: rank 1 is gone\n", text)
    assert text.index("rank 0") < text.index("Root Cause") < text.index("[rank1]")


def test_failures_that_are_alike_are_one_line():
    from flambeau.distributed.elastic.multiprocessing import errors

    failures = {rank: errors.ProcessFailure(rank, rank, 1, "") for rank in (0, 1, 2, 3, 5, 7)}
    failures[7].exitcode = 2
    problem = errors.ChildFailedError("train", failures, [6, 4])
    assert "\n  ranks 1-3, 5 exited with code 1\n  rank 7 exited with code 2\n" in str(problem)
    assert "after that: ranks 4, 6\n" in str(problem)
    copy = pickle.loads(pickle.dumps(problem))
    assert str(copy) == str(problem) and copy.failures == problem.failures
