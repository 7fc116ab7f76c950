// SPDX-License-Identifier: Apache-2.0
// client.mjs URL TOKEN: uses a collector by types that openapi-typescript made of its
// description (api.d.ts); tsc checks this file against them before it runs.
// @ts-check
import createClient from "openapi-fetch";

const [url, token] = process.argv.slice(2);
/** @type {import("openapi-fetch").Client<import("./api").paths>} */
const client = createClient({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });

const listed = await client.GET("/api/v1/groups", { params: { query: { q: "is:any", limit: "1" } } });
/** @type {any} */
const groups = listed.data;
const id = String(groups.groups[0].id);
const decided = await client.POST("/api/v1/groups/{id}", {
  params: { path: { id } },
  body: { assignee: "kim", comment: "by a generated client" },
});
const none = await client.GET("/api/v1/groups/{id}", { params: { path: { id: "0".repeat(32) } } });
/** @type {any} */
const group = decided.data;
console.log(JSON.stringify([listed.response.status, group.assignee, none.response.status]));
