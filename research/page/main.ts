/** The page: measures as its address says, and shows the result so far. */
import { linesOf, measureInPage } from "./measure.ts";

const [output, doing] = ["output", "doing"].map((id) => document.getElementById(id)!);
const show = (text: string) => {
  doing!.textContent = text;
};
const save = async (sofar: Parameters<typeof linesOf>[0]) => {
  output!.textContent = linesOf(sofar).join("\n");
};
try {
  const options = Object.fromEntries(new URLSearchParams(location.search));
  const result = await measureInPage(options, { progress: show, save });
  await save(result);
  const { programs, ok } = result;
  show(
    `${programs.length} programs measured, ${ok ? "every result bit-identical, no false alarm" : "NOT all right"}`,
  );
} catch (error) {
  show(String(error));
}
