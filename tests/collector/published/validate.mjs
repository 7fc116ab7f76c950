// SPDX-License-Identifier: Apache-2.0
// validate.mjs FILE: fails unless FILE describes an API as OpenAPI has it.
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";

const validator = new Validator();
const result = await validator.validate(JSON.parse(readFileSync(process.argv[2], "utf8")));
console.log(validator.version, JSON.stringify(result.errors ?? []));
process.exit(result.valid ? 0 : 1);
