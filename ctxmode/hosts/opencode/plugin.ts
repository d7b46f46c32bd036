// Checks the rules before each tool runs, and fetches the session's snapshot after a compaction. At
// the end of a turn it reports prompt and answer, for projects in which turns are captured.
// Written by `context-mode setup opencode`, which fills in COMMAND; changes to this file are lost
// when it runs again.
import { spawn } from "node:child_process";

const COMMAND: string[] = ["context-mode"];
const RECORDS_SESSIONS = true;
const DEADLINE_MS = 10_000;
const JUDGED = "tool.execute.before";
const COMPACTING = "experimental.session.compacting";
const COMPACTED = "session.compacted";
const IDLE = "session.idle";
const TEXT_CHARS_MAX = 65_536;

interface Answer {
  decision?: string;
  reason?: string;
  context?: string;
}

interface Part {
  type: string;
  text?: string;
  messageID?: string;
  sessionID?: string;
  synthetic?: boolean;
  ignored?: boolean;
  time?: { end?: number };
}

interface Told {
  type: string;
  properties?: {
    sessionID?: string;
    info?: { id: string; parentID?: string; role?: string; summary?: unknown };
    part?: Part;
  };
}

interface Turn {
  key: string;
  asked: string;
  answered: string;
  tools: Set<string>;
}

// Arguments are passed without a shell, so no part of the event can become a command.
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

// Current turns by session. Prompts to a subagent count as its parent's work.
class Turns {
  private turns = new Map<string, Turn>();
  private subagents = new Set<string>();
  private summaries = new Set<string>();

  ask(session: string, key: string, parts: Part[]): void {
    const typed = parts.filter((one) => one.type === "text" && !one.synthetic && !one.ignored);
    const asked = typed.map((one) => one.text ?? "").join("\n");
    if (!asked || this.subagents.has(session)) return;
    const before = this.turns.get(session); // a prompt may be sent while the agent works
    if (before) before.asked += `\n${asked}`;
    else this.turns.set(session, { key, asked, answered: "", tools: new Set() });
  }

  use(session: string, tool: string): void {
    this.turns.get(session)?.tools.add(tool);
  }

  follow({ type, properties: { info, part } = {} }: Told): void {
    if (type === "session.created" || type === "session.updated") {
      if (info?.parentID) this.subagents.add(info.id);
    } else if (type === "message.updated") {
      if (info?.role === "assistant" && info.summary === true) this.summaries.add(info.id);
    } else if (type === "message.part.updated" && part?.type === "text" && part.time?.end) {
      const turn = this.turns.get(part.sessionID ?? "");
      if (turn && part.text && !this.summaries.has(part.messageID ?? "")) turn.answered = part.text;
    }
  }

  end(session: string): object | undefined {
    const turn = this.turns.get(session);
    this.turns.delete(session);
    return (
      turn && {
        prompt_id: turn.key,
        prompt: turn.asked.slice(0, TEXT_CHARS_MAX),
        last_assistant_message: turn.answered.slice(0, TEXT_CHARS_MAX),
        tools: [...turn.tools],
      }
    );
  }
}

export const ContextMode = async ({ directory }: { directory: string }) => {
  // Snapshots of compacted sessions by ID, added to each request.
  const remembered = new Map<string, Promise<string>>();
  const turns = new Turns();
  const judging = {
    [JUDGED]: async (
      input: { tool: string; sessionID?: string },
      output: { args: Record<string, unknown> },
    ): Promise<void> => {
      const answer = await ask(JUDGED, { tool: input.tool, args: output.args, cwd: directory });
      if (answer.decision === "deny") throw new Error(answer.reason);
      turns.use(input.sessionID ?? "", input.tool);
    },
  };
  if (!RECORDS_SESSIONS) return judging;
  return {
    ...judging,
    // The host waits for this event, so the session is read before its messages become a summary.
    [COMPACTING]: async (input: { sessionID?: string }): Promise<void> => {
      if (input.sessionID) await ask(COMPACTING, { session_id: input.sessionID, cwd: directory });
    },
    "chat.message": async (
      input: { sessionID: string },
      output: { message: { id: string }; parts: Part[] },
    ): Promise<void> => turns.ask(input.sessionID, output.message.id, output.parts),
    event: async ({ event }: { event: Told }) => {
      turns.follow(event);
      const session = event.properties?.sessionID;
      if (!session) return;
      if (event.type === COMPACTED) {
        const answer = ask(COMPACTED, { session_id: session, cwd: directory });
        remembered.set(session, answer.then(({ context }) => context ?? ""));
      } else if (event.type === IDLE) {
        const turn = turns.end(session);
        if (turn) await ask(IDLE, { session_id: session, cwd: directory, ...turn });
      }
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
