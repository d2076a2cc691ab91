"""The command ``laneway``."""

import sys


def main() -> None:
    """Run the command; says what to install where its packages are missing."""
    try:
        from laneway.tools import cli
    except ModuleNotFoundError as error:
        package = (error.name or "laneway").partition(".")[0]
        if package == "laneway":
            raise
        print(f"laneway: the command needs {package}, a package of the extra 'tools': pip install 'laneway[tools]'", file=sys.stderr)
        sys.exit(2)
    cli.main()


if __name__ == "__main__":
    main()
