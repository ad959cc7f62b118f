/** What the process that keeps the device and the one that watches it tell each other. */
import type { CampaignConfiguration } from "../model/configurations.ts";
import type { Fault } from "../model/faultModel.ts";
import type { Observation } from "../model/outcome.ts";
import type { StruckKernel } from "../model/profile.ts";
import type { ControlRecord, UnitRecord } from "../model/records.ts";
import type { Explanation } from "./session.ts";

/** What can be asked of the process with the device, and what it answers. */
export interface Exchanges {
  /** Opens the device's adapter, and describes it. */
  start: { ask: object; answer: { adapter: string } };
  /**
   * Takes a program in a configuration, in place of the one before. `counted`: what it executes in
   * another configuration, which holds where the sites are the same. `digest`: of the version of
   * the program that is meant. The `seed` decides which executions are drawn.
   */
  open: {
    ask: {
      program: string;
      digest: string;
      configuration: CampaignConfiguration;
      counted: readonly StruckKernel[];
      seed: number;
    };
    answer: UnitRecord;
  };
  /** As `open`, when the unit is known. `kernels`: what was counted then. */
  reopen: {
    ask: {
      program: string;
      digest: string;
      configuration: CampaignConfiguration;
      kernels: readonly StruckKernel[];
    };
    answer: null;
  };
  control: { ask: { runs: number }; answer: Pick<ControlRecord, "runs" | "detections" | "different"> };
  inject: { ask: { fault: Fault }; answer: Observation };
  explain: { ask: { fault: Fault }; answer: Explanation };
}

export type Question = {
  [K in keyof Exchanges]: { readonly kind: K } & Exchanges[K]["ask"];
}[keyof Exchanges];

/** Answers come in the order of the questions. */
export type Answer =
  | { readonly kind: "answer"; readonly value: Exchanges[keyof Exchanges]["answer"] }
  | { readonly kind: "failure"; readonly code?: string; readonly message: string; readonly help?: string };

/** An answer, and how much memory the process takes by now. */
export type Sent = Answer & { readonly bytes: number };

/** What a module that knows programs by name exports. */
export interface Programs {
  programNamed(name: string): Promise<import("./readyProgram.ts").CampaignProgram>;
}
