// Drives a server with the TypeScript SDK's client: the plan comes in as JSON, the answers go out.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const plan = JSON.parse(process.argv[2]);
const transport = plan.url
  ? new StreamableHTTPClientTransport(new URL(plan.url), {
      requestInit: { headers: { Authorization: `Bearer ${plan.token}` } },
    })
  : new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, cwd: plan.cwd });
const client = new Client({ name: "typescript-client", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const answers = {};
for (const { name, arguments: given } of plan.calls) {
  answers[name] = await client.callTool({ name, arguments: given });
}
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), answers }));
