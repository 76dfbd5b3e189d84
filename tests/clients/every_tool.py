"""Writes every_tool.ts: each tool's example, sent through the generated types, with its data read uncast."""

import json
import sys

from common import examples

START = """// Calls every tool and reads its data; a cast nowhere.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

type Schemas = components["schemas"];
const client = createClient<paths>({ baseUrl: process.argv[2], headers: { "X-Session-Id": "every-tool" } });
const failed: string[] = [];

async function main(): Promise<void> {
"""
CALL = """  {
    const meta = (await client.POST("/tools/%(tool)s", { body: %(body)s })).data?.meta;
    if (meta === undefined || meta.status === "error") failed.push("%(tool)s");
    else { const typed: Schemas["%(name)sData"] = meta.data; void typed; }
  }
"""
END = """  for (const tool of failed) console.error(`${tool} failed`);
  if (failed.length > 0) process.exit(1);
  console.log("every tool's data is typed");
}

void main();
"""

with open(sys.argv[1]) as file:
    document = json.load(file)
calls = [CALL % {"tool": tool, "body": json.dumps(body), "name": "".join(w.capitalize() for w in tool.split("_"))}
         for tool, body in examples(document, sys.argv[2], "every-tool")]
print(START + "".join(calls) + END)
