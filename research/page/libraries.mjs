/** The libraries of the programs, as a bundler for pages finds them. */
import * as tf from "@tensorflow/tfjs-core";
import { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import * as language from "three/tsl";
import * as renderer from "three/webgpu";

export const tensorflow = { tf, WebGPUBackend };
export const three = { ...renderer, ...language };
