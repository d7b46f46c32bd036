import { setTimeout as pause } from "node:timers/promises";

/** What is sent, and whether the server may be asked for it twice. */
export interface Call {
  method: "GET" | "HEAD" | "POST";
  path: string;
  key?: string;
}

export type Send = (call: Call) => Promise<Response>;

const LIMIT = 3;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

/** Sends calls, and again those that fail and may be repeated. */
export class RetryingClient {
  private attempts = 0;

  constructor(private readonly send: Send, private readonly limit = LIMIT) {}

  /** How often anything was sent so far. */
  get attemptsTotal(): number {
    return this.attempts;
  }

  /**
   * The answer to a call. Between two attempts the wait doubles; what the server asks
   * to wait goes before that.
   */
  async sendWithRetries(call: Call): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      this.attempts++;
      try {
        const answer = await this.send(call);
        if (answer.status !== 503 || attempt >= this.limit) {
          return answer;
        }
        await pause(askedToWait(answer) ?? waitBefore(attempt));
      } catch (error) {
        if (attempt >= this.limit || !isSafeToRepeat(call)) {
          throw error;
        }
        await pause(waitBefore(attempt));
      }
    }
  }
}

/** Only these change nothing on the server, or carry a key that tells a repetition. */
export function isSafeToRepeat(call: Call): boolean {
  return call.method !== "POST" || call.key !== undefined;
}

function waitBefore(attempt: number): number {
  const wait = FIRST_WAIT_MS * 2 ** (attempt - 1);
  // Shortened or lengthened by chance, so that many clients do not come back at once.
  return Math.min(wait, LONGEST_WAIT_MS) * (0.5 + Math.random());
}

function askedToWait(answer: Response): number | undefined {
  const given = answer.headers.get("retry-after");
  if (given === null) {
    return undefined;
  }
  const seconds = Number(given);
  return Number.isFinite(seconds) ? seconds * 1000 : Math.max(0, Date.parse(given) - Date.now());
}
