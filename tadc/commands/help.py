"""`tadc help`: the commands, or one of them."""

from __future__ import annotations

from tadc.commands.command_table import COMMANDS
from tadc.commands.files import Sink
from tadc.commands.help_text import long_help, short_help
from tadc.commands.options import Arguments


def execute(arguments: Arguments) -> int:
    """Print the help; the exit code."""
    topic = arguments.topic
    Sink("-").write(long_help(COMMANDS[topic]) if topic else short_help())
    return 0
