/** An indented text of JavaScript, written line by line. */
export class Writer {
  text = "";
  #depth = 0;

  line(text: string): void {
    this.text += `${"  ".repeat(this.#depth)}${text}\n`;
  }

  open(text: string): void {
    this.line(text);
    this.#depth++;
  }

  close(text: string): void {
    this.#depth--;
    this.line(text);
  }

  reopen(text: string): void {
    this.close(text);
    this.#depth++;
  }
}
