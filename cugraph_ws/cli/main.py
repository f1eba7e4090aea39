"""The command line: each algorithm is a command that reads and writes files.

This file has the group of commands and the handling of errors.  Heavy imports wait until a command
does its work, so that `--help` is quick.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from cugraph_ws.algorithms.registry import ALGORITHMS, GROUPS
from cugraph_ws.cli import algorithms as cli_algorithms
from cugraph_ws.cli import doctor as cli_doctor
from cugraph_ws.cli import generate as cli_generate
from cugraph_ws.cli import info as cli_info
from cugraph_ws.cli import run as cli_run
from cugraph_ws.cli import warm_up as cli_warm_up
from cugraph_ws.cli.options import Settings, debug_option
from cugraph_ws.cli.phrasing import flags_of, in_own_words, show_warnings
from cugraph_ws.errors import CugraphWsError
from cugraph_ws.execution.keywords import RESEMBLE
from cugraph_ws.runtime.paths import argument_text
from cugraph_ws.suggestions import did_you_mean

__all__ = ["commands", "main"]

PROGRAM = "cugraph-ws"
# What takes the place of functions that are no commands
INSTEAD = {
    "shortest_path": "; bfs and sssp find paths: give --start ID --to ID",
    **dict.fromkeys(("layout", "plot"), "; pictures are drawn in Python: ws.plot(graph)"),
}
OK, FAILED, INTERRUPTED = 0, 1, 130  # click returns 2 for a wrong command line


class GroupedCommands(click.Group):
    """A group whose help lists the algorithms' commands by their groups."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, and remember its flags for messages."""
        if args[0] not in self.commands and args[0][:1].isalpha():
            known = (name.replace("-", "_") for name in self.commands)
            word = args[0].replace("-", "_")
            remedy = INSTEAD.get(word) or did_you_mean(word, known).replace("_", "-")
            remedy = remedy or f"; {PROGRAM} --help lists them"
            raise click.UsageError(f"No such command {args[0]!r}{remedy}", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        settings = ctx.find_object(Settings)
        if settings is not None and command is not None:
            settings.flags = flags_of(command)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group's commands, and then all others."""
        group_of = {name.replace("_", "-"): declared.group for name, declared in ALGORITHMS.items()}
        limit = formatter.width - 6 - max(map(len, self.commands))
        for group in (*GROUPS, "other commands"):
            rows = [
                (name, command.get_short_help_str(limit))
                for name, command in sorted(self.commands.items())
                if group_of.get(str(command.name), "other commands") == group
            ]
            with formatter.section(group.capitalize()):
                formatter.write_dl(rows)


@click.group(
    cls=GroupedCommands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name=PROGRAM, prog_name=PROGRAM)
@debug_option
def commands() -> None:
    """Run graph algorithms and your own vertex programs on files of edges.

    Edges are Parquet, Arrow, CSV, SNAP text, JSON lines, Matrix Market, DIMACS, METIS, GraphML, GML or
    Pajek; text may be compressed; - is standard input.  Results are written with -o to Parquet, CSV or
    JSON lines, with -o - to standard output, and without it their top rows are shown.

    \b
    Exit codes: 0 success; 1 error in the input, the output or the run;
    2 error in the command line; 130 interrupted.
    """  # noqa: D301 - click reads a backspace


for _command in (
    *cli_algorithms.COMMANDS,
    cli_run.run_command,
    cli_generate.generate_group,
    cli_info.info_command,
    cli_doctor.doctor_command,
    cli_warm_up.warm_up_command,
):
    commands.add_command(_command)
commands.add_command(cli_algorithms.components_command, "wcc")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and end the process with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; by default those of this process.
    """
    settings = Settings()
    show_warnings(PROGRAM, settings)
    sys.exit(_exit_code(arguments, settings))


def _exit_code(arguments: Sequence[str] | None, settings: Settings | None = None) -> int:
    settings = settings or Settings()
    _let_output_pass()
    if arguments is None:
        arguments = [argument_text(word) for word in sys.argv[1:]]
    try:
        code = commands.main(arguments, prog_name=PROGRAM, obj=settings, standalone_mode=False)
    except click.ClickException as error:
        _with_remedy(error).show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:  # click turns Ctrl-C into Abort
        return _failed(error.__cause__ or error, INTERRUPTED, settings)
    except BrokenPipeError:  # whoever reads the output, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:  # any error gives the user one line
        return _failed(error, FAILED, settings)
    return code if isinstance(code, int) else OK  # click's own for --help, --version


def _with_remedy(error: click.ClickException) -> click.ClickException:
    """Return the error that suggests our option for another library's name, or for a second argument."""
    context = getattr(error, "ctx", None)
    if context is None:
        return error
    if error.message.startswith("Got unexpected extra argument"):
        remedy = "vertices, columns and the output are options; -h lists them"
        return click.UsageError(f"{error.message}: {remedy}", context)
    if isinstance(error, click.NoSuchOption):
        meant = RESEMBLE.get(error.option_name.lstrip("-").replace("-", "_"))
        if meant in [option.name for option in context.command.params]:
            ours = f"--{str(meant).replace('_', '-')}"
            message = f"No such option {error.option_name!r}. Did you mean {ours!r}?"
            return click.UsageError(message, context)
    return error


def _let_output_pass() -> None:
    """Escape characters that the terminal's encoding lacks, instead of raising an error."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors != "backslashreplace":
        sys.stdout.reconfigure(errors="backslashreplace")


def _failed(error: BaseException, code: int, settings: Settings) -> int:
    """Write one line about an error to stderr, with --debug also its traceback."""
    if settings.debug:
        traceback.print_exception(error)
    line = " ".join(str(error).split())
    if code == INTERRUPTED:
        line = line or "interrupted"
    elif not isinstance(error, CugraphWsError):
        line = f"internal error: {type(error).__name__}: {line} (--debug shows where)"
    else:
        line = in_own_words(line, settings.flags)
    click.echo(f"{PROGRAM}: {line}", err=True)
    return code


if __name__ == "__main__":
    main()
