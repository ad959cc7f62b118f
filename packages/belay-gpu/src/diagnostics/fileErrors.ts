import { messageOf } from "./messageOf.ts";

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EEXIST: "a file stands where a directory is needed",
  EISDIR: "it is a directory",
  ELOOP: "its links go in a circle",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "no such file",
  ENOSPC: "no space is left",
  ENOTDIR: "a file stands where a directory is needed",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
};

/** Returns the reason why a file could not be read or written, in words about the user's path. */
export function reasonOf(error: unknown): string {
  return reasons[(error as NodeJS.ErrnoException).code ?? ""] ?? messageOf(error);
}
