# SPDX-License-Identifier: Apache-2.0
#
# A listening socket on loopback whose connections are served a thread each, as long as
# its `with` block lasts. Whoever is one says in _serve(connection) what is done.

import socket
import threading


class Listener:
    def listen(self):
        """Takes connections from now on; gives the port."""
        self.socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self.socket.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
