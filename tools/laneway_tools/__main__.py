"""The command ``laneway``."""

import sys


def main() -> None:
    """Run the command; says what to install where its packages are missing: the demo needs few of them."""
    try:
        from laneway_tools import cli

        cli.main()
    except ModuleNotFoundError as error:
        package = (error.name or "laneway_tools").partition(".")[0]
        if package == "laneway_tools":
            raise
        how = "pip install './tools[measure]' in Laneway's sources, or ./dev setup there"
        print(f"laneway: the command needs the Python package {package}: {how}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
