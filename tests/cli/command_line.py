"""Running commands as a user would."""

from typer.testing import CliRunner, Result

from turnlens.cli.main import app


def run(*arguments: object, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def fail(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 1 and "Traceback" not in result.output, result.output
    return result.output
