"""Configuration of `lit lit_tests`; `pytest lit_tests` runs the same files faster, in one process."""

import os
import sys
from pathlib import Path

import lit.formats

ROOT = Path(__file__).parent

config.name = "tadc"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".tad", ".mlir", ".nest"]  # noqa: F821
config.test_source_root = str(ROOT)  # noqa: F821
config.test_exec_root = str(ROOT.parent / "build" / "lit")  # noqa: F821
config.environment["NO_COLOR"] = "1"  # noqa: F821
if lit_config.params.get("slow"):  # noqa: F821
    config.available_features.add("slow")  # noqa: F821
# The tools of this interpreter's environment, whatever the PATH says.
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # noqa: F821
