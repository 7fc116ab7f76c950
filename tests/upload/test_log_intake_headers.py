# SPDX-License-Identifier: Apache-2.0
#
# The headers that a log intake behind a vendor's door asks for: they come from
# OpenTelemetry's standard variables, go there and nowhere else, and are written nowhere.

import os
import unittest

import fault_server
from certificates import make_certificate
from fault_server import FaultServer
from proxies import HttpProxy
from spool_folder import Spool

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
LOGS_HEADERS = "OTEL_EXPORTER_OTLP_LOGS_HEADERS"
SECRET = "s3cr3t-42"


def everything_in(folder):
    """The bytes of every file below folder."""
    found = b""
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found += file.read()
    return found


class LogIntakeHeaders(unittest.TestCase):
    def sent(self, **variables):
        """The headers that a log intake got."""
        with Spool() as spool, FaultServer(fault_server.take_logs) as server:
            done = spool.upload("--url", f"otlp+{server.url}", **variables)
            self.assertEqual((done.returncode, len(server.requests)), (0, 1),
                             done.stderr_text)
            self.assertNotIn(SECRET, done.stderr_text)
            self.assertNotIn(SECRET.encode(), everything_in(spool.folder))
            return server.requests[0].headers, done.stderr_text

    def test_they_are_decoded_and_sent(self):
        headers, said = self.sent(**{
            HEADERS: f"Authorization=Bearer%20{SECRET}, api-key = k%2C1"})
        self.assertEqual(headers["authorization"], f"Bearer {SECRET}")
        self.assertEqual(headers["api-key"], "k,1")
        self.assertEqual(headers["content-type"], "application/json")
        self.assertNotIn("cannot", said)

    def test_those_for_logs_go_before_those_for_all(self):
        headers, _ = self.sent(**{HEADERS: "a=all,b=all", LOGS_HEADERS: "a=logs"})
        self.assertEqual((headers["a"], headers.get("b")), ("logs", None))
        headers, _ = self.sent(**{HEADERS: "a=all", LOGS_HEADERS: ""})
        self.assertEqual(headers["a"], "all")

    def test_they_go_to_log_intakes_alone(self):
        with Spool() as spool, FaultServer() as collector, \
                FaultServer(fault_server.take_event) as sentry, \
                FaultServer(fault_server.take_logs) as logs:
            done = spool.upload(
                "--url", f"{collector.url} sentry+{sentry.url.replace('//', '//k@')}/1 "
                f"otlp+{logs.url}", **{HEADERS: f"api-key={SECRET}"})
            self.assertEqual(done.returncode, 0, done.stderr_text)
            self.assertEqual([SECRET in str(s.requests[0].headers)
                              for s in (collector, sentry, logs)], [False, False, True])

    def test_a_proxy_that_is_asked_for_a_tunnel_does_not_see_them(self):
        with Spool() as spool, HttpProxy() as proxy:
            tls, path = make_certificate(spool.folder)
            with FaultServer(fault_server.take_logs, tls=tls) as server:
                done = spool.upload("--url", f"otlp+{server.url}", no_proxy="",
                                    https_proxy=f"http://{proxy.address}",
                                    CURL_CA_BUNDLE=path, **{HEADERS: f"api-key={SECRET}"})
                self.assertEqual(done.returncode, 0, done.stderr_text)
                self.assertEqual(server.requests[0].headers["api-key"], SECRET)
                self.assertIn(b"CONNECT", proxy.heads[0])
                self.assertNotIn(SECRET.encode(), b"".join(proxy.heads))

    def test_what_cannot_be_a_header_is_one_line_that_does_not_quote_it(self):
        for value in (f"x=1,{SECRET}", f"x=1,Authorization={SECRET}%0d%0aX-Evil: 1",
                      f"x=1,Content-Length={SECRET}", f"x=1,{SECRET} y=2",
                      f"x=1,y={SECRET}" + "z" * 9000):
            with self.subTest(value[:40]):
                headers, said = self.sent(**{HEADERS: value})
                self.assertEqual(said.count(f"cannot use {HEADERS}: "), 1, said)
                self.assertFalse({"x", "x-evil", "y", "authorization"} & headers.keys())

    def test_they_are_other_programs_too_where_there_is_no_log_intake(self):
        with Spool() as spool, FaultServer() as server:
            done = spool.upload("--url", server.url, **{HEADERS: "nonsense"})
            self.assertEqual(done.returncode, 0)
            self.assertNotIn(HEADERS, done.stderr_text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
