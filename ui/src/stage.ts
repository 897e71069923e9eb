// A canvas as wide as there is room.

import { el } from "./dom";
import { type Pen, paint } from "./pen";
import { onTheme } from "./theme";

export type Stage = HTMLElement & { again?: () => void };

/** A picture of a fixed height, drawn anew whenever its width or the colors change. */
export function drawn(height: number, draw: (pen: Pen, width: number, height: number) => void, label: string): Stage {
  const canvas = el("canvas", { role: "img", "aria-label": label }) as HTMLCanvasElement;
  const stage: Stage = el("div.stage.flat", {}, canvas);
  const again = () => {
    const width = stage.clientWidth;
    if (!width) return;
    canvas.style.height = `${height}px`;
    paint(canvas, width, height, (pen) => draw(pen, width, height));
  };
  new ResizeObserver(again).observe(stage);
  onTheme(again);
  stage.again = again;
  return stage;
}
