/** The connection to Redis. Credentials are part of its URL and never of a message. */
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import type { CommonRedisOptions, Redis } from "ioredis";
import { CampaignError } from "../model/failure.ts";

/** The packages of the queue, which are installed only where campaigns use one. */
export interface QueuePackages {
  readonly bullmq: typeof import("bullmq");
  readonly ioredis: typeof import("ioredis");
}

/** Imports the packages of the queue. Rejects with a `CampaignError` if one is not installed. */
export async function importQueuePackages(
  load: (name: "bullmq" | "ioredis") => Promise<unknown> = (name) => import(name),
): Promise<QueuePackages> {
  const loaded = async (name: "bullmq" | "ioredis") => {
    try {
      return await load(name);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes(`'${name}'`)) throw error;
      throw new CampaignError("package-missing", `the package ${name} is not installed`, {
        help: "a campaign over a queue needs two more packages: npm install bullmq ioredis",
      });
    }
  };
  return { bullmq: await loaded("bullmq"), ioredis: await loaded("ioredis") } as QueuePackages;
}

/**
 * A checked URL of a Redis server. The URL itself stays private, because error messages and logs
 * show public members.
 */
export class RedisAddress {
  readonly #url: string;
  /** The host, port and database, without user and password. */
  readonly name: string;

  /** Throws a `CampaignError` that does not repeat the text if it is no URL of a Redis server. */
  constructor(text: string) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isDatabase = /^\/?$|^\/\d+$/.test(url?.pathname ?? "");
    if (!url || !["redis:", "rediss:"].includes(url.protocol) || url.hostname === "" || !isDatabase) {
      throw new CampaignError("queue-unavailable", "the queue is no URL of a Redis server", {
        help: "write redis://host:6379, or rediss://user:password@host:6379/1 for TLS and database 1",
      });
    }
    this.#url = text;
    this.name = `${url.protocol}//${url.hostname}:${url.port || 6379}${url.pathname === "/" ? "" : url.pathname}`;
  }

  /** Returns a client that is not connected yet. */
  client(
    { ioredis }: QueuePackages,
    options: Pick<CommonRedisOptions, "retryStrategy" | "maxRetriesPerRequest">,
  ): Redis {
    return new ioredis.Redis(this.#url, { ...options, lazyConnect: true });
  }
}

/**
 * Connects to Redis. The connection comes back after an interruption, which `onInterruption` hears
 * of. Rejects with a `CampaignError` if the server cannot be reached at the beginning.
 */
export async function connectRedis(
  address: RedisAddress,
  packages: QueuePackages,
  onInterruption: (message: string) => void,
): Promise<Redis> {
  const probe = address.client(packages, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  let reason: unknown;
  probe.on("error", (error) => {
    reason = error;
  });
  try {
    await probe.connect();
    await probe.ping();
  } catch (error) {
    throw new CampaignError(
      "queue-unavailable",
      `cannot use ${address.name}: ${messageOf(reason ?? error)}`,
      {
        help: "check that the server runs, that this machine reaches it, and the user and password in the URL",
      },
    );
  } finally {
    probe.disconnect();
  }
  // BullMQ demands that commands wait for a lost connection without a limit.
  const redis = address.client(packages, { maxRetriesPerRequest: null });
  let isInterrupted = false;
  redis.on("error", (error) => {
    if (!isInterrupted) onInterruption(`${address.name} is lost and tried again: ${messageOf(error)}`);
    isInterrupted = true;
  });
  redis.on("ready", () => {
    if (isInterrupted) onInterruption(`${address.name} is back`);
    isInterrupted = false;
  });
  await redis.connect();
  return redis;
}
