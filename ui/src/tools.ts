// Buttons that every picture has.

import { button, el, refill } from "./dom";
import { type Picture, copyPng, copySvg } from "./pen";
import { theme } from "./theme";

export function copyTools(picture: () => Picture): HTMLElement {
  const says = el("span.quiet", { role: "status" });
  const done = (text: string) => {
    refill(says, text);
    setTimeout(() => refill(says), 4000);
  };
  return el("span.copy", {}, says,
    button("PNG", () => void copyPng(picture(), theme().card).then(done), { "aria-label": "Copy as PNG", title: "Copy as a PNG picture" }),
    button("SVG", () => void copySvg(picture(), theme().card).then(done), { "aria-label": "Copy as SVG", title: "Copy as an SVG picture" }));
}
