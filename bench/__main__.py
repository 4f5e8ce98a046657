"""`python -m bench`: run time against other libraries; `python -m bench -h` has its options.

`python -m bench compile`: how long compiling takes.
`python -m bench everyday [PROGRAM …]`: programs that no schedule was chosen for by hand, against JAX.
`python -m bench empty`: inner loops without an iteration.
`python -m bench functions`: the speed of scalar functions.
`python -m bench gpu-host`: what a call on a GPU takes on the host.
`python -m bench jvp [WORKLOAD …]`: value and tangent against `jax.jvp`.
`python -m bench inverse`: products with inverse Jacobians, and their plans.
`python -m bench mechanisms [MECHANISM …] [PROGRAM …]`: what each mechanism of the code generator buys.
`python -m bench operations`: what gradients cost over the value, by count.
`python -m bench sizes`: what compiling for given sizes gains.
`python -m bench uncertainty`: 10,000 measurements against arrays of `uncertainties`.
"""

from __future__ import annotations

import sys


def main(words: list[str]) -> None:
    """Run the benchmark that the words name."""
    if words[:1] == ["jvp"]:
        from bench.forward import main as forward

        return forward(words[1:])
    if words[:1] == ["everyday"]:
        from bench.breadth import main as programs

        return programs(words[1:])
    if words[:1] == ["mechanisms"]:
        from bench.mechanisms import main as without

        return without(words[1:])
    if words == ["uncertainty"]:
        from bench.uncertainty import main as run
    elif words == ["compile"]:
        from bench.compile_time import main as run
    elif words == ["sizes"]:
        from bench.specialised import main as run
    elif words == ["operations"]:
        from bench.operations import main as run
    elif words == ["functions"]:
        from bench.functions import main as run
    elif words == ["gpu-host"]:
        from bench.gpu.host import main as run
    elif words == ["inverse"]:
        from bench.inverse import main as run
    elif words == ["empty"]:
        from bench.empty_iterations import main as run
    else:
        from bench.speed import main as time_workloads

        return time_workloads(words)
    run()


main(sys.argv[1:])
