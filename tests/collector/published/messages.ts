// SPDX-License-Identifier: Apache-2.0
// What the collector sent to receivers (sent.json, as constants of TypeScript in sent.ts),
// and what it reads of Forgejo's events, as the types of these services have them.
import type { EventPayloadV2 } from "@pagerduty/pdjs/build/src/events";
import type { IncomingWebhookSendArguments } from "@slack/webhook";
import type { RESTPostAPIWebhookWithTokenJSONBody } from "discord-api-types/v10";
import type { Issue, User } from "forgejo-js";
import { discord, pagerduty, slack } from "./sent";

export const toPagerDuty: EventPayloadV2[] = pagerduty;
export const toSlack: IncomingWebhookSendArguments[] = slack;
export const toDiscord: RESTPostAPIWebhookWithTokenJSONBody[] = discord;
export const fromForgejo: [keyof Issue, keyof User][] = [
  ["html_url", "login"], ["state", "login"], ["title", "login"], ["body", "login"],
  ["updated_at", "login"], ["user", "login"],
];
