import { Option } from "commander";
import { readWeights, studiedWeights } from "../../campaign/model/weights.ts";

/** Makes the option for the shares of fault models. */
export const weightsOption = (): Option =>
  new Option("--weights <file>", "JSON with the shares of fault models in the weighted table")
    .argParser(readWeights)
    .default(studiedWeights, studiedWeights.name);
