// The types of the libraries are not imported: one has an older copy of WebGPU's, and one has none.
import type { TensorFlow } from "../src/bench/programs/tensorflow.ts";
import type { Three } from "../src/bench/programs/three.ts";

export declare const tensorflow: TensorFlow;
export declare const three: Three;
