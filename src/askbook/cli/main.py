"""The `askbook` command: collects the commands and turns every end into an exit code."""

import sys

import typer

from askbook.cli import (
    ask,
    audit,
    calibrate,
    chat,
    evaluate,
    feedback,
    gaps,
    ingest,
    inspect,
    keys,
    library,
    migrate,
    search,
    serve,
    worker,
)
from askbook.cli.output import fail
from askbook.errors import AskbookError

app = typer.Typer(
    name="askbook",
    help="Answers from your book, with the exact place, or says that it is not in the book.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (
    ingest,
    search,
    ask,
    chat,
    inspect,
    serve,
    worker,
    keys,
    library,
    audit,
    gaps,
    feedback,
    calibrate,
    evaluate,
    migrate,
):
    group.register(app)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and leave."),
) -> None:
    if version:
        from askbook import __version__

        typer.echo(__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run a command; exit codes: 0 fine, 1 not in the book, 2 configuration, 3 a service is down,
    4 bad arguments, 5 an audit or evaluation fell short, 130 interrupted."""
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=arguments, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:
        message = error.format_message().rstrip(".") + "."
        fail(message, "See `askbook --help`.", "invalid_input", as_json)
        return 4
    except typer.Exit as end:
        return end.exit_code
    except typer.Abort:
        return 130
    except KeyboardInterrupt:
        return 130
    except AskbookError as error:
        fail(error.message, error.suggestion, error.code, as_json, error.details)
        return error.exit_code
    except BrokenPipeError:
        # The reader of a pipe went away (`askbook export | head`); that is its right.
        sys.stderr.close()
        return 0
