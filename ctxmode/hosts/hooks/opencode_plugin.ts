// OpenCode asks the rules before each tool runs. Written by `context-mode setup opencode`, which
// fills in COMMAND; whatever is changed here is lost when it runs again.
import { spawn } from "node:child_process";

const COMMAND: string[] = ["context-mode"];
const DEADLINE_MS = 10_000;
const EVENT = "tool.execute.before";

interface Answer {
  decision?: string;
  reason?: string;
}

// Words, never a shell's text: nothing of the event can become a command.
function ask(event: object): Promise<Answer> {
  return new Promise((resolve) => {
    const [program, ...words] = [...COMMAND, "hook", "opencode", EVENT];
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: DEADLINE_MS });
    let said = "";
    child.stdout.on("data", (chunk) => (said += chunk));
    child.stdin.on("error", () => {});
    child.on("error", () => resolve({}));
    child.on("close", () => {
      try {
        resolve(said ? JSON.parse(said) : {});
      } catch {
        resolve({});
      }
    });
    child.stdin.end(JSON.stringify(event));
  });
}

export const ContextMode = async ({ directory }: { directory: string }) => ({
  [EVENT]: async (
    input: { tool: string },
    output: { args: Record<string, unknown> },
  ): Promise<void> => {
    const answer = await ask({ tool: input.tool, args: output.args, cwd: directory });
    if (answer.decision === "deny") throw new Error(answer.reason);
  },
});
