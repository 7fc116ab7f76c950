# SPDX-License-Identifier: Apache-2.0
#
# Reports at the limit of what is read, 64 MiB: what names would push over it goes without
# them, and what is over it is said once and kept.

import json
import os
import subprocess
import time
import unittest

import fault_server
from fault_server import FaultServer
from spool_folder import CRASHHOOK, Spool

REPORT_MAX_BYTES = 64 << 20


def pad(spool, identity, size):
    """Makes the report's file so many bytes long."""
    report = spool.report(identity)
    report["padding"] = ""
    empty = len(json.dumps(report, separators=(",", ":"), ensure_ascii=False).encode())
    report["padding"] = "x" * (size - empty)
    with open(spool.file(identity), "w", encoding="utf-8") as file:
        json.dump(report, file, separators=(",", ":"), ensure_ascii=False)
    assert os.path.getsize(spool.file(identity)) == size


def id_of_now():
    ms = f"{int(time.time() * 1000):012x}"  # from which on `finish` has its time
    return f"{ms[:8]}-{ms[8:]}-7788-99aa-bbccddeeff00"


class LargeReports(unittest.TestCase):
    def test_one_that_is_too_large_fails_once_and_is_kept(self):
        with Spool(2) as spool, FaultServer() as one, \
                FaultServer(fault_server.take_event) as two:
            pad(spool, spool.ids[0], REPORT_MAX_BYTES + 1)
            urls = f"{one.url} sentry+{two.url.replace('//', '//k@')}/1"
            done = spool.upload("--url", urls)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr_text.count("it is larger than 64 MiB"), 1,
                             done.stderr_text)
            self.assertEqual([(t["state"], t["error"]) for t in spool.state(spool.ids[0])],
                             [("failed", "it is larger than 64 MiB")] * 2)
            again = spool.upload("--url", urls)
            self.assertEqual((again.returncode, again.stderr_text), (0, ""))
            self.assertEqual((one.ids(), len(two.requests)), (spool.ids[1:], 1))
            self.assertEqual(os.path.getsize(spool.file(spool.ids[0])), REPORT_MAX_BYTES + 1)

    def test_one_that_names_make_too_large_is_sent_without_them(self):
        for command in ("upload", "finish"):
            with self.subTest(command), Spool(0) as spool, FaultServer() as server:
                spool.add(0, "version2/null_write_raw.json", identity=id_of_now())
                pad(spool, spool.ids[0], REPORT_MAX_BYTES - 1)
                finish = [CRASHHOOK, "finish", "--spool", spool.path, "--id", spool.ids[0]]
                kept = {k: v for k, v in os.environ.items()
                        if not k.startswith("CRASHHOOK_")}
                done = subprocess.run(
                    finish if command == "finish" else spool.command(), check=False,
                    env={**kept, "CRASHHOOK_URL": server.url, "CRASHHOOK_LOG": "stderr",
                         "CRASHHOOK_TIMEOUT": "10m", "CRASHHOOK_PRINT": "no",
                         "no_proxy": "127.0.0.1"},
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("with names it is too large", done.stderr)
                self.assertEqual(server.requests[0].report()["revision"], 0)
                self.assertEqual(spool.report(spool.ids[0])["revision"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
