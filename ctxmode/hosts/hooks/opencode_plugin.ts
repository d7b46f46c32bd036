// OpenCode asks the rules before each tool runs, and after a compaction for what was remembered.
// Written by `context-mode setup opencode`, which fills in COMMAND; whatever is changed here is lost
// when it runs again.
import { spawn } from "node:child_process";

const COMMAND: string[] = ["context-mode"];
const RECORDS_SESSIONS = true;
const DEADLINE_MS = 10_000;
const JUDGED = "tool.execute.before";
const COMPACTING = "experimental.session.compacting";
const COMPACTED = "session.compacted";

interface Answer {
  decision?: string;
  reason?: string;
  context?: string;
}

// Words, never a shell's text: nothing of the event can become a command.
function ask(name: string, event: object): Promise<Answer> {
  return new Promise((resolve) => {
    const [program, ...words] = [...COMMAND, "hook", "opencode", name];
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

export const ContextMode = async ({ directory }: { directory: string }) => {
  // What is remembered of a compacted session, by its id: each request is given it anew.
  const remembered = new Map<string, Promise<string>>();
  const judging = {
    [JUDGED]: async (
      input: { tool: string },
      output: { args: Record<string, unknown> },
    ): Promise<void> => {
      const answer = await ask(JUDGED, { tool: input.tool, args: output.args, cwd: directory });
      if (answer.decision === "deny") throw new Error(answer.reason);
    },
  };
  if (!RECORDS_SESSIONS) return judging;
  return {
    ...judging,
    // The host waits for this one, so the session is read before its messages become a summary.
    [COMPACTING]: async (input: { sessionID?: string }): Promise<void> => {
      if (input.sessionID) await ask(COMPACTING, { session_id: input.sessionID, cwd: directory });
    },
    event: async ({ event }: { event: { type: string; properties?: { sessionID?: string } } }) => {
      const session = event.properties?.sessionID;
      if (event.type !== COMPACTED || !session) return;
      const answer = ask(COMPACTED, { session_id: session, cwd: directory });
      remembered.set(session, answer.then(({ context }) => context ?? ""));
    },
    "experimental.chat.system.transform": async (
      input: { sessionID?: string },
      output: { system: string[] },
    ) => {
      const text = await remembered.get(input.sessionID ?? "");
      if (text) output.system.push(text);
    },
  };
};
