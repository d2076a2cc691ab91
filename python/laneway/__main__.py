"""``python -m laneway``: the command of the package ``laneway-tools``."""

import importlib.util
import runpy
import sys


def main() -> None:
    """Run the command where it is installed."""
    if importlib.util.find_spec("laneway_tools") is None:
        how = "pip install './tools[measure]' in Laneway's sources, or ./dev setup there"
        print(f"laneway: the command is the package laneway-tools, which is not installed: {how}", file=sys.stderr)
        sys.exit(2)
    runpy.run_module("laneway_tools", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
