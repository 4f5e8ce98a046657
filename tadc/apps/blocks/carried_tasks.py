"""Tasks that can be sent to a process without tadc, which then says what it lacks.

Of an object Python sends the name of its class; where that is not installed, nobody can read a graph that the
object is in, not even to hand it on. So a task is sent as bytes, with a few lines that make it of these.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from tadc.toolkit.reporting import VERSION, install_command

#: What a process runs that is sent a task and has not met tadc: nothing here may need that.
_UNPACK = """
class MissingTadc:
    def __init__(self, sent):
        self.sent = sent
    def __reduce__(self):
        return eval, (self.sent["READ"], {"SENT": self.sent})
    def __call__(self, *chunks):
        raise RuntimeError(self.sent["MESSAGE"])
    __getitem__ = __call__
def unpack(sent):
    try:
        from tadc.apps.blocks.carried_tasks import unpack
    except ModuleNotFoundError:
        return MissingTadc(sent)
    return unpack(sent)
"""
_READ = """(
modules["tadc.apps.blocks.carried_tasks"].unpack(SENT)
if "tadc.apps.blocks.carried_tasks" in (modules := __import__("sys").modules)
else (exec(SENT["UNPACK"], globals()) or unpack(SENT))
)"""

_MESSAGE = (
    "error[TAD0802]: a block is to be computed where tadc is not installed\n"
    f"  = note: its task was made by tadc {VERSION}\n"
    f"  = help: on all workers, and where the scheduler is: `{install_command('dask')}`"
)


class CarriedTask:
    """A task, or what one reads, whose fields are its state."""

    def __reduce__(self) -> tuple[Any, ...]:
        task = pickle.dumps((type(self), vars(self)))
        sent = {"READ": _READ, "UNPACK": _UNPACK, "MESSAGE": _MESSAGE, "TASK": task}
        return eval, (_READ, {"SENT": sent})


def unpack(sent: Mapping[str, Any]) -> CarriedTask:
    """The task that was sent."""
    made, values = pickle.loads(sent["TASK"])
    return made(**values)
