"""Arrays in files that are mapped, as Dask reads them: neither copied as a whole nor sent."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tadc.apps.blocks.carried_tasks import CarriedTask


@dataclass(frozen=True)
class MappedFile(CarriedTask):
    """An array of a file, which each process maps where it reads or writes some of it.

    Of a `numpy.memmap` Dask copies all elements, and sends them to other processes.
    """

    path: str
    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    def __getitem__(self, places: Any) -> Any:
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)[places]

    def __setitem__(self, places: Any, values: Any) -> None:
        np.memmap(self.path, self.dtype, "r+", self.offset, self.shape)[places] = values

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """What tells it from others, and from itself when the file was written since."""
        return self.path, os.stat(self.path).st_mtime_ns, str(self.dtype), self.offset, self.shape


def mapped_file(value: Any) -> MappedFile | None:
    """The file of an array; None where that is not all that it has, in the order of the file."""
    filename, held = getattr(value, "filename", None), getattr(value, "_mmap", None)
    if not isinstance(value, np.memmap) or filename is None or held is None or value.mode == "c":
        return None
    array = np.asarray(cast("Any", value))
    if not array.size or not array.flags.c_contiguous:
        return None
    # A slice has the offset of the array that it is of.
    start = value.offset - value.offset % mmap.ALLOCATIONGRANULARITY
    own = array.ctypes.data - np.frombuffer(held, np.uint8).ctypes.data
    return MappedFile(str(filename), array.dtype, start + own, array.shape)
