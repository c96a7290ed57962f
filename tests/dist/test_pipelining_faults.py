"""Steps that fail on one rank: no rank begins another one, whose parts would be taken for those of
the step before, and what a transfer failed with is raised although nobody waits for it."""

import datetime
import re

import pytest

from tests.dist import ranks

ORDERS = {"ScheduleGPipe": 1, "Schedule1F1B": 1, "ScheduleInterleaved1F1B": 2,
          "ScheduleLoopedBFS": 2}  # fmt: skip


def fails_once(rank, size, name, local):
    """What two steps, or two evaluations, say of which part 1 fails on rank 1."""
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed import pipelining

    failures = []

    class Stage(torch.nn.Linear):
        def forward(self, x):
            self.calls = getattr(self, "calls", -1) + 1
            if rank == 1 and self.calls == 1 and not failures:
                failures.append("here")
                raise ValueError("of this rank")
            return super().forward(x)

    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=1))
    stages = [
        pipelining.PipelineStage(Stage(4, 4), i, size * local, "cpu")
        for i in range(rank, size * local, size)
    ]
    given = stages if local > 1 else stages[0]
    schedule = getattr(pipelining, name)(given, 4, loss_fn=torch.nn.functional.mse_loss)
    x, said = torch.ones(8, 4), []
    for call in schedule.step, schedule.step, schedule.eval:
        try:
            call(*([] if rank else [x]), target=x if rank else None)
        except Exception as problem:
            said.append(str(problem))
    return said


@pytest.mark.parametrize("name", ORDERS)
def test_no_step_follows_one_that_failed(name):
    zero, one = ranks.values(fails_once, 2, name, ORDERS[name])
    assert one[0] == "of this rank" and len(zero) == len(one) == 3
    for said in one[1:]:
        assert said.startswith("the last step failed at stage 1, part 1, on this rank"), said
    for said in zero[1:]:
        assert re.match(r"the last step failed at stage [02], part \d, on this rank", said), said


def test_alone_a_step_may_fail_and_be_repeated():
    assert ranks.values(alone, 1) == [["of the loss", 3]]


def alone(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed import pipelining

    dist.init_process_group("gloo")
    said = []

    def loss(output, target):
        if not said:
            said.append("of the loss")
            raise ValueError(*said)
        return (output - target).mean()

    stages = [pipelining.PipelineStage(torch.nn.Linear(3, 3), i, 2, "cpu") for i in range(2)]
    schedule, x = pipelining.ScheduleLoopedBFS(stages, 2, loss_fn=loss), torch.ones(4, 3)
    with pytest.raises(ValueError, match="of the loss"):
        schedule.step(x, target=x)
    said.append(schedule.step(x, target=x).shape[1])
    dist.destroy_process_group()
    return said


def test_errors_of_sends_that_have_ended_are_raised():
    from flambeau.distributed.pipelining._schedule import going_on

    class Work:
        def __init__(self, ended, problem=None):
            self.ended, self.problem = ended, problem

        def is_completed(self):
            return self.ended

        def wait(self):
            assert self.ended
            if self.problem:
                raise self.problem

    under_way = Work(False)
    assert going_on([Work(True), under_way]) == [under_way]
    with pytest.raises(OSError, match="lost"):
        going_on([under_way, Work(True), Work(True, OSError("lost"))])
