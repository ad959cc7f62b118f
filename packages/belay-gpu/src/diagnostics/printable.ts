const layout = /\n|\t|\r(?=\n)/y;
/** The escape sequences of Belay's own colors, which change nothing else. */
const colors = new RegExp(`${String.fromCharCode(27)}\\[(?:0|1|2|22|3[1-6]|39)m`, "y");
const disturbing = /[\p{Cc}\p{Cf}\p{Cs}]/u;

/**
 * Replaces the characters that would disturb a terminal, such as the escape sequences in a name
 * that a program chose. Line breaks and tabs stay. With `colored`, so do Belay's own colors.
 */
export function printable(text: string, { colored = false } = {}): string {
  let shown = "";
  for (let at = 0; at < text.length; ) {
    layout.lastIndex = colors.lastIndex = at;
    const kept = layout.exec(text) ?? (colored ? colors.exec(text) : null);
    const character = kept?.[0] ?? String.fromCodePoint(text.codePointAt(at)!);
    shown += kept || !disturbing.test(character) ? character : "\ufffd";
    at += character.length;
  }
  return shown;
}
