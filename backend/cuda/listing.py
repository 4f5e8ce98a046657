"""What of CUDA runs on this machine, and why not."""

from __future__ import annotations

from tadc.backend.cuda.architectures import CUDA_ARCHITECTURES
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.driver import Driver, cuda_driver
from tadc.backend.cuda.toolkit import LIBDEVICE, find_ptxas, toolkit_file
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.packages import install_command


def emulator() -> list[str]:
    """The line about the emulator."""
    return [f"{'emulated':14}runs here, slowly: kernels of a GPU, every access checked"]


def gpus() -> list[str]:
    """A line for each GPU, or why there is none, and those about what makes code."""
    known = " ".join(f"sm_{sm}" for sm in CUDA_ARCHITECTURES)
    ptxas = find_ptxas()
    library = toolkit_file(LIBDEVICE)
    install = f"not found: {install_command('cuda')}"
    return [
        *_cuda(),
        f"{'cuda:sm_NN':14}PTX for {known}",
        f"{'':14}cubin by {ptxas}" if ptxas else f"{'':14}no cubin: ptxas {install}",
        f"{'':14}functions of libdevice" if library else f"{'':14}functions of tadc; libdevice {install}",
    ]


def _cuda() -> list[str]:
    try:
        driver = cuda_driver()
        return [_device(driver, number) for number in range(driver.device_count())]
    except CompileError as error:
        diagnostic = error.diagnostics[0]
        reason = getattr(error, "reason", None) or diagnostic.message
        return [f"{'cuda':14}does not run here: {reason}"]


def _device(driver: Driver, number: int) -> str:
    major, minor = driver.version()
    try:
        device = cuda_device(number)
        with device.current():
            free, total = driver.memory()
        room = f"{free >> 20} of {total >> 20} MiB free"
        words = f"runs here: sm_{device.architecture}, {room}, driver for CUDA {major}.{minor}"
    except CompileError as error:
        words = f"does not run here: {error.diagnostics[0].message}"
    return f"{'cuda':14}{driver.device_name(number)} (GPU {number}) {words}"
