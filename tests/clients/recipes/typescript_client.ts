// A client of openapi-fetch, with the types that openapi-typescript has generated into schema.ts.
import createClient from "openapi-fetch";
import type { paths } from "./schema";

async function main(): Promise<void> {
  const headers = { Authorization: `Bearer ${process.env.TOOLS_TOKEN}`, "X-Session-Id": "my-task" };
  const tools = createClient<paths>({ baseUrl: process.env.TOOLS_URL, headers });

  await tools.POST("/tools/write", { body: { path: "notes.txt", content: "one\n" } });
  const read = await tools.POST("/tools/read", { body: { path: "notes.txt" } });
  console.log(read.data?.stdout);
  const ran = await tools.POST("/tools/bash", { body: { cmd: "wc -c notes.txt" } });
  console.log(ran.data?.exit_code, ran.data?.stdout);
  const refused = await tools.POST("/tools/read", { body: { path: "/etc/passwd" } });
  console.log(refused.error?.meta.error.code, refused.error?.meta.error.hint);
}

void main();
