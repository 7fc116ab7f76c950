#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# test_slow COLLECTOR: clients that send next to nothing are cut off, one that is merely
# slow is not, and others are served meanwhile.

import json
import sys
import threading
import time

import sample_reports
from running import Collector

PATIENCE_S = 50  # more than the 30 s that a head or a trickling body may take


def trickle(client, start, piece, pause):
    """Sends start, then piece again and again; the seconds until it was cut off."""
    began = time.monotonic()
    try:
        client.sendall(start)
        while time.monotonic() - began < PATIENCE_S:
            time.sleep(pause)
            client.sendall(piece)
    except OSError:
        pass
    return time.monotonic() - began


def main():
    body = json.dumps(sample_reports.null_write(1)).encode()
    head = (b"POST /api/v1/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Length: %d\r\n\r\n")
    results = {}
    with Collector(sys.argv[1]) as collector:
        def run(name, *arguments):
            with collector.socket() as client:
                results[name] = trickle(client, *arguments)

        def slow_but_steady():
            with collector.socket() as client:
                client.sendall(head % len(body))
                for i in range(0, len(body), len(body) // 20 + 1):
                    client.sendall(body[i:i + len(body) // 20 + 1])
                    time.sleep(1)
                results["steady"] = client.recv(100)

        threads = [
            threading.Thread(target=run, args=("silent", b"", b"", 1)),
            threading.Thread(target=run, args=("head", b"GET / HTTP/1.1\r\nX: ", b"x", 1)),
            threading.Thread(target=run, args=("body", head % 100000, b" ", 1)),
            threading.Thread(target=slow_but_steady)]
        for thread in threads:
            thread.start()
        served = all(collector.request("GET", "/")[0] == 200 for _ in range(20))
        for thread in threads:
            thread.join()
    print(results, "others served:", served)
    cut = all(25 < results[name] < PATIENCE_S for name in ("head", "body"))
    if not cut or not served or not results["steady"].startswith(b"HTTP/1.1 201"):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
