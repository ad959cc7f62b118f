/**
 * The mailbox: where the twins of an Inter-Group kernel that must talk leave words for each other, in the report buffer.
 *
 * A twin may only wait for one that is sure to run. Workgroups therefore draw tickets as they start, and a ticket says
 * which workgroup of the grid they are, and which of its replicas. So when one waits for its twin, that one has started,
 * or is the very next to start. The last ticket of a dispatch resets the counter and begins a new epoch.
 *
 * Each pair has a place in a ring, which is larger than the number of pairs that run at once. A place is free for the next
 * pair when both twins of the one before have left: the first tier of the published lock, whose second tier is the turns
 * of `interGroupChannel`. What stands in a place names its epoch and pair, so nothing is ever cleared; and no order among
 * accesses to different words is relied on, as WGSL promises none between workgroups.
 *
 * Once a wait has run out, no workgroup begins another until the host has seen it: where twins never run at once, a
 * dispatch takes one wait and not one for each pair.
 *
 * Source: Wadden et al. 2014, section 7 (dynamic work-group ids, the two-tier lock, communication at the second-level cache).
 */
import type { Names } from "../shared/names.ts";
import { recordCause } from "./reportBuffer.ts";

/**
 * Words of mail for each invocation of a pair: for each of two turns, two words of each replica.
 */
const wordsPerInvocation = 2 * 2 * 2;
/** More than pairs of small workgroups run at once. */
const mostPlaces = 2304;
/** More than pairs of invocations run at once on the largest GPUs. */
const mostInvocations = 2 ** 18;

/**
 * How often a twin looks for the other before it gives up, unless the host knows better: about a
 * second on a GPU.
 */
const patience = 2 ** 20;

/** The override that says how often. */
export const patienceOf = (names: Names): string => names.the("patience");

/** Added to the stamp with which a twin leaves its place that has given up waiting. */
export const gaveUp = "0x80000000u";

/** Words of mail for workgroups of so many invocations; undefined where an override decides. */
export function mailWords(workgroups: readonly (number | undefined)[]): number {
  const words = workgroups.map((size = 1) => {
    const places = size === 1 ? mostInvocations : Math.min(mostPlaces, Math.ceil(mostInvocations / size));
    return wordsPerInvocation * places * size;
  });
  return Math.max(0, ...words);
}

/** Bytes of the report that belong to `words` words of mail. */
export const mailboxBytes = (words: number): number => (words === 0 ? 0 : 4 * (3 + mostPlaces + words));

/**
 * Bytes of workgroup memory of a workgroup that has mail: for its ticket, and whether it has given
 * up.
 */
export const mailboxWorkgroupBytes = 32;

/** The members of the report, as WGSL. */
export const mailboxMembers = (words: number): string => `
  tickets: atomic<u32>,
  epoch: atomic<u32>,
  has_run_out: atomic<u32>,
  places: array<atomic<u32>, ${mostPlaces}>,
  mail: array<atomic<u32>, ${words}>,`;

/**
 * What a workgroup knows of its place, and the functions that draw a ticket, enter the place and
 * leave it, as WGSL. `draw_ticket(last)` returns a ticket, counted from zero to `last` in each
 * dispatch, and the epoch. `wait_ran_out(site)` records that, and stops the workgroup from waiting.
 */
export function mailboxDeclarations(names: Names, words: number): string {
  const n = (thing: string) => names.the(thing);
  const report = n("report");
  return `
  override ${patienceOf(names)}: u32 = ${patience}u;
  var<workgroup> ${n("ticket_drawn")}: vec2<u32>;
  var<workgroup> ${n("given_up")}: atomic<u32>;
  var<private> ${n("place")}: u32;
  var<private> ${n("place_is_free")}: bool;
  var<private> ${n("stamp")}: u32;
  var<private> ${n("stamp_before")}: u32;
  var<private> ${n("mail")}: u32;
  var<private> ${n("mail_stride")}: u32;
  fn ${n("draw_ticket")}(last: u32) -> vec2<u32> {
    if (${n("local")} == 0u) {
      let epoch = atomicLoad(&${report}.epoch);
      // Always one, but not before the epoch is known: whoever draws the last ticket ends it.
      let ticket = atomicAdd(&${report}.tickets, 1u + (epoch >> 31u));
      if (ticket == last) {
        atomicStore(&${report}.tickets, 0u);
        atomicStore(&${report}.epoch, (epoch + 1u) & 0x7fffffffu);
      }
      ${n("ticket_drawn")} = vec2<u32>(ticket, epoch);
      atomicStore(&${n("given_up")}, atomicLoad(&${report}.has_run_out));
    }
    return workgroupUniformLoad(&${n("ticket_drawn")});
  }
  fn ${n("enter_place")}(epoch: u32, invocations: u32) {
    let places = min(${mostPlaces}u, ${words / wordsPerInvocation}u / invocations);
    ${n("place")} = ${n("pair")} % places;
    ${n("place_is_free")} = ${n("pair")} < places;
    ${n("stamp")} = epoch * 0x9e3779b1u + ${n("pair")} + 1u;
    ${n("stamp_before")} = ${n("stamp")} - places;
    ${n("mail")} = ${n("place")} * ${wordsPerInvocation}u * invocations + ${n("local")};
    ${n("mail_stride")} = invocations;
  }
  fn ${n("wait_ran_out")}(site: u32) {
    atomicStore(&${n("given_up")}, 1u);
    atomicStore(&${report}.has_run_out, 1u);
    ${n("record")}(site, ${recordCause.waitedTooLong}u, 0u, vec4<u32>());
  }
  fn ${n("leave_place")}() {
    workgroupBarrier();
    if (${n("local")} == 0u) {
      let place = &${report}.places[${n("place")}];
      let has_given_up = atomicLoad(&${n("given_up")}) != 0u;
      // A pair that had nothing to say leaves in its turn too, or the one after it would wait for a mark that never stands.
      for (var i = 0u; i < ${patienceOf(names)} && !(${n("place_is_free")} | has_given_up); i++) {
        let found = atomicLoad(place);
        // Its twin, when it has left first, has seen the pair before leave.
        ${n("place_is_free")} = (found == ~${n("stamp_before")}) | ((found | ${gaveUp}) == (${n("stamp")} | ${gaveUp}));
      }
      if (!(${n("place_is_free")} | has_given_up)) { ${n("wait_ran_out")}(0u); }
      let mark = ${n("stamp")} + select(0u, ${gaveUp}, has_given_up);
      if ((atomicExchange(place, mark) | ${gaveUp}) == (${n("stamp")} | ${gaveUp})) {
        atomicStore(place, ~${n("stamp")});
      }
    }
  }`;
}
