import { element } from "./element.ts";

/** The line of a view that says how the latest run ended. Its color is the judgement. */
export interface VerdictLine {
  readonly line: HTMLElement;
  tell(text: string, judgement?: "" | "ok" | "bad" | "open"): void;
}

export function verdictLine(): VerdictLine {
  const line = element("p", { className: "verdict", aria: { live: "polite" } });
  return {
    line,
    tell(text, judgement = "") {
      line.textContent = text;
      line.className = `verdict ${judgement}`;
    },
  };
}
