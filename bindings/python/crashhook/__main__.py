# SPDX-License-Identifier: Apache-2.0
"""python -m crashhook: the command crashhook, of the wheel or of PATH."""

import os
import signal
import sys

from crashhook import bundled


def main():
    command = bundled("bin/crashhook") or "crashhook"
    # The interpreter ignores them, and what it executes would go on to do so.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command, ["crashhook", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"crashhook: cannot start '{command}': {error.strerror}")


if __name__ == "__main__":
    main()
