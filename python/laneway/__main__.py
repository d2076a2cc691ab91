"""The command ``laneway``."""

import sys


def main() -> None:
    """Run the command; says what to install where its packages are missing: the demo needs few of them."""
    try:
        from laneway.tools import cli

        cli.main()
    except ModuleNotFoundError as error:
        package = (error.name or "laneway").partition(".")[0]
        if package == "laneway":
            raise
        how = "pip install 'laneway[tools]', or ./dev setup in the working tree"
        print(f"laneway: the command needs {package}, a package of the extra 'tools': {how}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
