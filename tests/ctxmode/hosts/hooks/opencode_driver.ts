// Calls the plugin as OpenCode does, with the tool call that stands on stdin.
import { ContextMode } from "./context-mode.ts";

const { directory, input, output } = JSON.parse(await new Response(Bun.stdin.stream()).text());
const plugin = await ContextMode({ directory });
try {
  await plugin["tool.execute.before"](input, output);
  console.log(JSON.stringify({ passed: true, args: output.args }));
} catch (error) {
  console.log(JSON.stringify({ passed: false, message: (error as Error).message }));
}
