// SPDX-License-Identifier: Apache-2.0
//
// Runs Sentry's local receiver and Elastic's receiver of OpenTelemetry on ports of
// loopback, and writes what they received to stdout, one JSON object a line: first their
// ports, then each envelope as Sentry's core parses it and each request as it was taken,
// with what OpenTelemetry's own code makes of it in protobuf's binary form.

import { createServer } from "node:net";

import { MockOtlpServer } from "@elastic/mockotlpserver";
import otlpProtocol from "@opentelemetry/otlp-transformer/build/src/generated/root.js";
import { parseEnvelope } from "@sentry/core";
import { setupSidecar } from "@spotlightjs/sidecar";

const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const quiet = { info() {}, warn() {}, debug() {}, error: (text) => say({ error: `${text}` }) };

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

// An attachment is bytes, everything else was JSON.
function readable([header, payload]) {
  if (payload instanceof Uint8Array)
    return { header, bytes: Buffer.from(payload).toString("base64") };
  return { header, value: payload };
}

function tellEnvelope(bytes) {
  try {
    const [header, items] = parseEnvelope(Buffer.from(bytes, "binary"));
    say({ from: "sentry", header, items: items.map(readable) });
  } catch (error) {
    say({ error: `the envelope cannot be parsed: ${error}` });
  }
}

function tellRequest(request) {
  const { ExportLogsServiceRequest } = otlpProtocol.opentelemetry.proto.collector.logs.v1;
  try {
    const message = ExportLogsServiceRequest.fromObject(request);
    const wrong = ExportLogsServiceRequest.verify(message);
    if (wrong)
      throw new Error(wrong);
    const bytes = ExportLogsServiceRequest.encode(message).finish();
    say({ from: "otlp", request, bytes: Buffer.from(bytes).toString("base64") });
  } catch (error) {
    say({ error: `the request cannot be understood: ${error}` });
  }
}

const sentry = await freePort();
setupSidecar({ port: sentry, logger: quiet, incomingPayload: tellEnvelope });

const otlp = new MockOtlpServer({
  logLevel: "warn",
  services: ["http"],
  httpHostname: "127.0.0.1",
  httpPort: 0,
  onLogs: tellRequest,
});
await otlp.start();

// The sidecar says nothing when it listens.
for (let answer = null; answer?.status !== 200;)
  answer = await fetch(`http://127.0.0.1:${sentry}/health`).catch(() => null);
say({ sentry, otlp: Number(otlp.httpUrl.port) });
