"""Which of LLVM's NVPTX targets selects all instructions of a text, where that is not certain.

LLVM ends the process on an intrinsic that its target does not have, such as a bulk copy with the PTX of the
first drivers for sm_90. So a text with intrinsics that tadc itself does not write is tried in a process of
its own: with the least PTX version of the architecture, with newer ones, and with the instructions that this
architecture alone has (`sm_90a`).
"""

from __future__ import annotations

import re
import subprocess
import sys

from tadc.backend.backend_errors import backend_error
from tadc.backend.cuda.architectures import PLAIN, Variant, variants_of

#: What every architecture selects, and kernels of ours are written with.
_USUAL = r"read\.ptx\.sreg\.|barrier\.cta\.sync\.|barrier0|shfl\.sync\.|vote\.|reflect"
_UNUSUAL = re.compile(rf"@(llvm\.nvvm\.(?!{_USUAL})[\w.]+)")
_SAID = re.compile(r"^LLVM ERROR: (.*)", re.M)

_TRY = """
import sys
from tadc.backend.binding import binding
from tadc.backend.cuda.architectures import CUDA_TRIPLE, cuda_machine
module = binding().parse_assembly(sys.stdin.read())
module.triple = CUDA_TRIPLE
cuda_machine(int(sys.argv[1]), 0, (sys.argv[2], sys.argv[3])).emit_assembly(module)
"""


def variant_for(text: str, sm: int) -> Variant:
    """The first target of an architecture that selects the text of a gpu module.

    Raises:
        CompileError: TAD0705, none does.
    """
    unusual = sorted(set(_UNUSUAL.findall(text)))
    if not unusual:
        return PLAIN
    said: list[str] = []
    for variant in variants_of(sm):
        command = [sys.executable, "-c", _TRY, str(sm), *variant]
        run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if not run.returncode:
            return variant
        said = _SAID.findall(run.stderr) or run.stderr.strip().splitlines()[-1:]
    notes = [f"LLVM says of it: {line}" for line in said]
    raise backend_error("TAD0705", f"sm_{sm} does not have all of {', '.join(unusual)}", notes)
