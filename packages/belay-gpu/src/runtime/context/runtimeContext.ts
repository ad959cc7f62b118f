import { type Schemes, schemes } from "../../ecc/scheme.ts";
import { DeclaredUsages } from "../webgpu/declaredUsages.ts";
import { ErrorScopes } from "../webgpu/errorScopes.ts";
import { Owners } from "../webgpu/owners.ts";
import { Textures } from "../webgpu/resources.ts";
import { Events } from "./events.ts";
import {
  type CampaignPolicy,
  doublesGrids,
  mayRunAgain,
  type ResolvedPolicy,
  refuseConflicts,
  resolvePolicy,
} from "./policy.ts";
import { ReportArena } from "./reportArena.ts";
import { SumsBuffers } from "./sumsBuffers.ts";

/** The objects that all subsystems of a hardened device share. */
export interface RuntimeContext {
  /** The native device. */
  readonly device: GPUDevice;
  readonly policy: ResolvedPolicy;
  /** The codes that memory can have. */
  readonly codes: Schemes;
  readonly events: Events;
  /** The report buffers of kernels. */
  readonly reports: ReportArena;
  /** The buffers for sums beside results that are functions of them. */
  readonly sums: SumsBuffers;
  /** The objects that the hardened device made. */
  readonly owners: Owners;
  /** The program's error scopes. */
  readonly scopes: ErrorScopes;
  /** The program's textures and their views. */
  readonly textures: Textures;
  /** The usages and sizes that the program declared for its resources. */
  readonly usages: DeclaredUsages;
}

/**
 * Creates the context of a device. Throws a `TypeError` for an invalid policy, or one that
 * contradicts itself.
 */
export function createContext(
  device: GPUDevice,
  given?: CampaignPolicy,
  codes: Schemes = schemes,
): RuntimeContext {
  const policy = resolvePolicy(given, device, codes);
  refuseConflicts(policy, device.features);
  const owners = new Owners(device);
  const scopes = new ErrorScopes(device);
  const usages = new DeclaredUsages(device, scopes, {
    copies: mayRunAgain(policy) || policy.injectFaults === true || policy.audit !== undefined,
    readsArguments: doublesGrids(policy),
  });
  return {
    device,
    policy,
    codes,
    events: new Events(),
    reports: new ReportArena(device),
    sums: new SumsBuffers(device),
    owners,
    scopes,
    textures: new Textures(device, owners),
    usages,
  };
}
