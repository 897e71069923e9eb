// An interval that the reader chose, and what the details of it can ask the timeline to do.

import type { Group } from "../data";

export interface Picked { group: Group; index: number }
export interface Actions { pick(picked: Picked | null, show: boolean): void; zoomTo(from: number, to: number): void }
