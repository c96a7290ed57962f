"""In which order a stage computes the parts of a batch and moves them on. GPipe (Huang et al.,
2018, arXiv 1811.06965): all forwards, then all backwards. 1F1B (Narayanan et al., 2019, PipeDream):
each backward as soon as it can be, so that a stage keeps as many parts as there are stages from it
on, and no more. Transfers that cross between two stages begin as one, in whichever order both name
them; others begin when those before have ended, so that one part at a time is held to be sent.
Orders for several stages on each rank are in `_several.py`."""

from ... import _refused
from ._schedule import Schedule, after, begun, done
from ._several import PipelineScheduleMulti, ScheduleInterleaved1F1B, ScheduleLoopedBFS

_OTHERS = (
    "PipelineActivationLiveness ScheduleDualPipeV ScheduleInterleavedZeroBubble "
    "ScheduleZBVZeroBubble analyze_pipeline_activation_liveness"
)
_WHY = (
    "gradients of parameters are computed with those of inputs, and not apart; "
    "ScheduleInterleaved1F1B and ScheduleLoopedBFS run several stages on each rank"
)
__all__ = [
    *"PipelineScheduleMulti PipelineScheduleSingle Schedule1F1B ScheduleGPipe".split(),
    *"ScheduleInterleaved1F1B ScheduleLoopedBFS get_schedule_class".split(),
    *_OTHERS.split(),
]
globals().update(_refused.names("torch.distributed.pipelining", _OTHERS, _WHY))


class PipelineScheduleSingle(Schedule):
    """An order for one stage on each rank."""

    def __init__(self, stage, n_microbatches, loss_fn=None, args_chunk_spec=None,
                 kwargs_chunk_spec=None, output_merge_spec=None, scale_grads=True):  # fmt: skip
        if stage.num_stages != stage.group_size:
            raise ValueError(
                f"{type(self).__name__} runs one stage on each rank, but there are "
                f"{stage.num_stages} stages for {stage.group_size} ranks; ScheduleInterleaved1F1B "
                "and ScheduleLoopedBFS run several"
            )
        self._stage = stage
        super().__init__([stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
                         output_merge_spec, scale_grads)  # fmt: skip

    def _forwards(self, n):
        """The first `n` parts; the works of the last one's transfers."""
        sent = []
        for i in range(n):
            done(begun(self._receives(self._stage, i)))
            self._forward(self._stage, i)
            sent = after(sent, self._sends(self._stage, i))
        return sent

    def _forward_only(self, n):
        done(self._forwards(n))

    def _back(self, index):
        """One backward; the transfers of its gradients."""
        self._backward(self._stage, index)
        return self._stage.backward_sends(index)


class ScheduleGPipe(PipelineScheduleSingle):
    """All forwards, then all backwards."""

    def _order(self, n):
        sent = self._forwards(n)
        for i in range(n):
            done(begun(self._backward_receives(self._stage, i)))
            sent = after(sent, self._back(i))
        done(sent)


class Schedule1F1B(PipelineScheduleSingle):
    """After as many forwards as there are stages from this one on, one backward and one forward by
    turns. There are as many parts as stages at least."""

    def _check(self, n):
        super()._check(n)
        stage = self._stage
        if n < stage.num_stages:
            raise ValueError(
                f"Number of microbatches ({n}) must be greater than or equal to the number of "
                f"stages ({stage.num_stages}); ScheduleGPipe runs fewer"
            )

    def _order(self, n):
        stage = self._stage
        ahead = stage.num_stages - stage.stage_index
        sent = self._forwards(ahead - 1)
        done(begun(self._receives(stage, ahead - 1)))
        self._forward(stage, ahead - 1)
        done(sent)
        sent.clear()
        for i in range(ahead, n):
            back = i - ahead
            done(begun(self._sends(stage, i - 1) + self._backward_receives(stage, back)))
            done(begun(self._back(back) + self._receives(stage, i)))
            self._forward(stage, i)
        first = n - ahead
        done(begun(self._sends(stage, n - 1) + self._backward_receives(stage, first)))
        sent = begun(self._back(first))
        for i in range(first + 1, n):
            done(begun(self._backward_receives(stage, i)))
            sent = after(sent, self._back(i))
        done(sent)


def get_schedule_class(schedule_name):
    """The class of a name such as "1F1B", in any case."""
    known = {name.lower(): name for name in __all__ if name[0].isupper()}
    lower = schedule_name.lower()
    for wanted in (f"schedule{lower}", lower):
        if wanted in known:
            return globals()[known[wanted]]
    names = [name.removeprefix("Schedule") for name in __all__ if name.startswith("Schedule")]
    raise ValueError(
        f"Unknown schedule name '{schedule_name}'. The valid options are {', '.join(names)}"
    )
