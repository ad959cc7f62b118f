/** The colors of reports and pictures, for light and dark surroundings. */
export const palette = `
:root {
  color-scheme: light dark;
  --surface: #ffffff; --raised: #f6f7f9; --line: #dfe3e8; --text: #1b2330; --muted: #5a6575;
  --ok: #12703c; --bad: #b3261e; --open: #8a5300; --mark: #ffe1a6; --struck: #fff6e3;
  --series-1: #8a97a8; --series-2: #2563c9; --series-3: #b4690e; --series-4: #5f8a1f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --surface: #12161d; --raised: #1b212b; --line: #303947; --text: #e6eaf0; --muted: #a0abbb;
    --ok: #5fd38d; --bad: #ff8a80; --open: #ffc266; --mark: #7a5200; --struck: #2a2415;
    --series-1: #77859a; --series-2: #6ea8ff; --series-3: #f0a857; --series-4: #a5d062;
  }
}
`;

/** The whole stylesheet of a report page. */
export const stylesheet = `${palette}
:root { --series-5: #8a3fb0; --series-6: #0f8077; --series-7: #b03a66; }
@media (prefers-color-scheme: dark) { :root { --series-5: #c79be6; --series-6: #5fc9bf; --series-7: #f08db0; } }
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2.5rem clamp(1rem, 4vw, 2.5rem) 4rem; max-width: 86rem;
  background: var(--surface); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", sans-serif;
}
header { border-bottom: 1px solid var(--line); padding-bottom: 1.5rem; }
header p { margin: 0.25rem 0; color: var(--muted); overflow-wrap: anywhere; }
header .next { color: var(--text); }
h1 { margin: 0.25rem 0; font-size: clamp(1.5rem, 4vw, 2.2rem); line-height: 1.2; text-wrap: balance; }
h2 { margin: 2.5rem 0 0.25rem; font-size: 1.25rem; }
summary { font-weight: 600; cursor: pointer; }
details[open] summary { margin-bottom: 0.75rem; }
section > p { margin: 0 0 1rem; color: var(--muted); max-width: 45rem; }
.ok { color: var(--ok); }
.bad { color: var(--bad); }
.open { color: var(--open); }
td .ok::before, th .ok::before { content: "✓\\a0" / ""; }
td .bad::before, th .bad::before { content: "✗\\a0" / ""; }
td .open::before, th .open::before { content: "…\\a0" / ""; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { padding: 0.45rem 0.6rem; border-bottom: 1px solid var(--line); text-align: start; vertical-align: top; }
tbody th, td.end { white-space: nowrap; }
thead th { color: var(--muted); font-size: 0.85rem; font-weight: 600; }
.end { text-align: end; }
/* On a narrow screen a row is a card, whose cells have the names of their columns. */
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  th, td, td.end { padding: 0.2rem 0; border: 0; text-align: start; white-space: normal; overflow-wrap: anywhere; }
  tbody th { grid-column: 1 / -1; font-size: 1rem; white-space: normal; }
  td::before { content: attr(data-label); display: block; color: var(--muted); font-size: 0.8rem; }
  td:empty { display: none; }
}
figure { margin: 0; }
figcaption { margin-top: 0.25rem; max-width: 45rem; color: var(--muted); font-size: 0.9rem; }
.bars { color: var(--text); width: 100%; max-width: 60rem; height: auto; font-family: inherit; }
.narrow .bars { max-width: 30rem; }
@media (max-width: 48rem) { .wide { display: none; } }
@media (min-width: 48.001rem) { .narrow { display: none; } }
.legend { display: flex; flex-wrap: wrap; gap: 1.25rem; margin: 0.5rem 0; padding: 0; list-style: none; font-size: 0.9rem; }
.legend li::before {
  content: ""; display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.5em; border-radius: 2px;
  background: var(--key);
}
.series-1 { --key: var(--series-1); }
.series-2 { --key: var(--series-2); }
.series-3 { --key: var(--series-3); }
.series-4 { --key: var(--series-4); }
.series-5 { --key: var(--series-5); }
.series-6 { --key: var(--series-6); }
.series-7 { --key: var(--series-7); }
.faults { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; }
details { padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 8px; background: var(--raised); }
pre { margin: 0; overflow-x: auto; font: 0.85rem/1.6 ui-monospace, "SF Mono", Consolas, monospace; }
.excerpt { border: 1px solid var(--line); border-radius: 6px; background: var(--surface); }
.excerpt code { display: block; min-width: max-content; padding: 0.4rem 0; }
.line { display: block; padding-right: 1rem; color: var(--muted); }
.line i { display: inline-block; width: 3.5em; padding-right: 1em; text-align: right; font-style: normal; user-select: none; }
.line b { display: inline-block; width: 9.5em; padding-left: 1em; font-weight: 600; color: var(--text); }
.struck { background: var(--struck); color: var(--text); }
mark { background: var(--mark); color: inherit; border-radius: 2px; }
.commands { padding: 1rem 1.25rem; border-radius: 8px; border: 1px solid var(--line); background: var(--raised); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 0.75rem 1.5rem; margin: 0.75rem 0 0; }
dt { color: var(--muted); font-size: 0.8rem; }
dd { margin: 0; overflow-wrap: anywhere; }
`;
