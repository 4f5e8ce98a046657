"""`tadc completion SHELL`: a script that completes commands, options, their values, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tadc.commands.command_table import COMMANDS, FLAT, Command
from tadc.commands.files import Sink
from tadc.commands.option_table import OPTIONS, Option
from tadc.commands.options import Arguments
from tadc.frontend.codes import CODES, WARNINGS


def execute(arguments: Arguments) -> int:
    """Print the script of a shell."""
    assert arguments.shell is not None
    scripts = {"bash": bash, "zsh": zsh, "fish": fish}
    Sink(arguments.output or "-").write(scripts[arguments.shell]())
    return 0


def values_of(option: Option) -> list[str]:
    """The words that can be the value of an option."""
    known = {"explain": CODES, "allow": WARNINGS, "topic": COMMANDS}.get(option.field, option.choices)
    return [str(word) for word in known]


def words_of(command: Command) -> list[str]:
    """The words that can stand first behind a command."""
    return values_of(OPTIONS[command.word]) if command.word else []


def flags_of(command: Command) -> list[str]:
    """The flags of a command."""
    return [flag for option in command.taken for flag in option.names]


def _with_values() -> Iterable[Option]:
    return (option for option in OPTIONS.values() if option.names and option.value)


def _values_by_case(words: Callable[[list[str]], str], folders: str, files: str) -> str:
    """Lines of a shell's `case`: what completes the value behind each option."""
    lines: list[str] = []
    for option in _with_values():
        if known := values_of(option):
            found = words(known)
        elif option.files == "/":
            found = folders
        elif option.files and not option.words:
            found = files
        else:
            continue
        lines.append(f"    {'|'.join(option.names)}) {found}; return ;;")
    return "\n".join(lines)


_BASH = r"""# bash completion of tadc; put this into ~/.bashrc:  eval "$(tadc completion bash)"
_tadc() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options words= IFS=$'\n'
    [[ $cur == '=' ]] && cur=
    [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
    case $prev in
@VALUES@
    esac
    case ${COMP_WORDS[1]} in
@COMMANDS@
    esac
    (( COMP_CWORD == 1 )) && words=@NAMES@
    case $cur in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;
    *)  COMPREPLY=($(compgen -W "$words" -- "$cur"; compgen -f -X '!*.@(tad|mlir|np[yz])' -- "$cur"
                     compgen -d -- "$cur")) ;;
    esac
}
shopt -s extglob
complete -o filenames -F _tadc tadc
"""


def _lines(words: Iterable[str]) -> str:
    return "$'" + r"\n".join(words) + "'"


def bash() -> str:
    """The script for bash."""
    values = _values_by_case(
        lambda words: f'COMPREPLY=($(compgen -W {_lines(words)} -- "$cur"))',
        'COMPREPLY=($(compgen -d -- "$cur"))',
        'COMPREPLY=($(compgen -f -- "$cur"))',
    )
    commands: list[str] = []
    for name, command in COMMANDS.items():
        words = words_of(command)
        commands.append(f"    {name}) options={_lines(flags_of(command))} words={_lines(words)} ;;")
    commands.append(f"    *) options={_lines(flags_of(FLAT))} ;;")
    script = _BASH.replace("@VALUES@", values).replace("@COMMANDS@", "\n".join(commands))
    return script.replace("@NAMES@", _lines(COMMANDS))


_ZSH = r"""#compdef tadc
# zsh completion of tadc; put this into ~/.zshrc:  eval "$(tadc completion zsh)"
_tadc() {
    local -a options named
    case $words[CURRENT-1] in
@VALUES@
    esac
    case $words[2] in
@COMMANDS@
    esac
    if (( CURRENT == 2 )); then
        named=(@NAMES@)
        _describe command named
    fi
    if [[ $words[CURRENT] == -* ]]; then
        compadd -- $options
    else
        compset -P '*='
        _files -g '*.(tad|mlir|npy|npz)'
    fi
}
compdef _tadc tadc
"""


def zsh() -> str:
    """The script for zsh."""
    values = _values_by_case(lambda words: f"compadd -- {' '.join(words)}", "_files -/", "_files")
    commands: list[str] = []
    for name, command in COMMANDS.items():
        words = words_of(command)
        more = f"; (( CURRENT == 3 )) && compadd -- {' '.join(words)}" if words else ""
        commands.append(f"    {name}) options=({' '.join(flags_of(command))}){more} ;;")
    commands.append(f"    *) options=({' '.join(flags_of(FLAT))}) ;;")
    named = " ".join(_quoted(f"{name}:{command.about}") for name, command in COMMANDS.items())
    script = _ZSH.replace("@VALUES@", values).replace("@COMMANDS@", "\n".join(commands))
    return script.replace("@NAMES@", named)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish() -> str:
    """The script for fish."""
    lines = ["# fish completion of tadc: tadc completion fish > ~/.config/fish/completions/tadc.fish"]
    lines.append(
        f"function __tadc_without_command; not __fish_seen_subcommand_from {' '.join(COMMANDS)}; end"
    )
    lines.append("complete -c tadc -f -k -a '(__fish_complete_suffix .tad .mlir)'")
    for name, command in COMMANDS.items():
        lines.append(f"complete -c tadc -n __fish_use_subcommand -a {name} -d {_fish(command.about)}")
        words = words_of(command)
        if words:
            lines.append(f"complete -c tadc -n '__fish_seen_subcommand_from {name}' -a '{' '.join(words)}'")
    for option in OPTIONS.values():
        if not option.names:
            continue
        having = [name for name, command in COMMANDS.items() if option in command.taken]
        flat = "__tadc_without_command" if option in FLAT.taken else ""
        for condition in filter(
            None, (f"__fish_seen_subcommand_from {' '.join(having)}" if having else "", flat)
        ):
            lines.append(_fish_option(option, condition))
    return "\n".join(lines)


def _fish_option(option: Option, condition: str) -> str:
    parts = [f"complete -c tadc -n '{condition}'"]
    parts += [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.names]
    if option.value:
        parts.append("-r" if option.files else "-x")
        if words := values_of(option):
            parts.append(f"-a '{' '.join(words)}'")
    if option.about:
        parts.append(f"-d {_fish(option.about)}")
    return " ".join(parts)


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
