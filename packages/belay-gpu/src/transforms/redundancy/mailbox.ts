/**
 * The mailbox in the report buffer, through which the twins of an Inter-Group kernel exchange
 * words.
 *
 * A workgroup may only wait for a twin that is certain to run. Workgroups therefore draw tickets as
 * they start. A ticket assigns a workgroup of the grid and one of its replicas. The twin of a
 * waiting workgroup has thus started, or is the very next to start. The last ticket of a dispatch
 * resets the counter and begins a new epoch.
 *
 * Each pair has a place in a ring that is larger than the number of pairs running at once. A place
 * is free for the next pair after both twins of the previous pair have left. This is the first tier
 * of the published lock; the turns of `interGroupChannel` are the second. The contents of a place
 * name their epoch and pair, so nothing is ever cleared. WGSL promises no order among accesses to
 * different words between workgroups, and the mailbox relies on none.
 *
 * After one wait has run out, no workgroup begins another before the host takes the records. If
 * twins never run at once, a dispatch thus costs one wait, not one for each pair.
 *
 * Source:   Wadden et al. 2014, section 7 (dynamic work-group ids, the two-tier lock, communication
 *           at the second-level cache).
 */
import type { Names } from "../shared/names.ts";
import { recordCause } from "./reportBuffer.ts";

/** The words of mail of each invocation of a pair: two turns, two replicas, two words each. */
const wordsPerInvocation = 2 * 2 * 2;
/** The number of places: more than the pairs of small workgroups that run at once. */
const mostPlaces = 2304;
/**
 * The number of invocations with mail: more than the pairs of invocations that run at once on the
 * largest GPUs.
 */
const mostInvocations = 2 ** 18;

/** The default number of polls before a twin gives up: about a second on a GPU. */
const patience = 2 ** 20;

/** Returns the name of the override that sets the number of polls. */
export const patienceOf = (names: Names): string => names.the("patience");

/** The flag in the stamp of a twin that left its place after it had given up waiting. */
export const gaveUp = "0x80000000u";

/**
 * Returns the words of mail for workgroups of these sizes. The size is undefined if an override
 * decides it.
 */
export function mailWords(workgroups: readonly (number | undefined)[]): number {
  const words = workgroups.map((size = 1) => {
    const places = size === 1 ? mostInvocations : Math.min(mostPlaces, Math.ceil(mostInvocations / size));
    return wordsPerInvocation * places * size;
  });
  return Math.max(0, ...words);
}

/** Returns the bytes of the report that `words` words of mail need. */
export const mailboxBytes = (words: number): number => (words === 0 ? 0 : 4 * (3 + mostPlaces + words));

/**
 * The bytes of workgroup memory that mail needs: the ticket, and whether the workgroup has given
 * up.
 */
export const mailboxWorkgroupBytes = 32;

/** The byte offset, in the mailbox, of the word that tells that a wait has run out. */
export const ranOutOffset = 4 * 2;

/** Returns the members of the report, as WGSL. */
export const mailboxMembers = (words: number): string => `
  tickets: atomic<u32>,
  epoch: atomic<u32>,
  has_run_out: atomic<u32>,
  places: array<atomic<u32>, ${mostPlaces}>,
  mail: array<atomic<u32>, ${words}>,`;

/**
 * Returns the variables of a place, and the functions that draw a ticket, enter a place and leave
 * it, as WGSL. `draw_ticket(last)` returns a ticket, counted from zero to `last` in each dispatch,
 * and the epoch. `wait_ran_out(site)` records that a wait ran out and stops the workgroup from
 * waiting.
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
      // A pair without words leaves in its turn too. Otherwise the next pair would wait for a mark
      // that nobody sets.
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
