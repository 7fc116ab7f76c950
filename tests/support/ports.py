# SPDX-License-Identifier: Apache-2.0
#
# Ports of this machine for tests that name one before somebody listens there.

import atexit
import socket


def held_port():
    """A port where nobody listens yet, and that nobody else is given meanwhile: a socket that
    is bound keeps it. Whoever reuses addresses, as servers do, may listen there."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    atexit.register(held.close)
    return held.getsockname()[1]
