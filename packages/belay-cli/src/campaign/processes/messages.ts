/** The messages between the process that keeps the device and the one that watches it. */
import type { CampaignConfiguration } from "../model/configurations.ts";
import type { Fault } from "../model/faultModel.ts";
import type { Observation } from "../model/outcome.ts";
import type { StruckKernel } from "../model/profile.ts";
import type { ControlRecord, UnitRecord } from "../model/records.ts";
import type { Explanation } from "./instance.ts";

/** The questions to the process with the device, and its answers. */
export interface Exchanges {
  /** The question for the adapter. It opens the adapter first. */
  start: { ask: object; answer: { adapter: string; isSoftware: boolean } };
  /**
   * The question that opens a program in a configuration, in place of the one before. The
   * executions `counted` in another configuration hold if the sites are the same. The `digest`
   * identifies the version of the program. The `seed` decides which executions are drawn.
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
  /** The question that opens a known unit again. Its counted executions are the `kernels`. */
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
  /**
   * The question that opens instances of the program, up to so many, for several faults at a time.
   */
  widen: { ask: { instances: number }; answer: null };
  /** The question for the observations of faults, in their order. */
  inject: { ask: { faults: readonly Fault[] }; answer: readonly Observation[] };
  explain: { ask: { fault: Fault }; answer: Explanation };
}

export type Question = {
  [K in keyof Exchanges]: { readonly kind: K } & Exchanges[K]["ask"];
}[keyof Exchanges];

/** The answer to one question. Answers arrive in the order of the questions. */
export type Answer =
  | { readonly kind: "answer"; readonly value: Exchanges[keyof Exchanges]["answer"] }
  | { readonly kind: "failure"; readonly code?: string; readonly message: string; readonly help?: string };

/** An answer with the current memory use of the process, in bytes. */
export type Sent = Answer & { readonly bytes: number };

/** The exports of a module that knows programs by name. */
export interface Programs {
  programNamed(name: string): Promise<import("./readyProgram.ts").CampaignProgram>;
}
