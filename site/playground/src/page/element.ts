type Properties<Tag extends keyof HTMLElementTagNameMap> = Partial<
  Omit<HTMLElementTagNameMap[Tag], "style" | "dataset">
> & {
  readonly data?: Readonly<Record<string, string>>;
  readonly aria?: Readonly<Record<string, string>>;
  readonly on?: Readonly<Record<string, (event: Event) => void>>;
};

/** Creates an element with properties, listeners and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  { data = {}, aria = {}, on = {}, ...properties }: Properties<Tag> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  Object.assign(made, properties);
  Object.assign(made.dataset, data);
  for (const [name, value] of Object.entries(aria)) made.setAttribute(`aria-${name}`, value);
  for (const [type, listener] of Object.entries(on)) made.addEventListener(type, listener);
  made.append(...children);
  return made;
}

/** Creates a label with a choice of values. `chosen` is called with each new choice. */
export function choice(
  label: string,
  values: readonly (readonly [value: string, text: string])[],
  current: string,
  chosen: (value: string) => void,
): HTMLLabelElement {
  const select = element(
    "select",
    { on: { change: () => chosen(select.value) } },
    ...values.map(([value, text]) => element("option", { value, selected: value === current }, text)),
  );
  return element("label", { className: "choice" }, element("span", {}, label), select);
}

/** Creates a button. */
export function button(
  text: string,
  pressed: () => void,
  { className = "", title = "" }: { readonly className?: string; readonly title?: string } = {},
): HTMLButtonElement {
  return element("button", { type: "button", className, title, on: { click: pressed } }, text);
}
