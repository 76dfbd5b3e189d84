// Calls every kind of answer through a client that openapi-fetch types from the generated schema.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

const client = createClient<paths>({ baseUrl: process.argv[2], headers: { "X-Session-Id": "clients" } });

function failed(problem: string): never {
  console.error(problem);
  process.exit(1);
}

async function main(): Promise<void> {
  const listed = await client.POST("/tools/ls", { body: { path: "." } });
  const meta = listed.data?.meta;
  if (!meta || meta.status === "error") failed("ls failed");
  const data: components["schemas"]["LsData"] = meta.data;
  const names: string[] = data.entries.map((entry) => entry.name);
  if (!Array.isArray(names)) failed("ls has no entries");

  const ran = await client.POST("/tools/bash", { body: { cmd: "echo typed; true" } });
  const ended: components["schemas"]["BashResult"] | components["schemas"]["ToolFailure"] | undefined = ran.data;
  if (ended?.stdout !== "typed\n") failed(`bash answered ${JSON.stringify(ran)}`);

  const refused = await client.POST("/tools/ls", { body: { path: "/etc" } });
  const code: components["schemas"]["ToolError"]["code"] | undefined = refused.error?.meta.error.code;
  if (code !== "PATH_OUTSIDE_ROOTS") failed(`a refusal answered ${JSON.stringify(refused)}`);

  // @ts-expect-error a wrong argument is an error of types
  await client.POST("/tools/ls", { body: { path: 1 } });
  console.log("typed calls succeeded");
}

void main();
