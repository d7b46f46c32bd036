// Calls the plugin as OpenCode does: with the tool call that stands on stdin, or all calls of hooks.
import { ContextMode } from "./context-mode.ts";

const { directory, input, output, calls } = JSON.parse(
  await new Response(Bun.stdin.stream()).text(),
);
const plugin = await ContextMode({ directory });
for (const [name, ...given] of calls ?? []) await plugin[name]?.(...given);
try {
  if (!calls) await plugin["tool.execute.before"](input, output);
  console.log(JSON.stringify({ passed: true, args: output?.args }));
} catch (error) {
  console.log(JSON.stringify({ passed: false, message: (error as Error).message }));
}
